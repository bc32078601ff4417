"""Counting trends where nothing looks back: one running total per index and window (§4.2 without edge predicates).

The same as ``sweep`` for the plainest of queries, COUNT(*) with no edge predicate: there, what ``sweep`` does besides
adding takes longer than the additions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel
from greta.kernels.layout import Automaton, Events, Lanes
from greta.kernels.sweep import largest_tick

_ONE = np.uint64(1)
_NONE = np.uint64(0)


@kernel
def count_trends(
    automaton: Automaton,
    events: Events,
    lanes: Lanes,
    partitions: NDArray[np.int64],
    largest: int,
    results: NDArray[Any],
    failed: NDArray[np.uint8],
) -> None:
    """Count the trends of every window of the given partitions: ``results[window]``, which must be zero.

    All indexes are FREE, all states have the windows' own bounds, and there is no aggregate besides the count. With
    ``largest`` above 0, partitions are marked in ``failed`` where a count exceeds it. O(1) per event, window and
    transition.
    """
    states_ptr, states = automaton.states_ptr, automaton.states
    start, end, seen = automaton.start, automaton.end, automaton.seen
    in_ptr, in_index = automaton.in_ptr, automaton.in_index
    out_ptr, out_index = automaton.out_ptr, automaton.out_index
    time, masks = events.time, events.mask
    first, last = lanes.first[0], lanes.last[0]
    most = 0
    for k in range(partitions.shape[0]):
        most = max(most, lanes.offsets[k + 1] - lanes.offsets[k])
    totals = np.zeros((automaton.index_kind.shape[0], most), dtype=results.dtype)
    rows = np.empty((1, 1), dtype=results.dtype)
    source = np.empty(1, dtype=np.int64)
    for k in range(partitions.shape[0]):
        p = partitions[k]
        begin = lanes.offsets[k]
        stop = lanes.offsets[k + 1]
        after = events.offsets[p + 1]
        vertices = largest_tick(automaton, events, events.offsets[p], after)
        for index in range(totals.shape[0]):
            for lane in range(stop - begin):
                totals[index, lane] = 0
        low = begin
        high = begin
        beyond = False
        i = events.offsets[p]
        while i < after:
            # A tick is read whole before it is added; its events are in the same windows.
            tick = time[i]
            while low < stop and last[low] <= i:
                low += 1
            high = max(high, low)
            while high < stop and first[high] <= i:
                high += 1
            if vertices > rows.shape[0] or high - low > rows.shape[1]:
                rows = np.empty((max(vertices, rows.shape[0]), max(high - low, rows.shape[1])), dtype=results.dtype)
                source = np.empty(rows.shape[0], dtype=np.int64)
            result = results[low:high]
            waiting = 0
            while i < after and time[i] == tick:
                mask = masks[i]
                variable = 0
                while mask != _NONE:
                    if mask & _ONE != _NONE:
                        for at in range(states_ptr[variable], states_ptr[variable + 1]):
                            state = states[at]
                            row = rows[waiting, : high - low]
                            for lane in range(row.shape[0]):
                                row[lane] = start[state]
                            for into in range(in_ptr[state], in_ptr[state + 1]):
                                total = totals[in_index[into], low - begin : high - begin]
                                for lane in range(row.shape[0]):
                                    row[lane] += total[lane]
                                beyond |= largest > 0 and _exceeds(row, largest)
                            if end[state] != 0 and seen[state] == events.required[p]:
                                for lane in range(row.shape[0]):
                                    result[lane] += row[lane]
                                beyond |= largest > 0 and _exceeds(result, largest)
                            source[waiting] = state
                            waiting += 1
                    mask >>= _ONE
                    variable += 1
                i += 1
            for at in range(waiting):
                row = rows[at, : high - low]
                for out in range(out_ptr[source[at]], out_ptr[source[at] + 1]):
                    total = totals[out_index[out], low - begin : high - begin]
                    for lane in range(row.shape[0]):
                        total[lane] += row[lane]
                    beyond |= largest > 0 and _exceeds(total, largest)
        if beyond:
            failed[k] = 1


@inner
def _exceeds(counts: NDArray[Any], largest: int) -> bool:
    """Whether a count is too large; asked after every addition, because a tick can bring enough of them to wrap."""
    found = False
    for lane in range(counts.shape[0]):
        found |= counts[lane] > largest
    return found
