"""One event file: its columns as Arrow, and the line or row of whatever cannot be read."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from greta.datasets.files import Format
from greta.datasets.structures import leaves, opened
from greta.errors import DataError


@dataclass(slots=True)
class Source:
    """A file and its format. Places are only looked for when there is an error to report."""

    path: Path
    format: Format
    _json: pa.Table | None = field(default=None, init=False, repr=False)
    """JSON lines name their columns in every line, so they are read whole to learn the names, and kept."""

    def names(self) -> list[str]:
        """The columns there are, with the fields of structures under names like ``payload.price``."""
        with _readable(self.path):
            match self.format:
                case "parquet":
                    return list(leaves(pyarrow.parquet.read_schema(self.path)))
                case "csv":
                    with self.path.open(newline="", encoding="utf-8-sig") as file:
                        return next(csv.reader(file), [])
                case "jsonl":
                    return list(leaves(self._read_json().schema))

    def read(self, columns: list[str], as_text: set[str]) -> pa.Table:
        """These columns; in CSV, which has no types, those ``as_text`` are not guessed at."""
        with _readable(self.path):
            match self.format:
                case "parquet":
                    with pyarrow.parquet.ParquetFile(self.path) as file:
                        return opened(file.read(columns=columns), columns)
                case "csv":
                    return self._with_integers(self._read_csv(columns, as_text), self._csv_texts)
                case "jsonl":
                    return self._with_integers(opened(self._read_json(), columns), self._json_texts)

    def convert(self, values: pa.ChunkedArray, target: pa.DataType, column: str) -> pa.ChunkedArray:
        """Cast a column; the first value that resists is reported with its place."""
        try:
            return values.cast(target)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            row = _first_failure(values, target)
            value = values[row].as_py()
        kind = "time" if pa.types.is_timestamp(target) else str(target)
        raise DataError(
            f"{self.place(row)}: column {column}: {value!r} cannot be read as {kind}", hint=_way_out(target)
        )

    def demand_values(self, values: pa.ChunkedArray, column: str, hint: str) -> None:
        """``DataError`` at the first NULL of a column that may have none."""
        if values.null_count:
            row = pc.index(pc.is_null(values), True).as_py()
            raise DataError(f"{self.place(row)}: column {column} is NULL", hint=hint)

    def place(self, row: int) -> str:
        """Where a row, counted from 0, is: ``file:line``, or ``file, row n`` where there are no lines."""
        if self.format == "parquet":
            return f"{self.path}, row {row + 1}"
        rows: Iterator[tuple[int, object]] = self._csv_rows() if self.format == "csv" else self._json_lines()
        line, _ = next(islice(rows, row, None))
        return f"{self.path}:{line}"

    def _read_csv(self, columns: list[str], as_text: set[str]) -> pa.Table:
        try:
            return pyarrow.csv.read_csv(
                self.path,
                parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
                convert_options=pyarrow.csv.ConvertOptions(
                    include_columns=columns,
                    column_types=dict.fromkeys(as_text, pa.string()),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    null_values=["", "NULL", "null"],
                ),
            )
        except pa.ArrowInvalid as error:
            self._explain_csv(error)

    def _with_integers(self, table: pa.Table, texts: Callable[[str], pa.ChunkedArray]) -> pa.Table:
        """The table with integers beyond 63 bits as such, where Arrow took them for doubles.

        Only a column with a number of that size is looked at again, as ``texts`` gives it.
        """
        for at, name in enumerate(table.column_names):
            values = table.column(at)
            if not pa.types.is_float64(values.type) or not _is_large(values):
                continue
            text = texts(name)
            if pc.all(pc.match_substring_regex(text, r"^\s*[+-]?\d{1,76}\s*$")).as_py():
                table = table.set_column(at, name, _integers(pc.utf8_trim_whitespace(text)))
        return table

    def _csv_texts(self, column: str) -> pa.ChunkedArray:
        return self._read_csv([column], {column}).column(0)

    def _json_texts(self, column: str) -> pa.ChunkedArray:
        """Numbers of a column as they are written."""
        path = leaves(self._read_json().schema)[column]

        def written(text: str) -> Any:
            value: Any = json.loads(text, parse_int=str, parse_float=str)
            for name in path:
                value = None if value is None else value.get(name)
            return value

        return pa.chunked_array([pa.array((written(text) for _, text in self._json_lines()), type=pa.string())])

    def _explain_csv(self, error: pa.ArrowInvalid) -> NoReturn:
        """Find the line that Arrow, reading blocks in parallel, could not name."""
        columns = len(self.names())
        for line, fields in self._csv_rows():
            if len(fields) != columns:
                raise DataError(
                    f"{self.path}:{line}: {len(fields)} fields under {columns} columns",
                    hint="put text with commas into double quotes",
                ) from error
        raise DataError(f"{self.path}: {error}", hint="is it CSV with a header, in UTF-8?") from error

    def _csv_rows(self) -> Iterator[tuple[int, list[str]]]:
        """First line number and fields of each row after the header."""
        with self.path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
            reader = csv.reader(file)
            next(reader, None)
            line = reader.line_num
            for fields in reader:
                # A blank line is no row, for Arrow as for this reader.
                if fields:
                    yield line + 1, fields
                line = reader.line_num

    def _read_json(self) -> pa.Table:
        if self._json is None:
            try:
                self._json = pyarrow.json.read_json(self.path)
            except pa.ArrowInvalid as error:
                self._explain_json(error)
        return self._json

    def _explain_json(self, error: pa.ArrowInvalid) -> NoReturn:
        """Find the line that Arrow names only within a block."""
        kinds: dict[str, str] = {}
        for line, text in self._json_lines():
            try:
                row = json.loads(text)
            except ValueError as cause:
                raise DataError(
                    f"{self.path}:{line}: not JSON: {cause}", hint="JSON lines have one whole object per line"
                ) from error
            if not isinstance(row, dict):
                raise DataError(
                    f"{self.path}:{line}: not an object", hint="JSON lines have one whole object per line"
                ) from error
            for name, value in row.items():
                kind = _json_kind(value)
                if kind != "null" and kinds.setdefault(name, kind) != kind:
                    raise DataError(
                        f"{self.path}:{line}: column {name}: {value!r} is a {kind}, not a {kinds[name]}",
                        hint="give the column values of one kind",
                    ) from error
        raise DataError(f"{self.path}: {error}", hint="JSON lines have one whole object per line") from error

    def _json_lines(self) -> Iterator[tuple[int, str]]:
        with self.path.open(encoding="utf-8", errors="replace") as file:
            for line, text in enumerate(file, start=1):
                if text.strip():
                    yield line, text


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what the system and Arrow say about an unreadable file into ``DataError``."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not a text file", hint="save it as UTF-8") from error
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: {error}", hint="is the format right?") from error
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"{path}: cannot be read: {reason}", hint="check the path") from error


def _is_large(values: pa.ChunkedArray) -> bool:
    extremes = pc.min_max(values)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    return low is not None and math.isfinite(high - low) and (high >= 2.0**63 or low <= -(2.0**63))


def _integers(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Digits as unsigned numbers, or as decimals where they do not fit 64 bits or some are negative."""
    try:
        return text.cast(pa.uint64())
    except pa.ArrowInvalid:
        return text.cast(pa.decimal256(76, 0))


def _first_failure(values: pa.ChunkedArray, target: pa.DataType) -> int:
    """Row of the first value that cannot be cast, by halving: O(n) altogether."""
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            values.slice(low, middle - low).cast(target)
            low = middle
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            high = middle
    return low


def demand_header(place: str, names: Sequence[str]) -> None:
    """``DataError`` where a file that lacks a column is empty, or has another separator than the comma of CSV."""
    if not names:
        raise DataError(f"{place}: there are no columns", hint="a CSV file begins with a line of column names")
    separator = next((sign for sign in ";\t|" if len(names) == 1 and sign in names[0]), None)
    if separator is not None:
        raise DataError(
            f"{place}: its columns are separated by {separator!r}, not by commas",
            hint=f"turn it into commas first, where no value has any: tr {separator!r} , < {place}",
        )


def _way_out(target: pa.DataType) -> str:
    if pa.types.is_timestamp(target):
        return "write times alike, e.g. 2024-01-02T09:30:00.5Z, or as numbers with time_unit"
    return "correct the value, leave it empty, or read the column as text"


def _json_kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "truth value"
        case int() | float():
            return "number"
        case str():
            return "text"
        case _:
            return "structure"
