"""Indexes that grow: sums over the vertices below a value, of values that nobody knew beforehand.

An *instance* holds the vertices of one state along one link, of one partition (and one key, where the link has an
equality). Without a comparison it is one row of totals; where no sum answers its conditions, a list (``lists``). With
one comparison it has *recent* rows, as they came, and *runs*: sorted by code, each row the sum of all rows up to it, so
that what lies below a bound is one row per run::

    recent    5 3 9                     at most 16, looked through one by one
    runs      1  2  4  7  8  8.5        row of 4: the sum of 1, 2 and 4
              3  6                      from the oldest to the newest

Recent rows become a run. Lanes are windows; the first lane of recent rows and totals is the window in ``BASE``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from greta.kernels.compiler import inner, kernel, small
from greta.kernels.heap import FULL, Heap, add_lanes, copy_block, give_back, move_lanes, take
from greta.kernels.layout import Int
from greta.kernels.lists import copy_list, let_list_go
from greta.kernels.merges import merge_runs
from greta.kernels.runs import (
    BASE,
    BLOCK,
    CAPACITY,
    FIRST,
    LANES,
    LAST,
    LIST,
    PLACE,
    RECENT,
    ROWS,
    RUN_WORDS,
    RUNS,
    SIZE,
    SORTED,
    TABLE,
    TABLE_SIZE,
    copy_run,
    let_go,
    list_run,
    row_at,
)

_HEAD = 3
"""Words of a recent row besides its numbers: all codes lie first, then all first lanes, then all ends of lanes."""


@inner
def gather(
    rows: Any, row: int, heap: Heap, instance: int, bound: int, strict: int, base: int, low: int, high: int
) -> None:
    """Add to a row the vertices of an instance whose code is below the bound (or equal, where that is allowed)."""
    about = heap.instance[instance]
    place = about[PLACE]
    width = heap.width
    skip = base - about[BASE]
    if about[SORTED] == 0:
        if place >= 0 and low < min(high, width - skip):
            add_lanes(rows, row, heap, place, width, skip, low, min(high, width - skip))
        return
    length = (heap.adds + heap.maxes) * width
    ends = place + 2 * about[CAPACITY]
    # No code is the largest of all numbers, so there is one after it.
    limit = bound + 1 - strict
    for recent in range(about[SIZE]):
        if heap.whole[place + recent] < limit:
            top = min(high, heap.whole[ends + recent] - skip)
            if low < top:
                at = place + _HEAD * about[CAPACITY] + recent * length
                add_lanes(rows, row, heap, at, width, skip, low, top)
    for r in range(about[RUNS]):
        run = about[TABLE] + r * RUN_WORDS
        block, count = heap.whole[run + BLOCK], heap.whole[run + ROWS]
        lanes = heap.whole[run + LANES]
        skip = base - heap.whole[run + FIRST]
        top = min(high, lanes - skip)
        if low >= top:
            continue
        # The number of rows below the limit; half of those left are passed or not, which no processor needs to guess.
        begin = 0
        while count > 0:
            half = (count + 1) >> 1
            if heap.whole[block + begin + half - 1] < limit:
                begin += half
            count -= half
        if begin > 0:
            add_lanes(rows, row, heap, row_at(heap, run, begin - 1), lanes, skip, low, top)


@inner
def put_in(heap: Heap, rows: Any, row: int, instance: int, code: int, base: int, low: int, high: int) -> None:
    """Put a vertex into an instance; nothing happens where there is no room."""
    if heap.about[FULL] != 0:
        return
    about = heap.instance[instance]
    width = heap.width
    slots = heap.adds + heap.maxes
    about[LAST] = max(about[LAST], base + high - 1)
    if about[SORTED] == 0:
        if about[PLACE] < 0:
            about[PLACE] = take(heap, slots * width)
            if about[PLACE] < 0:
                return
            about[BASE] = base - width
        if about[BASE] != base:
            move_lanes(heap.words, about[PLACE], heap.adds, heap.maxes, width, base - about[BASE])
            about[BASE] = base
        _take_lanes(heap, about[PLACE], rows, row, low, high)
        return
    if about[BASE] != base:
        if about[SIZE] > 0:
            _sort(heap, instance, base)
        about[BASE] = base
    length = slots * width
    for recent in range(about[SIZE]):
        if heap.whole[about[PLACE] + recent] == code:
            at = about[PLACE] + _HEAD * about[CAPACITY] + recent * length
            end = about[PLACE] + 2 * about[CAPACITY] + recent
            _empty(heap, at, heap.whole[end], high)
            heap.whole[end] = high
            _take_lanes(heap, at, rows, row, low, high)
            return
    if about[SIZE] == about[CAPACITY]:
        if about[SIZE] == RECENT:
            _sort(heap, instance, base)
        else:
            _more_room(heap, instance, length)
        if heap.about[FULL] != 0:
            return
    size, capacity = about[SIZE], about[CAPACITY]
    heap.whole[about[PLACE] + size] = code
    heap.whole[about[PLACE] + capacity + size] = low
    heap.whole[about[PLACE] + 2 * capacity + size] = high
    at = about[PLACE] + _HEAD * capacity + size * length
    _empty(heap, at, low, high)
    _take_lanes(heap, at, rows, row, low, high)
    about[SIZE] = size + 1


@small
def _empty(heap: Heap, at: int, low: int, high: int) -> None:
    """Set the lanes ``[low, high)`` of new row's numbers to zero and nothing."""
    for slot in range(heap.adds + heap.maxes):
        empty = 0.0 if slot < heap.adds else -np.inf
        heap.words[at + slot * heap.width + low : at + slot * heap.width + high] = empty


