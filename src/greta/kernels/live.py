"""Open windows that go on: graphs of many partitions, brought forward by events as they come (§4.2, online).

What a batch keeps in trees over values that it knows beforehand, a stream keeps in *runs* (see ``instances``).
A window is a lane, counted from the first open window, ``base``; lanes move when windows close, each row when it is
next written to. Closing a window therefore costs nothing but reading its results.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel
from greta.kernels.heap import FULL, Heap, move_lanes
from greta.kernels.instances import gather, put_in, release_one
from greta.kernels.layout import (
    BEGIN_FIRST,
    BEGIN_LAST,
    CLIP,
    END,
    IN_FIRST,
    IN_LAST,
    NOTHING,
    OUT_FIRST,
    OUT_LAST,
    PART_FIRST,
    PART_LAST,
    SEEN,
    START,
    Int,
    Slots,
    States,
    Steps,
    Weights,
)
from greta.kernels.lists import LISTED, NEXT, PREVIOUS, STRICT, Orders, Pairs, keep, scan
from greta.kernels.numbers import Rows, clear, is_alive, room, start
from greta.kernels.steps import take_steps

_ONE = np.uint64(1)
_NONE = np.uint64(0)
_NO_CODE: Any = np.int64(0)


class Edges(NamedTuple):
    """What NOTs at the edges of a pattern do to new events; without rows where there are none."""

    alive: Int
    """[clip, event]: the first window in which the event may be in a state of that clip: in those before, a match of
    a leading NOT has ended earlier."""
    void: NDArray[np.uint8]
    """[block, event]: whether a trailing NOT matches here, so that all trends with earlier events are void."""


class News(NamedTuple):
    """New events, by partition and time."""

    offsets: Int
    partition: Int
    """Per slice: the number of its partition."""
    time: Int
    mask: NDArray[np.uint64]
    codes: Int
    """[column, event]; NOTHING is NULL."""
    instances: Int
    """[order × 2 (earlier, later), event]: the index that the event is put into, or read from; -1: none."""
    cursor: Int
    """Per slice: the next event to be read."""
    edges: Edges
    plain: Int
    """[slice, order]: the one index of an order that has no keys; -1 for others."""
    pairs: Pairs
    """What lists of vertices read of the events."""
    latest: NDArray[np.float64]
    """Per event, where it is asked for: the largest first extreme of the trends that end there."""


class Stretch(NamedTuple):
    """The time that one call goes through: up to ``stop``, within lanes of the windows from ``base`` on."""

    stop: int
    base: int
    lowest: int
    """The first window that there is at all."""
    beyond: int
    """The first window that has no lane: results of later windows are left to others."""
    within: int
    slide: int


class Blocks(NamedTuple):
    """Which results belong together: those of one side of an AND, and of branches that end with the same NOTs."""

    of_state: Int
    of_order: Int
    """Per order: the block of the state that it leads from."""
    side: Int
    """Per state: its side of an outermost AND (left, right, both), or 0."""


class Totals(NamedTuple):
    """Results of open windows, a row per partition with a block after the other.

    A block has additive slots, then extreme ones, each with all lanes.
    """

    rows: NDArray[np.float64]
    base: Int
    """Per partition: the window of its first lane."""
    last: Int
    """Per partition: the last window that one of its events is in."""
    required: Int
    """Per partition: the scopes that a trend must have met to count there."""
    blocks: Blocks


@kernel
def go_on(
    states: States,
    steps: Steps,
    slots: Slots,
    orders: Orders,
    news: News,
    weights: Weights,
    heap: Heap,
    totals: Totals,
    stretch: Stretch,
) -> None:
    """Read the events before ``stretch.stop``, a tick at a time; their vertices join indexes and results.

    Stops at once where the heap is full: nothing that it holds is of use then.
    """
    vertices = 16
    while vertices > 0:
        rows = room(np.zeros(1), np.zeros(1), vertices, heap.width, slots)
        pending = np.empty((vertices, 4), dtype=np.int64)
        more = _read(rows, (states, steps, orders), (news, weights), heap, totals, stretch, pending)
        vertices = 2 * more


@inner
def _read(
    rows: Rows,
    automaton: tuple[States, Steps, Orders],
    events: tuple[News, Weights],
    heap: Heap,
    totals: Totals,
    stretch: Stretch,
    pending: Int,
) -> int:
    """Read the events that the cursors stand before; 0, or how many rows the next tick needs that there are not.

    All ticks are read inside one function that counts no references: counting them for every tick took a fifth of the
    time.
    """
    news = events[0]
    for k in range(news.partition.shape[0]):
        end = news.offsets[k + 1]
        while news.cursor[k] < end and news.time[news.cursor[k]] < stretch.stop:
            i = news.cursor[k]
            most = vertices_of_tick(automaton[0], news.time, news.mask, i, end)
            if most > pending.shape[0]:
                return most
            news.cursor[k] = _tick(rows, automaton, events, heap, totals, stretch, pending, (k, i, end))
            if heap.about[FULL] != 0:
                return 0
    return 0


@inner
def vertices_of_tick(states: States, time: Int, mask: NDArray[np.uint64], i: int, end: int) -> int:
    """How many vertices the tick of event ``i`` can bring."""
    instant = time[i]
    most = 0
    while i < end and time[i] == instant:
        bits = mask[i]
        variable = 0
        while bits != _NONE:
            if bits & _ONE != _NONE:
                most += states.ptr[variable + 1] - states.ptr[variable]
            bits >>= _ONE
            variable += 1
        i += 1
    return most


@inner
def _tick(
    rows: Rows,
    automaton: tuple[States, Steps, Orders],
    events: tuple[News, Weights],
    heap: Heap,
    totals: Totals,
    stretch: Stretch,
    pending: Int,
    place: tuple[int, int, int],
) -> int:
    """Make the vertices of one tick, then put them into indexes; the first event after it.

    ``place``: (slice, first event of the tick, one past the last event of the slice).
    """
    states, steps, orders = automaton
    news, weights = events
    k, i, end = place
    p = news.partition[k]
    instant = news.time[i]
    last = instant // stretch.slide
    low = max((instant - stretch.within) // stretch.slide + 1, stretch.base, stretch.lowest) - stretch.base
    high = min(last + 1, stretch.beyond) - stretch.base
    lowest = low
    waiting = 0
    state_of, order = states.state, orders.order
    for block in range(news.edges.void.shape[0]):
        if is_void(news.edges, block, news.time, i, end):
            clear_totals(rows, totals, block, p, stretch.base, low)
            for o in range(news.plain.shape[1]):
                if totals.blocks.of_order[o] == block and news.plain[k, o] >= 0:
                    release_one(heap, news.plain[k, o])
    while i < end and news.time[i] == instant:
        mask = news.mask[i]
        if lowest >= high:
            # Windows with gaps between them: the event is in none.
            mask = _NONE
        variable = 0
        while mask != _NONE:
            if mask & _ONE == _NONE:
                mask >>= _ONE
                variable += 1
                continue
            for at in range(states.ptr[variable], states.ptr[variable + 1]):
                state = states.entered[at]
                low = first_lane(news.edges, state_of[state, CLIP], i, stretch.base, lowest)
                if low >= high:
                    continue
                clear(rows, waiting, low, high)
                if state_of[state, START] != 0:
                    start(rows, waiting, low, high, steps.start_adds, steps.start_maxes)
                    first, stop = state_of[state, BEGIN_FIRST], state_of[state, BEGIN_LAST]
                    if first < stop:
                        take_steps(rows, steps.steps, weights, first, stop, i, waiting, low, high)
                for into in range(state_of[state, IN_FIRST], state_of[state, IN_LAST]):
                    o = states.incoming[into]
                    instance = news.instances[2 * o + 1, i]
                    if instance >= 0:
                        if order[o, LISTED] != 0:
                            scan(rows, waiting, heap, instance, orders, news.pairs, (o, i), stretch.base, low, high)
                            continue
                        bound = _NO_CODE
                        if order[o, NEXT] >= 0:
                            bound = news.codes[order[o, NEXT], i]
                            if bound == NOTHING:
                                continue
                        gather(rows, waiting, heap, instance, bound, order[o, STRICT], stretch.base, low, high)
                if not is_alive(rows, waiting, low, high):
                    continue
                first, stop = state_of[state, PART_FIRST], state_of[state, PART_LAST]
                if first < stop:
                    take_steps(rows, steps.steps, weights, first, stop, i, waiting, low, high)
                if state_of[state, END] != 0 and state_of[state, SEEN] == totals.required[p]:
                    add_to_totals(rows, waiting, totals, totals.blocks.of_state[state], p, stretch.base, low, high)
                    totals.last[p] = max(totals.last[p], last)
                    if news.latest.shape[0] > 0:
                        for lane in range(low, high):
                            news.latest[i] = max(news.latest[i], rows.maxima[waiting * rows.extremes + lane])
                if state_of[state, OUT_FIRST] < state_of[state, OUT_LAST]:
                    pending[waiting, 0] = state
                    pending[waiting, 1] = i
                    pending[waiting, 2] = low
                    waiting += 1
            mask >>= _ONE
            variable += 1
        i += 1
    # The tick is over: its vertices may come before what follows.
    for at in range(waiting):
        state, event, low = pending[at, 0], pending[at, 1], pending[at, 2]
        totals.last[p] = max(totals.last[p], last)
        for out in range(state_of[state, OUT_FIRST], state_of[state, OUT_LAST]):
            o = states.outgoing[out]
            instance = news.instances[2 * o, event]
            if instance < 0:
                continue
            if order[o, LISTED] != 0:
                keep(heap, rows, at, instance, orders, news.pairs.operands, (o, event), stretch.base, low, high)
                continue
            code = _NO_CODE
            if order[o, PREVIOUS] >= 0:
                code = news.codes[order[o, PREVIOUS], event]
                if code == NOTHING:
                    continue
            put_in(heap, rows, at, instance, code, stretch.base, low, high)
    return i


@inner
def first_lane(edges: Edges, clip: int, i: int, base: int, low: int) -> int:
    """The first lane of an event in a state of some clip; ``low`` is the first one that the event is in at all."""
    if edges.alive.shape[0] == 0:
        return low
    lane: int = max(low, edges.alive[clip, i] - base)
    return lane


@inner
def is_void(edges: Edges, block: int, time: Int, i: int, end: int) -> bool:
    """Whether the tick of event ``i`` makes all earlier trends of a block void."""
    instant = time[i]
    while i < end and time[i] == instant:
        if edges.void[block, i] != 0:
            return True
        i += 1
    return False


@inner
def _let_totals_begin(rows: Rows, totals: Totals, p: int, base: int) -> None:
    """Let the lanes of a partition's results begin with the first open window."""
    if totals.base[p] != base:
        words = (rows.adds + rows.maxes) * rows.width
        for at in range(0, totals.rows.shape[1], words):
            move_lanes(totals.rows[p], at, rows.adds, rows.maxes, rows.width, base - totals.base[p])
        totals.base[p] = base


