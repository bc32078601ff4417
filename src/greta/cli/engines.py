"""Inputs and options → where a query runs, in this process or on Spark, and why.

All that can be checked of the inputs without reading them is checked here, before anything starts.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from greta.datasets.inputs import ENDINGS, Input
from greta.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from greta.datasets.files import Format

MOST_BYTES = 1_000_000_000
"""The most bytes of files that are read into this process where nobody chose."""

_TABLE = re.compile(r"\w+(\.\w+)*")


class Engine(StrEnum):
    """Where a query runs."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


@dataclass(frozen=True, slots=True)
class Choice:
    """In this process or on Spark, and the reason in words."""

    on_spark: bool
    reason: str

    def __str__(self) -> str:
        return f"running {'on Spark' if self.on_spark else 'in this process'}: {self.reason}"


def choose(engine: Engine, inputs: Sequence[Input], format_: Format | None, only_spark: Sequence[str]) -> Choice:
    """The engine asked for, or the one that suits; ``only_spark`` are the options given that only Spark has."""
    if any(each.path == "-" for each in inputs):
        if engine is Engine.SPARK or only_spark:
            option = only_spark[0] if only_spark else "--engine spark"
            raise typer.BadParameter(f"standard input is read in this process, not with {option}", param_hint="--input")
        return Choice(False, "the events come from standard input")
    if engine is Engine.LOCAL and only_spark:
        raise typer.BadParameter(f"{only_spark[0]} is for --engine spark", param_hint="--engine")
    if engine is Engine.SPARK:
        return Choice(True, "--engine spark")
    if only_spark:
        return Choice(True, f"{only_spark[0]} is given")
    if (reason := obstacle(inputs, format_)) is not None:
        if engine is Engine.LOCAL:
            raise DataError(reason, hint="--engine spark reads it")
        return Choice(True, reason)
    if engine is Engine.LOCAL:
        return Choice(False, "--engine local")
    size = sum(file.stat().st_size for each in inputs for file in each.files())
    if size > MOST_BYTES:
        return Choice(
            True, f"{_amount(size)} of input are more than {_amount(MOST_BYTES)} (--engine local overrules it)"
        )
    return Choice(False, f"{_amount(size)} of local input (--engine spark overrules it)")


def obstacle(inputs: Sequence[Input], format_: Format | None) -> str | None:
    """Why some input cannot be read in this process; None where all can."""
    for each in inputs:
        files = each.files()
        if not files:
            return f"{each.path} is no local file"
        if any(not file.is_file() for file in files):
            return f"{each.path} has directories inside"
        if format_ is None and any(file.suffix.lower() not in ENDINGS for file in files):
            return f"{each.path} is not Parquet, CSV or JSON lines by its ending"
    return None


def _amount(size: int) -> str:
    """A size for people.

    >>> _amount(1_000_000_000), _amount(73_000)
    ('1.0 GB', '73.0 kB')
    """
    for unit, length in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= length:
            return f"{size / length:.1f} {unit}"
    return f"{size} bytes"


def check_files(inputs: Sequence[Input]) -> None:
    """``DataError`` where there is no such file; a plain name without an ending may be a table."""
    for each in inputs:
        if each.is_remote or each.path == "-" or each.files():
            continue
        if Path(each.path).is_dir():
            if any(Path(each.path).iterdir()):
                continue
            raise DataError(f"{each.path}: there are no files in it", hint="name a file, or a directory of event files")
        if _TABLE.fullmatch(each.path) and Path(each.path).suffix.lower() not in ENDINGS:
            continue
        raise DataError(f"{each.path}: there is no such path", hint=_near(Path(each.path)))


def _near(path: Path) -> str:
    """The file beside it with nearly this name, if any."""
    siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    return did_you_mean(path.name, siblings) or "check the path, seen from this directory"


def on_this_machine(master: str | None, conf: Mapping[str, str]) -> bool:
    """Whether Spark will read paths as this process does: no cluster, and no other file system by default."""
    from greta.spark.sessions.settings import given_settings

    settings = given_settings() | dict(conf)
    master = master or settings.get("spark.master", "local")
    return master.startswith("local") and not any(name.endswith("fs.defaultFS") for name in settings)


@contextmanager
def spooled(inputs: Sequence[Input], format_: Format | None) -> Iterator[list[Input]]:
    """The inputs with standard input as a file: what it holds is told by how it begins. Errors call it stdin."""
    if not any(each.path == "-" for each in inputs):
        yield list(inputs)
        return
    if sum(each.path == "-" for each in inputs) > 1:
        raise typer.BadParameter("standard input can be read once", param_hint="--input")
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise DataError("stdin: there is nothing to read", hint="pipe CSV with a header, or JSON lines, into greta")
    with tempfile.TemporaryDirectory(prefix="greta-") as directory:
        file = Path(directory) / f"stdin.{format_ or _format(content)}"
        file.write_bytes(content)
        try:
            yield [each.at(file) if each.path == "-" else each for each in inputs]
        except DataError as error:
            raise error.reworded({str(file): "stdin"}) from error


def _format(content: bytes) -> Format:
    if content.startswith(b"PAR1"):
        return "parquet"
    return "jsonl" if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else "csv"
