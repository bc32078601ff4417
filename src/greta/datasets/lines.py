"""Blocks of JSON lines or CSV, as a pipe gives them → tables of events, all under the same columns and types.

The first lines tell the types. Text has none, so that a later line may not fit: it is named by its number, or left out
and counted. Whole blocks are read by Arrow; lines are only looked at one by one where a block cannot be read.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import islice
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
from numpy.typing import NDArray

from greta.datasets.line_times import read_times, times_type
from greta.datasets.loaders import TimeUnit
from greta.datasets.structures import Path, flattened, nested, opened
from greta.errors import DataError, GretaWarning, did_you_mean, visible, warn

LineFormat = Literal["jsonl", "csv"]

_LOOKED_AT = 200
"""Lines that tell the types of columns."""
_NULLS = ("", "NULL", "null")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is read of each line."""

    time: str
    type: str
    attributes: tuple[str, ...]
    whole: frozenset[str]
    """Attributes whose whole numbers stay integers; those of others are doubles, as later ones may have fractions."""
    keys: frozenset[str]
    """Attributes that events are only told apart by."""
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    """Types that were named in advance."""
    time_unit: TimeUnit | None = None

    @property
    def columns(self) -> list[str]:
        """Every column that is read, once."""
        return list(dict.fromkeys([self.type, self.time, *self.attributes]))


