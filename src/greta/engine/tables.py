"""Events in, whatever their form: Arrow, pandas, Polars or a list of mappings become one Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.errors import DataError, SchemaError, did_you_mean, visible
from greta.plan.nodes import AttributeType

WIDE = pa.decimal256(76, 0)
"""The type of integers that do not fit 64 bits."""

Events = Any
"""An Arrow table or record batch, a pandas or Polars frame, or a sequence of mappings."""


class SchemaKey:
    """A schema as the key of a cache."""

    __slots__ = ("schema",)

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SchemaKey) and bool(self.schema.equals(other.schema))

    def __hash__(self) -> int:
        return hash(tuple(self.schema.names))


def to_table(events: Events) -> pa.Table:
    """Read events as an Arrow table without copying columns where their owner lets us.

    Fields of structures are columns of it, under names like ``payload.price``.
    """
    table = _read(events)
    return table if _is_flat(SchemaKey(table.schema)) else opened(table)


@lru_cache(maxsize=256)
def _is_flat(columns: SchemaKey) -> bool:
    """Whether no column is a structure."""
    return not any(pa.types.is_struct(type_) for type_ in columns.schema.types)


def opened(table: pa.Table) -> pa.Table:
    """The same events with the fields of structures as columns; a column of such a name stays what it is."""
    while any(pa.types.is_struct(type_) for type_ in table.schema.types):
        flat = {field.name for field in table.schema if not pa.types.is_struct(field.type)}
        parts = [
            (name, column)
            for name, column in zip(table.column_names, table.columns, strict=True)
            if not pa.types.is_struct(column.type)
        ]
        for at, field in enumerate(table.schema):
            if pa.types.is_struct(field.type):
                fields = table.select([at]).flatten()
                parts += [(n, c) for n, c in zip(fields.column_names, fields.columns, strict=True) if n not in flat]
        table = pa.table([column for _, column in parts], names=[name for name, _ in parts])
    return table


def _read(events: Events) -> pa.Table:
    """What users have → a table; ``DataError`` for what holds no events."""
    if isinstance(events, pa.Table):
        return _without_views(events)
    if isinstance(events, pa.RecordBatch):
        return _without_views(pa.Table.from_batches([events]))
    if hasattr(events, "__arrow_c_stream__"):
        try:
            table = pa.table(events)
        except (pa.ArrowException, ValueError, TypeError) as error:
            raise DataError(
                f"the {type(events).__name__} cannot be read as a table: {visible(str(error))}",
                hint="give every column a name of its own and values of one type",
            ) from error
        # pandas would hand over its index as a column.
        index = [name for name in table.column_names if name.startswith("__index_level_")]
        return _without_views(table.drop_columns(index) if index else table)
    if isinstance(events, Iterable) and not isinstance(events, str | bytes | Mapping):
        return _from_mappings(list(events))
    if isinstance(events, str | PathLike):
        shown = visible(str(events))
        fetched = "download it, and " if "://" in shown else ""
        path = shown.rpartition("/")[2] if fetched else shown
        raise DataError(
            f"{shown} is a name, and events are wanted",
            hint=f'{fetched}read the file first: greta.datasets.load("{path}")',
        )
    raise DataError(
        f"cannot read events from {type(events).__name__}",
        hint="pass an Arrow table, a pandas or Polars frame, or a list of dicts",
    )


def _without_views(table: pa.Table) -> pa.Table:
    """Text that comes as views, as from Polars, as plain text: few functions of Arrow take views."""
    if not _has_views(SchemaKey(table.schema)):
        return table
    for at, type_ in enumerate(table.schema.types):
        if pa.types.is_string_view(plain_type(type_)):
            text = pa.dictionary(pa.int32(), pa.string()) if pa.types.is_dictionary(type_) else pa.string()
            chunks = [_without_view(chunk) for chunk in table.column(at).chunks]
            table = table.set_column(at, table.schema.names[at], pa.chunked_array(chunks, type=text))
    return table


@lru_cache(maxsize=256)
def _has_views(columns: SchemaKey) -> bool:
    return any(pa.types.is_string_view(plain_type(type_)) for type_ in columns.schema.types)


def _without_view(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int32()), array.dictionary.cast(pa.string()))
    return array.cast(pa.string())


def _from_mappings(rows: list[Any]) -> pa.Table:
    """A column per name that any mapping has, NULL where one lacks it; integers of any size up to 76 digits."""
    names: dict[str, None] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(f"event {number} is {type(row).__name__}, not a mapping of attribute to value")
        names.update(dict.fromkeys(row))
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pa.array(values)
        except UnicodeEncodeError as error:
            raise DataError(
                f"attribute {visible(str(name))} holds text that is not Unicode: {visible(str(error.object))!r}",
                hint="encode it with errors='replace' first",
            ) from error
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            if all(value is None or (type(value) is int and abs(value) < 10**WIDE.precision) for value in values):
                columns[name] = wide_integers(values)
                continue
            try:
                columns[name] = pa.array(values, type=pa.float64())
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
                kinds = sorted({type(value).__name__ for value in values if value is not None})
                raise DataError(
                    f"attribute {name} mixes values of types {', '.join(kinds)}",
                    hint="give all events one type per attribute, and None where there is no value",
                ) from error
    try:
        return pa.table(columns)
    except (UnicodeEncodeError, TypeError) as error:
        raise DataError("an attribute has a name that is no text in Unicode", hint="rename it") from error


def wide_integers(values: Sequence[int | None]) -> pa.Array:
    """Integers of up to 76 digits as an array; NULL for larger ones."""
    limit = 10**WIDE.precision
    return pa.array([None if v is None or abs(v) >= limit else Decimal(v) for v in values], type=WIDE)


def attribute_type(type_: pa.DataType) -> AttributeType | None:
    """The kind of an Arrow column, None where a query cannot use it."""
    if pa.types.is_dictionary(type_):
        return attribute_type(type_.value_type)
    if pa.types.is_boolean(type_):
        return AttributeType.BOOLEAN
    if pa.types.is_integer(type_) or pa.types.is_null(type_) or (pa.types.is_decimal(type_) and type_.scale <= 0):
        return AttributeType.INTEGER
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return AttributeType.FLOAT
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return AttributeType.TEXT
    if pa.types.is_timestamp(type_) or pa.types.is_date(type_):
        return AttributeType.TIMESTAMP
    return None


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The type of a column's values, dictionary or not."""
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def extreme_type(type_: pa.DataType) -> pa.DataType:
    """The type in which MIN and MAX return a column's values: its own, and one kind of text for all kinds."""
    type_ = plain_type(type_)
    if attribute_type(type_) is AttributeType.TEXT:
        return pa.string()
    return pa.int64() if pa.types.is_null(type_) else type_


