"""Vertices of a stream kept one by one, for conditions that no sum answers: a new event looks at all that are left.

An instance is a chain of *chunks*, from the oldest vertices to the newest. A chunk holds what conditions read of each
vertex, its numbers, and what makes looking short: the smallest and largest value of each comparison, and the sum of all
its rows. Values that come one after the other are often alike, so most chunks are passed over or taken as a whole::

    price      9.7 9.1 9.9 | 8.8 8.2 8.5 | 7.1 7.9 | ...      below 9.0?  passed over, taken whole, taken whole
    smallest   9.1         | 8.2         | 7.1
    largest    9.9         | 8.8         | 7.9

A chunk's first lane is a window of its own; chunks whose windows are closed are let go of, from the oldest on. Where
many chunks have come together, their vertices change places (``regrouping``), so that those of a chunk are alike in
whatever order they came.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, small
from greta.kernels.conditions import compare, residual_holds
from greta.kernels.heap import FULL, LISTED_THERE, LOOKED_AT, SCANS, Heap, add_lanes, copy_block, give_back
from greta.kernels.layout import DIFFERS, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, NOTHING, Conditions, Int, Operands
from greta.kernels.regrouping import (
    CAPACITY,
    FINAL,
    FIRST,
    FOLLOWING,
    HEAD,
    LEVEL,
    LONGEST,
    SIZE,
    WORDS,
    begin_with,
    new_chunk,
    note_codes,
    regroup,
)
from greta.kernels.runs import LAST, PLACE, TABLE

# Columns of ``Orders.order``.
PREVIOUS = 0
NEXT = 1
"""Columns of the events' codes, or -1: all vertices of an instance count."""
STRICT = 2
"""1 where the earlier code must be smaller, 0 where it may be equal."""
LISTED = 3
"""1 where vertices are kept one by one, by the columns that follow."""
TEST_FIRST = 4
TEST_LAST = 5
"""The slice of ``Orders.test``."""
KEPT_FIRST = 6
KEPT_LAST = 7
"""The slice of ``Orders.kept``: what is kept of a vertex, first what tests compare."""
PROGRAM = 8
"""Where the condition of what the tests leave starts, or -1."""
ORDER_COLUMNS = 9

# Columns of ``Orders.test``.
_COLUMN = 0
"""Of the later event's codes."""
_OPERATOR = 1
TEST_COLUMNS = 2

_SHORTEST = 4
"""Vertices of a list's first chunk; the next ones are longer, up to ``LONGEST``."""


class Orders(NamedTuple):
    """The ways into indexes: by which codes, or by which conditions on pairs."""

    order: Int
    """[order, column]"""
    test: Int
    """[test, column]: comparisons of a kept code with one of the later event."""
    kept: Int
    """Columns of ``Operands.codes``, or of values as -1 - column."""
    conditions: Conditions
    """Only ``comparison``, ``program`` and ``constants``."""


class Pairs(NamedTuple):
    """What conditions on pairs read of new events, with room for one vertex of a list behind the last event."""

    operands: Operands
    stack: NDArray[np.float64]


@inner
def let_list_go(heap: Heap, instance: int) -> None:
    """Give back all chunks of a list."""
    at = heap.instance[instance, PLACE]
    while at >= 0:
        following = heap.whole[at + FOLLOWING]
        give_back(heap, at, heap.whole[at + WORDS])
        at = following


@inner
def copy_list(heap: Heap, source: int, instance: int) -> None:
    """Let an instance that holds nothing have the chunks of another; nothing of use where there is no room."""
    about = heap.instance[instance]
    at = heap.instance[source, PLACE]
    last = -1
    while at >= 0:
        copy = copy_block(heap, at, heap.whole[at + WORDS])
        if copy < 0:
            return
        heap.whole[copy + FOLLOWING] = -1
        if last >= 0:
            heap.whole[last + FOLLOWING] = copy
        else:
            about[PLACE] = copy
        about[TABLE] = copy
        last = copy
        at = heap.whole[at + FOLLOWING]


