"""The columns of a stream, fixed by its first events or in advance; later events of other forms are fitted to them.

What fits without a loss is taken: whole numbers as floating-point ones and the other way round, times in other units,
text in dictionary form, columns that are missing as NULL. All else is an error that names the column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from greta.engine.job import Job
from greta.engine.tables import attribute_type, plain_type, require_column
from greta.engine.times import Clock
from greta.errors import DataError, visible
from greta.plan.nodes import AttributeType

_NUMBERS = (AttributeType.INTEGER, AttributeType.FLOAT)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_PLAIN = _EPOCH.replace(tzinfo=None)
_MICROSECOND = timedelta(microseconds=1)
_EXACT = 2**53

Take = Callable[[Any], Any]
"""A value of a dict as the column's builder takes it; ``_UNUSUAL`` where Arrow has to look at it."""

_UNUSUAL = object()


class Columns:
    """The columns that the queries of a stream read, and events of other forms in them."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        fields = {field.name: field for job in jobs for field in job.schema}
        self.schema: pa.Schema = pa.schema(list(fields.values()))
        self.clock: Clock = jobs[0].clock
        self._time = jobs[0].time
        self._type = jobs[0].type
        self._takes: list[tuple[str, Take]] = [(field.name, _take(field.type)) for field in self.schema]
        self._instant = _instant(self.clock)
        self._other: tuple[pa.Schema, list[int]] | None = None
        """Columns of which some, at these places, are those of the stream: those of the events that came last."""

    def known(self, events: object) -> pa.Table | None:
        """Events in a table of these columns, or of the same columns as the last ones; None for others."""
        if not isinstance(events, pa.Table):
            return None
        if events.schema.equals(self.schema):
            return events
        if self._other is not None and events.schema.equals(self._other[0]):
            return events.select(self._other[1])
        return None

    def fit(self, events: pa.Table) -> pa.Table:
        """The events under these columns; ``DataError`` or ``SchemaError`` where they do not fit."""
        if (known := self.known(events)) is not None:
            return known
        require_column(events.schema, self._time, "time", "time")
        require_column(events.schema, self._type, "type", "type")
        fitted = []
        for field in self.schema:
            if events.schema.names.count(field.name) > 1:
                require_column(events.schema, field.name, "attribute", "AS")
            at = events.schema.get_field_index(field.name)
            if at < 0:
                fitted.append(pa.nulls(events.num_rows, field.type))
            else:
                fitted.append(fitted_column(events.column(at), field.type, field.name))
        places = [events.schema.get_field_index(name) for name in self.schema.names]
        if all(at >= 0 and events.schema.field(at).equals(self.schema.field(n)) for n, at in enumerate(places)):
            self._other = events.schema, places
        return pa.table(fitted, schema=self.schema)

    def row(self, event: Mapping[str, Any]) -> tuple[int, list[Any]] | None:
        """(time in the clock's units, values) of an event whose values are of the usual types; None for another."""
        instant = self._instant(event.get(self._time))
        if instant is None:
            return None
        row = []
        for name, take in self._takes:
            value = event.get(name)
            if value is not None:
                value = take(value)
                if value is _UNUSUAL:
                    return None
            row.append(value)
        return instant, row

    def table_of(self, rows: Sequence[list[Any]]) -> pa.Table:
        """Rows that ``row`` gave as a table."""
        columns = zip(*rows, strict=True)
        return pa.table(
            [pa.array(values, field.type) for values, field in zip(columns, self.schema, strict=True)],
            schema=self.schema,
        )


def plain_columns(schema: pa.Schema) -> pa.Schema:
    """The schema with text in dictionary form, and text as views, as plain text.

    Dictionaries of several tables would not go together, and few functions of Arrow take views.
    """
    types = [plain_type(field.type) for field in schema]
    plain = [pa.string() if pa.types.is_string_view(type_) else type_ for type_ in types]
    return pa.schema([pa.field(field.name, type_) for field, type_ in zip(schema, plain, strict=True)])


def fitted_column(column: pa.ChunkedArray, type_: pa.DataType, name: str) -> pa.ChunkedArray:
    """The column in that type, where nothing is lost."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.type == type_:
        return column
    if column.null_count == len(column):
        return pa.nulls(len(column), type_)
    here, there = attribute_type(column.type), attribute_type(type_)
    if here is not there and not (here in _NUMBERS and there in _NUMBERS):
        raise _misfit(name, type_, f"these events have {column.type}")
    try:
        fitted = column.cast(type_)
        if _may_round(column.type, type_) and not pc.all(_same(fitted.cast(column.type), column)).as_py():
            raise pa.ArrowInvalid("a value would be rounded")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _misfit(
            name, type_, f"these events have {column.type} that does not fit: {visible(str(error))}"
        ) from error
    return fitted


def _may_round(from_: pa.DataType, to: pa.DataType) -> bool:
    """Whether Arrow rounds without a word."""
    return bool(pa.types.is_floating(to) and (pa.types.is_decimal(from_) or pa.types.is_floating(from_)))


def _same(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.ChunkedArray:
    """Where values are the same; NaN is the same as NaN."""
    same = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return same


def _misfit(name: str, type_: pa.DataType, what: str) -> DataError:
    was = "NULL in all of the first events" if pa.types.is_null(type_) else str(type_)
    return DataError(
        f"column {visible(name)!r} of this stream is {was}, and {what}",
        hint="give the column values of one type, or name the types of all columns in advance: schema=pa.schema(...)",
    )


def _take(type_: pa.DataType) -> Take:
    """What checks a single value for a column of that type."""
    if pa.types.is_float64(type_):
        return _take_float
    if pa.types.is_int64(type_):
        return _take_integer
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return _take_text
    if pa.types.is_boolean(type_):
        return lambda value: value if type(value) is bool else _UNUSUAL
    if pa.types.is_timestamp(type_) and type_.unit == "us":
        return _take_instant
    return lambda _: _UNUSUAL


def _take_float(value: Any) -> Any:
    if type(value) is float:
        return value
    return float(value) if type(value) is int and -_EXACT <= value <= _EXACT else _UNUSUAL


def _take_integer(value: Any) -> Any:
    return value if type(value) is int and -(2**63) <= value < 2**63 else _UNUSUAL


def _take_text(value: Any) -> Any:
    # A half of a character is no text: Arrow says so.
    return value if type(value) is str and value.isascii() else _other_text(value)


def _other_text(value: Any) -> Any:
    if type(value) is not str:
        return _UNUSUAL
    try:
        value.encode()
    except UnicodeEncodeError:
        return _UNUSUAL
    return value


def _take_instant(value: Any) -> Any:
    """Microseconds since 1970; a moment without a zone is taken as UTC."""
    if type(value) is not datetime:
        return _UNUSUAL
    return (value - (_EPOCH_PLAIN if value.tzinfo is None else _EPOCH)) // _MICROSECOND


def _instant(clock: Clock) -> Callable[[Any], int | None]:
    """What reads a single time into units; None for a value that Arrow has to look at."""
    if clock.kind == "timestamp":
        if clock.unit != "us":
            return lambda _: None
        return lambda value: _take_instant(value) if type(value) is datetime else None
    if clock.kind == "whole seconds":
        return lambda value: value * 1_000 if type(value) is int and 0 <= value <= 2**52 else None
    return lambda value: round(value * 1e9) if type(value) in (float, int) and 0 <= value <= 9.2e9 else None
