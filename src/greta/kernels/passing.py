"""Next and contiguous selection that goes on: the last ticks' vertices of many partitions, brought forward by events.

A vertex links only to those of one earlier tick (see ``nearest``): under contiguous, the last one of the partition;
under next, the last one that was matched, which differs from window to window. So a partition holds a list of vertices,
and each of them has numbers in the lanes of those windows alone in which nothing has come after it. A tick that comes
after it in a window takes that lane away from it; without any it is let go of.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel
from greta.kernels.conditions import STACK, linked
from greta.kernels.heap import move_lanes
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
    SOURCE,
    START,
    Automaton,
    Input,
    Int,
)
from greta.kernels.live import (
    Edges,
    Stretch,
    Totals,
    add_to_totals,
    clear_totals,
    first_lane,
    is_void,
    vertices_of_tick,
)
from greta.kernels.nearest import CONTIGUOUS, Rule
from greta.kernels.numbers import Rows, add_row, clear, is_alive, start
from greta.kernels.steps import take_steps

_ONE = np.uint64(1)
_NONE = np.uint64(0)

# ``Vertices.about``: the first unused vertex, how many are unused, and whether more were needed.
UNUSED = 0
COUNT = 1
SHORT = 2


class Slices(NamedTuple):
    """New events by partition: slices of the input."""

    end: Int
    partition: Int
    """The number of each slice's partition."""
    cursor: Int
    """The next event to be read."""
    edges: Edges


class Vertices(NamedTuple):
    """Vertices that something may still follow, in a list per partition; their numbers are rows of an arena."""

    state: Int
    event: Int
    following: Int
    """The next one of the same list, or of the unused ones; -1: none."""
    listed: NDArray[np.uint8]
    extended: NDArray[np.uint8]
    """Whether an event of the tick has followed: a trend that ends here is not maximal."""
    head: Int
    """Per partition: its first vertex, or -1."""
    base: Int
    """Per partition: the window of the first lane of its vertices."""
    lanes: NDArray[np.uint8]
    """Scratch: a mark per side of an outermost AND (otherwise one) and lane."""
    about: Int


@kernel
def pass_on(
    automaton: Automaton,
    input_: Input,
    slices: Slices,
    rows: Rows,
    vertices: Vertices,
    totals: Totals,
    stretch: Stretch,
    rule: Rule,
) -> None:
    """Read the events before ``stretch.stop``, a tick at a time.

    Stops before a tick that might need more vertices than are unused; the cursor says where to go on.
    """
    stack = np.empty(STACK, dtype=np.float64)
    _read(automaton, input_, slices, rows, vertices, totals, stretch, rule, stack)


@inner
def _read(
    automaton: Automaton,
    input_: Input,
    slices: Slices,
    rows: Rows,
    vertices: Vertices,
    totals: Totals,
    stretch: Stretch,
    rule: Rule,
    stack: NDArray[np.float64],
) -> None:
    """Read tick after tick inside one function that counts no references; for every tick, counting them costs more."""
    events = input_.events
    for k in range(slices.partition.shape[0]):
        i, end = slices.cursor[k], slices.end[k]
        while i < end and events.time[i] < stretch.stop:
            if vertices_of_tick(automaton.states, events.time, events.mask, i, end) > vertices.about[COUNT]:
                vertices.about[SHORT] = 1
                return
            where = (slices.partition[k], i, end)
            i = _tick(automaton, input_, slices.edges, rows, vertices, totals, stretch, rule, where, stack)
            slices.cursor[k] = i


