"""Vertices of one window under skip-till-next-match and contiguous, for walks: linked layer by layer as in ``nearest``.

All arrays run against time here, as ``walk`` wants them: the last event of the window is event 0, and what follows an
event is its predecessor to the automaton.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel
from greta.kernels.conditions import STACK, linked
from greta.kernels.layout import (
    BEGIN_FIRST,
    BEGIN_LAST,
    CLIP,
    END,
    LINK,
    PART_FIRST,
    PART_LAST,
    START,
    Automaton,
    Input,
    Int,
    Lanes,
    Slots,
)
from greta.kernels.nearest import CONTIGUOUS, Rule
from greta.kernels.numbers import (
    LANE_0,
    ONE_LANE,
    ROW_0,
    Trace,
    add_result,
    add_row,
    clear,
    is_alive,
    record,
    room,
    start,
)
from greta.kernels.steps import take_steps
from greta.kernels.stores import Store
from greta.kernels.walk import Walkable

_ONE = np.uint64(1)
_NONE = np.uint64(0)


@kernel
def find_layers(
    automaton: Automaton, input_: Input, lanes: Lanes, rule: Rule, link: Int, variable_of: Int, most: int
) -> Walkable:
    """All vertices that a trend reaches, latest first; there are at most ``most``. Their numbers are not set yet."""
    graph = Walkable(
        np.empty(most, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.empty(most, dtype=np.uint8),
        np.empty(most, dtype=np.uint8),
        np.empty((most, 2)),
        np.empty((most, 0)),
        link,
        variable_of,
    )
    states, time = automaton.states, input_.events.time
    stack = np.empty(STACK, dtype=np.float64)
    # Arrays are filled from their end, in order of time.
    older, newest = most, most
    layer = 0
    i = time.shape[0] - 1
    while i >= 0:
        instant = time[i]
        free = newest
        while i >= 0 and time[i] == instant:
            if input_.events.stop[0] != 0:
                i = -1
                break
            mask = input_.events.mask[i]
            variable = 0
            while mask != _NONE:
                if mask & _ONE != _NONE:
                    for at in range(states.ptr[variable], states.ptr[variable + 1]):
                        state = states.entered[at]
                        clip = states.state[state, CLIP]
                        if i < lanes.first[clip, 0] or i >= lanes.last[clip, 0]:
                            continue
                        starts, alive = _reached(
                            graph, automaton, input_, state, i, (newest, older), rule.maximal, stack
                        )
                        if alive:
                            free -= 1
                            graph.event[free] = i
                            graph.state[free] = state
                            graph.layer[free] = layer + 1
                            graph.starts[free] = starts
                            graph.ends[free] = states.state[state, START]
                mask >>= _ONE
                variable += 1
            i -= 1
        if free < newest or rule.ends == CONTIGUOUS:
            older, newest = newest, free
            layer += 1
    return Walkable(
        graph.event[newest:],
        graph.state[newest:],
        graph.layer[newest:],
        graph.starts[newest:],
        graph.ends[newest:],
        graph.counts[newest:],
        graph.maxima[newest:],
        link,
        variable_of,
    )


@inner
def _reached(
    graph: Walkable,
    automaton: Automaton,
    input_: Input,
    state: int,
    i: int,
    before: tuple[int, int],
    maximal: int,
    stack: NDArray[np.float64],
) -> tuple[bool, bool]:
    """Whether a trend starts at event ``i`` in ``state``, and whether one starts or goes on there.

    ``before``: the vertices of the layer before. Where only maximal trends count, none starts at an event that goes on
    from there, and none ends at what goes on.
    """
    conditions, operands = automaton.conditions, input_.operands
    first, last = before
    starts = automaton.states.state[state, END] != 0
    if maximal != 0 and automaton.states.indexes.shape[0] > 0:
        # A pattern E+ has one condition between its events, whatever their states are.
        for v in range(first, last):
            if linked(conditions, operands, automaton.states.indexes[0, LINK], i, graph.event[v], stack):
                graph.ends[v] = 0
                starts = False
    if starts:
        return True, True
    for v in range(first, last):
        link = graph.link[graph.state[v], state]
        if link >= 0 and linked(conditions, operands, link, i, graph.event[v], stack):
            return False, True
    return False, False


@kernel
def settle(graph: Walkable, automaton: Automaton, input_: Input, blank: Store, maxima: Int, trace: Trace) -> None:
    """Compute what goes on from each vertex, into the trace; at its end comes the sum over all where trends start."""
    slots = Slots(automaton.slots.adds, automaton.slots.maxes, automaton.slots.adds, automaton.slots.maxes)
    vertices = graph.event.shape[0]
    rows = room(blank, maxima, 1 + vertices, ONE_LANE, slots)
    stack = np.empty(STACK, dtype=np.float64)
    steps = automaton.steps
    clear(rows, ROW_0, LANE_0, ONE_LANE)
    for v in range(vertices):
        if input_.events.stop[0] != 0:
            return
        row, i, state = 1 + v, graph.event[v], automaton.states.state[graph.state[v]]
        clear(rows, row, LANE_0, ONE_LANE)
        if graph.ends[v] != 0:
            start(rows, row, LANE_0, ONE_LANE, steps.start_adds, steps.start_maxes)
            take_steps(
                rows, steps.steps, input_.weights, state[BEGIN_FIRST], state[BEGIN_LAST], i, row, LANE_0, ONE_LANE
            )
        w = v - 1
        while w >= 0 and graph.layer[w] <= graph.layer[v] + 1:
            link = graph.link[graph.state[v], graph.state[w]]
            below = graph.layer[w] == graph.layer[v] + 1 and link >= 0
            if below and linked(automaton.conditions, input_.operands, link, graph.event[w], i, stack):
                add_row(rows, row, 1 + w, LANE_0, ONE_LANE)
            w -= 1
        if is_alive(rows, row, LANE_0, ONE_LANE):
            take_steps(rows, steps.steps, input_.weights, state[PART_FIRST], state[PART_LAST], i, row, LANE_0, ONE_LANE)
            if graph.starts[v] != 0:
                add_result(rows, row, LANE_0, ONE_LANE)
        record(rows, row, trace, i, graph.state[v])
    record(rows, ROW_0, trace, ROW_0, ROW_0)
