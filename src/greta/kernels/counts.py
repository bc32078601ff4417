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
    first, last = lanes.first[0], lanes.last[0]
    most = 0
    for k in range(partitions.shape[0]):
        most = max(most, lanes.offsets[k + 1] - lanes.offsets[k])
    totals = np.zeros((automaton.index_kind.shape[0], most), dtype=results.dtype)
    rows = np.empty((1, 1), dtype=results.dtype)
    source = np.empty(1, dtype=np.int64)
    for k in range(partitions.shape[0]):
        p = partitions[k]
        begin, stop = lanes.offsets[k], lanes.offsets[k + 1]
        vertices = largest_tick(automaton, events, events.offsets[p], events.offsets[p + 1])
        open_ = _most_open(first, last, begin, stop)
        if vertices > rows.shape[0] or open_ > rows.shape[1]:
            rows = np.empty((max(vertices, rows.shape[0]), max(open_, rows.shape[1])), dtype=results.dtype)
            source = np.empty(rows.shape[0], dtype=np.int64)
        totals[:, : stop - begin] = 0
        if open_ == 1:
            beyond = _count_apart(
                automaton, events, p, first, last, begin, stop, largest, totals[:, 0], rows[:, 0], source, results
            )
        else:
            beyond = _count_overlapping(
                automaton, events, p, first, last, begin, stop, largest, totals, rows, source, results
            )
        if beyond:
            failed[k] = 1


@inner
def _most_open(first: NDArray[np.int64], last: NDArray[np.int64], begin: int, stop: int) -> int:
    """The most windows of ``[begin, stop)`` that hold one event."""
    most = 0
    low = begin
    for high in range(begin, stop):
        while low < high and last[low] <= first[high]:
            low += 1
        most = max(most, high - low + 1)
    return most


@inner
def _count_apart(
    automaton: Automaton,
    events: Events,
    partition: int,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    begin: int,
    stop: int,
    largest: int,
    totals: NDArray[Any],
    counts: NDArray[Any],
    source: NDArray[np.int64],
    results: NDArray[Any],
) -> bool:
    """Like ``_count_overlapping``, for windows that have no event in common: one number per total, no lanes.

    Loops over a single lane took as long again as all else together.
    """
    states_ptr, states = automaton.states_ptr, automaton.states
    start, end, seen = automaton.start, automaton.end, automaton.seen
    in_ptr, in_index = automaton.in_ptr, automaton.in_index
    out_ptr, out_index = automaton.out_ptr, automaton.out_index
    time, masks = events.time, events.mask
    required = events.required[partition]
    beyond = False
    for window in range(begin, stop):
        totals[:] = 0
        result = results[window]
        i = first[window]
        while i < last[window]:
            tick = time[i]
            waiting = 0
            while i < last[window] and time[i] == tick:
                mask = masks[i]
                variable = 0
                while mask != _NONE:
                    if mask & _ONE != _NONE:
                        for at in range(states_ptr[variable], states_ptr[variable + 1]):
                            state = states[at]
                            counts[waiting] = start[state]
                            for into in range(in_ptr[state], in_ptr[state + 1]):
                                counts[waiting] += totals[in_index[into]]
                                beyond |= largest > 0 and counts[waiting] > largest
                            if end[state] != 0 and seen[state] == required:
                                result += counts[waiting]
                                beyond |= largest > 0 and result > largest
                            source[waiting] = state
                            waiting += 1
                    mask >>= _ONE
                    variable += 1
                i += 1
            for at in range(waiting):
                for out in range(out_ptr[source[at]], out_ptr[source[at] + 1]):
                    totals[out_index[out]] += counts[at]
                    beyond |= largest > 0 and totals[out_index[out]] > largest
        results[window] = result
    return beyond


@inner
def _count_overlapping(
    automaton: Automaton,
    events: Events,
    partition: int,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    begin: int,
    stop: int,
    largest: int,
    totals: NDArray[Any],
    rows: NDArray[Any],
    source: NDArray[np.int64],
    results: NDArray[Any],
) -> bool:
    """Count the trends of the windows ``[begin, stop)`` of one partition; whether a count exceeded the largest."""
    states_ptr, states = automaton.states_ptr, automaton.states
    start, end, seen = automaton.start, automaton.end, automaton.seen
    in_ptr, in_index = automaton.in_ptr, automaton.in_index
    out_ptr, out_index = automaton.out_ptr, automaton.out_index
    time, masks = events.time, events.mask
    required = events.required[partition]
    after = events.offsets[partition + 1]
    low = begin
    high = begin
    beyond = False
    i = events.offsets[partition]
    while i < after:
        # A tick is read whole before it is added; its events are in the same windows.
        tick = time[i]
        while low < stop and last[low] <= i:
            low += 1
        high = max(high, low)
        while high < stop and first[high] <= i:
            high += 1
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
                        if end[state] != 0 and seen[state] == required:
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
    return beyond


@inner
def _exceeds(counts: NDArray[Any], largest: int) -> bool:
    """Whether a count is too large; asked after every addition, because a tick can bring enough of them to wrap."""
    found = False
    for lane in range(counts.shape[0]):
        found |= counts[lane] > largest
    return found
