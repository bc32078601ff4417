"""Indexes that grow: sums over the vertices below a value, of values that nobody knew beforehand.

An *instance* holds the vertices of one state along one link, of one partition (and one key, where the link has an
equality). Without a comparison it is one row of totals. With one it has *recent* rows, as they came, and *runs*: sorted
by code, each row the sum of all rows up to it, so that what lies below a bound is one row per run::

    recent    5 3 9                     at most 16, looked through one by one
    runs      1  2  4  7  8  8.5        row of 4: the sum of 1, 2 and 4
              3  6                      from the oldest to the newest

Recent rows become a run; the four newest runs of about one length become one. Each row of it is a sum of one
row per run, nothing is ever subtracted, and the largest instead of the sum is found in the same way. Equal codes share
a row. Merging leaves out what no open window holds; so does copying a run half of whose windows are closed.

All lies in one heap of words. A run has a block with its codes, the last window of each row, and the places of its
*pages*; pages hold rows and are all of one size, so that none is lost between others. Lanes are windows; the first lane
is the window in ``BASE`` (recent rows and totals) or in the run, however many windows have closed since.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel, small
from greta.kernels.layout import Int

# Columns of ``Heap.instance``.
SORTED = 0
"""1 where the instance has a comparison, 0 for totals."""
PLACE = 1
"""Where its totals, or recent rows, lie; -1: nowhere yet."""
BASE = 2
"""The window of their first lane."""
SIZE = 3
"""Recent rows."""
CAPACITY = 4
"""Recent rows that there is room for."""
TABLE = 5
"""Where its runs are listed."""
RUNS = 6
TABLE_SIZE = 7
"""Runs that there is room for."""
LAST = 8
"""The last window that a vertex is in."""
INSTANCE_COLUMNS = 9

# Words of a run in a table.
_BLOCK = 0
"""Where its codes lie, then the last window of each row, then the places of its pages."""
_ROWS = 1
_FIRST = 2
"""The window of its first lane."""
_LANES = 3
_PER_PAGE = 4
"""Rows of a page."""
_RUN_WORDS = 5

_HEAD = 3
"""Words of a recent row besides its numbers: all codes lie first, then all first lanes, then all ends of lanes."""

# ``Heap.about``: words in use, whether there was no room, the first free page and the first free block of each size.
TOP = 0
FULL = 1
_PAGES = 2
_FREE = 3
ABOUT = _FREE + 256

RECENT = 16
_AT_ONCE = 4
"""So many runs of about one length are merged."""
_MOST_AT_ONCE = 16
LARGEST_RUN = 1 << 15
"""Longer runs are not merged: a merge takes as long as all of them are, and somebody waits for it."""
SCRATCH = RECENT + 2 * _MOST_AT_ONCE


class Heap(NamedTuple):
    """All instances of a query."""

    words: NDArray[np.float64]
    whole: Int
    """The same memory as integers."""
    about: Int
    instance: Int
    """[instance, column]"""
    scratch: Int
    """Room for ``SCRATCH`` numbers."""
    page: int
    """Words of a page: at least a row of all slots and lanes."""
    width: int
    """Lanes of a new row."""
    adds: int
    maxes: int
    """Slots that instances hold."""


@inner
def _size_class(wanted: int) -> tuple[int, int]:
    """(number, words) of the smallest kind of block that holds so many words: four kinds per power of two."""
    size = 8
    kind = 0
    while 2 * size < wanted:
        size *= 2
        kind += 4
    step = size // 4
    quarters = (wanted - size + step - 1) // step if wanted > size else 0
    return kind + quarters, size + quarters * step


@inner
def _take(heap: Heap, wanted: int) -> int:
    """A block of at least so many words, of unset content; -1 where there is no room."""
    kind, size = _size_class(wanted)
    at = heap.about[_FREE + kind]
    if at >= 0:
        heap.about[_FREE + kind] = heap.whole[at]
        return int(at)
    at = heap.about[TOP]
    if at + size > heap.whole.shape[0]:
        heap.about[FULL] = 1
        return -1
    heap.about[TOP] = at + size
    return int(at)


@inner
def _give_back(heap: Heap, at: int, wanted: int) -> None:
    """Let go of a block that was taken for so many words."""
    kind, _ = _size_class(wanted)
    heap.whole[at] = heap.about[_FREE + kind]
    heap.about[_FREE + kind] = at


@inner
def _take_page(heap: Heap) -> int:
    """A page of unset content; -1 where there is no room."""
    at = heap.about[_PAGES]
    if at >= 0:
        heap.about[_PAGES] = heap.whole[at]
        return int(at)
    at = heap.about[TOP]
    if at + heap.page > heap.whole.shape[0]:
        heap.about[FULL] = 1
        return -1
    heap.about[TOP] = at + heap.page
    return int(at)


@kernel
def move_lanes(row: NDArray[np.float64], at: int, adds: int, maxes: int, width: int, by: int) -> None:
    """Let the lanes of a row begin ``by`` windows later: lane ``by`` becomes lane 0, the last ones are empty."""
    by = min(by, width)
    for slot in range(adds + maxes):
        lanes = row[at + slot * width : at + (slot + 1) * width]
        empty = 0.0 if slot < adds else -np.inf
        for lane in range(width - by):
            lanes[lane] = lanes[lane + by]
        for lane in range(width - by, width):
            lanes[lane] = empty


@small
def _add_lanes(rows: Any, row: int, heap: Heap, at: int, stride: int, skip: int, low: int, high: int) -> None:
    """Add the numbers at ``at`` to the lanes ``[low, high)`` of a row: ``stride`` lanes a slot, ``skip`` left out."""
    width = rows.width
    for slot in range(heap.adds):
        target = rows.store[row * rows.words + slot * width + low : row * rows.words + slot * width + high]
        begin = at + slot * stride + skip
        source = heap.words[begin + low : begin + high]
        for i in range(target.shape[0]):
            target[i] += source[i]
    for slot in range(heap.maxes):
        target = rows.maxima[row * rows.extremes + slot * width + low : row * rows.extremes + slot * width + high]
        begin = at + (heap.adds + slot) * stride + skip
        source = heap.words[begin + low : begin + high]
        for i in range(target.shape[0]):
            target[i] = max(target[i], source[i])


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
            _add_lanes(rows, row, heap, place, width, skip, low, min(high, width - skip))
        return
    length = (heap.adds + heap.maxes) * width
    ends = place + 2 * about[CAPACITY]
    for recent in range(about[SIZE]):
        code = heap.whole[place + recent]
        if code < bound or (strict == 0 and code == bound):
            top = min(high, heap.whole[ends + recent] - skip)
            if low < top:
                at = place + _HEAD * about[CAPACITY] + recent * length
                _add_lanes(rows, row, heap, at, width, skip, low, top)
    for r in range(about[RUNS]):
        run = about[TABLE] + r * _RUN_WORDS
        block, count = heap.whole[run + _BLOCK], heap.whole[run + _ROWS]
        lanes = heap.whole[run + _LANES]
        skip = base - heap.whole[run + _FIRST]
        top = min(high, lanes - skip)
        if low >= top:
            continue
        # The number of rows below the bound.
        begin, end = 0, count
        while begin < end:
            middle = (begin + end) >> 1
            code = heap.whole[block + middle]
            if code < bound or (strict == 0 and code == bound):
                begin = middle + 1
            else:
                end = middle
        if begin > 0:
            _add_lanes(rows, row, heap, _row(heap, run, begin - 1), lanes, skip, low, top)


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
            about[PLACE] = _take(heap, slots * width)
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
    place = _take(heap, more * (_HEAD + length))
    if place < 0:
        return
    if capacity > 0:
        for part in range(_HEAD):
            for i in range(capacity):
                heap.whole[place + part * more + i] = heap.whole[about[PLACE] + part * capacity + i]
        for i in range(capacity * length):
            heap.whole[place + _HEAD * more + i] = heap.whole[about[PLACE] + _HEAD * capacity + i]
        _give_back(heap, about[PLACE], capacity * (_HEAD + length))
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
    _list_run(heap, instance, count, about[BASE], lanes)
    if heap.about[FULL] != 0:
        return
    run = about[TABLE] + (about[RUNS] - 1) * _RUN_WORDS
    block = heap.whole[run + _BLOCK]
    before = 0
    for i in range(count):
        recent = heap.scratch[i]
        low, high = heap.whole[place + capacity + recent], heap.whole[place + 2 * capacity + recent]
        heap.whole[block + i] = heap.whole[place + recent]
        heap.whole[block + count + i] = about[BASE] + high - 1
        at = _row(heap, run, i)
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
    _merge_runs(heap, instance, base)


@small
def _row(heap: Heap, run: int, row: int) -> int:
    """Where a row of a run lies."""
    per_page = heap.whole[run + _PER_PAGE]
    page = row // per_page
    begin = heap.whole[heap.whole[run + _BLOCK] + 2 * heap.whole[run + _ROWS] + page]
    return int(begin + (row - page * per_page) * (heap.adds + heap.maxes) * heap.whole[run + _LANES])


@inner
def _block_words(rows: int, per_page: int) -> int:
    return 2 * rows + (rows + per_page - 1) // per_page


@inner
def _list_run(heap: Heap, instance: int, rows: int, first: int, lanes: int) -> None:
    """Add a run of unset content to the instance's table."""
    about = heap.instance[instance]
    if about[RUNS] == about[TABLE_SIZE]:
        more = max(4, 2 * about[TABLE_SIZE])
        table = _take(heap, more * _RUN_WORDS)
        if table < 0:
            return
        if about[TABLE_SIZE] > 0:
            for i in range(about[RUNS] * _RUN_WORDS):
                heap.whole[table + i] = heap.whole[about[TABLE] + i]
            _give_back(heap, about[TABLE], about[TABLE_SIZE] * _RUN_WORDS)
        about[TABLE] = table
        about[TABLE_SIZE] = more
    run = about[TABLE] + about[RUNS] * _RUN_WORDS
    per_page = heap.page // ((heap.adds + heap.maxes) * lanes)
    block = _take(heap, _block_words(rows, per_page))
    if block < 0:
        return
    heap.whole[run + _BLOCK] = block
    heap.whole[run + _ROWS] = rows
    heap.whole[run + _FIRST] = first
    heap.whole[run + _LANES] = lanes
    heap.whole[run + _PER_PAGE] = per_page
    for page in range((rows + per_page - 1) // per_page):
        heap.whole[block + 2 * rows + page] = _take_page(heap)
        if heap.about[FULL] != 0:
            return
    about[RUNS] += 1


@inner
def _let_go(heap: Heap, run: int) -> None:
    """Give back the pages and the block of a run."""
    block, rows, per_page = heap.whole[run + _BLOCK], heap.whole[run + _ROWS], heap.whole[run + _PER_PAGE]
    for at in range((rows + per_page - 1) // per_page):
        page = heap.whole[block + 2 * rows + at]
        heap.whole[page] = heap.about[_PAGES]
        heap.about[_PAGES] = page
    _give_back(heap, block, _block_words(rows, per_page))


@inner
def _length_class(rows: int) -> int:
    """Runs of one class are of about one length."""
    kind = 0
    while rows > RECENT:
        rows //= _AT_ONCE
        kind += 1
    return kind


@inner
def _merge_runs(heap: Heap, instance: int, base: int) -> None:
    """Let go of runs whose windows are closed, merge where too many are of one length, narrow what is half closed."""
    about = heap.instance[instance]
    kept = 0
    narrow = -1
    for r in range(about[RUNS]):
        run = about[TABLE] + r * _RUN_WORDS
        closed = base - heap.whole[run + _FIRST]
        if closed >= heap.whole[run + _LANES]:
            _let_go(heap, run)
            continue
        if 2 * closed >= heap.whole[run + _LANES]:
            narrow = kept
        into = about[TABLE] + kept * _RUN_WORDS
        for i in range(_RUN_WORDS):
            heap.whole[into + i] = heap.whole[run + i]
        kept += 1
    about[RUNS] = kept
    if narrow >= 0:
        _merge(heap, instance, narrow, narrow + 1, base)
    while heap.about[FULL] == 0:
        first = _merge_from(heap, instance)
        if first < 0:
            return
        _merge(heap, instance, first, about[RUNS], base)


@inner
def _merge_from(heap: Heap, instance: int) -> int:
    """The first of the newest runs that are to be merged; -1: none."""
    about = heap.instance[instance]
    runs = about[RUNS]
    if runs < _AT_ONCE:
        return -1
    # Runs of the newest one's class or below, and how many of them are of that class.
    largest = 0
    alike = 0
    total = 0
    r = runs - 1
    while r >= 0 and runs - r <= _MOST_AT_ONCE:
        rows = heap.whole[about[TABLE] + r * _RUN_WORDS + _ROWS]
        kind = _length_class(rows)
        if kind > largest and alike >= _AT_ONCE:
            break
        if total + rows > LARGEST_RUN:
            break
        if kind > largest:
            largest, alike = kind, 0
        if kind == largest:
            alike += 1
        total += rows
        r -= 1
    return r + 1 if alike >= _AT_ONCE else -1


@inner
def _merge(heap: Heap, instance: int, begin: int, end: int, base: int) -> None:
    """Merge the runs ``[begin, end)`` into one, which takes their place, without rows that no open window holds."""
    about = heap.instance[instance]
    slots = heap.adds + heap.maxes
    whole = heap.whole
    count = end - begin
    heads = heap.scratch[RECENT : RECENT + count]
    lanes = 0
    for r in range(begin, end):
        run = about[TABLE] + r * _RUN_WORDS
        lanes = max(lanes, whole[run + _FIRST] + whole[run + _LANES] - base)
    # How many rows there will be.
    rows = 0
    heads[:] = 0
    while True:
        last = _step(heap, about[TABLE] + begin * _RUN_WORDS, heads)
        if last == _OVER:
            break
        if last >= base:
            rows += 1
    _list_run(heap, instance, rows, base, lanes)
    if heap.about[FULL] != 0:
        return
    first = about[TABLE] + begin * _RUN_WORDS
    merged = about[TABLE] + (about[RUNS] - 1) * _RUN_WORDS
    block = whole[merged + _BLOCK]
    n = 0
    heads[:] = 0
    while n < rows:
        last = _step(heap, first, heads)
        if last < base:
            continue
        whole[block + n] = heap.scratch[RECENT + _MOST_AT_ONCE]
        whole[block + rows + n] = last
        at = _row(heap, merged, n)
        for cell in range(heap.adds * lanes):
            heap.words[at + cell] = 0.0
        for cell in range(heap.adds * lanes, slots * lanes):
            heap.words[at + cell] = -np.inf
        for source in range(count):
            run = first + source * _RUN_WORDS
            skip = base - whole[run + _FIRST]
            stride = whole[run + _LANES]
            if heads[source] > 0 and skip < stride:
                _add_cells(heap, at, lanes, _row(heap, run, heads[source] - 1) + skip, stride, stride - skip)
        n += 1
    # The merged run takes the place of the first of them.
    for source in range(count):
        _let_go(heap, first + source * _RUN_WORDS)
    for i in range(_RUN_WORDS):
        whole[first + i] = whole[merged + i]
    for r in range(end, about[RUNS] - 1):
        for i in range(_RUN_WORDS):
            whole[first + (r - end + 1) * _RUN_WORDS + i] = whole[about[TABLE] + r * _RUN_WORDS + i]
    about[RUNS] -= count


_OVER = np.int64(-(2**63))


@small
def _step(heap: Heap, first: int, heads: Int) -> int:
    """Go past the smallest code of several runs, which goes into the scratch; its last window, or that all is over."""
    whole = heap.whole
    code = np.int64(2**63 - 1)
    some = False
    for source in range(heads.shape[0]):
        run = first + source * _RUN_WORDS
        if heads[source] < whole[run + _ROWS]:
            code = min(code, whole[whole[run + _BLOCK] + heads[source]])
            some = True
    if not some:
        return int(_OVER)
    last = _OVER
    for source in range(heads.shape[0]):
        run = first + source * _RUN_WORDS
        block, rows = whole[run + _BLOCK], whole[run + _ROWS]
        if heads[source] < rows and whole[block + heads[source]] == code:
            last = max(last, whole[block + rows + heads[source]])
            heads[source] += 1
    heap.scratch[RECENT + _MOST_AT_ONCE] = code
    return int(last)


@small
def _add_cells(heap: Heap, at: int, lanes: int, source: int, stride: int, count: int) -> None:
    """Add ``count`` lanes of a run's row to one with ``lanes``."""
    for slot in range(heap.adds):
        into = heap.words[at + slot * lanes : at + slot * lanes + count]
        more = heap.words[source + slot * stride : source + slot * stride + count]
        for i in range(into.shape[0]):
            into[i] += more[i]
    for slot in range(heap.adds, heap.adds + heap.maxes):
        into = heap.words[at + slot * lanes : at + slot * lanes + count]
        more = heap.words[source + slot * stride : source + slot * stride + count]
        for i in range(into.shape[0]):
            into[i] = max(into[i], more[i])


@kernel
def release(heap: Heap, instances: Int) -> None:
    """Let go of all that some instances hold."""
    slots = heap.adds + heap.maxes
    for k in range(instances.shape[0]):
        about = heap.instance[instances[k]]
        if about[PLACE] >= 0:
            length = slots * heap.width
            _give_back(heap, about[PLACE], length if about[SORTED] == 0 else about[CAPACITY] * (_HEAD + length))
        for r in range(about[RUNS]):
            _let_go(heap, about[TABLE] + r * _RUN_WORDS)
        if about[TABLE_SIZE] > 0:
            _give_back(heap, about[TABLE], about[TABLE_SIZE] * _RUN_WORDS)
        new_instance(about, about[SORTED])


@inner
def new_instance(about: Int, sorted_: int) -> None:
    """An instance that holds nothing."""
    about[:] = 0
    about[SORTED] = sorted_
    about[PLACE] = -1
    about[LAST] = -(2**62)
