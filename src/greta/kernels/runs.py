"""Runs of an instance: rows sorted by code, each the sum of all rows up to it, merged as they become many.

The four newest runs of about one length become one; long ones wait until there is leisure for it, so that not all
partitions merge theirs while somebody waits for one row. Each row of it is a sum of one row per run, nothing is ever
subtracted, and the largest instead of the sum is found in the same way. Equal codes share a row. Merging leaves out
what no open window holds; so does copying a run two fifths of whose windows are closed.

A run has a block with its codes, the last window of each row, and the places of its pages, which hold the rows. Its
first lane is a window of its own, however many windows have closed since.
"""

from __future__ import annotations

import numpy as np

from greta.kernels.compiler import inner, small
from greta.kernels.heap import FULL, LEISURE, Heap, give_back, give_page_back, take, take_page
from greta.kernels.layout import Int

# Columns of ``Heap.instance``.
SORTED = 0
"""TOTALS, SORTED_RUNS where the instance has a comparison, or LIST."""
PLACE = 1
"""Where its totals, or recent rows, or the first chunk of its list, lie; -1: nowhere yet."""
BASE = 2
"""The window of their first lane."""
SIZE = 3
"""Recent rows."""
CAPACITY = 4
"""Recent rows that there is room for."""
TABLE = 5
"""Where its runs are listed; of a list, the last chunk."""
RUNS = 6
TABLE_SIZE = 7
"""Runs that there is room for."""
LAST = 8
"""The last window that a vertex is in."""
INSTANCE_COLUMNS = 9

# What ``SORTED`` says.
TOTALS = 0
SORTED_RUNS = 1
LIST = 2

# Words of a run in a table.
BLOCK = 0
"""Where its codes lie, then the last window of each row, then the places of its pages."""
ROWS = 1
FIRST = 2
"""The window of its first lane."""
LANES = 3
_PER_PAGE = 4
"""Rows of a page."""
RUN_WORDS = 5

RECENT = 16
_AT_ONCE = 4
"""So many runs of about one length are merged."""
_MOST_AT_ONCE = 16
LARGEST_RUN = 1 << 15
"""Longer runs are not merged: a merge takes as long as all of them are, and somebody waits for it."""
_SHORT = 256
"""Merges of so few rows wait for nothing."""
LEISURELY = 8
"""Rows of long runs that may be merged for each event that comes: more than merging takes in the long run."""
SCRATCH = 64 + RECENT + 2 * _MOST_AT_ONCE
_OVER = np.int64(-(2**63))


@small
def row_at(heap: Heap, run: int, row: int) -> int:
    """Where a row of a run lies."""
    per_page = heap.whole[run + _PER_PAGE]
    page = row // per_page
    begin = heap.whole[heap.whole[run + BLOCK] + 2 * heap.whole[run + ROWS] + page]
    return int(begin + (row - page * per_page) * (heap.adds + heap.maxes) * heap.whole[run + LANES])


@inner
def _block_words(rows: int, per_page: int) -> int:
    return 2 * rows + (rows + per_page - 1) // per_page


