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

from greta.engine.limits import require_rows
from greta.engine.pairs import pair_up
from greta.engine.results import Groups, Merged, are_doubles, objects
from greta.kernels.cells import MarkedRuns, add_cells, cells_of_runs, count_windows, spread_runs
from greta.plan.nodes import Plan

if TYPE_CHECKING:
    from greta.engine.run import Block

Int = NDArray[np.int64]


def merge_block(plan: Plan, block: Block, groups: Groups) -> Merged:
    """Results of a block by (group, window); windows without a trend vanish."""
    values = block.values[0] if not plan.conjunction else pair_up(plan.measures, *block.values)
    runs = block.runs
    there = np.asarray(values.adds[0] != 0, dtype=bool)
    marked = MarkedRuns(runs.offsets, runs.partitions, runs.first_window, runs.last_window, there, groups.of_partition)
    # A run of windows that hold the same events is a row for each of them.
    count = count_windows(marked)
    require_result(count)
    if not groups.whole and count:
        return _merge(values.adds, values.maxes, *cells_of_runs(marked, count), plan)
    rows, group, window = spread_runs(marked, count)
    return Merged(
        group,
        window,
        {at: column[rows] for at, column in values.adds.items()},
        {at: column[rows] for at, column in values.maxes.items()},
    )


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


def merge(parts: list[Merged], plan: Plan | None = None) -> Merged:
    """Add up values of equal (group, window). The order of the parts does not matter, to the last bit.

    With a ``plan``, counts that its answer shows as doubles alone are infinite beyond their range; sums that may still
    meet others of the opposite sign, and all sums without a plan, are then Python's own numbers.
    """
    joined = join(parts)
    count = len(joined.group)
    if count < 2:
        return joined
    # Each value is a run of one window, in a partition of its own.
    places, window = np.arange(count + 1), _for_kernels(joined.window)
    marked = MarkedRuns(places, places[:-1], window, window, np.ones(count, dtype=bool), _for_kernels(joined.group))
    return _merge(joined.adds, joined.maxes, *cells_of_runs(marked, count), plan)


def _merge(
    adds: dict[int, NDArray[Any]],
    maxes: dict[int, NDArray[Any]],
    taken: Int,
    first: Int,
    group: Int,
    window: Int,
    plan: Plan | None,
) -> Merged:
    """The values of each cell added up; a cell's are those that ``taken`` has from its ``first`` place on."""
    return Merged(
        group,
        window,
        {at: _add_up(column, taken, first, at, plan) for at, column in adds.items()},
        {at: np.maximum.reduceat(column[taken], first) for at, column in maxes.items()},
    )


def _for_kernels(column: NDArray[Any]) -> NDArray[Any]:
    """The column as kernels take it: in one piece, and not lent by Arrow, which is a type of its own to them."""
    return column if column.flags.c_contiguous and column.flags.writeable else column.copy()


def _add_up(column: NDArray[Any], taken: Int, first: Int, measure: int, plan: Plan | None) -> NDArray[Any]:
    """The sum of each cell; as Python's numbers where one does not fit its type.

    The rows of a cell are those from its place in ``first`` on, up to the next cell's, in ``taken``.
    """
    if len(first) == len(taken):
        return column[taken]
    if column.dtype == np.float64:
        sums, too_large = add_cells(_for_kernels(column), taken, first)
        if too_large and (plan is None or measure not in plan.may_be_infinite):
            return _exact_beyond(sums, column[taken], first)
        return sums
    column = column[taken]
    if column.dtype == np.int64 and np.abs(column.astype(np.float64)).sum() < 2.0**62:
        return np.asarray(np.add.reduceat(column, first))
    return _add_up_objects(column.astype(object), first)


def _exact_beyond(sums: NDArray[np.float64], column: NDArray[np.float64], first: Int) -> NDArray[Any]:
    """The same sums, exact where doubles overflowed only when they met: averages still need them."""
    beyond = np.flatnonzero(~np.isfinite(sums) & ~np.logical_or.reduceat(~np.isfinite(column), first))
    exact, ends = sums.astype(object), np.append(first[1:], len(column))
    exact[beyond] = objects([_total(column[first[at] : ends[at]]) for at in beyond])
    return exact


def _add_up_objects(column: NDArray[Any], first: Int) -> NDArray[Any]:
    """The sum of each cell of Python's numbers; cells that hold doubles alone as doubles."""
    plain = are_doubles(column)
    exact = np.logical_or.reduceat(~plain, first)
    doubles = np.where(plain, column, 0.0).astype(np.float64)
    sums = _exact_beyond(add_cells(doubles, np.arange(len(column)), first)[0], doubles, first)
    ends = np.append(first[1:], len(column))
    sums[exact] = objects([_total(column[first[at] : ends[at]]) for at in np.flatnonzero(exact)])
    return sums


def _total(values: NDArray[Any]) -> Any:
    """The exact sum of integers, fractions and doubles of any size; an infinite one where a double is infinite."""
    infinite = [value for value in values if isinstance(value, float) and not math.isfinite(value)]
    if infinite:
        return sum(infinite)
    return sum(Fraction(value) if isinstance(value, float) else value for value in values)
