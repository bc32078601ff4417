"""Intermediate values → rows: partitions merge into groups, windows get their bounds, aggregates their values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.codes import Decoder, double_codes
from greta.engine.columns import Columns
from greta.engine.frames import Stream
from greta.engine.pairs import pair_up
from greta.engine.partitions import Frame, number_keys
from greta.engine.run import Block
from greta.engine.tables import contiguous
from greta.engine.values import evaluate
from greta.kernels.numbers import NOTHING
from greta.kernels.sorting import argsort
from greta.plan.nodes import Output, Plan, Slot, SlotKind

if TYPE_CHECKING:
    from greta.engine.job import Job

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Merged:
    """Values per (group, window), each pair once."""

    group: Int
    window: Int
    adds: dict[int, NDArray[Any]]
    maxes: dict[int, Int]


@dataclass(frozen=True, slots=True)
class Groups:
    """Which group each partition of a frame belongs to, and what its attributes are."""

    of_partition: Int
    attributes: dict[str, pa.Array]
    """Per GROUP-BY attribute: its value per group."""
    whole: bool
    """Every partition is a group of its own."""


def group_partitions(stream: Stream, frame: Frame, scopes: tuple[int, ...]) -> Groups:
    """Number the groups of a frame's partitions."""
    plan = stream.plan
    scope_of = {plan.partitioning.scopes[s].attribute: row for row, s in enumerate(scopes)}
    values: dict[str, pa.Array] = {}
    example = stream.keys.example
    for name in plan.group:
        column = stream.columns.table.column(name)
        if name in plan.partitioning.common or name not in scope_of:
            values[name] = contiguous(column.take(pa.array(example[frame.common])))
        else:
            codes = frame.scope_values[scope_of[name]]
            rows = np.append(stream.scope_keys(name).example, 0)[codes]
            values[name] = contiguous(column.take(pa.array(rows, mask=codes < 0)))
    count = len(frame.common)
    if not plan.group:
        return Groups(np.zeros(count, dtype=np.int64), {}, whole=False)
    if set(plan.group) == set(plan.partitioning.common) and not scopes:
        return Groups(np.arange(count), values, whole=True)
    # A group may be NULL where a scope has no value: that is a group of its own. Dictionaries may hold a word twice.
    plain = [array.dictionary_decode() if pa.types.is_dictionary(array.type) else array for array in values.values()]
    keys = number_keys(plain, count, null_is_a_value=True)
    attributes = {name: array.take(pa.array(keys.example)) for name, array in values.items()}
    return Groups(keys.codes.astype(np.int64), attributes, whole=False)


def merge_block(plan: Plan, block: Block, groups: Groups) -> Merged:
    """Results of a block by (group, window); windows without a trend vanish."""
    values = block.values[0] if not plan.conjunction else pair_up(plan.slots, *block.values)
    runs = block.runs
    alive = np.flatnonzero(values.adds[0] != 0)
    lengths = (runs.last_window - runs.first_window + 1)[alive]
    rows = np.repeat(alive, lengths)
    step = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    window = runs.first_window[rows] + step
    group = groups.of_partition[runs.partition[rows]]
    merged = Merged(
        group,
        window,
        {at: column[rows] for at, column in values.adds.items()},
        {at: column[rows] for at, column in values.maxes.items()},
    )
    return merged if groups.whole else merge([merged])


def join(parts: list[Merged]) -> Merged:
    """All values of at least one part, one after another."""
    if len(parts) == 1:
        return parts[0]
    return Merged(
        np.concatenate([p.group for p in parts]),
        np.concatenate([p.window for p in parts]),
        {at: np.concatenate([p.adds[at] for p in parts]) for at in parts[0].adds},
        {at: np.concatenate([p.maxes[at] for p in parts]) for at in parts[0].maxes},
    )


def merge(parts: list[Merged]) -> Merged:
    """Add up values of equal (group, window). The order of the parts does not matter, to the last bit."""
    joined = join(parts)
    if len(joined.group) < 2:
        return joined
    order = _order(joined)
    group, window = joined.group[order], joined.window[order]
    first = np.flatnonzero(np.concatenate(([True], (group[1:] != group[:-1]) | (window[1:] != window[:-1]))))
    return Merged(
        group[first],
        window[first],
        {at: _add_up(column[order], first) for at, column in joined.adds.items()},
        {at: np.maximum.reduceat(column[order], first) for at, column in joined.maxes.items()},
    )


def _order(merged: Merged) -> Int:
    """By group and window; values of one place in an order of their own, so that rounding has one outcome."""
    columns = [column for column in merged.adds.values() if column.dtype == np.float64]
    values = [] if all(_whole(column) for column in columns) else [double_codes(column) for column in columns]
    order = np.arange(len(merged.group))
    for key in (*values, merged.window, merged.group):
        order = order[argsort(key[order])]
    return order


def _whole(column: NDArray[np.float64]) -> bool:
    """Whether any sum of these doubles is exact in any order."""
    return bool(np.abs(column).sum() < 2.0**53 and (column == np.floor(column)).all())


def _add_up(column: NDArray[Any], first: Int) -> NDArray[Any]:
    if len(first) == len(column):
        return column
    if column.dtype == np.int64 and np.abs(column.astype(np.float64)).sum() >= 2.0**62:
        column = column.astype(object)
    if column.dtype == object:
        return np.array([_total(values) for values in np.split(column, first[1:])], dtype=object)
    return np.add.reduceat(column, first)


