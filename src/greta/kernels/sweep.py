"""One pass over the events of a few windows: vertices are made, linked to what came before, and forgotten."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, part, small
from greta.kernels.indexes import Chunk, Extra, insert, query
from greta.kernels.layout import (
    BEGIN_FIRST,
    BEGIN_LAST,
    CLIP,
    END,
    IN_FIRST,
    IN_LAST,
    OUT_FIRST,
    OUT_LAST,
    PART_FIRST,
    PART_LAST,
    SEEN,
    START,
    Events,
    Int,
    Lanes,
    States,
    Steps,
    Weights,
)
from greta.kernels.numbers import Arena, Trace, add_result, clear, first_extreme, is_alive, record, start
from greta.kernels.ranks import Ranks
from greta.kernels.steps import take_steps

_ONE = np.uint64(1)
_NONE = np.uint64(0)


class Tick(NamedTuple):
    """The vertices of the current tick: they join the indexes only when it ends."""

    vertex: Int
    """[vertex, (state, event, first lane, one past the last lane)]"""
    lows: Int
    highs: Int
    """Per clip: the windows that hold the current event."""


@part
def new_tick(vertices: int, clips: int) -> Tick:
    """Room for so many vertices."""
    return Tick(
        np.empty((vertices, 4), dtype=np.int64), np.empty(clips, dtype=np.int64), np.empty(clips, dtype=np.int64)
    )


@inner
def largest_tick(ptr: Int, events: Events, first: int, last: int) -> int:
    """Room for the vertices that one tick can bring; ``ptr``: the states that a variable enters."""
    # One event makes a vertex per state at most.
    most = ptr[ptr.shape[0] - 1]
    i = first
    while i < last:
        instant = events.time[i]
        if i + 1 == last or events.time[i + 1] != instant:
            i += 1
            continue
        here = 0
        while i < last and events.time[i] == instant:
            mask = events.mask[i]
            variable = 0
            while mask != _NONE:
                if mask & _ONE != _NONE:
                    here += ptr[variable + 1] - ptr[variable]
                mask >>= _ONE
                variable += 1
            i += 1
        most = max(most, here)
    return int(most)


class Way(NamedTuple):
    """What a sweep reads besides the events: the automaton, and the windows."""

    states: States
    steps: Steps
    lanes: Lanes
    base: Int
    """Per index: its first row."""


@inner
def sweep(
    arena: Arena,
    way: Way,
    events: Events,
    weights: Weights,
    ranks: Ranks,
    extra: Extra | None,
    tick: Tick,
    chunk: Chunk,
    latest: NDArray[np.float64],
    trace: Trace,
) -> None:
    """Read the events of a chunk once for its windows; row 0 collects the results.

    If ``latest`` is not empty it receives, per event, the largest first extreme of a trend that ends there; a ``trace``
    with room receives every vertex.
    """
    states, steps, base = way.states, way.steps, way.base
    state_of, incoming, outgoing = states.state, states.incoming, states.outgoing
    time, masks = events.time, events.mask
    origin, free_row = chunk.origin, chunk.free_row
    tick.lows[:] = chunk.window
    tick.highs[:] = chunk.window
    i = chunk.first
    while i < chunk.last:
        instant = time[i]
        waiting = 0
        # Every event of the tick makes its vertices from what lies before the tick.
        while i < chunk.last and time[i] == instant:
            if events.stop[0] != 0:
                return
            _move_on(way.lanes, tick, chunk.stop, i)
            mask = masks[i]
            variable = 0
            while mask != _NONE:
                if mask & _ONE == _NONE:
                    mask >>= _ONE
                    variable += 1
                    continue
                for at in range(states.ptr[variable], states.ptr[variable + 1]):
                    state = states.entered[at]
                    low = tick.lows[state_of[state, CLIP]] - chunk.window
                    high = tick.highs[state_of[state, CLIP]] - chunk.window
                    if low >= high:
                        continue
                    row = free_row + waiting
                    clear(arena, row, low, high)
                    if state_of[state, START] != 0:
                        start(arena, row, low, high, steps.start_adds, steps.start_maxes)
                        first, last = state_of[state, BEGIN_FIRST], state_of[state, BEGIN_LAST]
                        if first < last:
                            take_steps(arena, steps.steps, weights, first, last, i, row, low, high)
                    for into in range(state_of[state, IN_FIRST], state_of[state, IN_LAST]):
                        query(arena, states, base, ranks, extra, incoming[into], i, origin, row, (low, high))
                    if not is_alive(arena, row, low, high):
                        continue
                    first, last = state_of[state, PART_FIRST], state_of[state, PART_LAST]
                    if first < last:
                        take_steps(arena, steps.steps, weights, first, last, i, row, low, high)
                    if trace.event.shape[0] > 0:
                        record(arena, row, trace, i, state)
                    if state_of[state, END] != 0 and state_of[state, SEEN] == chunk.required:
                        add_result(arena, row, low, high)
                        if latest.shape[0] > 0:
                            latest[i] = max(latest[i], first_extreme(arena, row))
                    if state_of[state, OUT_FIRST] < state_of[state, OUT_LAST]:
                        tick.vertex[waiting, 0] = state
                        tick.vertex[waiting, 1] = i
                        tick.vertex[waiting, 2] = low
                        tick.vertex[waiting, 3] = high
                        waiting += 1
                mask >>= _ONE
                variable += 1
            i += 1
        # The tick is over: its vertices may come before what follows.
        for at in range(waiting):
            state = tick.vertex[at, 0]
            reached = (tick.vertex[at, 2], tick.vertex[at, 3])
            for out in range(state_of[state, OUT_FIRST], state_of[state, OUT_LAST]):
                event = tick.vertex[at, 1]
                insert(arena, states, base, ranks, extra, outgoing[out], event, origin, free_row + at, reached)


@small
def _move_on(lanes: Lanes, tick: Tick, stop: int, i: int) -> None:
    """Find the windows that hold event ``i``: their bounds never fall, so these windows are next to each other."""
    for clip in range(tick.lows.shape[0]):
        low = tick.lows[clip]
        while low < stop and lanes.last[clip, low] <= i:
            low += 1
        high = max(tick.highs[clip], low)
        while high < stop and lanes.first[clip, high] <= i:
            high += 1
        tick.lows[clip] = low
        tick.highs[clip] = high
