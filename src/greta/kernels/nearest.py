"""Skip-till-next-match and contiguous: a vertex links only to those of one earlier tick (paper, Table of semantics).

Under next, that is the last tick with a matched event; under contiguous, the last tick of the partition. Only its
vertices are kept, so windows are computed one by one in O(events × vertices of a tick).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel, part
from greta.kernels.conditions import STACK, linked
from greta.kernels.layout import (
    BEGIN_FIRST,
    BEGIN_LAST,
    CLIP,
    END,
    IN_FIRST,
    IN_LAST,
    LINK,
    PART_FIRST,
    PART_LAST,
    SEEN,
    SOURCE,
    START,
    Automaton,
    Input,
    Lanes,
    Slots,
)
from greta.kernels.numbers import LANE_0, ONE_LANE, ROW_0, Rows, add_result, add_row, clear, room, start
from greta.kernels.propagate import Results
from greta.kernels.steps import take_steps
from greta.kernels.stores import Store, overflowed, word, words_of
from greta.kernels.sweep import largest_tick

_ONE = np.uint64(1)
_NONE = np.uint64(0)

CONTIGUOUS = 0
"""Every tick of the partition ends what came before it."""
NEXT = 1
"""A tick with a matched event does."""
GIVEN = 2
"""A tick with an event marked in ``matched`` does."""


class Rule(NamedTuple):
    """Which ticks end what came before, and whether only maximal trends count."""

    ends: int
    maximal: int


class Layer(NamedTuple):
    """The vertices of one tick."""

    state: NDArray[np.int64]
    event: NDArray[np.int64]
    extended: NDArray[np.uint8]
    """Whether a later event has followed: such a trend is not maximal."""


@part
def _new_layer(vertices: int) -> Layer:
    return Layer(
        np.empty(vertices, dtype=np.int64), np.empty(vertices, dtype=np.int64), np.empty(vertices, dtype=np.uint8)
    )


@part
def nearest(
    automaton: Automaton,
    input_: Input,
    lanes: Lanes,
    window: int,
    required: int,
    rule: Rule,
    matched: NDArray[np.uint8],
    blank: Store,
    results: Results,
) -> bool:
    """Compute one window; whether a number did not fit.

    Under NEXT, if ``matched`` is not empty, matched events are marked in it. Links go from tick to tick, so a trend is
    maximal where nothing comes before its first event and nothing follows its last one.
    """
    states, steps, events = automaton.states, automaton.steps, input_.events
    # No index leaves slots out here: rows are added whole.
    slots = Slots(automaton.slots.adds, automaton.slots.maxes, automaton.slots.adds, automaton.slots.maxes)
    first, last = _extent(lanes, window)
    most = largest_tick(states.ptr, events, first, last)
    # Row 0 collects the results; two layers take turns.
    rows = room(blank, results.maxima, 1 + 2 * most, ONE_LANE, slots)
    clear(rows, ROW_0, LANE_0, ONE_LANE)
    layers = (_new_layer(most), _new_layer(most))
    stack = np.empty(STACK, dtype=np.float64)
    older, new = layers
    older_base, new_base = 1, 1 + most
    older_size = 0
    i = first
    while i < last:
        tick = events.time[i]
        new_size = 0
        marked = False
        # The vertices of a tick, linked to those of the layer before.
        while i < last and events.time[i] == tick:
            if events.stop[0] != 0:
                return False
            before = new_size
            mask = events.mask[i]
            variable = 0
            while mask != _NONE:
                if mask & _ONE != _NONE:
                    for at in range(states.ptr[variable], states.ptr[variable + 1]):
                        state = states.entered[at]
                        clip = automaton.states.state[state, CLIP]
                        if i < lanes.first[clip, window] or i >= lanes.last[clip, window]:
                            continue
                        row = new_base + new_size
                        about = (older_size, older_base, rule.maximal)
                        if _link_up(rows, automaton, input_, state, i, row, older, about, stack):
                            begin, end = (
                                automaton.states.state[state, PART_FIRST],
                                automaton.states.state[state, PART_LAST],
                            )
                            take_steps(rows, steps.steps, input_.weights, begin, end, i, row, LANE_0, ONE_LANE)
                            if rule.maximal == 0 and _may_end(automaton, state, required):
                                add_result(rows, row, LANE_0, ONE_LANE)
                            new.state[new_size] = state
                            new.event[new_size] = i
                            new.extended[new_size] = 0
                            new_size += 1
                mask >>= _ONE
                variable += 1
            if rule.ends == GIVEN:
                marked = marked or matched[i] != 0
            elif new_size > before:
                marked = True
                if matched.shape[0] > 0:
                    matched[i] = 1
            i += 1
        # The tick takes the place of the layer before, if it ends it.
        if marked or rule.ends == CONTIGUOUS:
            if rule.maximal != 0:
                _end_maximal(rows, automaton, older, older_size, older_base, required)
            older, new = new, older
            older_base, new_base = new_base, older_base
            older_size = new_size
    if rule.maximal != 0:
        _end_maximal(rows, automaton, older, older_size, older_base, required)
    for limb in range(words_of(rows.store) * slots.adds):
        results.words[window, limb] = word(rows.store, limb)
    for slot in range(slots.maxes):
        results.maxima[window, slot] = rows.maxima[slot]
    return overflowed(rows.store)


@inner
def _extent(lanes: Lanes, window: int) -> tuple[int, int]:
    """The events of a window that at least one clip leaves."""
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
    return first, last


@inner
def _may_end(automaton: Automaton, state: int, required: int) -> bool:
    return bool(automaton.states.state[state, END] != 0 and automaton.states.state[state, SEEN] == required)


@inner
def _end_maximal(rows: Rows, automaton: Automaton, layer: Layer, size: int, base: int, required: int) -> None:
    """Trends that end at a vertex which nothing followed."""
    for at in range(size):
        if layer.extended[at] == 0 and _may_end(automaton, layer.state[at], required):
            add_result(rows, base + at, LANE_0, ONE_LANE)


@inner
def _link_up(
    rows: Rows,
    automaton: Automaton,
    input_: Input,
    state: int,
    i: int,
    row: int,
    layer: Layer,
    about: tuple[int, int, int],
    stack: NDArray[np.float64],
) -> bool:
    """Make the row of event ``i`` in ``state`` from the layer before; whether a trend starts or goes on there.

    ``about``: (vertices of the layer, its first row, whether only maximal trends count: then none starts at an event
    that continues one).
    """
    size, base, maximal = about
    conditions = automaton.conditions
    clear(rows, row, LANE_0, ONE_LANE)
    follows = False
    if maximal != 0:
        # A pattern E+ has one condition between its events, whatever their states are.
        for at in range(size):
            if linked(conditions, input_.operands, automaton.states.indexes[0, LINK], layer.event[at], i, stack):
                layer.extended[at] = 1
                follows = True
    alive = False
    if automaton.states.state[state, START] != 0 and not follows:
        start(rows, row, LANE_0, ONE_LANE, automaton.steps.start_adds, automaton.steps.start_maxes)
        first, last = automaton.states.state[state, BEGIN_FIRST], automaton.states.state[state, BEGIN_LAST]
        take_steps(rows, automaton.steps.steps, input_.weights, first, last, i, row, LANE_0, ONE_LANE)
        alive = True
    for into in range(automaton.states.state[state, IN_FIRST], automaton.states.state[state, IN_LAST]):
        index = automaton.states.incoming[into]
        for at in range(size):
            if layer.state[at] == automaton.states.indexes[index, SOURCE] and linked(
                conditions, input_.operands, automaton.states.indexes[index, LINK], layer.event[at], i, stack
            ):
                add_row(rows, row, base + at, LANE_0, ONE_LANE)
                alive = True
    return alive


@kernel
def nearest_all(
    automaton: Automaton,
    input_: Input,
    lanes: Lanes,
    partitions: NDArray[np.int64],
    rule: Rule,
    blank: Store,
    results: Results,
) -> None:
    """Compute every window of the given partitions."""
    unmarked = np.empty(0, dtype=np.uint8)
    for k in range(partitions.shape[0]):
        required = input_.events.required[partitions[k]]
        for window in range(lanes.offsets[k], lanes.offsets[k + 1]):
            if input_.events.stop[0] != 0:
                return
            if nearest(automaton, input_, lanes, window, required, rule, unmarked, blank, results):
                results.failed[k] = 1


@kernel
def nearest_of_both(
    automata: tuple[Automaton, Automaton, Automaton],
    input_: Input,
    lanes: tuple[Lanes, Lanes, Lanes],
    partitions: NDArray[np.int64],
    blank: Store,
    results: Results,
) -> None:
    """Trends of two patterns at once under NEXT: what either of them matches ends what came before it."""
    left, right, both = automata
    matched = np.zeros(input_.events.time.shape[0], dtype=np.uint8)
    scrap = Results(np.empty_like(results.words), np.empty_like(results.maxima), results.failed)
    next_ = Rule(NEXT, 0)
    for k in range(partitions.shape[0]):
        p = partitions[k]
        required = input_.events.required[p]
        for window in range(lanes[2].offsets[k], lanes[2].offsets[k + 1]):
            if input_.events.stop[0] != 0:
                return
            matched[input_.events.offsets[p] : input_.events.offsets[p + 1]] = 0
            nearest(left, input_, lanes[0], window, required, next_, matched, blank, scrap)
            nearest(right, input_, lanes[1], window, required, next_, matched, blank, scrap)
            if nearest(both, input_, lanes[2], window, required, Rule(GIVEN, 0), matched, blank, results):
                results.failed[k] = 1