@small
def _take_lanes(heap: Heap, at: int, rows: Any, row: int, low: int, high: int) -> None:
    """Add the carried slots of a row to the numbers at ``at``."""
    width = heap.width
    for slot in range(heap.adds):
        target = heap.words[at + slot * width + low : at + slot * width + high]
        begin = row * rows.words + slot * width
        source = rows.store[begin + low : begin + high]
        for i in range(target.shape[0]):
            target[i] += source[i]
    for slot in range(heap.maxes):
        begin = at + (heap.adds + slot) * width
        target = heap.words[begin + low : begin + high]
        begin = row * rows.extremes + slot * width
        source = rows.maxima[begin + low : begin + high]
        for i in range(target.shape[0]):
            target[i] = max(target[i], source[i])


@inner
def _more_room(heap: Heap, instance: int, length: int) -> None:
    """Room for twice as many recent rows."""
    about = heap.instance[instance]
    capacity = about[CAPACITY]
    more = max(2, 2 * capacity)
    place = take(heap, more * (_HEAD + length))
    if place < 0:
        return
    if capacity > 0:
        for part in range(_HEAD):
            for i in range(capacity):
                heap.whole[place + part * more + i] = heap.whole[about[PLACE] + part * capacity + i]
        for i in range(capacity * length):
            heap.whole[place + _HEAD * more + i] = heap.whole[about[PLACE] + _HEAD * capacity + i]
        give_back(heap, about[PLACE], capacity * (_HEAD + length))
    about[PLACE] = place
    about[CAPACITY] = more


