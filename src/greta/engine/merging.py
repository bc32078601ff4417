"""Values of partitions → values of groups: what belongs to one group and window is added up, or the largest is taken.

group   0   0   1   0   1          cells   (0, 5)  (0, 6)  (1, 5)
window  5   6   5   5   5    →             3 + 7     2      1 + 4
value   3   2   1   7   4
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from greta.engine.codes import double_codes
from greta.engine.limits import require_rows
from greta.engine.pairs import pair_up
from greta.engine.results import Groups, Merged, are_doubles, objects
from greta.kernels.sorting import argsort, order_by_group, sort_slices
from greta.plan.nodes import Plan

if TYPE_CHECKING:
    from greta.engine.run import Block

Int = NDArray[np.int64]

_MOST_SORTED_BY_INSERTION = 64
"""Values of one group and window."""


def merge_block(plan: Plan, block: Block, groups: Groups) -> Merged:
    """Results of a block by (group, window); windows without a trend vanish."""
    values = block.values[0] if not plan.conjunction else pair_up(plan.measures, *block.values)
    runs = block.runs
    rows = np.flatnonzero(values.adds[0] != 0)
    window, lengths = runs.first_window[rows], (runs.last_window - runs.first_window + 1)[rows]
    total = int(lengths.sum())
    require_result(total)
    if total > len(rows):
        # A run of windows that hold the same events is a row for each of them.
        step = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        rows, window = np.repeat(rows, lengths), np.repeat(window, lengths) + step
    group = groups.of_partition[runs.partition[rows]]
    merged = Merged(
        group,
        window,
        {at: column[rows] for at, column in values.adds.items()},
        {at: column[rows] for at, column in values.maxes.items()},
    )
    return merged if groups.whole else merge([merged])


def require_result(rows: int) -> None:
    """Raise DataError where an answer of so many rows is more than may be made."""
    require_rows(rows, "the answer is too long", "let windows slide further, or ask for fewer groups")


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
    order, first = _cells(joined.group, joined.window)
    group, window = joined.group[order], joined.window[order]
    return Merged(
        group[first],
        window[first],
        {at: _add_up(column[order], first) for at, column in joined.adds.items()},
        {at: np.maximum.reduceat(column[order], first) for at, column in joined.maxes.items()},
    )


def _cells(group: Int, window: Int) -> tuple[Int, Int]:
    """(rows by group and window, where each group and window begins among them)"""
    low, groups = int(window.min()), int(group.max()) + 1
    span = int(window.max()) - low + 1
    if groups * span <= 4 * len(group) + 1024:
        cell = (group * span + (window - low)).astype(np.int32)
        offsets, order = order_by_group(cell, groups * span, np.arange(len(group)))
        return order, offsets[:-1][np.diff(offsets) > 0]
    order = argsort(window)
    order = order[argsort(group[order])]
    group, window = group[order], window[order]
    return order, np.flatnonzero(np.concatenate(([True], (group[1:] != group[:-1]) | (window[1:] != window[:-1]))))


def _in_order(column: NDArray[np.float64], first: Int) -> NDArray[np.float64]:
    """The values of each cell from the smallest to the largest, so that rounding has one outcome."""
    if _whole(column):
        return column
    lengths = np.diff(np.append(first, len(column)))
    if lengths.max() <= _MOST_SORTED_BY_INSERTION:
        sort_slices(column, first)
        return column
    by_value = argsort(double_codes(column))
    cell = np.repeat(np.arange(len(first)), lengths)
    return np.asarray(column[by_value[argsort(cell[by_value])]])


def _whole(column: NDArray[np.float64]) -> bool:
    """Whether any sum of these doubles is exact in any order."""
    with np.errstate(over="ignore"):
        return bool(np.abs(column).sum() < 2.0**53 and (column == np.floor(column)).all())


def _add_up(column: NDArray[Any], first: Int) -> NDArray[Any]:
    """The sum of each cell, whose rows begin at ``first``; as Python's numbers where one does not fit its type."""
    if len(first) == len(column):
        return column
    if column.dtype == np.int64 and np.abs(column.astype(np.float64)).sum() >= 2.0**62:
        column = column.astype(object)
    if column.dtype == object:
        return _add_up_objects(column, first)
    if column.dtype == np.int64:
        return np.asarray(np.add.reduceat(column, first))
    column = _in_order(column, first)
    with np.errstate(over="ignore", invalid="ignore"):
        sums: NDArray[np.float64] = np.add.reduceat(column, first)
        if np.isfinite(sums).all():
            return sums
        # Beside an infinite value all others are nothing; infinite values of both signs have no sum.
        infinite = ~np.isfinite(column)
        strange = np.logical_or.reduceat(infinite, first)
        sums[strange] = np.add.reduceat(np.where(infinite, column, 0.0), first)[strange]
    beyond = np.flatnonzero(~np.isfinite(sums) & ~strange)
    if not len(beyond):
        return sums
    # Doubles that overflow only when they meet: their sum is still needed for averages.
    exact = sums.astype(object)
    ends = np.append(first[1:], len(column))
    exact[beyond] = objects([_total(column[first[at] : ends[at]]) for at in beyond])
    return exact


def _add_up_objects(column: NDArray[Any], first: Int) -> NDArray[Any]:
    """The sum of each cell of Python's numbers; cells that hold doubles alone as doubles."""
    plain = are_doubles(column)
    exact = np.logical_or.reduceat(~plain, first)
    sums = _add_up(np.where(plain, column, 0.0).astype(np.float64), first).astype(object)
    ends = np.append(first[1:], len(column))
    sums[exact] = objects([_total(column[first[at] : ends[at]]) for at in np.flatnonzero(exact)])
    return sums


def _total(values: NDArray[Any]) -> Any:
    """The exact sum of integers, fractions and doubles of any size; an infinite one where a double is infinite."""
    infinite = [value for value in values if isinstance(value, float) and not math.isfinite(value)]
    if infinite:
        return sum(infinite)
    return sum(Fraction(value) if isinstance(value, float) else value for value in values)
