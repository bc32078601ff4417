"""Many templates without edge predicates over the same windows, in one pass over the events (see ``propagate``).

Every state of every template has one running total, and every template one result. An event is read once and enters
all states that its type enters, so what is paid per event is paid once, and what is paid per vertex is a few additions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel
from greta.kernels.layout import (
    BEGIN_FIRST,
    BEGIN_LAST,
    END,
    IN_FIRST,
    IN_LAST,
    OUT_FIRST,
    OUT_LAST,
    PART_FIRST,
    PART_LAST,
    START,
    STATE_COLUMNS,
    Flag,
    Int,
    Lanes,
    Slots,
    Steps,
    Weights,
)
from greta.kernels.single import add_row, add_slots, clear, is_alive, room_for_one, start
from greta.kernels.steps import take_steps

# Columns of ``Family.state`` after those of ``States.state``.
TEMPLATE = STATE_COLUMNS
"""The template that the state is of."""
ALLOWED = STATE_COLUMNS + 1
"""Column of the events' guards that says which events may enter the state, or -1 for all."""
FAMILY_COLUMNS = STATE_COLUMNS + 2

_FIRST_LANE: Any = np.int64(0)
_LAST_LANE: Any = np.int64(1)


class Family(NamedTuple):
    """The states of all templates, numbered through."""

    ptr: Int
    """Per event type: its slice of the states that it enters."""
    entered: Int
    state: Int
    """[state, column]"""
    incoming: Int
    """The states before a state, at the slice that it names."""
    templates: int


class TypedEvents(NamedTuple):
    """Events of all partitions by (partition, time), with the numbers of their types."""

    offsets: Int
    time: Int
    types: NDArray[np.integer]
    stop: Flag
    """Not 0 where the kernel is to leave its work undone."""


class Answers(NamedTuple):
    """What a run writes."""

    words: NDArray[np.float64]
    """[template, window, additive slot]"""
    maxima: NDArray[np.float64]
    """[template, window, extreme slot]"""


@kernel
def propagate_together(
    family: Family,
    steps: Steps,
    slots: Slots,
    events: TypedEvents,
    weights: Weights,
    lanes: Lanes,
    partitions: Int,
    answers: Answers,
) -> None:
    """Compute every window of the given partitions for every template, in doubles, one window at a time.

    Rows of the arena: totals of states, then results of templates, then the vertices of the current tick.
    """
    state_of, totals = family.state, family.state.shape[0]
    free_row = totals + family.templates
    most = _largest_tick(family.ptr, events, partitions)
    arena = room_for_one(free_row + most, slots)
    waiting_state = np.empty(most, dtype=np.int64)
    for k in range(partitions.shape[0]):
        for window in range(lanes.offsets[k], lanes.offsets[k + 1]):
            arena.store[: free_row * slots.adds] = 0.0
            arena.maxima[: free_row * slots.maxes] = -np.inf
            i, last_event = lanes.first[0, window], lanes.last[0, window]
            while i < last_event:
                if events.stop[0] != 0:
                    return
                instant = events.time[i]
                waiting = 0
                # Every event of the tick makes its vertices from what lies before the tick.
                while i < last_event and events.time[i] == instant:
                    for at in range(family.ptr[events.types[i]], family.ptr[events.types[i] + 1]):
                        state = family.entered[at]
                        allowed = state_of[state, ALLOWED]
                        if allowed >= 0 and weights.guards[allowed, i] == 0:
                            continue
                        row = free_row + waiting
                        clear(arena, row, _FIRST_LANE, _LAST_LANE)
                        if state_of[state, START] != 0:
                            start(arena, row, _FIRST_LANE, _LAST_LANE, steps.start_adds, steps.start_maxes)
                            first, last = state_of[state, BEGIN_FIRST], state_of[state, BEGIN_LAST]
                            if first < last:
                                take_steps(arena, steps.steps, weights, first, last, i, row, _FIRST_LANE, _LAST_LANE)
                        for into in range(state_of[state, IN_FIRST], state_of[state, IN_LAST]):
                            add_row(arena, row, family.incoming[into], _FIRST_LANE, _LAST_LANE)
                        if not is_alive(arena, row, _FIRST_LANE, _LAST_LANE):
                            continue
                        first, last = state_of[state, PART_FIRST], state_of[state, PART_LAST]
                        if first < last:
                            take_steps(arena, steps.steps, weights, first, last, i, row, _FIRST_LANE, _LAST_LANE)
                        if state_of[state, END] != 0:
                            add_slots(arena, totals + state_of[state, TEMPLATE], row, slots.adds, slots.maxes)
                        if state_of[state, OUT_FIRST] < state_of[state, OUT_LAST]:
                            waiting_state[waiting] = state
                            waiting += 1
                    i += 1
                # The tick is over: its vertices may come before what follows.
                for at in range(waiting):
                    add_row(arena, waiting_state[at], free_row + at, _FIRST_LANE, _LAST_LANE)
            for template in range(family.templates):
                at = (totals + template) * slots.adds
                for slot in range(slots.adds):
                    answers.words[template, window, slot] = arena.store[at + slot]
                at = (totals + template) * slots.maxes
                for slot in range(slots.maxes):
                    answers.maxima[template, window, slot] = arena.maxima[at + slot]


@inner
def _largest_tick(ptr: Int, events: TypedEvents, partitions: Int) -> int:
    """The most vertices that the events of one time and partition make."""
    most = 0
    for k in range(partitions.shape[0]):
        here = 0
        begin = events.offsets[partitions[k]]
        for i in range(begin, events.offsets[partitions[k] + 1]):
            if i == begin or events.time[i] != events.time[i - 1]:
                here = 0
            here += ptr[events.types[i] + 1] - ptr[events.types[i]]
            most = max(most, here)
    return most