@inner
def list_run(heap: Heap, instance: int, rows: int, first: int, lanes: int) -> None:
    """Add a run of unset content to the instance's table."""
    about = heap.instance[instance]
    if about[RUNS] == about[TABLE_SIZE]:
        more = max(4, 2 * about[TABLE_SIZE])
        table = take(heap, more * RUN_WORDS)
        if table < 0:
            return
        if about[TABLE_SIZE] > 0:
            for i in range(about[RUNS] * RUN_WORDS):
                heap.whole[table + i] = heap.whole[about[TABLE] + i]
            give_back(heap, about[TABLE], about[TABLE_SIZE] * RUN_WORDS)
        about[TABLE] = table
        about[TABLE_SIZE] = more
    run = about[TABLE] + about[RUNS] * RUN_WORDS
    per_page = heap.page // ((heap.adds + heap.maxes) * lanes)
    block = take(heap, _block_words(rows, per_page))
    if block < 0:
        return
    heap.whole[run + BLOCK] = block
    heap.whole[run + ROWS] = rows
    heap.whole[run + FIRST] = first
    heap.whole[run + LANES] = lanes
    heap.whole[run + _PER_PAGE] = per_page
    for page in range((rows + per_page - 1) // per_page):
        heap.whole[block + 2 * rows + page] = take_page(heap)
        if heap.about[FULL] != 0:
            return
    about[RUNS] += 1


@inner
def copy_run(heap: Heap, source: int, instance: int) -> None:
    """Add a run of the same content to the instance's table; nothing of use where there is no room."""
    rows, lanes = heap.whole[source + ROWS], heap.whole[source + LANES]
    list_run(heap, instance, rows, heap.whole[source + FIRST], lanes)
    if heap.about[FULL] != 0:
        return
    about = heap.instance[instance]
    block = heap.whole[source + BLOCK]
    own = heap.whole[about[TABLE] + (about[RUNS] - 1) * RUN_WORDS + BLOCK]
    for i in range(2 * rows):
        heap.whole[own + i] = heap.whole[block + i]
    per_page = heap.whole[source + _PER_PAGE]
    for page in range((rows + per_page - 1) // per_page):
        here, there = heap.whole[own + 2 * rows + page], heap.whole[block + 2 * rows + page]
        for i in range(heap.page):
            heap.whole[here + i] = heap.whole[there + i]


@inner
def let_go(heap: Heap, run: int) -> None:
    """Give back the pages and the block of a run."""
    block, rows, per_page = heap.whole[run + BLOCK], heap.whole[run + ROWS], heap.whole[run + _PER_PAGE]
    for at in range((rows + per_page - 1) // per_page):
        give_page_back(heap, heap.whole[block + 2 * rows + at])
    give_back(heap, block, _block_words(rows, per_page))


@inner
def _length_class(rows: int) -> int:
    """Runs of one class are of about one length."""
    kind = 0
    while rows > RECENT:
        rows //= _AT_ONCE
        kind += 1
    return kind


@inner
def merge_runs(heap: Heap, instance: int, base: int) -> None:
    """Let go of runs whose windows are closed, merge where too many are of one length, narrow one that is wide."""
    about = heap.instance[instance]
    kept = 0
    narrow = -1
    for r in range(about[RUNS]):
        run = about[TABLE] + r * RUN_WORDS
        closed = base - heap.whole[run + FIRST]
        if closed >= heap.whole[run + LANES]:
            let_go(heap, run)
            continue
        if 5 * closed >= 2 * heap.whole[run + LANES]:
            narrow = kept
        into = about[TABLE] + kept * RUN_WORDS
        for i in range(RUN_WORDS):
            heap.whole[into + i] = heap.whole[run + i]
        kept += 1
    about[RUNS] = kept
    if narrow >= 0 and _may_merge(heap, instance, narrow, narrow + 1):
        _merge(heap, instance, narrow, narrow + 1, base)
    while heap.about[FULL] == 0:
        first = _merge_from(heap, instance)
        if first < 0 or not _may_merge(heap, instance, first, about[RUNS]):
            return
        _merge(heap, instance, first, about[RUNS], base)


@inner
def _may_merge(heap: Heap, instance: int, begin: int, end: int) -> bool:
    """Whether there is leisure to merge runs now; long ones take it away from others."""
    about = heap.instance[instance]
    rows = 0
    for r in range(begin, end):
        rows += heap.whole[about[TABLE] + r * RUN_WORDS + ROWS]
    if rows <= _SHORT:
        return True
    if rows > heap.about[LEISURE]:
        return False
    heap.about[LEISURE] -= rows
    return True


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
        rows = heap.whole[about[TABLE] + r * RUN_WORDS + ROWS]
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
        run = about[TABLE] + r * RUN_WORDS
        lanes = max(lanes, whole[run + FIRST] + whole[run + LANES] - base)
    # How many rows there will be.
    rows = 0
    heads[:] = 0
    while True:
        last = _step(heap, about[TABLE] + begin * RUN_WORDS, heads)
        if last == _OVER:
            break
        if last >= base:
            rows += 1
    list_run(heap, instance, rows, base, lanes)
    if heap.about[FULL] != 0:
        return
    first = about[TABLE] + begin * RUN_WORDS
    merged = about[TABLE] + (about[RUNS] - 1) * RUN_WORDS
    block = whole[merged + BLOCK]
    n = 0
    heads[:] = 0
    while n < rows:
        last = _step(heap, first, heads)
        if last < base:
            continue
        whole[block + n] = heap.scratch[RECENT + _MOST_AT_ONCE]
        whole[block + rows + n] = last
        at = row_at(heap, merged, n)
        for cell in range(heap.adds * lanes):
            heap.words[at + cell] = 0.0
        for cell in range(heap.adds * lanes, slots * lanes):
            heap.words[at + cell] = -np.inf
        for source in range(count):
            run = first + source * RUN_WORDS
            skip = base - whole[run + FIRST]
            stride = whole[run + LANES]
            if heads[source] > 0 and skip < stride:
                _add_cells(heap, at, lanes, row_at(heap, run, heads[source] - 1) + skip, stride, stride - skip)
        n += 1
    # The merged run takes the place of the first of them.
    for source in range(count):
        let_go(heap, first + source * RUN_WORDS)
    for i in range(RUN_WORDS):
        whole[first + i] = whole[merged + i]
    for r in range(end, about[RUNS] - 1):
        for i in range(RUN_WORDS):
            whole[first + (r - end + 1) * RUN_WORDS + i] = whole[about[TABLE] + r * RUN_WORDS + i]
    about[RUNS] -= count


@small
def _step(heap: Heap, first: int, heads: Int) -> int:
    """Go past the smallest code of several runs, which goes into the scratch; its last window, or that all is over."""
    whole = heap.whole
    code = np.int64(2**63 - 1)
    some = False
    for source in range(heads.shape[0]):
        run = first + source * RUN_WORDS
        if heads[source] < whole[run + ROWS]:
            code = min(code, whole[whole[run + BLOCK] + heads[source]])
            some = True
    if not some:
        return int(_OVER)
    last = _OVER
    for source in range(heads.shape[0]):
        run = first + source * RUN_WORDS
        block, rows = whole[run + BLOCK], whole[run + ROWS]
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
