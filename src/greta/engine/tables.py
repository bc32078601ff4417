"""Events in, whatever their form: Arrow, pandas, Polars or a list of mappings become one Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.errors import DataError, SchemaError, did_you_mean
from greta.plan.nodes import AttributeType

Events = Any
"""An Arrow table or record batch, a pandas or Polars frame, or a sequence of mappings."""


def to_table(events: Events) -> pa.Table:
    """Read events as an Arrow table without copying columns where their owner lets us."""
    if isinstance(events, pa.Table):
        return events
    if isinstance(events, pa.RecordBatch):
        return pa.Table.from_batches([events])
    if hasattr(events, "__arrow_c_stream__"):
        table = pa.table(events)
        # pandas would hand over its index as a column.
        return table.drop_columns([name for name in table.column_names if name.startswith("__index_level_")])
    if isinstance(events, Iterable) and not isinstance(events, str | bytes | Mapping):
        return _from_mappings(list(events))
    raise DataError(
        f"cannot read events from {type(events).__name__}\n"
        "hint: pass an Arrow table, a pandas or Polars frame, or a list of dicts"
    )


def _from_mappings(rows: list[Any]) -> pa.Table:
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
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            try:
                columns[name] = pa.array(values, type=pa.float64())
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                kinds = sorted({type(value).__name__ for value in values if value is not None})
                raise DataError(
                    f"attribute {name} mixes values of types {', '.join(kinds)}\n"
                    "hint: give all events one type per attribute, and None where there is no value"
                ) from error
    return pa.table(columns)


def attribute_type(type_: pa.DataType) -> AttributeType | None:
    """The kind of an Arrow column, None where a query cannot use it."""
    if pa.types.is_dictionary(type_):
        return attribute_type(type_.value_type)
    if pa.types.is_boolean(type_):
        return AttributeType.BOOLEAN
    if pa.types.is_integer(type_) or pa.types.is_null(type_):
        return AttributeType.INTEGER
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return AttributeType.FLOAT
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return AttributeType.TEXT
    if pa.types.is_timestamp(type_) or pa.types.is_date(type_):
        return AttributeType.TIMESTAMP
    return None


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
            f"type column {name!r} has type {schema.field(name).type}; it must hold the name of an event type\n"
            "hint: name another column with type=..., or make it text first"
        )


def contiguous(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One array of a column, however many chunks it came in."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], type=column.type)


def as_type(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """The array in that type, itself where it has it: a cast costs more than the work on a few events."""
    return array if array.type == type_ else array.cast(type_)


def without_nulls(array: pa.Array, value: object) -> NDArray[Any]:
    """The values, with this one in place of NULL."""
    filled = pc.fill_null(array, value) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False))
