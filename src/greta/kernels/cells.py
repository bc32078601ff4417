"""Values of runs of windows, brought together by group and window: each pair of the two is a *cell*.

partition   0       0       1            cells by group, then window; both partitions are of group 0
windows    [5, 6]  [7, 7]  [6, 6]        window    5    6         7
value       3       2       4            values    3    3 + 4     2
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel, part
from greta.kernels.layout import Int
from greta.kernels.sorting import sort_pairs

_FEW = 64
"""Up to so many values of a cell, sorting by insertion is fastest."""
_EXACT = 2.0**53
"""Whole doubles whose sizes add up to less have the same sum in any order."""
_ALL_BUT_SIGN = np.int64(2**63 - 1)


class MarkedRuns(NamedTuple):
    """Runs of windows, of which some count: ``[offsets[k], offsets[k + 1])`` are those of ``partitions[k]``."""

    offsets: Int
    partitions: Int
    first_window: Int
    last_window: Int
    there: NDArray[np.bool_]
    """Per run: whether it counts."""
    group_of: Int
    """Per partition: its group."""


@kernel
def count_windows(marked: MarkedRuns) -> int:
    """How many windows marked runs have."""
    count = 0
    for run in range(marked.there.shape[0]):
        if marked.there[run]:
            count += marked.last_window[run] - marked.first_window[run] + 1
    return count


@kernel
def spread_runs(marked: MarkedRuns, count: int) -> tuple[Int, Int, Int]:
    """(run, group, window) of each of the ``count`` windows of marked runs."""
    offsets, partitions, first_window, last_window, there, group_of = marked
    runs = np.empty(count, dtype=np.int64)
    groups = np.empty(count, dtype=np.int64)
    windows = np.empty(count, dtype=np.int64)
    at = 0
    for k in range(partitions.shape[0]):
        group = group_of[partitions[k]]
        for run in range(offsets[k], offsets[k + 1]):
            if there[run]:
                for window in range(first_window[run], last_window[run] + 1):
                    runs[at] = run
                    groups[at] = group
                    windows[at] = window
                    at += 1
    return runs, groups, windows


@kernel
def cells_of_runs(marked: MarkedRuns, count: int) -> tuple[Int, Int, Int, Int]:
    """The same by group and window: (runs, where each cell begins among them, group and window of each cell).

    Stable, for at least one window. Counted where there are not many more cells than windows, else sorted.
    """
    offsets, partitions, first_window, last_window, there, group_of = marked
    low, high, groups = np.int64(2**62), np.int64(-(2**62)), np.int64(0)
    for k in range(partitions.shape[0]):
        for run in range(offsets[k], offsets[k + 1]):
            if there[run]:
                low = min(low, first_window[run])
                high = max(high, last_window[run])
                groups = max(groups, group_of[partitions[k]] + 1)
    # As doubles, since windows may be so far apart that their number times that of groups does not fit 64 bits.
    if (float(high) - float(low) + 1.0) * float(groups) > 4.0 * count + 1024.0:
        spread = spread_runs(marked, count)
        return _sort_cells(spread[0], spread[1], spread[2])
    span = high - low + 1
    place = np.zeros(groups * span, dtype=np.int64)
    for k in range(partitions.shape[0]):
        base = group_of[partitions[k]] * span - low
        for run in range(offsets[k], offsets[k + 1]):
            if there[run]:
                for window in range(first_window[run], last_window[run] + 1):
                    place[base + window] += 1
    cells = 0
    for cell in range(place.shape[0]):
        cells += place[cell] > 0
    first, group_in, window_in = np.empty(cells, np.int64), np.empty(cells, np.int64), np.empty(cells, np.int64)
    total, at = 0, 0
    for cell in range(place.shape[0]):
        here = place[cell]
        place[cell] = total
        if here > 0:
            first[at] = total
            group_in[at] = cell // span
            window_in[at] = low + cell % span
            at += 1
        total += here
    taken = np.empty(count, dtype=np.int64)
    for k in range(partitions.shape[0]):
        base = group_of[partitions[k]] * span - low
        for run in range(offsets[k], offsets[k + 1]):
            if there[run]:
                for window in range(first_window[run], last_window[run] + 1):
                    taken[place[base + window]] = run
                    place[base + window] += 1
    return taken, first, group_in, window_in


@part
def _sort_cells(runs: Int, group: Int, window: Int) -> tuple[Int, Int, Int, Int]:
    """``cells_of_runs`` by sorting windows that are spread already."""
    count = runs.shape[0]
    order, keys = np.arange(count), window.copy()
    keys_too, order_too = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    sort_pairs(keys, order, keys_too, order_too, count)
    for at in range(count):
        keys[at] = group[order[at]]
    sort_pairs(keys, order, keys_too, order_too, count)
    # What was scratch becomes the answer.
    taken, first = keys_too, order_too
    cells = 0
    for at in range(count):
        row, before = order[at], order[max(at - 1, 0)]
        taken[at] = runs[row]
        if at == 0 or group[row] != group[before] or window[row] != window[before]:
            first[cells] = at
            cells += 1
    groups, windows = np.empty(cells, dtype=np.int64), np.empty(cells, dtype=np.int64)
    for cell in range(cells):
        groups[cell] = group[order[first[cell]]]
        windows[cell] = window[order[first[cell]]]
    return taken, first[:cells].copy(), groups, windows


@kernel
def add_cells(values: NDArray[np.float64], order: Int, first: Int) -> tuple[NDArray[np.float64], int]:
    """(the sum of each cell, how many sums of finite values are too large for a double).

    Cell k has the values ``values[order[first[k]:first[k + 1]]]``. They are added from the smallest to the largest, so
    that rounding has one outcome. Beside an infinite value all others are nothing; infinite ones of both signs have
    no sum.
    """
    cells, rows = first.shape[0], order.shape[0]
    longest = 0
    for k in range(cells):
        end = first[k + 1] if k + 1 < cells else rows
        longest = max(longest, end - first[k])
    sums = np.empty(cells)
    own = np.empty(longest)
    size = longest if longest > _FEW else 0
    keys, items = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    keys_too, items_too = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    beyond = 0
    for k in range(cells):
        begin, end = first[k], first[k + 1] if k + 1 < cells else rows
        count = end - begin
        strange, whole, magnitude = 0.0, True, 0.0
        finite = True
        for i in range(count):
            value = values[order[begin + i]]
            own[i] = value
            if not np.isfinite(value):
                strange = value if finite else strange + value
                finite = False
            whole = whole and value == np.floor(value)
            magnitude += abs(value)
        if not finite:
            sums[k] = strange
            continue
        if not (whole and magnitude < _EXACT):
            if count <= _FEW:
                _sort_few(own, count)
            else:
                _sort_many(own, count, keys, items, keys_too, items_too)
        total = own[0]
        for i in range(1, count):
            total += own[i]
        sums[k] = total
        if not np.isfinite(total):
            beyond += 1
    return sums, beyond


@inner
def _sort_few(values: NDArray[np.float64], count: int) -> None:
    """Sort the first values by insertion."""
    for i in range(1, count):
        value = values[i]
        j = i - 1
        while j >= 0 and values[j] > value:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value


@part
def _sort_many(values: NDArray[np.float64], count: int, keys: Int, items: Int, keys_too: Int, items_too: Int) -> None:
    """Sort the first values by integers of the same order."""
    bits = values.view(np.int64)
    for i in range(count):
        keys[i] = bits[i] ^ ((bits[i] >> 63) & _ALL_BUT_SIGN)
        items[i] = i
    sort_pairs(keys, items, keys_too, items_too, count)
    for i in range(count):
        bits[i] = keys[i] ^ ((keys[i] >> 63) & _ALL_BUT_SIGN)
