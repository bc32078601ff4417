"""Intermediate values → rows: groups get their attributes, windows their bounds, aggregates their values.

Nothing here loads kernels before it is called, and ``finish`` works without them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.codes import Decoder
from greta.engine.columns import Columns
from greta.engine.computed import compute, keeps, square_root, to_arrow, to_double
from greta.engine.tables import contiguous, take_rows, wrap_numbers
from greta.engine.values import prepare
from greta.kernels.layout import NOTHING
from greta.plan.measures import Measure
from greta.plan.nodes import Finish, Output

if TYPE_CHECKING:
    from greta.engine.frames import Stream
    from greta.engine.job import Job
    from greta.engine.partitions import Frame

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Merged:
    """Values per (group, window), each pair once."""

    group: Int
    window: Int
    adds: dict[int, NDArray[Any]]
    maxes: dict[int, NDArray[Any]]


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
    from greta.engine.partitions import join_keys, number_keys

    plan = stream.plan
    common = plan.partitioning.common
    if plan.group and not scopes and set(plan.group) < set(common):
        # The partitions' own numbers tell the groups apart.
        rows = stream.keys.example[frame.common]
        keys = join_keys(stream.keys, [common.index(name) for name in plan.group], rows)
        examples = rows[keys.example]
        taken = {name: take_rows(stream.columns.table.column(name), examples) for name in plan.group}
        return Groups(keys.codes.astype(np.int64), taken, whole=False)
    scoped = {scope.attribute for scope in plan.partitioning.scopes}
    scope_of = {plan.partitioning.scopes[s].attribute: row for row, s in enumerate(scopes)}
    values: dict[str, pa.Array] = {}
    example = stream.keys.example
    for name in plan.group:
        column = stream.columns.table.column(name)
        if name in plan.partitioning.common or name not in scoped:
            values[name] = take_rows(column, example[frame.common])
        elif name not in scope_of:
            # No trend that is long enough has a variable of the scope.
            values[name] = pa.nulls(len(frame.common), column.type)
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
    attributes = {name: take_rows(array, keys.example) for name, array in values.items()}
    return Groups(keys.codes.astype(np.int64), attributes, whole=False)


def finish(job: Job, merged: Merged, attributes: dict[str, pa.Array], decoders: dict[int, Decoder]) -> pa.Table:
    """The rows of the answer, by window and group."""
    table, keep = finish_all(job, merged, attributes, decoders)
    return table if keep is None or keep.all() else table.filter(pa.array(keep))


def finish_all(
    job: Job, merged: Merged, attributes: dict[str, pa.Array], decoders: dict[int, Decoder]
) -> tuple[pa.Table, NDArray[np.bool_] | None]:
    """(a row for each value, which of them HAVING keeps; None: all)"""
    plan, clock = job.plan, job.clock
    columns: dict[str, Any] = {}
    count = len(merged.window)
    if plan.window is not None:
        within, slide = clock.units(plan.window)
        columns["window_start"] = clock.write(merged.window * slide, plan.window)
        columns["window_end"] = clock.write(merged.window * slide + within, plan.window)
    else:
        empty = pa.nulls(count, clock.bounds_type(None))
        columns["window_start"], columns["window_end"] = empty, empty
    grouped = {name: take_rows(array, merged.group) for name, array in attributes.items()}
    outputs = {output.name: output for output in plan.outputs}
    numbers = _Rows(job, merged, decoders)
    shown = {
        name: numbers.column(outputs[name]) if name in outputs else to_arrow(numbers.of(name)) for name in plan.columns
    }
    columns |= {name: grouped[name] for name in plan.returned} | shown
    table = pa.Table.from_arrays([*columns.values()], names=[*columns])
    if plan.having is None:
        return table, None

    def values(name: str) -> pa.Array:
        if name in grouped:
            return Columns(pa.table(grouped)).attribute(name)
        return prepare(numbers.column(outputs[name])) if name in outputs else to_arrow(numbers.of(name))

    return table, keeps(plan.having, lambda name: None if name in grouped else numbers.of_output(name), values, count)


@dataclass(slots=True)
class _Rows:
    """The columns of the answer: as they are shown, and as exact numbers for what is computed from them."""

    job: Job
    merged: Merged
    decoders: dict[int, Decoder]
    _numbers: dict[str, NDArray[Any]] = field(default_factory=dict)

    def column(self, output: Output) -> pa.Array:
        """An aggregate as it is shown."""
        first = output.measures[0]
        if output.finish is Finish.EXTREME and first in self.decoders:
            return decode_extremes(self.job.plan.measures[first], self.merged.maxes[first], self.decoders[first])
        values, valid = self._values(output)
        whole = self.job.numbers == "exact" and first not in self.job.floating
        if whole and not output.finish.is_quotient:
            if valid is None or valid.all():
                return _digits(values)
            return pc.if_else(pa.array(valid), _digits(np.where(valid, values, 0)), None)
        numbers = to_doubles(values)
        # Infinite values of both signs have no sum.
        missing = np.isnan(numbers) if valid is None else np.isnan(numbers) | ~valid
        shown = wrap_numbers(numbers, pa.float64())
        return pc.if_else(pa.array(missing), None, shown) if missing.any() else shown

    def of_output(self, name: str) -> NDArray[Any] | None:
        """The numbers of a column; None where it holds something else, such as text."""
        output = next((o for o in self.job.plan.outputs if o.name == name), None)
        if output is not None and output.measures[0] in self.decoders:
            type_ = self.column(output).type
            if not (pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)):
                return None
        return self.of(name)

    def of(self, name: str) -> NDArray[Any]:
        """The numbers of an output or of a computed column."""
        if name not in self._numbers:
            self._numbers[name] = self._made(name)
        return self._numbers[name]

    def _made(self, name: str) -> NDArray[Any]:
        plan = self.job.plan
        for computed in plan.computed:
            if computed.name == name:
                return compute(computed.expression, self.of, len(self.merged.window))
        output = next(output for output in plan.outputs if output.name == name)
        if output.measures[0] in self.decoders:
            column = self.column(output)
            if pa.types.is_floating(column.type):
                numbers: NDArray[Any] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
                return numbers
            return np.array(column.to_pylist(), dtype=object)
        values, valid = self._values(output)
        if valid is None:
            return values
        if values.dtype == np.float64:
            return np.where(valid, values, np.nan)
        return np.array([v if k else None for v, k in zip(values.tolist(), valid.tolist(), strict=True)], dtype=object)

    def _values(self, output: Output) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """(numbers, where there are some; None: everywhere)"""
        merged = self.merged
        first, *others = output.measures
        match output.finish:
            case Finish.EXTREME:
                peaks = merged.maxes[first]
                some = peaks != (-np.inf if peaks.dtype == np.float64 else NOTHING)
                # Adding zero takes the sign off a zero.
                return peaks * self.job.plan.measures[first].sign + 0, some
            case Finish.COUNT:
                return merged.adds[first], None
            case Finish.SUM:
                return merged.adds[first], (merged.adds[others[0]] != 0).astype(bool)
            case Finish.MEAN:
                return _averages(merged.adds[first], merged.adds[others[0]])
            case Finish.DEVIATION:
                return _deviations(merged.adds[first], merged.adds[others[0]], merged.adds[others[1]])
            case _:
                assert_never(output.finish)


def decode_extremes(measure: Measure, codes: NDArray[Any], decode: Decoder) -> pa.Array:
    """Values of an extreme, NULL where there was none."""
    none = codes == (-np.inf if codes.dtype == np.float64 else NOTHING)
    if none.all():
        return pa.nulls(len(codes), decode(codes[:0]).type)
    plain = codes * measure.sign + 0
    if not none.any():
        return decode(plain)
    plain[none] = plain[~none][0]
    return pc.if_else(pa.array(~none), decode(plain), None)


def _averages(sums: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Exact quotients where one of the two is exact."""
    some = (values != 0).astype(bool)
    if sums.dtype == np.float64 and values.dtype == np.float64:
        with np.errstate(invalid="ignore", divide="ignore"):
            return sums / values, some
    quotients = [_divide(a, b) if b else None for a, b in zip(sums.tolist(), values.tolist(), strict=True)]
    return objects(quotients), some