class EventLines:
    """Reads blocks of whole lines, one after another."""

    def __init__(self, wanted: Wanted, format_: LineFormat | None, *, skip: bool, name: str) -> None:
        self.wanted = wanted
        self.skip = skip
        self.name = name
        self.lines = 0
        """Lines read so far."""
        self.skipped = 0
        """Lines that could not be read and were left out."""
        self._format = format_
        self._header: list[str] | None = None
        self._header_line = b""
        self._schema: pa.Schema | None = None
        self._paths: dict[str, Path] = {}
        """Where in a line of JSON the columns are."""

    def read(self, block: bytes) -> pa.Table | None:
        """The events of a block, None where it has none; ``DataError`` names a line that cannot be read."""
        first = self.lines + 1
        self.lines += block.count(b"\n") + (not block.endswith(b"\n"))
        if not block.strip():
            return None
        if self._format is None:
            self._format = "jsonl" if block.lstrip()[:1] == b"{" else "csv"
        lines = _Block(block, first)
        if self._format == "csv":
            lines = self._without_header(lines)
        if not lines.text.strip():
            return None
        if self._schema is None:
            self._schema = self._learned(lines)
        try:
            table = self._parsed(lines.text)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            lines = self._sifted(lines, error)
            if not lines.text.strip():
                return None
            table = self._parsed(lines.text)
        return self._with_times(table, lines)

    def _without_header(self, lines: _Block) -> _Block:
        """The block without the line that names the columns: the first of all, and that of a file begun anew."""
        text = lines.text
        if self._header is None:
            while text.startswith((b"\n", b"\r\n")):
                text = text.partition(b"\n")[2]
            self._header_line = text.partition(b"\n")[0].rstrip(b"\r")
            row = next(csv.reader([self._header_line.decode("utf-8-sig", "replace")]), [])
            self._header = [name.strip() for name in row]
            self._require_columns(self._header)
        if self._header_line not in text:
            return lines
        return _Block(
            text, lines.first, [at for at, line in lines.numbered() if line.rstrip(b"\r") != self._header_line]
        )

    def _require_columns(self, names: Sequence[str]) -> None:
        for name in self.wanted.columns:
            if name not in names:
                self._lacks(name, names)

    def _lacks(self, name: str, names: Sequence[str]) -> None:
        options = {self.wanted.time: "--time", self.wanted.type: "--type"}
        hint = did_you_mean(name, names) or (
            f"name the column with {options[name]}" if name in options else "name the columns in the first line"
        )
        there = ", ".join(visible(str(each)) for each in names[:20]) or "none"
        raise DataError(f"{self.name}: the events have no column {name!r} (columns: {there})", hint=hint)

    def _learned(self, lines: _Block) -> pa.Schema:
        """Names and types of the columns, by the first lines that can be read."""
        rows = list(islice(self._rows(lines), _LOOKED_AT))
        values = {name: [row[name] for row in rows if row.get(name) is not None] for name in self.wanted.columns}
        names = list(dict.fromkeys(name for row in rows for name in row))
        for name in (self.wanted.time, self.wanted.type):
            if rows and name not in names:
                self._lacks(name, names)
        for name in self.wanted.columns:
            if name not in names and any(other.startswith(f"{name}.") for other in names):
                self._lacks(name, names)
        fields = []
        for name in self.wanted.columns:
            if name == self.wanted.time:
                type_ = times_type(values[name], self.wanted.time_unit)
            elif name == self.wanted.type:
                type_ = pa.string()
            elif name in self.wanted.types:
                type_ = self.wanted.types[name]
            else:
                type_ = self._type_of(name, values[name])
                if name not in names:
                    word = "text" if pa.types.is_string(type_) else "a number"
                    warn(
                        GretaWarning(
                            f"the first lines have no column {name!r}, which is taken for {word}",
                            hint=did_you_mean(name, names) or f"name its type: --schema '{name} DOUBLE'",
                        )
                    )
            fields.append(pa.field(name, type_))
        return pa.schema(fields)

    def _type_of(self, name: str, values: Sequence[Any]) -> pa.DataType:
        """The type of an attribute: that of its first value; a key of CSV is text where some of its values are."""
        if not values:
            return pa.string() if name in self.wanted.keys else pa.float64()
        if self._format == "csv" and name in self.wanted.keys and any(isinstance(value, str) for value in values):
            return pa.string()
        match values[0]:
            case bool():
                return pa.bool_()
            case int() | float():
                whole = name in self.wanted.whole and not any(isinstance(value, float) for value in values)
                return pa.int64() if whole else pa.float64()
            case _:
                return pa.string()

    def _parsed(self, text: bytes) -> pa.Table:
        assert self._schema is not None
        size = len(text) + 1
        if self._format == "jsonl":
            schema = nested({self._path(column.name): column.type for column in self._schema})
            table = pyarrow.json.read_json(
                pa.BufferReader(text),
                read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=size),
                parse_options=pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
            return opened(table, self._schema.names)
        return pyarrow.csv.read_csv(
            pa.BufferReader(text),
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=size, column_names=self._header),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=self._schema.names,
                column_types=self._schema,
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=list(_NULLS),
            ),
        )

    def _rows(self, lines: _Block) -> Iterator[dict[str, Any]]:
        """The lines that are rows by their form, with values of Python."""
        for _, line in lines.numbered():
            row = self._row(line)
            if isinstance(row, dict):
                yield row

    def _row(self, line: bytes) -> dict[str, Any] | str:
        """A line's values, or what is wrong with it."""
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return "not text in UTF-8"
        if self._format == "jsonl":
            try:
                row = json.loads(text)
            except (ValueError, RecursionError) as error:
                return f"not JSON: {error}"
            return self._opened(row) if isinstance(row, dict) else "not an object"
        assert self._header is not None
        fields = next(csv.reader(StringIO(text)), [])
        if len(fields) != len(self._header):
            return f"{len(fields)} fields under {len(self._header)} columns"
        return {name: _guessed(word) for name, word in zip(self._header, fields, strict=True)}

    def _opened(self, row: dict[str, Any]) -> dict[str, Any]:
        """An object with the fields of structures under names like ``payload.price``; notes where they were."""
        values: dict[str, Any] = {}
        for path, value in sorted(flattened(row).items(), key=lambda item: len(item[0])):
            name = ".".join(path)
            if name not in values:
                values[name] = value
                self._paths.setdefault(name, path)
        return values

    def _path(self, name: str) -> Path:
        """Where a column is; of one that no line has shown yet, dots lead into structures."""
        return self._paths.get(name) or tuple(name.split("."))

    def _sifted(self, lines: _Block, error: Exception) -> _Block:
        """The block without the lines that cannot be read; ``DataError`` at the first where none may be skipped."""
        assert self._schema is not None
        good = []
        for number, line in lines.numbered():
            row = self._row(line)
            wrong = row if isinstance(row, str) else self._no_object(row) or _misfit(row, self._schema, self._format)
            if wrong is None:
                good.append(number)
            else:
                self._refuse(number, wrong, error)
        if len(good) == len(list(lines.numbered())):
            raise DataError(f"{self.name}: {visible(str(error))}", hint="is it JSON lines, or CSV?") from error
        return _Block(lines.text, lines.first, good)

    def _no_object(self, row: Mapping[str, Any]) -> str | None:
        """What stands in a line of JSON where other lines have an object with columns in it."""
        if self._format == "csv":
            return None
        assert self._schema is not None
        for column in self._schema.names:
            path = self._path(column)
            for depth in range(1, len(path)):
                if (value := row.get(".".join(path[:depth]))) is not None:
                    return f"column {'.'.join(path[:depth])}: {value!r} is not an object"
        return None

    def _refuse(self, line: int, wrong: str, error: Exception | None = None) -> None:
        if not self.skip:
            raise DataError(
                f"{self.name}:{line}: {visible(wrong)}",
                hint="mend the line, name types with --schema, or leave such lines out: --bad-records skip",
            ) from error
        self.skipped += 1

    def _with_times(self, table: pa.Table, lines: _Block) -> pa.Table:
        """The table with its times read; rows without one are refused or left out."""
        at = table.schema.get_field_index(self.wanted.time)
        times, good = read_times(table.column(at), self.wanted.time_unit)
        if not good.all():
            self._refuse_times(table.column(at), good, lines)
            table, times = table.filter(pa.array(good)), times.filter(pa.array(good))
        return table.set_column(at, self.wanted.time, times)

    def _refuse_times(self, column: pa.ChunkedArray, good: NDArray[np.bool_], lines: _Block) -> None:
        numbers = [number for number, _ in lines.numbered()]
        for row in np.flatnonzero(~good).tolist():
            value = column[row].as_py()
            what = "is NULL" if value is None else f"is {value!r}, which is no time"
            self._refuse(numbers[row], f"column {self.wanted.time} {what}")