@inner
def _tick(
    automaton: Automaton,
    input_: Input,
    edges: Edges,
    rows: Rows,
    vertices: Vertices,
    totals: Totals,
    stretch: Stretch,
    rule: Rule,
    where: tuple[int, int, int],
    stack: NDArray[np.float64],
) -> int:
    """Make the vertices of one tick, then let them take the place of those that they come after.

    ``where``: (partition, first event, end of its slice). The first event after the tick.
    """
    p, i, end = where
    states, events = automaton.states, input_.events
    instant = events.time[i]
    last = instant // stretch.slide
    low = max((instant - stretch.within) // stretch.slide + 1, stretch.base, stretch.lowest) - stretch.base
    high = last + 1 - stretch.base
    _let_lanes_begin(rows, vertices, p, stretch.base)
    for block in range(edges.void.shape[0]):
        if is_void(edges, block, events.time, i, end):
            clear_totals(rows, totals, block, p, stretch.base, low)
            _let_go_of_block(vertices, totals, block, p)
    newest: Any = np.int64(-1)
    while i < end and events.time[i] == instant:
        mask = events.mask[i]
        if low >= high:
            mask = _NONE
        variable = 0
        while mask != _NONE:
            if mask & _ONE != _NONE:
                for at in range(states.ptr[variable], states.ptr[variable + 1]):
                    state = states.entered[at]
                    row = vertices.about[UNUSED]
                    lane = first_lane(edges, states.state[state, CLIP], i, stretch.base, low)
                    if lane >= high:
                        continue
                    if _link_up(automaton, input_, rows, vertices, rule, (p, i, state, row), (lane, high), stack):
                        first, stop = states.state[state, PART_FIRST], states.state[state, PART_LAST]
                        take_steps(rows, automaton.steps.steps, input_.weights, first, stop, i, row, lane, high)
                        if rule.maximal == 0 and states.state[state, END] != 0:
                            block = totals.blocks.of_state[state]
                            add_to_totals(rows, row, totals, block, p, stretch.base, lane, high)
                        vertices.about[UNUSED] = vertices.following[row]
                        vertices.about[COUNT] -= 1
                        vertices.state[row] = state
                        vertices.event[row] = i
                        vertices.listed[row] = 1
                        vertices.extended[row] = 0
                        vertices.following[row] = newest
                        newest = row
            mask >>= _ONE
            variable += 1
        i += 1
    totals.last[p] = max(totals.last[p], last)
    _mark_lanes(rows, vertices, totals, rule, newest, low, high)
    _take_places(automaton, rows, vertices, totals, rule, (p, newest, stretch.base, low))
    return i


@inner
def _let_lanes_begin(rows: Rows, vertices: Vertices, p: int, base: int) -> None:
    """Let the lanes of a partition's vertices begin with the first open window."""
    by = base - vertices.base[p]
    v = vertices.head[p]
    while v >= 0 and by > 0:
        move_lanes(rows.store, v * rows.words, rows.adds, 0, rows.width, by)  # type: ignore[arg-type]
        move_lanes(rows.maxima, v * rows.extremes, 0, rows.maxes, rows.width, by)
        v = vertices.following[v]
    vertices.base[p] = base


@inner
def _link_up(
    automaton: Automaton,
    input_: Input,
    rows: Rows,
    vertices: Vertices,
    rule: Rule,
    new: tuple[int, int, int, int],
    lanes: tuple[int, int],
    stack: NDArray[np.float64],
) -> bool:
    """Make the row of a new vertex, (partition, event, state, row); whether a trend starts or goes on there."""
    p, i, state, row = new
    low, high = lanes
    states, steps = automaton.states, automaton.steps
    clear(rows, row, 0, rows.width)
    if rule.maximal != 0:
        _mark_followed(automaton, input_, rows, vertices, p, i, stack)
    if states.state[state, START] != 0:
        first, last = states.state[state, BEGIN_FIRST], states.state[state, BEGIN_LAST]
        if rule.maximal == 0:
            start(rows, row, low, high, steps.start_adds, steps.start_maxes)
            take_steps(rows, steps.steps, input_.weights, first, last, i, row, low, high)
        else:
            for lane in range(low, high):
                # No maximal trend starts at an event that continues one.
                if vertices.lanes[0, lane] == 0:
                    start(rows, row, lane, lane + 1, steps.start_adds, steps.start_maxes)
                    take_steps(rows, steps.steps, input_.weights, first, last, i, row, lane, lane + 1)
    for into in range(states.state[state, IN_FIRST], states.state[state, IN_LAST]):
        source = states.indexes[states.incoming[into], SOURCE]
        link = states.indexes[states.incoming[into], LINK]
        v = vertices.head[p]
        while v >= 0:
            if vertices.state[v] == source and linked(
                automaton.conditions, input_.operands, link, vertices.event[v], i, stack
            ):
                add_row(rows, row, v, low, high)
            v = vertices.following[v]
    return is_alive(rows, row, low, high)


@inner
def _mark_followed(
    automaton: Automaton,
    input_: Input,
    rows: Rows,
    vertices: Vertices,
    p: int,
    i: int,
    stack: NDArray[np.float64],
) -> None:
    """Mark the lanes in which an event follows a vertex. E+ has one condition between events, whatever their states."""
    vertices.lanes[:] = 0
    v = vertices.head[p]
    while v >= 0:
        link = automaton.states.indexes[0, LINK]
        if linked(automaton.conditions, input_.operands, link, vertices.event[v], i, stack):
            vertices.extended[v] = 1
            for lane in range(rows.width):
                if rows.store[v * rows.words + lane] != 0.0:
                    vertices.lanes[0, lane] = 1
        v = vertices.following[v]


@inner
def _mark_lanes(rows: Rows, vertices: Vertices, totals: Totals, rule: Rule, newest: int, low: int, high: int) -> None:
    """Mark the lanes in which a tick ends what came before: all of its own, or those with a new vertex.

    What each side of an AND matches is asked of it alone; trends of both end where one of them has a new vertex.
    """
    vertices.lanes[:, :] = 0
    # Windows that are over when the tick comes.
    vertices.lanes[:, :low] = 1
    if rule.ends == CONTIGUOUS:
        vertices.lanes[:, low:high] = 1
        return
    v = newest
    while v >= 0:
        side = totals.blocks.side[vertices.state[v]]
        for lane in range(low, high):
            if rows.store[v * rows.words + lane] != 0.0:
                vertices.lanes[side, lane] = 1
        v = vertices.following[v]
    if vertices.lanes.shape[0] > 1:
        for lane in range(low, high):
            vertices.lanes[2, lane] = max(vertices.lanes[0, lane], vertices.lanes[1, lane])


@inner
def _take_places(
    automaton: Automaton,
    rows: Rows,
    vertices: Vertices,
    totals: Totals,
    rule: Rule,
    where: tuple[int, int, int, int],
) -> None:
    """Take the marked lanes away from a partition's vertices, and put what is left behind the new ones.

    ``where``: (partition, first new vertex, window of the first lane, first lane of the tick).
    """
    p, newest, base, low = where
    v = vertices.head[p]
    while v >= 0:
        following = vertices.following[v]
        ends = rule.maximal != 0 and automaton.states.state[vertices.state[v], END] != 0
        side = totals.blocks.side[vertices.state[v]]
        left = False
        for lane in range(rows.width):
            if rows.store[v * rows.words + lane] == 0.0:
                continue
            if vertices.lanes[side, lane] == 0:
                left = True
                continue
            # An event extends a trend in the windows that it is in itself; those before are over.
            if ends and (vertices.extended[v] == 0 or lane < low):
                add_to_totals(rows, v, totals, totals.blocks.of_state[vertices.state[v]], p, base, lane, lane + 1)
            clear(rows, v, lane, lane + 1)
        if left:
            vertices.following[v] = newest
            newest = v
        else:
            _let_go(vertices, v)
        v = following
    vertices.head[p] = newest


@inner
def _let_go_of_block(vertices: Vertices, totals: Totals, block: int, p: int) -> None:
    """Let go of the vertices of a partition whose trends belong to a block: all of them are void."""
    left: Any = np.int64(-1)
    v = vertices.head[p]
    while v >= 0:
        following = vertices.following[v]
        if totals.blocks.of_state[vertices.state[v]] == block:
            _let_go(vertices, v)
        else:
            vertices.following[v] = left
            left = v
        v = following
    vertices.head[p] = left


@inner
def _let_go(vertices: Vertices, v: int) -> None:
    vertices.listed[v] = 0
    vertices.following[v] = vertices.about[UNUSED]
    vertices.about[UNUSED] = v
    vertices.about[COUNT] += 1


@kernel
def end_maximal(
    states: Int,
    rows: Rows,
    vertices: Vertices,
    totals: Totals,
    partitions: Int,
    base: int,
    lanes: int,
) -> None:
    """Add the trends that end with the first ``lanes`` windows from ``base`` on to the results."""
    for k in range(partitions.shape[0]):
        p = partitions[k]
        _let_lanes_begin(rows, vertices, p, base)
        v = vertices.head[p]
        while v >= 0:
            if states[vertices.state[v], END] != 0:
                add_to_totals(rows, v, totals, totals.blocks.of_state[vertices.state[v]], p, base, 0, lanes)
            v = vertices.following[v]


@kernel
def let_go_of(vertices: Vertices, partitions: Int) -> None:
    """Let go of all vertices of some partitions."""
    for k in range(partitions.shape[0]):
        v = vertices.head[partitions[k]]
        while v >= 0:
            following = vertices.following[v]
            _let_go(vertices, v)
            v = following
        vertices.head[partitions[k]] = -1