@inner
def scan(
    rows: Any,
    row: int,
    heap: Heap,
    instance: int,
    orders: Orders,
    pairs: Pairs,
    later: tuple[int, int],
    base: int,
    low: int,
    high: int,
) -> None:
    """Add to a row the vertices of a list that may come right before an event; ``later``: (order, event)."""
    o, j = later
    first, last = orders.order[o, TEST_FIRST], orders.order[o, TEST_LAST]
    codes = pairs.operands.codes
    for test in range(first, last):
        if codes[orders.test[test, _COLUMN], j] == NOTHING:
            return
    heap.about[SCANS] += 1
    # Nearly all vertices that are looked at are left out by one of the first two tests.
    low_0, high_0 = _range_of(orders, codes, first, last, j)
    low_1, high_1 = _range_of(orders, codes, first + 1, last, j)
    left = orders.order[o, PROGRAM] >= 0 or last - first > 2
    for test in range(first, last):
        left = left or orders.test[test, _OPERATOR] == DIFFERS
    width, length = heap.width, (heap.adds + heap.maxes) * heap.width
    kept = orders.order[o, KEPT_LAST] - orders.order[o, KEPT_FIRST]
    at = heap.instance[instance, PLACE]
    while at >= 0:
        size, capacity = heap.whole[at + SIZE], heap.whole[at + CAPACITY]
        skip = base - heap.whole[at + FIRST]
        values = at + HEAD + 2 * (last - first)
        ends = values + kept * capacity
        heap.about[LISTED_THERE] += size
        top = min(high, heap.whole[at + FINAL] + 1 - base)
        fit = _fit(heap, at, orders, codes, (first, last), j)
        if low < top and fit != _NO_FIT:
            sums = ends + capacity
            if fit == _ALL_FIT and orders.order[o, PROGRAM] < 0:
                add_lanes(rows, row, heap, sums, width, skip, low, top)
            else:
                heap.about[LOOKED_AT] += size
                second = values + capacity if last - first > 1 else values
                for vertex in range(size):
                    if last > first:
                        one, two = heap.whole[values + vertex], heap.whole[second + vertex]
                        if one < low_0 or one > high_0 or two < low_1 or two > high_1:
                            continue
                    top = min(high, heap.whole[ends + vertex] - skip)
                    if low < top and (not left or _links(heap, values + vertex, capacity, orders, pairs, later)):
                        add_lanes(rows, row, heap, sums + (1 + vertex) * length, width, skip, low, top)
        at = heap.whole[at + FOLLOWING]


_LOWEST: Any = np.int64(-(2**63))
_HIGHEST: Any = np.int64(2**63 - 1)


@inner
def _range_of(orders: Orders, codes: Int, test: int, last: int, j: int) -> tuple[int, int]:
    """The smallest and largest code that a test may leave for an event; all, where there is no such test."""
    low, high = _LOWEST, _HIGHEST
    if test < last:
        bound, operator = codes[orders.test[test, _COLUMN], j], orders.test[test, _OPERATOR]
        # No code is the smallest or the largest of all numbers.
        if operator == LESS:
            high = bound - 1
        elif operator == LESS_EQUAL:
            high = bound
        elif operator == GREATER:
            low = bound + 1
        elif operator == GREATER_EQUAL:
            low = bound
    return low, high


_NO_FIT: Any = np.int64(0)
_SOME_FIT: Any = np.int64(1)
_ALL_FIT: Any = np.int64(2)


@small
def _fit(heap: Heap, at: int, orders: Orders, codes: Int, tests: tuple[int, int], j: int) -> int:
    """Whether the tests leave no vertex of a chunk, all of them, or perhaps some."""
    fit = _ALL_FIT
    for test in range(tests[0], tests[1]):
        place = at + HEAD + 2 * (test - tests[0])
        bound, operator = codes[orders.test[test, _COLUMN], j], orders.test[test, _OPERATOR]
        smallest = compare(operator, heap.whole[place], bound)
        largest = compare(operator, heap.whole[place + 1], bound)
        if not smallest and not largest:
            return int(_NO_FIT)
        if not (smallest and largest) or operator == DIFFERS:
            fit = _SOME_FIT
    return int(fit)


@small
def _links(heap: Heap, values: int, capacity: int, orders: Orders, pairs: Pairs, later: tuple[int, int]) -> bool:
    """Whether a vertex may come right before an event; its values lie at ``values``, a column every ``capacity``."""
    o, j = later
    first = orders.order[o, TEST_FIRST]
    codes, numbers = pairs.operands.codes, pairs.operands.values
    for test in range(first, orders.order[o, TEST_LAST]):
        bound = codes[orders.test[test, _COLUMN], j]
        if not compare(orders.test[test, _OPERATOR], heap.whole[values + (test - first) * capacity], bound):
            return False
    program = orders.order[o, PROGRAM]
    if program < 0:
        return True
    spare = codes.shape[1] - 1
    begin = orders.order[o, KEPT_FIRST]
    for k in range(begin, orders.order[o, KEPT_LAST]):
        column = orders.kept[k]
        if column >= 0:
            codes[column, spare] = heap.whole[values + (k - begin) * capacity]
        else:
            numbers[-1 - column, spare] = heap.words[values + (k - begin) * capacity]
    return residual_holds(orders.conditions, pairs.operands, program, spare, j, pairs.stack)


