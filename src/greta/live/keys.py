"""What events of a partition agree on, as tuples that tell partitions apart from push to push; and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from greta.engine.columns import Columns
from greta.engine.stream_jobs import StreamJob
from greta.engine.tables import plain_type
from greta.engine.values import prepare


def keys_of(job: StreamJob, events: pa.Table) -> list[tuple[Any, ...]]:
    """Per event: the values that its partition agrees on."""
    return values_of(job.common, events)


def values_of(names: Sequence[str], events: pa.Table) -> list[tuple[Any, ...]]:
    """Per event: its values of some attributes, as keys have them."""
    if not names:
        return [()] * events.num_rows
    columns = Columns(events)
    return list(zip(*(_values(columns.attribute(name)) for name in names), strict=True))


def _values(column: pa.Array) -> list[Any]:
    """Values that are equal exactly where a query says so: 0.0 and -0.0 are, dates and times are whole numbers."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        column = pc.add(column.cast(pa.float64()), 0.0)
    elif pa.types.is_timestamp(column.type):
        column = column.view(pa.int64())
    values: list[Any] = column.to_pylist()
    return values


def key_column(values: list[Any], type_: pa.DataType) -> pa.Array:
    """Values of a key as a column of their own type."""
    type_ = plain_type(type_)
    stored = prepare(pa.nulls(0, type_)).type
    if pa.types.is_timestamp(stored):
        # Dates, too, are told apart as instants.
        return pa.array(values, type=pa.int64()).view(stored).cast(type_)
    return pa.array(values, type=type_)
