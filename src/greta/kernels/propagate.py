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

from greta.kernels.compiler import inner, kernel, part
from greta.kernels.indexes import Chunk, Extra, needs_extra, new_extra, reset
from greta.kernels.layout import Automaton, Events, Input, Int, Lanes, Slots, Weights
from greta.kernels.numbers import Trace, clear_rows, new_trace, no_trace, room
from greta.kernels.ranks import (
    SPARSE,
    Ranks,
    Scratch,
    dense_enough,
    new_ranks,
    new_scratch,
    rank_chunk,
    rank_partition,
)
from greta.kernels.single import room_for_one
from greta.kernels.stores import Store, nothing_in, overflowed, put, word, words_of
from greta.kernels.sweep import Tick, Way, largest_tick, new_tick, sweep

_FIRST: Any = np.int64(256)
"""Rows of an arena to begin with."""
_ONE_WINDOW: Any = np.int64(1)
_INTO: Any = np.int64(1)
_BACK: Any = np.int64(0)
"""Ways to carry numbers: into the arena, and back."""


class Results(NamedTuple):
    """What a run writes, a row per window."""

    words: NDArray[Any]
    """Additive slots; words of one number lie as many columns apart as there are slots."""
    maxima: NDArray[Any]
    """Extreme slots."""
    failed: NDArray[np.uint8]
    """Per partition in question: whether a number did not fit."""


class Area(NamedTuple):
    """Work area of a run: room for the largest partition and the largest chunk."""

    whole: Ranks
    """Of a partition."""
    part: Ranks
    """Of a chunk."""
    scratch: Scratch
    tick: Tick
    codes: NDArray[np.int64]


def propagate_singly(automaton: Automaton, input_: Input, lanes: Lanes, partitions: Int, results: Results) -> None:
    """Compute every window of the given partitions in doubles, one at a time: ``propagate`` of width 1, but faster."""
    way = Way(automaton.states, automaton.steps, lanes, np.empty(len(automaton.states.indexes), dtype=np.int64))
    extra = _extra(automaton, input_, lanes, partitions, 1)
    codes = input_.operands.codes
    _propagate_singly(way, input_.events, input_.weights, codes, extra, partitions, automaton.slots, results)


def propagate(
    automaton: Automaton,
    input_: Input,
    lanes: Lanes,
    partitions: Int,
    width: int,
    blank: Store,
    results: Results,
    latest: NDArray[np.float64],
    carried: NDArray[Any],
    trace: Trace | None = None,
) -> None:
    """Compute every window of the given partitions, ``width`` lanes at a time.

    Numbers are of the kind of ``blank``. If ``latest`` is not empty it receives, per event, the largest first extreme
    of a trend that ends there (where it started, for negation). If ``carried`` is not empty, windows go on from earlier
    events: ``carried[window]`` holds the result and the total of each index so far, and is brought up to date; this
    takes an automaton whose indexes are all FREE, without extremes. A ``trace`` receives every vertex of one window.
    O(log n) per event, window and transition with one comparison; memory for the events of ``width`` windows.
    """
    way = Way(automaton.states, automaton.steps, lanes, np.empty(len(automaton.states.indexes), dtype=np.int64))
    extra = _extra(automaton, input_, lanes, partitions, width)
    codes = input_.operands.codes
    goal = Goal(automaton.slots, width, blank, results, latest, carried)
    _propagate(way, input_.events, input_.weights, codes, extra, partitions, goal, trace or new_trace(0, 0, 0))


class Goal(NamedTuple):
    """What a run computes, in which numbers, and where it goes."""

    slots: Slots
    width: int
    blank: Store
    results: Results
    latest: NDArray[np.float64]
    carried: NDArray[Any]


def _extra(automaton: Automaton, input_: Input, lanes: Lanes, partitions: Int, width: int) -> Extra | None:
    """What BOX and SCAN indexes need besides rows, if there are such."""
    if not needs_extra(automaton.states.indexes):
        return None
    largest = _largest_chunk(lanes, partitions, width)
    return new_extra(automaton, input_.operands, input_.events.mask, largest)


@part
def _new_area(way: Way, events: Events, codes: NDArray[np.int64], partitions: Int, width: int) -> Area:
    """Room for a run, made inside the kernel: from Python, every array of it would be handed over one by one."""
    rank, lanes = way.states.rank, way.lanes
    partition, vertices = 0, 0
    for k in range(partitions.shape[0]):
        begin, end = events.offsets[partitions[k]], events.offsets[partitions[k] + 1]
        partition = max(partition, end - begin)
        vertices = max(vertices, largest_tick(way.states.ptr, events, begin, end))
    largest = _largest(lanes, partitions, width)
    return Area(
        new_ranks(rank, partition, partition),
        new_ranks(rank, largest, min(SPARSE * largest, partition)),
        new_scratch(rank, partition),
        new_tick(vertices, lanes.first.shape[0]),
        codes,
    )