def schema_of(schema: pa.Schema) -> dict[str, AttributeType]:
    """Names and kinds of the columns that a query may use."""
    kinds = {field.name: attribute_type(field.type) for field in schema}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def require_column(schema: pa.Schema, name: str, role: str, option: str) -> None:
    """Raise a clear error unless there is exactly one column of that name."""
    if schema.get_field_index(name) >= 0:
        return
    if name in schema.names:
        raise DataError(f"the events have {schema.names.count(name)} columns named {name!r}; one is needed")
    hint = did_you_mean(name, schema.names) or f"name the column with {option}=..."
    columns = ", ".join(schema.names[:20]) or "none"
    raise SchemaError(f"the events have no {role} column {name!r} (columns: {columns})", hint=hint)


def require_event_types(schema: pa.Schema, name: str) -> None:
    """Raise a clear error unless the type column can name event types."""
    if pa.types.is_nested(schema.field(name).type):
        raise DataError(
            f"type column {name!r} has type {schema.field(name).type}; it must hold the name of an event type",
            hint="name another column with type=..., or make it text first",
        )


def contiguous(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One array of a column, however many chunks it came in."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], type=column.type)


_NUMBERS = frozenset(
    type_.id
    for type_ in (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float32(), pa.float64()),
    )
)
"""Types whose values lie next to each other as NumPy's do."""


def take_rows(column: pa.ChunkedArray | pa.Array, rows: NDArray[np.int64]) -> pa.Array:
    """The values of some rows, as one array.

    Plain numbers are taken by NumPy: Arrow's own way costs more than the work on a few rows.
    """
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks != 1:
            return contiguous(column.take(pa.array(rows)))
        column = column.chunk(0)
    if column.type.id in _NUMBERS and not column.null_count:
        return wrap_numbers(column.to_numpy()[rows], column.type)
    return column.take(pa.array(rows))


def wrap_numbers(values: NDArray[Any], type_: pa.DataType) -> pa.Array:
    """An array without NULL over NumPy's own memory, which nobody may write to from now on.

    ``type_`` is of NumPy's width and layout, e.g. time stamps for int64.
    """
    return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def as_type(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """The array in that type, itself where it has it: a cast costs more than the work on a few events."""
    return array if array.type == type_ else array.cast(type_)


def without_nulls(array: pa.Array, value: object) -> NDArray[Any]:
    """The values, with this one in place of NULL."""
    filled = pc.fill_null(array, value) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False))
