"""Skip-till-next-match and contiguous: a vertex links only to those of one earlier tick (paper, Table of semantics).

Under next, that is the last tick with a matched event; under contiguous, the last tick of the partition. Only its
vertices are kept, so windows are computed one by one in O(events × vertices of a tick).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel
from greta.kernels.conditions import STACK, linked
from greta.kernels.layout import Automaton, Events, Lanes
from greta.kernels.numbers import (
    Rows,
    Store,
    add_one,
    add_span,
    clear,
    overflowed,
    room,
    span,
    word,
)
from greta.kernels.sweep import largest_tick, take_part

_ONE = np.uint64(1)
_NONE = np.uint64(0)

CONTIGUOUS = 0
"""Every tick of the partition ends what came before it."""
NEXT = 1
"""A tick with a matched event does."""
GIVEN = 2
"""A tick with an event marked in ``matched`` does."""


@kernel
def nearest(
    automaton: Automaton,
    events: Events,
    lanes: Lanes,
    window: int,
    required: int,
    rule: int,
    matched: NDArray[np.uint8],
    blank: Store,
    words: NDArray[Any],
    maxima: NDArray[np.int64],
) -> bool:
    """Compute one window; whether a number did not fit.

    Under NEXT, if ``matched`` is not empty, matched events are marked in it.
    """
    adds = automaton.adds.shape[0]
    maxes = automaton.maxes.shape[0]
    first = lanes.first[0, window]
    last = first
    for clip in range(lanes.first.shape[0]):
        if lanes.first[clip, window] < lanes.last[clip, window]:
            if last == first:
                first = lanes.first[clip, window]
                last = lanes.last[clip, window]
            else:
                first = min(first, lanes.first[clip, window])
                last = max(last, lanes.last[clip, window])
    most = largest_tick(automaton, events, first, last)
    rows = room(blank, 1 + 2 * most, 1, adds, maxes)
    whole = span(rows, 0, 1)
    clear(rows, 0, 1)
    state_of = np.empty((2, most), dtype=np.int64)
    event_of = np.empty((2, most), dtype=np.int64)
    stack = np.empty(STACK, dtype=np.float64)
    old = 0
    old_size = 0
    i = first
    while i < last:
        tick = events.time[i]
        new = 1 - old
        new_size = 0
        marked = False
        while i < last and events.time[i] == tick:
            before = new_size
            mask = events.mask[i]
            variable = 0
            while mask != _NONE:
                if mask & _ONE != _NONE:
                    for at in range(automaton.states_ptr[variable], automaton.states_ptr[variable + 1]):
                        state = automaton.states[at]
                        clip = automaton.clip[state]
                        if i < lanes.first[clip, window] or i >= lanes.last[clip, window]:
                            continue
                        row = 1 + new * most + new_size
                        clear(rows, row, row + 1)
                        if _link_up(
                            automaton,
                            events,
                            rows,
                            state,
                            i,
                            row,
                            state_of[old],
                            event_of[old],
                            old_size,
                            1 + old * most,
                            stack,
                        ):
                            take_part(automaton, events, rows, state, i, row, 0, 1)
                            if automaton.end[state] != 0 and automaton.seen[state] == required:
                                add_span(rows.store, rows.maxima, whole, 0, row)
                            state_of[new, new_size] = state
                            event_of[new, new_size] = i
                            new_size += 1
                mask >>= _ONE
                variable += 1
            if rule == GIVEN:
                marked = marked or matched[i] != 0
            elif new_size > before:
                marked = True
                if matched.shape[0] > 0:
                    matched[i] = 1
            i += 1
        if marked or rule == CONTIGUOUS:
            old = new
            old_size = new_size
    for at in range(rows.words):
        words[window, at] = word(rows.store, at)
    for x in range(maxes):
        maxima[window, x] = rows.maxima[x]
    return overflowed(rows.store)


@inner
def _link_up(
    automaton: Automaton,
    events: Events,
    rows: Rows,
    state: int,
    i: int,
    row: int,
    state_of: NDArray[np.int64],
    event_of: NDArray[np.int64],
    size: int,
    base: int,
    stack: NDArray[np.float64],
) -> bool:
    """Sum the kept vertices that link to event ``i`` in ``state``; whether a trend starts or goes on there."""
    alive = False
    whole = span(rows, 0, 1)
    if automaton.start[state] != 0:
        add_one(rows.store, row * rows.words, 1, rows.adds)
        alive = True
    for into in range(automaton.in_ptr[state], automaton.in_ptr[state + 1]):
        index = automaton.in_index[into]
        for at in range(size):
            if state_of[at] == automaton.index_source[index] and linked(
                automaton, events, automaton.index_link[index], event_of[at], i, stack
            ):
                add_span(rows.store, rows.maxima, whole, row, base + at)
                alive = True
    return alive


@kernel
def nearest_all(
    automaton: Automaton,
    events: Events,
    lanes: Lanes,
    partitions: NDArray[np.int64],
    rule: int,
    blank: Store,
    words: NDArray[Any],
    maxima: NDArray[np.int64],
    failed: NDArray[np.uint8],
) -> None:
    """Compute every window of the given partitions."""
    unmarked = np.empty(0, dtype=np.uint8)
    for k in range(partitions.shape[0]):
        required = events.required[partitions[k]]
        for window in range(lanes.offsets[k], lanes.offsets[k + 1]):
            if nearest(automaton, events, lanes, window, required, rule, unmarked, blank, words, maxima):
                failed[k] = 1


@kernel
def nearest_of_both(
    left: Automaton,
    right: Automaton,
    both: Automaton,
    events: Events,
    left_lanes: Lanes,
    right_lanes: Lanes,
    lanes: Lanes,
    partitions: NDArray[np.int64],
    blank: Store,
    words: NDArray[Any],
    maxima: NDArray[np.int64],
    failed: NDArray[np.uint8],
) -> None:
    """Trends of two patterns at once under NEXT: what either of them matches ends what came before it."""
    matched = np.zeros(events.time.shape[0], dtype=np.uint8)
    scrap = np.empty_like(words)
    scrap_maxima = np.empty_like(maxima)
    for k in range(partitions.shape[0]):
        p = partitions[k]
        required = events.required[p]
        for window in range(lanes.offsets[k], lanes.offsets[k + 1]):
            matched[events.offsets[p] : events.offsets[p + 1]] = 0
            nearest(left, events, left_lanes, window, required, NEXT, matched, blank, scrap, scrap_maxima)
            nearest(right, events, right_lanes, window, required, NEXT, matched, blank, scrap, scrap_maxima)
            if nearest(both, events, lanes, window, required, GIVEN, matched, blank, words, maxima):
                failed[k] = 1