@kernel
def _propagate_singly(
    way: Way,
    events: Events,
    weights: Weights,
    codes: NDArray[np.int64],
    extra: Extra | None,
    partitions: Int,
    slots: Slots,
    results: Results,
) -> None:
    """See ``propagate_singly``."""
    lanes, rank = way.lanes, way.states.rank
    area = _new_area(way, events, codes, partitions, _ONE_WINDOW)
    latest, trace = np.empty(0), no_trace()
    vertices = area.tick.vertex.shape[0]
    capacity = _FIRST
    arena = room_for_one(capacity, slots)
    for k in range(partitions.shape[0]):
        begin, end = events.offsets[partitions[k]], events.offsets[partitions[k] + 1]
        if lanes.offsets[k] == lanes.offsets[k + 1]:
            continue
        rank_partition(rank, area.codes, begin, end, area.whole, area.scratch)
        for window in range(lanes.offsets[k], lanes.offsets[k + 1]):
            if events.stop[0] != 0:
                return
            first, last = _extent(lanes, window, window + 1)
            ranks, origin = area.whole, begin
            if not dense_enough(area.whole, last - first):
                rank_chunk(rank, area.whole, first - begin, last - first, area.part, area.scratch)
                ranks, origin = area.part, first
            used = reset(way.states.indexes, way.base, ranks, extra, first, last)
            if used + vertices > capacity:
                capacity = used + vertices + (used + vertices) // 2
                arena = room_for_one(capacity, slots)
            arena.store[: used * slots.adds] = 0.0
            arena.maxima[: used * slots.maxes] = -np.inf
            chunk = Chunk(window, window + 1, first, last, origin, events.required[partitions[k]], used)
            sweep(arena, way, events, weights, ranks, extra, area.tick, chunk, latest, trace)
            for slot in range(slots.adds):
                results.words[window, slot] = arena.store[slot]
            for slot in range(slots.maxes):
                results.maxima[window, slot] = arena.maxima[slot]


@kernel
def _propagate(
    way: Way,
    events: Events,
    weights: Weights,
    codes: NDArray[np.int64],
    extra: Extra | None,
    partitions: Int,
    goal: Goal,
    trace: Trace,
) -> None:
    """See ``propagate``."""
    lanes, rank = way.lanes, way.states.rank
    area = _new_area(way, events, codes, partitions, goal.width)
    results, slots, width = goal.results, goal.slots, goal.width
    vertices = area.tick.vertex.shape[0]
    capacity = _FIRST
    rows = room(goal.blank, results.maxima, capacity, width, slots)
    for k in range(partitions.shape[0]):
        begin, end = events.offsets[partitions[k]], events.offsets[partitions[k] + 1]
        if lanes.offsets[k] == lanes.offsets[k + 1]:
            continue
        rank_partition(rank, area.codes, begin, end, area.whole, area.scratch)
        for window in range(lanes.offsets[k], lanes.offsets[k + 1], width):
            if events.stop[0] != 0:
                return
            stop = min(window + width, lanes.offsets[k + 1])
            first, last = _extent(lanes, window, stop)
            if first >= last and goal.carried.shape[0] == 0:
                results.words[window:stop] = 0
                results.maxima[window:stop] = nothing_in(results.maxima)
                continue
            # Places of the whole partition, or of these events among themselves where the tree would be too sparse.
            ranks, origin = area.whole, begin
            if not dense_enough(area.whole, last - first):
                rank_chunk(rank, area.whole, first - begin, last - first, area.part, area.scratch)
                ranks, origin = area.part, first
            used = reset(way.states.indexes, way.base, ranks, extra, first, last)
            if used + vertices > capacity:
                capacity = used + vertices + (used + vertices) // 2
                rows = room(goal.blank, results.maxima, capacity, width, slots)
            clear_rows(rows, used, stop - window)
            _carry(rows.store, width, window, stop, goal.carried, _INTO)
            chunk = Chunk(window, stop, first, last, origin, events.required[partitions[k]], used)
            sweep(rows, way, events, weights, ranks, extra, area.tick, chunk, goal.latest, trace)
            _carry(rows.store, width, window, stop, goal.carried, _BACK)
            _write(rows.store, rows.maxima, width, slots, window, stop, results)
            if overflowed(rows.store):
                results.failed[k] = 1
                break


@inner
def _carry(store: Store, width: int, window: int, stop: int, carried: NDArray[Any], way: int) -> None:
    """Copy the first rows (the result, then the totals of FREE indexes) from ``carried``, or back to it."""
    if carried.shape[0] == 0:
        return
    for w in range(window, stop):
        for at in range(carried.shape[1]):
            cell = at * width + (w - window)
            if way == _INTO:
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


@kernel
def _largest_chunk(lanes: Lanes, partitions: Int, width: int) -> int:
    """``_largest`` for Python."""
    return _largest(lanes, partitions, width)


@inner
def _largest(lanes: Lanes, partitions: Int, width: int) -> int:
    """The most events that any ``width`` windows of one of the partitions span."""
    chunk = 0
    for k in range(partitions.shape[0]):
        for window in range(lanes.offsets[k], lanes.offsets[k + 1], width):
            low, high = _extent(lanes, window, min(window + width, lanes.offsets[k + 1]))
            chunk = max(chunk, high - low)
    return chunk


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
