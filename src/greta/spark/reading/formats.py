"""Paths → the format of the files there, by their endings; and how records that cannot be read are kept apart."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Literal

from greta.spark.reading.paths import local_path

Format = Literal["parquet", "csv", "json", "orc", "delta"]

CORRUPT = "greta_corrupt_record"
"""The column in which Spark keeps the text of a record of CSV or JSON that it cannot read."""

_ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".orc": "orc",
}
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".xz")


def format_of(path: str) -> Format | None:
    """The format that a path's ending names, compressed or not.

    >>> format_of("trades.csv.gz"), format_of("s3a://bucket/trades")
    ('csv', None)
    """
    return _ENDINGS.get(_ending(path))


def _ending(path: str) -> str:
    name = path
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return PurePosixPath(name).suffix.lower()


def format_in(path: Path, *, nested: bool = False) -> Format | None:
    """The format of a directory's first file that has one, ``nested`` directories included; hidden files are not."""
    first = _first_file(path, nested)
    return None if first is None else format_of(first)


def _first_file(path: Path, nested: bool) -> str | None:
    """A directory's first file, in order of names, whose ending names a format."""
    files = path.rglob("*") if nested else path.iterdir()
    names = sorted(str(file) for file in files if file.name[0] not in "._")
    return next((name for name in names if format_of(name)), None)


def text_options(format_: str, path: str, *, nested: bool = False) -> dict[str, str]:
    """Options with which CSV and JSON at a path are read, whole or as a stream.

    CSV is read by position, so each file's header is checked against the columns: Spark fails where they differ. Rows
    are judged whole, and not by the columns that a query happens to read.
    """
    options = {"columnNameOfCorruptRecord": CORRUPT}
    if format_ == "csv":
        options |= {"header": "true", "sep": _separator(path, nested), "enforceSchema": "false"}
        options |= {"columnPruning": "false"}
    return options


def _separator(path: str, nested: bool) -> str:
    """The tab for a ``.tsv`` file, and for a directory on this machine in which such a file is the first."""
    directory = local_path(path)
    first = _first_file(directory, nested) if directory is not None and directory.is_dir() else path
    return "\t" if first is not None and _ending(first) == ".tsv" else ","
