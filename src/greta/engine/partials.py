"""Results on their way between processes: rows of intermediate values that merge in any order.

A partial row holds a window's number, the GROUP-BY attributes, and per slot a number: as a plain column, and as
text (hexadecimal fraction) where it does not fit one. Backends compute partials next to the data, bring equal
groups together by any means, and finish them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.aggregate import decoders, merged_groups
from greta.engine.codes import Decoder, encode
from greta.engine.frames import Cut, Stream
from greta.engine.partitions import number_keys
from greta.engine.results import Merged, decode_extremes, finish, merge
from greta.engine.run import Numbers
from greta.engine.tables import attribute_type, contiguous
from greta.engine.times import Clock
from greta.engine.values import prepare
from greta.kernels.numbers import NOTHING
from greta.plan.nodes import AttributeType, Plan, SlotKind

WINDOW = "window"
_EXTREMES = (SlotKind.MIN, SlotKind.MAX)


def attribute_arrow_type(type_: pa.DataType) -> pa.DataType:
    """The type in which an attribute of this type is returned by MIN and MAX."""
    return prepare(pa.chunked_array([], type=type_)).type


def output_schema(plan: Plan, schema: pa.Schema, time: str, numbers: Numbers) -> pa.Schema:
    """Names and types of the answer's columns, known before any event is read."""
    bounds = Clock.of(schema.field(time).type, time).bounds_type(plan.window)
    fields = [pa.field("window_start", bounds), pa.field("window_end", bounds)]
    fields += [pa.field(name, plain_type(schema.field(name).type)) for name in plan.returned]
    for output in plan.outputs:
        if output.hidden:
            continue
        type_ = pa.float64()
        if output.function in ("MIN", "MAX"):
            type_ = attribute_arrow_type(schema.field(output.attribute).type)
        elif numbers == "exact" and output.function != "AVG" and not _floating(plan, output.slots[0], schema):
            type_ = pa.string()
        fields.append(pa.field(output.name, type_))
    return pa.schema(fields)


def partial_schema(plan: Plan, schema: pa.Schema, numbers: Numbers) -> pa.Schema:
    """Names and types of partial rows."""
    fields = [pa.field(WINDOW, pa.int64())]
    fields += [pa.field(f"group_{at}", plain_type(schema.field(name).type)) for at, name in enumerate(plan.group)]
    for at, slot in enumerate(plan.slots):
        if slot.kind in _EXTREMES:
            fields.append(pa.field(f"slot_{at}", attribute_arrow_type(schema.field(slot.attribute).type)))
        else:
            whole = numbers == "exact" and not _floating(plan, at, schema)
            fields.append(pa.field(f"slot_{at}", pa.int64() if whole else pa.float64()))
            fields.append(pa.field(f"wide_{at}", pa.string()))
    return pa.schema(fields)


def partials(
    plan: Plan,
    table: pa.Table,
    *,
    time: str,
    type: str,  # noqa: A002
    numbers: Numbers,
    cut: Cut | None = None,
) -> pa.Table:
    """Partial rows of one table of events: each (group, window) at most once."""
    stream = Stream.of(plan, table, time, type, cut)
    merged, groups = merged_groups(stream, numbers)
    schema = partial_schema(plan, table.schema, numbers)
    return write_partials(plan, schema, merged, groups.attributes, decoders(stream))


def write_partials(
    plan: Plan, schema: pa.Schema, merged: Merged, attributes: dict[str, pa.Array], ways: dict[int, Decoder]
) -> pa.Table:
    """Values per group and window as partial rows."""
    columns: list[pa.Array] = [pa.array(merged.window)]
    index = pa.array(merged.group)
    columns += [
        _cast(attributes[name].take(index), schema.field(f"group_{at}").type) for at, name in enumerate(plan.group)
    ]
    for at, slot in enumerate(plan.slots):
        if slot.kind in _EXTREMES:
            columns.append(decode_extremes(slot, merged.maxes[at], ways[at]).cast(schema.field(f"slot_{at}").type))
        else:
            columns += _write_numbers(merged.adds[at], schema.field(f"slot_{at}").type)
    return pa.table(columns, schema=schema)


def finish_partials(plan: Plan, schema: pa.Schema, parts: pa.Table, *, time: str, numbers: Numbers) -> pa.Table:
    """The answer from partial rows; ``schema`` is that of the events. Equal groups must all be in ``parts``."""
    names = [f"group_{at}" for at in range(len(plan.group))]
    keys = number_keys([prepare(parts.column(name)) for name in names], parts.num_rows, null_is_a_value=True)
    adds: dict[int, NDArray[Any]] = {}
    maxes: dict[int, NDArray[np.int64]] = {}
    ways: dict[int, Decoder] = {}
    for at, slot in enumerate(plan.slots):
        column = parts.column(f"slot_{at}")
        if slot.kind in _EXTREMES:
            codes, ways[at] = encode(prepare(column))
            maxes[at] = np.where(codes == NOTHING, NOTHING, -codes) if slot.kind is SlotKind.MIN else codes
        else:
            adds[at] = _read_numbers(column, parts.column(f"wide_{at}"))
    window = prepare(parts.column(WINDOW)).to_numpy(zero_copy_only=False)
    merged = merge([Merged(keys.codes.astype(np.int64), window, adds, maxes)])
    example = pa.array(keys.example)
    attributes = {
        name: _cast(contiguous(parts.column(f"group_{at}").take(example)), plain_type(schema.field(name).type))
        for at, name in enumerate(plan.group)
    }
    floating = {at for at in range(len(plan.slots)) if _floating(plan, at, schema)}
    clock = Clock.of(schema.field(time).type, time)
    rows = finish(plan, clock, merged, attributes, ways, numbers, floating)
    return rows.cast(output_schema(plan, schema, time, numbers))


def _floating(plan: Plan, at: int, schema: pa.Schema) -> bool:
    slot = plan.slots[at]
    return slot.kind is SlotKind.SUM and attribute_type(schema.field(slot.attribute).type) is not AttributeType.INTEGER


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The type of a column's values, dictionary or not."""
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return array if array.type == type_ else array.cast(type_)


def _write_numbers(column: NDArray[Any], type_: pa.DataType) -> list[pa.Array]:
    if column.dtype != object:
        return [
            pa.array(column.astype(type_.to_pandas_dtype(), copy=False)),
            pa.nulls(len(column), pa.string()),
        ]
    plain: list[Any] = []
    wide: list[str | None] = []
    for value in column.tolist():
        kept = _fits(value, type_)
        plain.append(kept)
        wide.append(None if kept is not None else _hexadecimal(Fraction(value)))
    return [pa.array(plain, type=type_), pa.array(wide, type=pa.string())]


def _fits(value: Any, type_: pa.DataType) -> Any:
    if type_ == pa.int64():
        return int(value) if -(2**63) < value < 2**63 else None
    if isinstance(value, float):
        return value
    try:
        return float(value) if Fraction(float(value)) == value else None
    except OverflowError:
        return None


def _hexadecimal(value: Fraction) -> str:
    return f"{value.numerator:x}/{value.denominator:x}"


def _read_numbers(column: pa.ChunkedArray, wide: pa.ChunkedArray) -> NDArray[Any]:
    if wide.null_count == len(wide):
        return np.asarray(contiguous(column).to_numpy(zero_copy_only=False))
    result = np.array(column.to_pylist(), dtype=object)
    for row, text in enumerate(wide.to_pylist()):
        if text is not None:
            numerator, denominator = text.split("/")
            value = Fraction(int(numerator, 16), int(denominator, 16))
            result[row] = value.numerator if value.denominator == 1 else value
    return result
