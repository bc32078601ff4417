"""One pass over the events of a few windows: vertices are made, linked to what came before, and forgotten."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel
from greta.kernels.indexes import Chunk, Indexes, insert, query
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
    Automaton,
    Events,
    Lanes,
)
from greta.kernels.numbers import Arena, add_result, clear, first_extreme, is_alive, start
from greta.kernels.ranks import Ranks
from greta.kernels.steps import take_steps

_ONE = np.uint64(1)
_NONE = np.uint64(0)


class Tick(NamedTuple):
    """The vertices of the current tick: they join the indexes only when it ends. One entry per vertex."""

    state: NDArray[np.int64]
    event: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """Its lanes."""
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    """Per clip: the windows that hold the current event."""


@kernel
def new_tick(vertices: int, clips: int) -> Tick:
    """Room for so many vertices."""
    return Tick(
        np.empty(vertices, dtype=np.int64),
        np.empty(vertices, dtype=np.int64),
        np.empty(vertices, dtype=np.int64),
        np.empty(vertices, dtype=np.int64),
        np.empty(clips, dtype=np.int64),
        np.empty(clips, dtype=np.int64),
    )


@inner
def largest_tick(automaton: Automaton, events: Events, first: int, last: int) -> int:
    """The most vertices that one tick can bring."""
    most = 0
    here = 0
    for i in range(first, last):
        if i == first or events.time[i] != events.time[i - 1]:
            here = 0
        mask = events.mask[i]
        variable = 0
        while mask != _NONE:
            if mask & _ONE != _NONE:
                here += automaton.states_ptr[variable + 1] - automaton.states_ptr[variable]
            mask >>= _ONE
            variable += 1
        most = max(most, here)
    return most


@inner
def sweep(
    arena: Arena,
    automaton: Automaton,
    events: Events,
    lanes: Lanes,
    indexes: Indexes,
    ranks: Ranks,
    tick: Tick,
    chunk: Chunk,
    free_row: int,
    latest: NDArray[np.float64],
) -> None:
    """Read the events of a chunk once for its windows; row 0 collects the results, rows from ``free_row`` on are scratch.

    If ``latest`` is not empty it receives, per event, the largest first extreme of a trend that ends there.
    """
    state_of, incoming, outgoing = automaton.state, automaton.incoming, automaton.outgoing
    states_ptr, states = automaton.states_ptr, automaton.states
    time, masks = events.time, events.mask
    origin = chunk.origin
    tick.lows[:] = chunk.window
    tick.highs[:] = chunk.window
    i = chunk.first
    while i < chunk.last:
        instant = time[i]
        waiting = 0
        # Every event of the tick makes its vertices from what lies before the tick.
        while i < chunk.last and time[i] == instant:
            _move_on(lanes, tick, chunk.stop, i)
            mask = masks[i]
            variable = 0
            while mask != _NONE:
                if mask & _ONE == _NONE:
                    mask >>= _ONE
                    variable += 1
                    continue
                for at in range(states_ptr[variable], states_ptr[variable + 1]):
                    state = states[at]
                    low = tick.lows[state_of[state, CLIP]] - chunk.window
                    high = tick.highs[state_of[state, CLIP]] - chunk.window
                    if low >= high:
                        continue
                    row = free_row + waiting
                    clear(arena, row, low, high)
                    if state_of[state, START] != 0:
                        start(arena, row, low, high, automaton.start_adds, automaton.start_maxes)
                        first, last = state_of[state, BEGIN_FIRST], state_of[state, BEGIN_LAST]
                        take_steps(arena, automaton, events, first, last, i, row, low, high)
                    for into in range(state_of[state, IN_FIRST], state_of[state, IN_LAST]):
                        query(
                            arena, automaton, events, indexes, ranks, incoming[into], i, origin, row, (low, high)
                        )
                    if not is_alive(arena, row, low, high):
                        continue
                    first, last = state_of[state, PART_FIRST], state_of[state, PART_LAST]
                    take_steps(arena, automaton, events, first, last, i, row, low, high)
                    if state_of[state, END] != 0 and state_of[state, SEEN] == chunk.required:
                        add_result(arena, row, low, high)
                        if latest.shape[0] > 0:
                            latest[i] = max(latest[i], first_extreme(arena, row))
                    if state_of[state, OUT_FIRST] < state_of[state, OUT_LAST]:
                        tick.state[waiting] = state
                        tick.event[waiting] = i
                        tick.low[waiting] = low
                        tick.high[waiting] = high
                        waiting += 1
                mask >>= _ONE
                variable += 1
            i += 1
        # The tick is over: its vertices may come before what follows.
        for at in range(waiting):
            state = tick.state[at]
            reached = (tick.low[at], tick.high[at])
            for out in range(state_of[state, OUT_FIRST], state_of[state, OUT_LAST]):
                insert(
                    arena, automaton, indexes, ranks, outgoing[out], tick.event[at], origin, free_row + at, reached
                )


@inner
def _move_on(lanes: Lanes, tick: Tick, stop: int, i: int) -> None:
    """Find the windows that hold event ``i``: bounds never fall from window to window, so they are next to each other."""
    for clip in range(tick.lows.shape[0]):
        low = tick.lows[clip]
        while low < stop and lanes.last[clip, low] <= i:
            low += 1
        high = max(tick.highs[clip], low)
        while high < stop and lanes.first[clip, high] <= i:
            high += 1
        tick.lows[clip] = low
        tick.highs[clip] = high