@inner
def _sort(heap: Heap, instance: int, base: int) -> None:
    """Turn the recent rows into a run, and merge runs that have become too many; ``base``: the first open window."""
    about = heap.instance[instance]
    width, slots = heap.width, heap.adds + heap.maxes
    place, capacity, count = about[PLACE], about[CAPACITY], about[SIZE]
    lanes = 0
    # Insertion sort of at most RECENT codes.
    for i in range(count):
        lanes = max(lanes, heap.whole[place + 2 * capacity + i])
        code = heap.whole[place + i]
        k = i
        while k > 0 and heap.whole[place + heap.scratch[k - 1]] > code:
            heap.scratch[k] = heap.scratch[k - 1]
            k -= 1
        heap.scratch[k] = i
    about[SIZE] = 0
    if about[BASE] + lanes <= base:
        return
    list_run(heap, instance, count, about[BASE], lanes)
    if heap.about[FULL] != 0:
        return
    run = about[TABLE] + (about[RUNS] - 1) * RUN_WORDS
    block = heap.whole[run + BLOCK]
    before = 0
    for i in range(count):
        recent = heap.scratch[i]
        low, high = heap.whole[place + capacity + recent], heap.whole[place + 2 * capacity + recent]
        heap.whole[block + i] = heap.whole[place + recent]
        heap.whole[block + count + i] = about[BASE] + high - 1
        at = row_at(heap, run, i)
        for slot in range(slots):
            target = heap.words[at + slot * lanes : at + (slot + 1) * lanes]
            empty = 0.0 if slot < heap.adds else -np.inf
            for lane in range(lanes):
                target[lane] = empty if i == 0 else heap.words[before + slot * lanes + lane]
            begin = place + _HEAD * capacity + (recent * slots + slot) * width
            source = heap.words[begin + low : begin + high]
            own = target[low:high]
            if slot < heap.adds:
                for lane in range(own.shape[0]):
                    own[lane] += source[lane]
            else:
                for lane in range(own.shape[0]):
                    own[lane] = max(own[lane], source[lane])
        before = at
    merge_runs(heap, instance, base)


@kernel
def release(heap: Heap, instances: Int) -> None:
    """Let go of all that some instances hold."""
    for k in range(instances.shape[0]):
        release_one(heap, instances[k])


@inner
def release_one(heap: Heap, instance: int) -> None:
    """Let go of all that an instance holds."""
    slots = heap.adds + heap.maxes
    about = heap.instance[instance]
    if about[SORTED] == LIST:
        let_list_go(heap, instance)
    elif about[PLACE] >= 0:
        length = slots * heap.width
        give_back(heap, about[PLACE], length if about[SORTED] == 0 else about[CAPACITY] * (_HEAD + length))
    for r in range(about[RUNS]):
        let_go(heap, about[TABLE] + r * RUN_WORDS)
    if about[TABLE_SIZE] > 0:
        give_back(heap, about[TABLE], about[TABLE_SIZE] * RUN_WORDS)
    new_instance(about, about[SORTED])


@kernel
def copy_all(heap: Heap, sources: Int, targets: Int) -> None:
    """Let instances that hold nothing hold what others do, each its own copy of it.

    Stops where the heap is full: nothing that it holds is of use then.
    """
    for k in range(sources.shape[0]):
        _copy_one(heap, sources[k], targets[k])
        if heap.about[FULL] != 0:
            return


@inner
def _copy_one(heap: Heap, source: int, target: int) -> None:
    old, about = heap.instance[source], heap.instance[target]
    about[LAST] = old[LAST]
    if old[SORTED] == LIST:
        copy_list(heap, source, target)
        return
    about[BASE] = old[BASE]
    if old[PLACE] >= 0:
        length = (heap.adds + heap.maxes) * heap.width
        words = length if old[SORTED] == 0 else old[CAPACITY] * (_HEAD + length)
        about[PLACE] = copy_block(heap, old[PLACE], words)
        about[SIZE], about[CAPACITY] = old[SIZE], old[CAPACITY]
    for r in range(old[RUNS]):
        if heap.about[FULL] == 0:
            copy_run(heap, old[TABLE] + r * RUN_WORDS, target)


@inner
def new_instance(about: Int, sorted_: int) -> None:
    """An instance that holds nothing."""
    about[:] = 0
    about[SORTED] = sorted_
    about[PLACE] = -1
    about[LAST] = -(2**62)
