"""Aggregates flow along the edges of a graph that is never built: skip-till-any-match (§4.2, Algorithm 2).

Events are read in time order, a tick at a time. The row of a new vertex is the sum of its predecessors' rows,
read from one index per incoming transition, plus its own share; when the tick ends, the row joins the indexes of
its state. Several windows are computed at once, one per lane of a row: a lane starts trends only at events of
its window and adds to its result only until the window ends.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel
from greta.kernels.indexes import Chunk, new_indexes, reset
from greta.kernels.layout import Automaton, Events, Lanes
from greta.kernels.numbers import (
    Slots,
    Store,
    clear_rows,
    nothing_in,
    overflowed,
    put,
    room,
    room_for_counts,
    word,
    words_of,
)
from greta.kernels.ranks import SPARSE, dense_enough, new_ranks, new_scratch, rank_chunk, rank_partition
from greta.kernels.sweep import largest_tick, new_tick, sweep


class Results(NamedTuple):
    """What a run writes, a row per window."""

    words: NDArray[Any]
    """Additive slots; words of one number lie as many columns apart as there are slots."""
    maxima: NDArray[Any]
    """Extreme slots."""
    failed: NDArray[np.uint8]
    """Per partition in question: whether a number did not fit."""


@kernel
def count_windows(
    automaton: Automaton, events: Events, lanes: Lanes, partitions: NDArray[np.int64], results: Results
) -> None:
    """Count the trends of every window of the given partitions in doubles, one window at a time.

    The same as ``propagate`` where a vertex holds nothing but its count.
    """
    largest, partition_events = _largest(events, lanes, partitions, 1)
    whole = new_ranks(automaton, partition_events, partition_events)
    part = new_ranks(automaton, largest, min(SPARSE * largest, partition_events))
    scratch = new_scratch(automaton, partition_events)
    indexes = new_indexes(automaton, largest)
    arena = room_for_counts(256)
    tick = new_tick(64, lanes.first.shape[0])
    latest = np.empty(0, dtype=np.float64)
    for k in range(partitions.shape[0]):
        p = partitions[k]
        begin, end = events.offsets[p], events.offsets[p + 1]
        if lanes.offsets[k] == lanes.offsets[k + 1]:
            continue
        rank_partition(automaton, events, begin, end, whole, scratch)
        vertices = largest_tick(automaton, events, begin, end)
        if vertices > tick.state.shape[0]:
            tick = new_tick(vertices, lanes.first.shape[0])
        for window in range(lanes.offsets[k], lanes.offsets[k + 1]):
            first, last = _extent(lanes, window, window + 1)
            results.words[window, 0] = 0.0
            if first >= last:
                continue
            ranks, origin = whole, begin
            if not dense_enough(whole, last - first):
                rank_chunk(automaton, whole, first - begin, last - first, part, scratch)
                ranks, origin = part, first
            chunk = Chunk(window, window + 1, first, last, origin, events.required[p])
            used = reset(automaton, events, indexes, ranks, chunk)
            if used + vertices > arena.store.shape[0]:
                arena = room_for_counts(used + vertices + (used + vertices) // 2)
            arena.store[:used] = 0.0
            sweep(arena, automaton, events, lanes, indexes, ranks, tick, chunk, used, latest)
            results.words[window, 0] = arena.store[0]


@kernel
def propagate(
    automaton: Automaton,
    events: Events,
    lanes: Lanes,
    partitions: NDArray[np.int64],
    width: int,
    blank: Store,
    results: Results,
    latest: NDArray[np.float64],
    carried: NDArray[Any],
) -> None:
    """Compute every window of the given partitions, ``width`` lanes at a time.

    Numbers are of the kind of ``blank``. If ``latest`` is not empty it receives, per event, the largest first extreme of
    a trend that ends there (where it started, for negation). If ``carried`` is not empty, windows go on from earlier
    events: ``carried[window]`` holds the result and the total of each index so far, and is brought up to date; this takes
    an automaton whose indexes are all FREE, without extremes. O(log n) per event, window and transition with one
    comparison; memory for the events of ``width`` windows.
    """
    slots = Slots(
        automaton.start_adds.shape[0],
        automaton.start_maxes.shape[0],
        automaton.carried_adds,
        automaton.carried_maxes,
    )
    largest, partition_events = _largest(events, lanes, partitions, width)
    whole = new_ranks(automaton, partition_events, partition_events)
    part = new_ranks(automaton, largest, min(SPARSE * largest, partition_events))
    scratch = new_scratch(automaton, partition_events)
    indexes = new_indexes(automaton, largest)
    capacity = 256
    rows = room(blank, results.maxima, capacity, width, slots)
    tick = new_tick(64, lanes.first.shape[0])
    for k in range(partitions.shape[0]):
        p = partitions[k]
        begin, end = events.offsets[p], events.offsets[p + 1]
        if lanes.offsets[k] == lanes.offsets[k + 1]:
            continue
        rank_partition(automaton, events, begin, end, whole, scratch)
        vertices = largest_tick(automaton, events, begin, end)
        if vertices > tick.state.shape[0]:
            tick = new_tick(vertices, lanes.first.shape[0])
        for window in range(lanes.offsets[k], lanes.offsets[k + 1], width):
            stop = min(window + width, lanes.offsets[k + 1])
            first, last = _extent(lanes, window, stop)
            if first >= last and carried.shape[0] == 0:
                results.words[window:stop] = 0
                results.maxima[window:stop] = nothing_in(results.maxima)
                continue
            # Places of the whole partition, or of these events among themselves where the tree would be too sparse.
            ranks, origin = whole, begin
            if not dense_enough(whole, last - first):
                rank_chunk(automaton, whole, first - begin, last - first, part, scratch)
                ranks, origin = part, first
            chunk = Chunk(window, stop, first, last, origin, events.required[p])
            used = reset(automaton, events, indexes, ranks, chunk)
            if used + vertices > capacity:
                capacity = used + vertices + (used + vertices) // 2
                rows = room(blank, results.maxima, capacity, width, slots)
            clear_rows(rows, used, stop - window)
            _carry(rows.store, width, slots.adds, window, stop, carried, True)
            sweep(rows, automaton, events, lanes, indexes, ranks, tick, chunk, used, latest)
            _carry(rows.store, width, slots.adds, window, stop, carried, False)
            _write(rows.store, rows.maxima, width, slots, window, stop, results)
            if overflowed(rows.store):
                results.failed[k] = 1
                break


@inner
def _carry(
    store: Store, width: int, adds: int, window: int, stop: int, carried: NDArray[Any], into: bool
) -> None:
    """Copy the first rows (the result, then the totals of FREE indexes) from ``carried``, or back to it."""
    if carried.shape[0] == 0:
        return
    for w in range(window, stop):
        for at in range(carried.shape[1]):
            cell = at * width + (w - window)
            if into:
                put(store, cell, carried[w, at])
            else:
                carried[w, at] = word(store, cell)


@inner
def _write(
    store: Store, maxima: NDArray[Any], width: int, slots: Slots, window: int, stop: int, results: Results
) -> None:
    """Write row 0 out: slots of a window next to each other, then the further words of broad numbers."""
    for limb in range(words_of(store)):
        for slot in range(slots.adds):
            for w in range(window, stop):
                at = (limb * slots.adds + slot) * width + (w - window)
                results.words[w, limb * slots.adds + slot] = word(store, at)
    for slot in range(slots.maxes):
        for w in range(window, stop):
            results.maxima[w, slot] = maxima[slot * width + (w - window)]


@inner
def _largest(events: Events, lanes: Lanes, partitions: NDArray[np.int64], width: int) -> tuple[int, int]:
    """The most events that any ``width`` windows span, and any partition holds."""
    chunk = 0
    partition = 0
    for k in range(partitions.shape[0]):
        p = partitions[k]
        partition = max(partition, events.offsets[p + 1] - events.offsets[p])
        for window in range(lanes.offsets[k], lanes.offsets[k + 1], width):
            low, high = _extent(lanes, window, min(window + width, lanes.offsets[k + 1]))
            chunk = max(chunk, high - low)
    return chunk, partition


@inner
def _extent(lanes: Lanes, window: int, stop: int) -> tuple[int, int]:
    """The events that at least one of the windows ``[window, stop)`` holds."""
    low = lanes.first[0, window]
    high = low
    started = False
    for clip in range(lanes.first.shape[0]):
        for w in range(window, stop):
            if lanes.first[clip, w] < lanes.last[clip, w]:
                if not started:
                    low = lanes.first[clip, w]
                    high = lanes.last[clip, w]
                    started = True
                else:
                    low = min(low, lanes.first[clip, w])
                    high = max(high, lanes.last[clip, w])
    return low, high
