"""Query files on the command line: a path or ``-`` in, the text out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from greta.errors import DataError, QueryError

QueryFile = Annotated[Path, typer.Argument(metavar="FILE", help="File with the query; - reads stdin.")]
"""The argument that every command taking a query declares."""


def read_query(file: Path) -> str:
    """The text of a query file, or of stdin for ``-``; ``DataError`` where it is not UTF-8.

    A file that is not there is a mistake in the command line, so it leaves as a usage error.
    """
    if str(file) != "-" and not file.is_file():
        raise typer.BadParameter(f"there is no file {file}", param_hint="FILE")
    try:
        raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{file}: not a text file: byte {error.start} is not UTF-8", hint="save the query as UTF-8 text"
        ) from error


def query_text(query: str) -> tuple[str, Path]:
    """The text of a query that is given as a file, as ``-`` for stdin, or as itself; and what errors call it."""
    # A query is longer than any file's name, and has white space in it.
    if len(query.split()) > 1 and not Path(query).is_file():
        return query, Path("query")
    return read_query(Path(query)), Path(query)


@contextmanager
def located(text: str, file: Path) -> Iterator[None]:
    """Let query errors raised inside name the file and show its line."""
    try:
        yield
    except QueryError as error:
        raise error.locate(text, "stdin" if str(file) == "-" else str(file)) from None