def _total(values: NDArray[Any]) -> Any:
    """The exact sum of integers, fractions and doubles of any size; an infinite one where a double is infinite."""
    infinite = [value for value in values if isinstance(value, float) and not math.isfinite(value)]
    if infinite:
        return sum(infinite)
    return sum(Fraction(value) if isinstance(value, float) else value for value in values)


def finish(job: Job, merged: Merged, attributes: dict[str, pa.Array], decoders: dict[int, Decoder]) -> pa.Table:
    """The rows of the answer, by window and group."""
    plan, clock, numbers, floating = job.plan, job.clock, job.numbers, job.floating
    columns: dict[str, Any] = {}
    if plan.window is not None:
        within, slide = clock.units(plan.window)
        columns["window_start"] = clock.write(merged.window * slide, plan.window)
        columns["window_end"] = clock.write(merged.window * slide + within, plan.window)
    else:
        empty = pa.nulls(len(merged.window), clock.bounds_type(None))
        columns["window_start"], columns["window_end"] = empty, empty
    group = pa.array(merged.group)
    grouped = {name: array.take(group) for name, array in attributes.items()}
    write = _digits if numbers == "exact" else _doubles
    outputs = {output.name: _output(plan, output, merged, decoders, write, floating) for output in plan.outputs}
    shown = [output.name for output in plan.outputs if not output.hidden]
    table = pa.table(
        {
            **columns,
            **{name: grouped[name] for name in plan.returned},
            **{name: outputs[name] for name in shown},
        }
    )
    if plan.having is None:
        return table
    write = _comparable if numbers == "exact" else _doubles
    plain = {output.name: _output(plan, output, merged, decoders, write, floating) for output in plan.outputs}
    keep = evaluate(
        plan.having, lambda name: plain[name] if name in plain else Columns(pa.table(grouped)).attribute(name)
    )
    if isinstance(keep, pa.Scalar):
        return table if keep.as_py() else table.slice(0, 0)
    return table.filter(pc.fill_null(keep, False))


def _output(
    plan: Plan,
    output: Output,
    merged: Merged,
    decoders: dict[int, Decoder],
    write: Callable[[NDArray[Any]], pa.Array],
    floating: frozenset[int],
) -> pa.Array:
    slot = output.slots[0]
    match output.function:
        case "COUNT":
            return write(merged.adds[slot])
        case "MIN" | "MAX":
            return decode_extremes(plan.slots[slot], merged.maxes[slot], decoders[slot])
        case "SUM":
            values = merged.adds[output.slots[1]]
            result = _doubles(merged.adds[slot]) if slot in floating else write(merged.adds[slot])
            some = values != 0
            if pa.types.is_floating(result.type):
                # Infinite values of both signs have no sum.
                some = some & ~np.isnan(result.to_numpy(zero_copy_only=False))
            return pc.if_else(pa.array(some.astype(bool)), result, None)
        case "AVG":
            return _averages(merged.adds[slot], merged.adds[output.slots[1]])


def decode_extremes(slot: Slot, codes: NDArray[np.int64], decode: Decoder) -> pa.Array:
    """Values of an extreme slot, NULL where there was none."""
    none = codes == NOTHING
    if none.all():
        return pa.nulls(len(codes), decode(codes[:0]).type)
    plain = -codes if slot.kind is SlotKind.MIN else codes.copy()
    plain[none] = plain[~none][0]
    return pc.if_else(pa.array(~none), decode(plain), None)


def _averages(sums: NDArray[Any], values: NDArray[Any]) -> pa.Array:
    some = values != 0
    if sums.dtype == np.float64 and values.dtype == np.float64:
        with np.errstate(invalid="ignore", divide="ignore"):
            quotient = sums / values
    else:
        quotient = np.array(
            [_divide(a, b) if b else 0.0 for a, b in zip(sums.tolist(), values.tolist(), strict=True)],
            dtype=np.float64,
        )
    some = some.astype(bool) & ~np.isnan(quotient)
    return pc.if_else(pa.array(some), pa.array(quotient), None)


def _divide(a: Any, b: Any) -> float:
    if isinstance(a, float) and not math.isfinite(a):
        return a
    return _to_double(Fraction(a) / Fraction(b))


def _to_double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _doubles(column: NDArray[Any]) -> pa.Array:
    if column.dtype == object:
        column = np.array([_to_double(value) for value in column], dtype=np.float64)
    return pa.array(column.astype(np.float64, copy=False))


def _comparable(column: NDArray[Any]) -> pa.Array:
    """Exact numbers stay exact where all fit 64 bits."""
    if column.dtype == object and all(isinstance(value, int) and abs(value) < 2**63 for value in column):
        column = column.astype(np.int64)
    return pa.array(column) if column.dtype == np.int64 else _doubles(column)


def _digits(column: NDArray[Any]) -> pa.Array:
    if column.dtype == np.int64:
        return pa.array(column).cast(pa.string())
    return pa.array([_decimal(int(value)) for value in column], type=pa.string())


def _decimal(value: int) -> str:
    """Digits of an integer of any size; Python's own limit guards against hostile text, not against this."""
    import sys

    limit = sys.get_int_max_str_digits()
    if limit and value.bit_length() > 3 * limit:
        half = 10 ** (value.bit_length() * 3 // 20)
        sign, value = ("-", -value) if value < 0 else ("", value)
        high, low = divmod(value, half)
        return (
            sign + _decimal(high) + _decimal(low).rjust(len(_decimal(half)) - 1, "0") if high else sign + _decimal(low)
        )
    return str(value)
