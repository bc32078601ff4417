"""Windows that overlap much, without edge predicates, put together of stretches of events: the cost has no k.

Events change running totals linearly, so a stretch of events is a *map*: what each total becomes, given what it was.
A window is the map of the stretch up to a cut, followed by the map of the stretch from there on:

    cut                    |
    W0   [-----------------)               events before the cut: a map per beginning of a window,
    W1      [--------------|--)            made from the cut backwards when the cut is chosen
    W2         [-----------|-----)         events after it: one map, which grows with the windows
    W3                     [-----------)   begins at the cut: its end is the next one

Every event is read once, into the map of a piece between two ends of windows, and every piece becomes part of two
longer stretches, whatever the number of windows that hold it. Nothing is ever subtracted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from greta.kernels.compiler import inner, kernel, small
from greta.kernels.layout import (
    BEGIN_FIRST,
    BEGIN_LAST,
    END,
    FACTOR,
    GUARD,
    IN_FIRST,
    IN_LAST,
    OPERATION,
    ORIGIN,
    OUT_FIRST,
    OUT_LAST,
    PART_FIRST,
    PART_LAST,
    SEEN,
    START,
    TARGET,
    WEIGHT,
    Automaton,
    Events,
    Input,
    Int,
    Lanes,
    Slots,
    States,
    Steps,
    Weights,
)
from greta.kernels.maps import (
    NONE_REACHED,
    Doubles,
    Maps,
    Shape,
    follow,
    make_nothing,
    more_room,
    room_for,
    shape_of,
)
from greta.kernels.propagate import Results
from greta.kernels.steps import ADD, COPY, JOIN, PUT, RAISE, ZERO
from greta.kernels.sweep import largest_tick

_ONE = np.uint64(1)
_NONE = np.uint64(0)
_FIRST: Any = np.int64(64)
"""Maps to begin with."""
# Numbers of maps, of the machine's type, since Numba compiles a function anew for every literal.
_BEFORE: Any = np.int64(0)
_AFTER: Any = np.int64(2)
_OTHER: Any = np.int64(1)
"""Between the two places of each of these."""
_PIECES: Any = np.int64(4)


class Tick(NamedTuple):
    """The vertices of the current tick, each as columns of a map: (vertex · slots + slot) · rows + row."""

    adds: Doubles
    maxes: Doubles
    """Slot 0 is whether a trend reaches the vertex."""
    state: Int


def propagate_stretches(
    automaton: Automaton, input_: Input, lanes: Lanes, partitions: Int, tick_bytes: int, results: Results
) -> bool:
    """Compute every window of the given partitions in doubles. All indexes are FREE, and no state is clipped.

    False, and nothing is computed, where the vertices of one time would take more than ``tick_bytes``. O(1) per event
    and per window, whatever their overlap; cubic in the number of totals.
    """
    states, steps, slots = automaton.states, automaton.steps, automaton.slots
    return _propagate_stretches(
        states, steps, slots, input_.events, input_.weights, lanes, partitions, tick_bytes, results
    )


@kernel
def _propagate_stretches(
    states: States,
    steps: Steps,
    slots: Slots,
    events: Events,
    weights: Weights,
    lanes: Lanes,
    partitions: Int,
    tick_bytes: int,
    results: Results,
) -> bool:
    """See ``propagate_stretches``."""
    shape = shape_of(states.indexes.shape[0], slots)
    most_windows, vertices = 0, 0
    for k in range(partitions.shape[0]):
        most_windows = max(most_windows, lanes.offsets[k + 1] - lanes.offsets[k])
        begin, end = events.offsets[partitions[k]], events.offsets[partitions[k] + 1]
        vertices = max(vertices, largest_tick(states.ptr, events, begin, end))
    max_slots = 1 + slots.maxes if slots.maxes > 0 else 0
    if 8 * vertices * (slots.adds * shape.add_rows + max_slots * shape.max_rows) > tick_bytes:
        return False
    tick = Tick(
        np.empty(vertices * slots.adds * shape.add_rows),
        np.empty(vertices * max_slots * shape.max_rows),
        np.empty(vertices, dtype=np.int64),
    )
    # Maps: before the cut and after it, each with a second place for what they become, then the pieces after the cut.
    room = _FIRST
    maps = room_for(room, shape)
    before, after, count = _BEFORE, _AFTER, _PIECES
    begins = np.empty(room, dtype=np.int64)
    # Per window that begins before the cut: the first row of its map up to there.
    front_adds = np.empty((most_windows, shape.adds + slots.adds))
    front_maxes = np.empty((most_windows, shape.maxes + slots.maxes))
    for k in range(partitions.shape[0]):
        required = events.required[partitions[k]]
        cut, read, count = -1, -1, _PIECES
        base, beyond = lanes.offsets[k], lanes.offsets[k]
        for window in range(lanes.offsets[k], lanes.offsets[k + 1]):
            first, last = lanes.first[0, window], lanes.last[0, window]
            read = max(read, first)
            # Read what is new, in pieces at whose ends windows begin or end.
            while read < last:
                if events.stop[0] != 0:
                    return True
                while beyond < lanes.offsets[k + 1] and lanes.first[0, beyond] <= read:
                    beyond += 1
                end = last
                if beyond < lanes.offsets[k + 1]:
                    end = min(last, lanes.first[0, beyond])
                if count == room:
                    room *= 2
                    maps, begins = more_room(maps, begins, shape)
                make_nothing(maps, count, shape)
                _read(maps, count, shape, states, steps, slots, events, weights, tick, (read, end, required))
                begins[count] = read
                if first < cut:
                    follow(maps, after, count, after ^ _OTHER, shape)
                    after ^= _OTHER
                count += 1
                read = end
            if first >= cut:
                # All windows that begin before this one's end are cut there.
                cut, base = last, window
                stop = window + 1
                while stop < lanes.offsets[k + 1] and lanes.first[0, stop] < cut:
                    stop += 1
                make_nothing(maps, before, shape)
                for w in range(stop - 1, window - 1, -1):
                    while count > _PIECES and begins[count - 1] >= lanes.first[0, w]:
                        count -= 1
                        follow(maps, count, before, before ^ _OTHER, shape)
                        before ^= _OTHER
                    for column in range(front_adds.shape[1]):
                        front_adds[w - base, column] = maps.adds[before * shape.add_size + column * shape.add_rows]
                    for column in range(front_maxes.shape[1]):
                        front_maxes[w - base, column] = maps.maxes[before * shape.max_size + column * shape.max_rows]
                count = _PIECES
                make_nothing(maps, after, shape)
            _write(front_adds, front_maxes, window - base, maps, after, shape, slots, window, results)
    return True


@small
def _write(
    totals: Doubles,
    peaks: Doubles,
    row: int,
    maps: Maps,
    after: int,
    shape: Shape,
    slots: Slots,
    window: int,
    results: Results,
) -> None:
    """The results of a window, from its totals at the cut and the map of the events after it."""
    for slot in range(slots.adds):
        column = shape.adds + slot
        at = after * shape.add_size + column * shape.add_rows
        total = totals[row, column] + maps.adds[at]
        for i in range(shape.adds):
            # A zero makes nothing of anything, not even of infinity.
            if totals[row, i] != 0.0 and maps.adds[at + 1 + i] != 0.0:
                total += totals[row, i] * maps.adds[at + 1 + i]
        results.words[window, slot] = total
    for slot in range(slots.maxes):
        column = shape.maxes + slot
        at = after * shape.max_size + column * shape.max_rows
        peak = max(peaks[row, column], maps.maxes[at])
        for i in range(shape.maxes):
            if peaks[row, i] != NONE_REACHED and maps.maxes[at + 1 + i] != NONE_REACHED:
                peak = max(peak, peaks[row, i] + maps.maxes[at + 1 + i])
        results.maxima[window, slot] = peak


@small
def _read(
    maps: Maps,
    number: int,
    shape: Shape,
    states: States,
    steps: Steps,
    slots: Slots,
    events: Events,
    weights: Weights,
    tick: Tick,
    stretch: tuple[int, int, int],
) -> None:
    """Append events to the stretch of map ``number``: (first, one past the last, scopes that a trend must have met)."""
    i, last, required = stretch
    state_of = states.state
    add_rows, max_rows = shape.add_rows, shape.max_rows
    add_size = slots.adds * add_rows
    max_size = (1 + slots.maxes) * max_rows if slots.maxes > 0 else 0
    map_adds, map_maxes = number * shape.add_size, number * shape.max_size
    result_adds, result_maxes = map_adds + shape.adds * add_rows, map_maxes + shape.maxes * max_rows
    carried_adds, carried_maxes = shape.carried_adds * add_rows, shape.carried_maxes * max_rows
    while i < last:
        instant = events.time[i]
        waiting = 0
        # Every event of the tick makes its vertices from what lies before the tick.
        while i < last and events.time[i] == instant:
            if events.stop[0] != 0:
                return
            mask = events.mask[i]
            variable = 0
            while mask != _NONE:
                if mask & _ONE == _NONE:
                    mask >>= _ONE
                    variable += 1
                    continue
                for at in range(states.ptr[variable], states.ptr[variable + 1]):
                    state = states.entered[at]
                    adds, maxes = waiting * add_size, waiting * max_size
                    for cell in range(adds, adds + add_size):
                        tick.adds[cell] = 0.0
                    for cell in range(maxes, maxes + max_size):
                        tick.maxes[cell] = NONE_REACHED
                    if state_of[state, START] != 0:
                        _start(tick, adds, maxes, shape, slots, steps)
                        begin, end = state_of[state, BEGIN_FIRST], state_of[state, BEGIN_LAST]
                        if begin < end:
                            _take_steps(tick, adds, maxes, shape, steps.steps, weights, begin, end, i)
                    for into in range(state_of[state, IN_FIRST], state_of[state, IN_LAST]):
                        index = states.incoming[into]
                        _add(tick.adds, adds, maps.adds, map_adds + index * carried_adds, carried_adds)
                        _raise(tick.maxes, maxes, maps.maxes, map_maxes + index * carried_maxes, carried_maxes)
                    begin, end = state_of[state, PART_FIRST], state_of[state, PART_LAST]
                    if begin < end:
                        _take_steps(tick, adds, maxes, shape, steps.steps, weights, begin, end, i)
                    if state_of[state, END] != 0 and state_of[state, SEEN] == required:
                        _add(maps.adds, result_adds, tick.adds, adds, add_size)
                        _raise(maps.maxes, result_maxes, tick.maxes, maxes + max_rows, slots.maxes * max_rows)
                    if state_of[state, OUT_FIRST] < state_of[state, OUT_LAST]:
                        tick.state[waiting] = state
                        waiting += 1
                mask >>= _ONE
                variable += 1
            i += 1
        # The tick is over: its vertices may come before what follows.
        for at in range(waiting):
            state = tick.state[at]
            for out in range(state_of[state, OUT_FIRST], state_of[state, OUT_LAST]):
                index = states.outgoing[out]
                _add(maps.adds, map_adds + index * carried_adds, tick.adds, at * add_size, carried_adds)
                _raise(maps.maxes, map_maxes + index * carried_maxes, tick.maxes, at * max_size, carried_maxes)


@small
def _start(tick: Tick, adds: int, maxes: int, shape: Shape, slots: Slots, steps: Steps) -> None:
    """A trend starts: row 0 alone is of trends that start within the stretch."""
    for slot in range(slots.adds):
        tick.adds[adds + slot * shape.add_rows] = steps.start_adds[slot]
    if slots.maxes > 0:
        tick.maxes[maxes] = 0.0
        for slot in range(slots.maxes):
            if steps.start_maxes[slot] != 0:
                tick.maxes[maxes + (1 + slot) * shape.max_rows] = 0.0


@small
def _add(into: Doubles, at: int, numbers: Doubles, start: int, count: int) -> None:
    """Add ``count`` numbers of one array to those of another."""
    for i in range(count):
        into[at + i] += numbers[start + i]


@small
def _raise(into: Doubles, at: int, numbers: Doubles, start: int, count: int) -> None:
    """The same in (max, +)."""
    for i in range(count):
        into[at + i] = max(into[at + i], numbers[start + i])


@inner
def _take_steps(
    tick: Tick, adds: int, maxes: int, shape: Shape, steps: Int, weights: Weights, first: int, last: int, i: int
) -> None:
    """Run the steps ``[first, last)`` for event ``i`` on a vertex; as ``greta.kernels.steps``, on all rows of a map."""
    for at in range(first, last):
        guard = steps[at, GUARD]
        if guard >= 0 and weights.guards[guard, i] == 0:
            continue
        operation = steps[at, OPERATION]
        weight = float(steps[at, FACTOR])
        if steps[at, WEIGHT] >= 0:
            weight = weights.doubles[steps[at, WEIGHT], i]
        if operation <= ZERO:
            target = adds + steps[at, TARGET] * shape.add_rows
            origin = adds + steps[at, ORIGIN] * shape.add_rows
            for row in range(shape.add_rows):
                if operation == ADD:
                    if weight != 0.0 and tick.adds[origin + row] != 0.0:
                        tick.adds[target + row] += weight * tick.adds[origin + row]
                elif operation == COPY:
                    tick.adds[target + row] = tick.adds[origin + row]
                else:
                    tick.adds[target + row] = 0.0
            continue
        target = maxes + (1 + steps[at, TARGET]) * shape.max_rows
        # What RAISE depends on is that a trend reaches the vertex: slot 0.
        origin = maxes if operation == RAISE else maxes + (1 + steps[at, ORIGIN]) * shape.max_rows
        for row in range(shape.max_rows):
            raised = tick.maxes[origin + row] + weight if tick.maxes[origin + row] != NONE_REACHED else NONE_REACHED
            if operation == RAISE or operation == JOIN:
                tick.maxes[target + row] = max(tick.maxes[target + row], raised)
            elif operation == PUT:
                tick.maxes[target + row] = raised
            else:
                # CLEAR; flows with LOWER and RAISE_IF, which are no maps of this kind, are computed otherwise.
                tick.maxes[target + row] = NONE_REACHED