def _deviations(
    squares: NDArray[Any], sums: NDArray[Any], values: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Roots of mean square minus squared mean, exact up to the root: the two may have most digits in common.

    A difference that is negative, since the sums were rounded, is none.
    """
    some = (values != 0).astype(bool)
    deviations: list[Any] = []
    for square, total, count in zip(squares.tolist(), sums.tolist(), values.tolist(), strict=True):
        if isinstance(count, float) and not math.isfinite(count):
            deviations.append(math.nan)
            continue
        square_mean, mean_value = (_divide(square, count), _divide(total, count)) if count else (None, None)
        if isinstance(square_mean, Fraction) and isinstance(mean_value, Fraction):
            deviations.append(square_root(max(square_mean - mean_value * mean_value, Fraction(0))))
        else:
            deviations.append(square_mean)
    return objects(deviations), some


def objects(values: list[Any]) -> NDArray[Any]:
    """An array of Python's own numbers."""
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _divide(a: Any, b: Any) -> Any:
    if isinstance(a, float) and not math.isfinite(a):
        return a
    return Fraction(a) / Fraction(b)


def are_doubles(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Which of some objects are doubles; most are, where a few numbers are too large for it."""
    return np.array([type(value) is float for value in column.tolist()], dtype=bool)


def to_doubles(column: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers as doubles; what is too large is infinite, what is NULL is NaN."""
    if column.dtype != object:
        return column.astype(np.float64, copy=False)
    plain = are_doubles(column)
    numbers = np.where(plain, column, math.nan).astype(np.float64)
    numbers[~plain] = [math.nan if value is None else to_double(value) for value in column[~plain]]
    return numbers


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
