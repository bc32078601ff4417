"""Files that a stream has noted and not read, because it ended in between: are they still there?

Spark notes in the checkpoint which files a micro-batch reads, and runs it again after a crash. A file that is gone by
then is left out without a word, and its events are lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import fs

from greta.errors import DataError
from greta.spark.reading.paths import local_path
from greta.spark.stream.checkpoint import filesystem


def require_pending_files(checkpoint: str) -> None:
    """Raise a ``DataError`` where a file on this machine is gone that the stream has still to read.

    Only the micro-batch that was under way is looked at; a checkpoint that PyArrow cannot read is not looked at.
    """
    try:
        files, path = filesystem(checkpoint)
        noted = list(_pending(files, path))
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        # Not where PyArrow reads, or not as Spark writes it: Spark itself will say what is wrong.
        return
    for name in noted:
        file = local_path(name)
        if file is not None and not file.exists():
            raise vanished(str(file))


def vanished(path: str) -> DataError:
    """What to do about a file that is gone."""
    return DataError(
        f"{path}: it was there, and no longer is",
        hint="put it back and start again, and nothing is lost; to go on without its events, put a file without rows "
        "in its place",
    )


def _pending(files: Any, path: str) -> Iterator[str]:
    """The files of the micro-batch that is noted and not done."""
    begun, done = _numbers(files, f"{path}/offsets"), _numbers(files, f"{path}/commits")
    if not begun or max(begun) in done:
        return
    last = max(begun)
    before = _read_up_to(files, f"{path}/offsets/{last - 1}") if last - 1 in begun else {}
    for source, stop in _read_up_to(files, f"{path}/offsets/{last}").items():
        start = before.get(source, -1)
        directory = f"{path}/sources/{source}"
        for number in range(start + 1, stop + 1):
            yield from _noted(files, directory, number)


def _noted(files: Any, directory: str, number: int) -> Iterator[str]:
    """The files of a number in a source's log, of which every tenth holds all before it."""
    for name in (f"{directory}/{number}", f"{directory}/{number}.compact"):
        if files.get_file_info(name).is_file:
            entries = (json.loads(line) for line in _lines(files, name)[1:])
            yield from (entry["path"] for entry in entries if entry["batchId"] == number)
            return


def _read_up_to(files: Any, name: str) -> dict[int, int]:
    """The last number of each source of files in an offset: a line per source follows two that are not of sources."""
    offsets = (json.loads(line) if line.startswith("{") else {} for line in _lines(files, name)[2:])
    return {at: offset["logOffset"] for at, offset in enumerate(offsets) if "logOffset" in offset}


def _numbers(files: Any, directory: str) -> set[int]:
    found = files.get_file_info(fs.FileSelector(directory, allow_not_found=True))
    return {int(info.base_name) for info in found if info.base_name.isdigit()}


def _lines(files: Any, name: str) -> list[str]:
    with files.open_input_stream(name) as stream:
        return [line for line in stream.read().decode().splitlines() if line]