@inner
def clear_totals(rows: Rows, totals: Totals, block: int, p: int, base: int, low: int) -> None:
    """Forget the results of a block from a lane on."""
    _let_totals_begin(rows, totals, p, base)
    width = rows.width
    for slot in range(rows.adds + rows.maxes):
        at = (block * (rows.adds + rows.maxes) + slot) * width
        totals.rows[p, at + low : at + width] = 0.0 if slot < rows.adds else -np.inf


@inner
def add_to_totals(rows: Rows, row: int, totals: Totals, block: int, p: int, base: int, low: int, high: int) -> None:
    """Add all slots of a row to the results of a partition."""
    width = rows.width
    _let_totals_begin(rows, totals, p, base)
    words = (rows.adds + rows.maxes) * width
    own = totals.rows[p, block * words : (block + 1) * words]
    for slot in range(rows.adds):
        target = own[slot * width + low : slot * width + high]
        source = rows.store[row * rows.words + slot * width + low : row * rows.words + slot * width + high]
        for i in range(target.shape[0]):
            target[i] += source[i]
    for slot in range(rows.maxes):
        at = (rows.adds + slot) * width
        target = own[at + low : at + high]
        source = rows.maxima[row * rows.extremes + slot * width + low : row * rows.extremes + slot * width + high]
        for i in range(target.shape[0]):
            target[i] = max(target[i], source[i])