class _Block:
    """Whole lines with their numbers; only lines of some numbers count where these are given."""

    def __init__(self, text: bytes, first: int, only: Iterable[int] | None = None) -> None:
        self.first = first
        self._only = None if only is None else set(only)
        self._text = text
        self.text = text if only is None else b"".join(line + b"\n" for _, line in self.numbered())

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are not blank."""
        for number, line in enumerate(self._text.split(b"\n"), start=self.first):
            if line.strip() and (self._only is None or number in self._only):
                yield number, line


def _guessed(word: str) -> Any:
    """A field of CSV as what it looks like."""
    if word in _NULLS:
        return None
    for read in (int, float):
        try:
            return read(word)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(word.lower(), word)


def _misfit(row: Mapping[str, Any], schema: pa.Schema, format_: LineFormat | None) -> str | None:
    """What does not fit the columns; None where all does."""
    for column in schema:
        value = row.get(column.name)
        if value is None or (format_ == "csv" and pa.types.is_string(column.type)) or _fits(value, column.type):
            continue
        return f"column {column.name}: {value!r} is not {_word(column.type)}"
    return None


def _fits(value: Any, type_: pa.DataType) -> bool:
    if pa.types.is_boolean(type_):
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if pa.types.is_integer(type_):
        return isinstance(value, int) and -(2**63) <= value < 2**63
    if pa.types.is_floating(type_):
        return isinstance(value, int | float)
    if not isinstance(value, str):
        return False
    try:
        pa.scalar(value).cast(type_)
    except pa.ArrowInvalid:
        return False
    return True


def _word(type_: pa.DataType) -> str:
    if pa.types.is_boolean(type_):
        return "true or false"
    if pa.types.is_integer(type_):
        return "a whole number"
    return "a number" if pa.types.is_floating(type_) else "text" if pa.types.is_string(type_) else str(type_)
