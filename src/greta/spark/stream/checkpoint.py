"""A checkpoint's note of the query it belongs to, so that another query is refused before Spark starts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyarrow import fs

import greta
from greta.engine.stream_jobs import StreamJob, fingerprint
from greta.errors import SetupError, StateError
from greta.live.chunks import FORMAT
from greta.spark.reading.paths import local_path

NOTE = "greta.json"


def stream_layout(jobs: Sequence[StreamJob], groups: tuple[tuple[int, ...], ...], buckets: int) -> dict[str, Any]:
    """What the state of a stream depends on: its queries, and which of them keep their events together."""
    together = {"together": [list(group) for group in groups]} if len(groups) < len(jobs) else {}
    return {"format": FORMAT, "buckets": buckets, "queries": [job.layout for job in jobs]} | together


def claim(checkpoint: str, layout: dict[str, Any]) -> None:
    """Note the query in a checkpoint directory, or refuse where it belongs to one that this cannot go on from.

    Raises ``StateError`` for another query, ``SetupError`` where the directory cannot be used.
    """
    try:
        files, path = filesystem(checkpoint)
        known = _read(files, path)
        if known is None or not _started(files, path):
            files.create_dir(path, recursive=True)
            text = json.dumps({"greta": greta.__version__, "name": fingerprint(layout), **layout}, indent=2)
            with files.open_output_stream(f"{path}/{NOTE}") as out:
                out.write(text.encode())
            return
    except (pa.ArrowException, OSError) as error:
        if local_path(checkpoint) is None:
            # A file system that Spark reads and Arrow does not: the first micro-batch checks the state instead.
            return
        raise SetupError(
            f"the checkpoint {checkpoint} cannot be used: {error}",
            hint="give a directory that you may write, on a disk with room; what it holds is kept",
        ) from error
    if known.get("name") != fingerprint(layout):
        raise StateError(
            f"the checkpoint {checkpoint} belongs to another query: {_difference(known, layout)}",
            hint="go on with the old query, or give the new one a checkpoint of its own",
        )


def filesystem(place: str) -> tuple[Any, str]:
    """The file system of a path or URI, and the path in it."""
    path = local_path(place)
    if path is not None:
        return fs.LocalFileSystem(), str(path)
    # Hadoop's names for S3 are s3a and s3n.
    files, inside = fs.FileSystem.from_uri(re.sub(r"^s3[an]:", "s3:", place))
    return files, inside


def _read(files: Any, path: str) -> dict[str, Any] | None:
    if files.get_file_info(f"{path}/{NOTE}").type is not fs.FileType.File:
        return None
    with files.open_input_stream(f"{path}/{NOTE}") as stream:
        found: dict[str, Any] = json.loads(stream.read())
    return found


def _started(files: Any, path: str) -> bool:
    """Whether a stream has run from this checkpoint: until then any query may have it."""
    offsets = fs.FileSelector(f"{path}/offsets", allow_not_found=True)
    return any(not info.base_name.startswith(".") for info in files.get_file_info(offsets))


def _difference(known: dict[str, Any], layout: dict[str, Any]) -> str:
    for part in ("format", "buckets"):
        if known.get(part) != layout[part]:
            return f"its {part} is {known.get(part)}, now {layout[part]}"
    old, new = known.get("queries", []), layout["queries"]
    if len(old) != len(new):
        return f"it has {len(old)} queries, now {len(new)}"
    for before, now in zip(old, new, strict=True):
        for part in now:
            if before.get(part) != now[part]:
                return f"its {part}: {json.dumps(before.get(part))}, now {json.dumps(now[part])}"
    return "other queries keep their events together"
