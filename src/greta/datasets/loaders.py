"""Event files of any origin: Parquet, CSV or JSON lines and a column mapping in, a table of events out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from greta.datasets.files import Format, format_of
from greta.datasets.readers import Source, demand_header
from greta.errors import DataError, did_you_mean

TimeUnit = Literal["s", "ms", "us", "ns"]

_UTC = pa.timestamp("us", tz="UTC")
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_ZONED = re.compile(r"(Z|[+-]\d\d(:?\d\d)?)$")


def load(
    path: str | Path,
    *,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    time: str = "time",
    time_unit: TimeUnit | None = None,
    type_column: str = "type",
    event_type: str | None = None,
    types: Mapping[str, pa.DataType] | None = None,
    format: Format | None = None,  # noqa: A002 - the word everyone looks for
) -> pa.Table:
    """Read a file, or all files of a directory, as events: ``type``, ``time`` and attributes, in file order.

    ``DataError`` names the file, and the line or row, where something is missing or cannot be read.

    Args:
        path: A file of Parquet, CSV or JSON lines, or a directory of such files.
        columns: The attributes wanted, as ``{"price": "last_px"}`` where the file calls ``last_px`` what queries call
            ``price``, or as a list of names; by default all columns under their own names.
        time: The column with the time. Time stamps become UTC (those without a zone are taken as UTC), text is read
            as ISO 8601, numbers are plain seconds and stay as they are.
        time_unit: The unit of times that are numbers and count from the epoch: ``"s"``, ``"ms"``, ``"us"``, ``"ns"``.
        type_column: The column with the event type.
        event_type: The type of all events, where no column says it.
        types: Arrow types of attributes, where the file's own or guessed ones will not do. CSV is guessed at: numbers
            with a word among them are text, unless their type is given; then the word is an error.
        format: What the file is, where its ending does not say.
    """
    path = Path(path)
    if not path.is_dir():
        sources = [Source(path, format_of(path, format))]
    else:
        sources = [Source(file, format_of(file, format)) for file in _visible_files(path)]
    tables = [
        _events(source, columns, time, time_unit, type_column, event_type, dict(types or {})) for source in sources
    ]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"{path}: the files do not fit together: {error}", hint="name the columns' types") from error


def _visible_files(directory: Path) -> list[Path]:
    found = sorted(file for file in directory.iterdir() if file.is_file() and file.name[0] not in "._")
    if not found:
        raise DataError(f"{directory}: there are no files in it", hint="name a file, or a directory of event files")
    return found


def _events(
    source: Source,
    columns: Mapping[str, str] | Sequence[str] | None,
    time: str,
    time_unit: TimeUnit | None,
    type_column: str,
    event_type: str | None,
    types: dict[str, pa.DataType],
) -> pa.Table:
    """A source as events: type and time first, then the attributes that are wanted, under their own names."""
    names = source.names()
    special = [time] if event_type is not None else [time, type_column]
    match columns:
        case None:
            wanted = {name: name for name in names if name not in {time, type_column, "time", "type"}}
        case Mapping():
            wanted = dict(columns)
        case _:
            wanted = {name: name for name in columns}
    for reserved in ("type", "time"):
        if reserved in wanted:
            option = "type_column=... or event_type=..." if reserved == "type" else "time=..."
            raise DataError(f"{source.path}: {reserved} is not an attribute", hint=f"map it by {option}")
    for column in (*special, *wanted.values()):
        _demand_column(source, column, names)
    for attribute in types:
        if attribute not in wanted:
            guess = did_you_mean(attribute, wanted) or "name one of " + ", ".join(wanted)
            raise DataError(f"{source.path}: a type is given for {attribute}, which is not read", hint=guess)
    as_text = {*special, *(wanted[attribute] for attribute in types)}
    table = source.read([*special, *(c for c in wanted.values() if c not in special)], as_text)
    made = {
        "type": _types(source, table, type_column, event_type),
        "time": _times(source, table.column(time), time, time_unit),
    }
    for attribute, column in wanted.items():
        values = _plain(table.column(column))
        made[attribute] = source.convert(values, types[attribute], column) if attribute in types else values
    return pa.table(made)


def _demand_column(source: Source, column: str, names: list[str]) -> None:
    if column in names:
        return
    demand_header(str(source.path), names)
    option = {"time": "name the time column: time=...", "type": "give event_type=..., or type_column=..."}
    hint = did_you_mean(column, names) or option.get(column) or "map an existing column"
    raise DataError(f"{source.path}: there is no column {column}; there are {', '.join(names)}", hint=hint)


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dictionary columns as what they stand for: not every reader downstream knows dictionaries."""
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _types(source: Source, table: pa.Table, column: str, event_type: str | None) -> pa.ChunkedArray | pa.Array:
    if event_type is not None:
        return pa.repeat(pa.scalar(event_type, pa.string()), len(table))
    values = _plain(table.column(column))
    source.demand_values(values, column, "every event has a type: give event_type=..., or fill the column")
    return values.cast(pa.string())


def _times(source: Source, values: pa.ChunkedArray, column: str, unit: TimeUnit | None) -> pa.ChunkedArray:
    """Times as UTC time stamps in microseconds, or as plain numbers of seconds."""
    if unit is not None and unit not in _PER_SECOND:
        raise DataError(f"unknown time_unit {unit!r}", hint=f"use one of {', '.join(_PER_SECOND)}")
    values = _plain(values)
    source.demand_values(values, column, "every event has a time: fill the column, or leave such rows out")
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        values = _read_times(source, values, column, unit)
    kind = values.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        if unit is not None:
            raise DataError(
                f"{source.path}: column {column} holds time stamps already ({kind})", hint="leave time_unit out"
            )
        # What is finer than a microsecond is cut off: that is as fine as time gets in queries.
        return pc.cast(values if pa.types.is_timestamp(kind) else values.cast(pa.timestamp("us")), _UTC, safe=False)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise DataError(
            f"{source.path}: column {column} holds {kind}, which is no time",
            hint="time is a time stamp, ISO 8601 text or a number",
        )
    if pa.types.is_floating(kind):
        source.demand_values(
            pc.if_else(pc.is_finite(values), values, None),
            column,
            "every event has a time: leave such rows out",
        )
    if unit is None:
        return values
    if pa.types.is_integer(kind):
        return pc.cast(values.cast(pa.int64()).cast(pa.timestamp(unit)), _UTC, safe=False)
    micros = np.rint(values.cast(pa.float64()).to_numpy() * (10**6 / _PER_SECOND[unit])).astype(np.int64)
    return pa.chunked_array([pa.array(micros).cast(_UTC)])


def _read_times(source: Source, text: pa.ChunkedArray, column: str, unit: TimeUnit | None) -> pa.ChunkedArray:
    """Text as numbers or ISO 8601; what the first value is, all must be."""
    first = text[0].as_py() if len(text) else "0"
    if unit is not None and not _is_number(first) and _DATED.match(first.strip()):
        raise DataError(
            f"{source.place(0)}: column {column}: {first!r} is a time stamp, not a number of a unit since 1970",
            hint="leave time_unit out",
        )
    if unit is not None or _is_number(first):
        try:
            return text.cast(pa.int64())
        except pa.ArrowInvalid:
            return source.convert(text, pa.float64(), column)
    return source.convert(text, _UTC if _ZONED.search(first.strip()) and ":" in first else pa.timestamp("us"), column)


_DATED = re.compile(r"\d{4}-\d\d-\d\d")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
