"""Rows → a table on the terminal or in a pipe, JSON lines, or a file."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greta.cli.output import plain, print_json
from greta.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from greta.datasets.files import Format
    from greta.datasets.inputs import Input

BOUNDS = ("window_start", "window_end")
FILE_ENDINGS = (".csv", ".parquet", ".json", ".jsonl", ".ndjson")
"""An output that ends so is one file; any other is a directory."""
OTHER_ENDINGS = (".xlsx", ".xls", ".txt", ".tsv", ".gz", ".zip", ".arrow", ".feather", ".html")
"""Endings of files that nobody means as the name of a directory."""
_PIPED_WIDTH = 1_000_000
_WHOLE = 2**53
"""Up to here, every whole number is a double."""
_LARGE = 1e6
"""From here on, six digits are less than the whole part."""


def print_rows(rows: pa.Table, as_json: bool, *, in_full: bool = False) -> None:
    """The rows on stdout; in a pipe, a row is a line, however long.

    ``in_full``: with all digits of the numbers, as events are told apart by them.
    """
    if as_json:
        for row in rows.to_pylist():
            print_json(row)
        return
    from rich.console import Console
    from rich.table import Table

    piped = not sys.stdout.isatty()
    shown = Table(show_edge=False)
    for name in rows.column_names:
        shown.add_column(name, no_wrap=piped)
    for row in rows.to_pylist():
        shown.add_row(*("" if value is None else word(value, in_full=in_full) for value in row.values()))
    Console(width=_PIPED_WIDTH if piped else None, highlight=False).print(shown)


def word(value: Any, *, in_full: bool = False) -> str:
    """A value as people read it: whole numbers in full where a double has all their digits, else six digits.

    Numbers as large as times keep the thousandths. ``in_full``: with the 15 digits that any double has.

    >>> word(10443.0), word(2.0**80), word(48.333333333), word(1381118400.6141)
    ('10443', '1.20893e+24', '48.3333', '1381118400.614')
    >>> word(48.333333333, in_full=True)
    '48.333333333'
    """
    if not isinstance(value, float):
        return str(value)
    if value.is_integer() and abs(value) < _WHOLE:
        return f"{value:.0f}"
    if in_full:
        return f"{value:.15g}"
    return f"{value:.3f}" if _LARGE <= abs(value) < _WHOLE / 1000 else f"{value:.6g}"


def in_order(rows: pa.Table) -> pa.Table:
    """By window, then by the columns from left to right; NULL comes first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    keys = [name for name in rows.column_names if name != "window_end"]
    # Arrow sorts no dictionaries and no columns without a type.
    plain_rows = pa.table(
        [
            column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
            for column in rows.columns
        ],
        names=rows.column_names,
    )
    sortable = [name for name in keys if not pa.types.is_null(plain_rows.schema.field(name).type)]
    order = pc.sort_indices(plain_rows, sort_keys=[(name, "ascending", "at_start") for name in sortable])
    return plain_rows.take(order)


def is_file(output: str) -> bool:
    """Whether an output is one file, by its ending."""
    return "://" not in output and Path(output).suffix.lower() in FILE_ENDINGS


def check_output(output: str, overwrite: bool) -> None:
    """``DataError`` where an output is there already or cannot be written, before anything is computed."""
    if "://" in output:
        return
    path = Path(output)
    if path.exists() and not overwrite:
        raise DataError(f"{output}: is there already", hint="replace it with --overwrite")
    if path.is_dir() and is_file(output):
        raise DataError(f"{output}: is a directory", hint="name a file, or a directory without an ending for many")
    above = next(place for place in path.absolute().parents if place.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise DataError(f"{output}: cannot be written into {above}", hint="name another place")


def check_apart(output: str, inputs: Sequence[Input]) -> None:
    """``DataError`` where replacing the output would take an input away."""
    place = None if "://" in output else Path(output).resolve()
    for file in (file for each in inputs if each.path != "-" for file in each.files()):
        if place is not None and (place == file.resolve() or place in file.resolve().parents):
            raise DataError(
                f"{output}: would replace {file}, which is an input", hint="name another place for the rows"
            )


def write_directory(rows: pa.Table, output: str, format_: Format) -> None:
    """A directory with one file of rows, as Spark would write several; what was there goes."""
    from greta.datasets.files import write

    directory = Path(output)
    if directory.is_dir():
        shutil.rmtree(directory)
    elif directory.exists():
        directory.unlink()
    write(rows, directory / f"part-00000.{format_}", format=format_)


def write_file(rows: pa.Table, output: str) -> None:
    """One file, which appears under its name when it is complete."""
    from greta.datasets.files import appearing, write

    path = Path(output)
    if path.suffix.lower() in (".csv", ".parquet"):
        write(rows, path)
        return
    with appearing(path) as hidden, hidden.open("w", encoding="utf-8") as file:
        for batch in rows.to_batches(max_chunksize=10_000):
            # As --json prints them: a number beyond doubles is told from NULL.
            file.writelines(json.dumps(plain(row), allow_nan=False) + "\n" for row in batch.to_pylist())
