"""Events of one window, last first → what goes on from each vertex: how many trends, or the extremes of their values.

What ``propagate`` computes in numbers of every kind and for many windows at once is computed here for walks: one
window, and either counts alone, each a double with an exponent of its own (see ``broad``), or extremes alone. The trace
itself says which vertices wait for the end of their tick, and nothing is loaded or stored twice, so that this takes a
fraction of the time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel, small
from greta.kernels.layout import (
    BEGIN_FIRST,
    BEGIN_LAST,
    BOTH_SIDES,
    BOX,
    CLIP,
    END,
    FREE,
    IN_FIRST,
    IN_LAST,
    KIND,
    LEAF,
    OUT_FIRST,
    OUT_LAST,
    PART_FIRST,
    PART_LAST,
    RANK,
    SCAN,
    SEEN,
    START,
    STRIDE,
    Automaton,
    Input,
    Int,
    Lanes,
    States,
)
from greta.kernels.numbers import Rows, Trace
from greta.kernels.ranks import Ranks, new_ranks, new_scratch, rank_partition
from greta.kernels.steps import take_steps

_SHRINK = 2.0**-512
_LARGE = 2.0**256
_NOTHING = -math.inf
_ONE = np.uint64(1)
_NONE = np.uint64(0)


class Cells(NamedTuple):
    """What indexes hold, and the vertex at hand.

    Where trends are counted, a cell is a mantissa and an exponent. Else it has the extreme slots that indexes hold,
    then 0 where a trend is alive at all and -∞ where none is.
    """

    base: Int
    """Per index: its first cell."""
    cell: NDArray[np.float64]
    """[cell, column]"""
    vertex: NDArray[np.float64]
    """The same columns of the vertex; where extremes are computed, all its slots come first, and whether it is alive
    comes last."""
    counted: int
    """1: cells are counts, 0: extremes."""


def has_sums(automaton: Automaton) -> bool:
    """Whether ``look_onward`` can serve: every index sums cells of its own, and vertices have one count at most."""
    return automaton.slots.adds == 1 and not np.isin(automaton.states.indexes[:, KIND], (BOX, SCAN)).any()


def look_onward(automaton: Automaton, input_: Input, lanes: Lanes, counted: bool, trace: Trace) -> NDArray[np.float64]:
    """Record every vertex of the window, with its number of trends (``counted``) or its extremes.

    Returns the same of the whole window: mantissa and exponent, or extremes. Takes an automaton that ``has_sums``;
    one that has extremes is not counted. O(log n) per event and transition.
    """
    base = np.empty(len(automaton.states.indexes), dtype=np.int64)
    total = np.zeros(2) if counted else np.full(automaton.slots.maxes, _NOTHING)
    _look_onward(automaton, input_, lanes, base, int(counted), trace, total)
    return total


@kernel
def _look_onward(
    automaton: Automaton,
    input_: Input,
    lanes: Lanes,
    base: Int,
    counted: int,
    trace: Trace,
    total: NDArray[np.float64],
) -> None:
    """See ``look_onward``."""
    states, slots, events = automaton.states, automaton.slots, input_.events.time.shape[0]
    ranks = new_ranks(states.rank, events, events)
    rank_partition(states.rank, input_.operands.codes, 0, events, ranks, new_scratch(states.rank, events))
    count = _lay_out(states.indexes, ranks, base)
    if counted != 0:
        cells = Cells(base, np.zeros((count, 2)), np.empty(2), counted)
    else:
        cells = Cells(base, np.full((count, slots.carried_maxes + 1), _NOTHING), np.empty(slots.maxes + 1), counted)
    _sweep(automaton, input_, lanes, ranks, cells, np.ones(1), trace, total)


@inner
def _lay_out(indexes: Int, ranks: Ranks, base: Int) -> int:
    """Give every index its cells, one after another; the number of all."""
    used = 0
    for at in range(indexes.shape[0]):
        base[at] = used
        if indexes[at, KIND] == FREE:
            used += 1
        else:
            trees = 2 if indexes[at, KIND] == BOTH_SIDES else 1
            used += trees * ranks.distinct[indexes[at, RANK]]
    return used


@inner
def _sweep(
    automaton: Automaton,
    input_: Input,
    lanes: Lanes,
    ranks: Ranks,
    cells: Cells,
    alive: NDArray[np.float64],
    trace: Trace,
    total: NDArray[np.float64],
) -> None:
    """Make the vertices of all events, a tick at a time; ``alive`` is a count that is not 0, for steps that ask."""
    states, steps, slots, weights = automaton.states, automaton.steps, automaton.slots, input_.weights
    events, vertex = input_.events, cells.vertex
    rows = Rows(alive, vertex, 1, 1, slots.maxes, 1, slots.carried_maxes, 1, slots.maxes)
    count = events.time.shape[0]
    size = 0
    i = 0
    while i < count and events.stop[0] == 0:
        # Every event of the tick makes its vertices from what lies before the tick.
        instant = events.time[i]
        first = size
        while i < count and events.time[i] == instant:
            mask = events.mask[i]
            variable = 0
            while mask != _NONE:
                if mask & _ONE == _NONE:
                    mask >>= _ONE
                    variable += 1
                    continue
                for at in range(states.ptr[variable], states.ptr[variable + 1]):
                    state = states.state[states.entered[at]]
                    if i < lanes.first[state[CLIP], 0] or i >= lanes.last[state[CLIP], 0]:
                        continue
                    _start(cells, state[START] != 0, steps.start_maxes)
                    if state[START] != 0 and state[BEGIN_FIRST] < state[BEGIN_LAST]:
                        take_steps(rows, steps.steps, weights, state[BEGIN_FIRST], state[BEGIN_LAST], i, 0, 0, 1)
                    for into in range(state[IN_FIRST], state[IN_LAST]):
                        _gather(states, ranks, cells, states.incoming[into], i)
                    if vertex[0] == 0.0 if cells.counted != 0 else vertex[slots.maxes] == _NOTHING:
                        continue
                    if state[PART_FIRST] < state[PART_LAST]:
                        take_steps(rows, steps.steps, weights, state[PART_FIRST], state[PART_LAST], i, 0, 0, 1)
                    trace.event[size] = i
                    trace.state[size] = states.entered[at]
                    _record(cells, trace, size)
                    if state[END] != 0 and state[SEEN] == events.required[0]:
                        _add_total(cells, total)
                    size += 1
                mask >>= _ONE
                variable += 1
            i += 1
        # The tick is over: its vertices may come before what follows.
        for at in range(first, size):
            state = states.state[trace.state[at]]
            for out in range(state[OUT_FIRST], state[OUT_LAST]):
                _insert(states, ranks, cells, states.outgoing[out], trace, at)
    trace.size[0] = size


@small
def _start(cells: Cells, starts: bool, start_maxes: NDArray[np.uint8]) -> None:
    """Clear the vertex; a trend may start there."""
    if cells.counted != 0:
        cells.vertex[0] = 1.0 if starts else 0.0
        cells.vertex[1] = 0.0
        return
    slots = start_maxes.shape[0]
    for slot in range(slots):
        cells.vertex[slot] = 0.0 if starts and start_maxes[slot] != 0 else _NOTHING
    cells.vertex[slots] = 0.0 if starts else _NOTHING


@small
def _record(cells: Cells, trace: Trace, at: int) -> None:
    """Write the vertex into the trace."""
    if cells.counted != 0:
        trace.counts[at, 0] = cells.vertex[0]
        trace.counts[at, 1] = cells.vertex[1]
    else:
        for slot in range(trace.maxima.shape[1]):
            trace.maxima[at, slot] = cells.vertex[slot]


@small
def _add_total(cells: Cells, total: NDArray[np.float64]) -> None:
    """Add the vertex to the whole window."""
    if cells.counted != 0:
        total[0], total[1] = _whole(*_sum(total[0], total[1], cells.vertex[0], cells.vertex[1]))
    else:
        for slot in range(total.shape[0]):
            total[slot] = max(total[slot], cells.vertex[slot])


@small
def _sum(mantissa: float, exponent: float, more: float, more_exponent: float) -> tuple[float, float]:
    """The sum of two numbers that are not negative; its mantissa may have grown out of its range."""
    if exponent == more_exponent or more == 0.0:
        return mantissa + more, exponent
    if mantissa == 0.0 or more_exponent > exponent + 1.0:
        return more, more_exponent
    if more_exponent > exponent:
        return more + mantissa * _SHRINK, more_exponent
    if exponent == more_exponent + 1.0:
        return mantissa + more * _SHRINK, exponent
    return mantissa, exponent


@small
def _whole(mantissa: float, exponent: float) -> tuple[float, float]:
    """The same number, with its mantissa in its range again."""
    if mantissa >= _LARGE:
        return mantissa * _SHRINK, exponent + 1.0
    return mantissa, exponent


@small
def _gather(states: States, ranks: Ranks, cells: Cells, at: int, i: int) -> None:
    """Add to the vertex all that an index holds and that may come right before event ``i``."""
    kind = states.indexes[at, KIND]
    base = cells.base[at]
    if kind == FREE:
        _add_below(cells, base, 1)
        return
    r = states.indexes[at, RANK]
    reach = ranks.reach[r, i]
    if reach < 0:
        return
    if kind == LEAF:
        _add_below(cells, base + reach, 1)
        return
    first = ranks.first[r, i] if states.rank[r, STRIDE] > 0 else 0
    if kind == BOTH_SIDES:
        distinct = ranks.distinct[r]
        last = ranks.key_last[r, first] if states.rank[r, STRIDE] > 0 else distinct
        # The second tree is mirrored: it sums what lies above.
        _add_below(cells, base + distinct + first, last - first - (reach >> 1) - (reach & 1))
        reach = reach >> 1
    _add_below(cells, base + first, reach)


@small
def _add_below(cells: Cells, base: int, count: int) -> None:
    """Add the first ``count`` places of a Fenwick tree to the vertex; they are fewer than a mantissa has room for."""
    if cells.counted != 0:
        mantissa, exponent = cells.vertex[0], cells.vertex[1]
        k = count
        while k > 0:
            mantissa, exponent = _sum(mantissa, exponent, cells.cell[base + k - 1, 0], cells.cell[base + k - 1, 1])
            k &= k - 1
        cells.vertex[0], cells.vertex[1] = _whole(mantissa, exponent)
        return
    columns = cells.cell.shape[1]
    for column in range(columns):
        slot = column if column + 1 < columns else cells.vertex.shape[0] - 1
        largest = cells.vertex[slot]
        k = count
        while k > 0:
            largest = max(largest, cells.cell[base + k - 1, column])
            k &= k - 1
        cells.vertex[slot] = largest


@small
def _insert(states: States, ranks: Ranks, cells: Cells, at: int, trace: Trace, vertex: int) -> None:
    """Put a vertex of the trace into an index."""
    kind = states.indexes[at, KIND]
    base = cells.base[at]
    if kind == FREE:
        _raise(cells, base, 0, 1, trace, vertex)
        return
    r = states.indexes[at, RANK]
    place = ranks.place[r, trace.event[vertex]]
    if place < 0:
        return
    if kind == LEAF:
        _raise(cells, base + place, 0, 1, trace, vertex)
        return
    first, last, distinct = 0, ranks.distinct[r], ranks.distinct[r]
    if states.rank[r, STRIDE] > 0:
        first, last = ranks.key_first[r, place], ranks.key_last[r, place]
    _raise(cells, base + first, place - first, last - first, trace, vertex)
    if kind == BOTH_SIDES:
        _raise(cells, base + distinct + first, last - 1 - place, last - first, trace, vertex)


@small
def _raise(cells: Cells, base: int, place: int, size: int, trace: Trace, vertex: int) -> None:
    """Add a vertex of the trace at one place of a Fenwick tree of ``size`` places."""
    cell = cells.cell
    k = place + 1
    if cells.counted != 0:
        mantissa, exponent = trace.counts[vertex, 0], trace.counts[vertex, 1]
        while k <= size:
            at = base + k - 1
            cell[at, 0], cell[at, 1] = _whole(*_sum(cell[at, 0], cell[at, 1], mantissa, exponent))
            k += k & -k
        return
    alive = cell.shape[1] - 1
    while k <= size:
        at = base + k - 1
        for column in range(alive):
            cell[at, column] = max(cell[at, column], trace.maxima[vertex, column])
        cell[at, alive] = 0.0
        k += k & -k
