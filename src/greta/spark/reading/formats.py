"""Paths → the format of the files there, by their endings; and how records that cannot be read are kept apart."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Literal

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
    name = path
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return _ENDINGS.get(PurePosixPath(name).suffix.lower())


def format_in(path: Path, *, nested: bool = False) -> Format | None:
    """The format of a directory's first file that has one, ``nested`` directories included; hidden files are not."""
    files = path.rglob("*") if nested else path.iterdir()
    names = sorted(str(file) for file in files if file.name[0] not in "._")
    return next((known for name in names if (known := format_of(name))), None)


def text_options(format_: str, path: str = "") -> dict[str, str]:
    """Options with which CSV and JSON are read, whole or as a stream."""
    options = {"columnNameOfCorruptRecord": CORRUPT}
    if format_ == "csv":
        options |= {"header": "true", "sep": "\t" if path.endswith(".tsv") else ","}
    return options