@inner
def keep(
    heap: Heap,
    rows: Any,
    row: int,
    instance: int,
    orders: Orders,
    operands: Operands,
    earlier: tuple[int, int],
    base: int,
    low: int,
    high: int,
) -> None:
    """Put a vertex at the end of a list; ``earlier``: (order, event). Nothing happens where there is no room."""
    o, i = earlier
    if heap.about[FULL] != 0:
        return
    first, last = orders.order[o, TEST_FIRST], orders.order[o, TEST_LAST]
    begin = orders.order[o, KEPT_FIRST]
    kept = orders.order[o, KEPT_LAST] - begin
    for test in range(last - first):
        if operands.codes[orders.kept[begin + test], i] == NOTHING:
            return
    about = heap.instance[instance]
    about[LAST] = max(about[LAST], base + high - 1)
    at = _room_for_one(heap, instance, last - first, kept, base, high)
    if at < 0:
        return
    size, capacity = heap.whole[at + SIZE], heap.whole[at + CAPACITY]
    values = at + HEAD + 2 * (last - first)
    for k in range(kept):
        column = orders.kept[begin + k]
        place = values + k * capacity + size
        if column >= 0:
            heap.whole[place] = operands.codes[column, i]
        else:
            heap.words[place] = operands.values[-1 - column, i]
    note_codes(heap, at, last - first, size)
    skip = base - heap.whole[at + FIRST]
    ends = values + kept * capacity
    heap.whole[ends + size] = high + skip
    sums = ends + capacity
    length = (heap.adds + heap.maxes) * heap.width
    _store(heap, rows, row, (sums, sums + (1 + size) * length), skip, low, high)
    heap.whole[at + SIZE] = size + 1
    heap.whole[at + FINAL] = max(heap.whole[at + FINAL], base + high - 1)


@inner
def _room_for_one(heap: Heap, instance: int, tests: int, kept: int, base: int, high: int) -> int:
    """The chunk that takes one more vertex, a new one where the last is full; -1: no room."""
    about = heap.instance[instance]
    while about[PLACE] >= 0 and heap.whole[about[PLACE] + FINAL] < base:
        gone = about[PLACE]
        about[PLACE] = heap.whole[gone + FOLLOWING]
        give_back(heap, gone, heap.whole[gone + WORDS])
    newest = about[TABLE] if about[PLACE] >= 0 else -1
    capacity = _SHORTEST
    if newest >= 0:
        capacity = heap.whole[newest + CAPACITY]
        if heap.whole[newest + SIZE] < capacity and heap.whole[newest + LEVEL] == 0:
            if high + base - heap.whole[newest + FIRST] > heap.width:
                begin_with(heap, newest, tests, kept, base)
            return int(newest)
        capacity = min(LONGEST, 2 * capacity)
        if tests > 0:
            regroup(heap, instance, tests, kept, base)
            newest = about[TABLE]
    at = new_chunk(heap, capacity, tests, kept, base)
    if at < 0:
        return -1
    if newest >= 0:
        heap.whole[newest + FOLLOWING] = at
    else:
        about[PLACE] = at
    about[TABLE] = at
    return int(at)


@small
def _store(heap: Heap, rows: Any, row: int, places: tuple[int, int], skip: int, low: int, high: int) -> None:
    """Write the carried slots of a row to the second place, and add them to the sums at the first."""
    sums, own = places
    width = heap.width
    for slot in range(heap.adds + heap.maxes):
        heap.words[own + slot * width : own + slot * width + skip + low] = 0.0 if slot < heap.adds else -np.inf
    for slot in range(heap.adds):
        begin = row * rows.words + slot * width
        for lane in range(low, high):
            heap.words[own + slot * width + skip + lane] = rows.store[begin + lane]
            heap.words[sums + slot * width + skip + lane] += rows.store[begin + lane]
    for slot in range(heap.maxes):
        begin = row * rows.extremes + slot * width
        place = (heap.adds + slot) * width + skip
        for lane in range(low, high):
            heap.words[own + place + lane] = rows.maxima[begin + lane]
            heap.words[sums + place + lane] = max(heap.words[sums + place + lane], rows.maxima[begin + lane])
