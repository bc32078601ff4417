"""Chunks of lists (``lists``), and how their vertices change places so that those of a chunk are alike.

Sixteen chunks that have come about one after the other become a group: sorted by what the first test compares, cut
into strips, and each strip sorted by what the second one compares. Bounds then pass over most chunks, or take them
whole::

    volume ^   ###|...|...        # taken whole, for volumes above and prices below
           |   ###|...|...        . passed over
           |   +++|+++|+++        + looked at
           +----------> price

Groups become larger ones where a list is long. Vertices of closed windows are left out.
"""

from __future__ import annotations

import numpy as np

from greta.kernels.compiler import inner, small
from greta.kernels.heap import FULL, Heap, give_back, move_lanes, take
from greta.kernels.runs import PLACE, TABLE

# Words of a chunk: these, then the smallest and largest code of each test, what is kept of the vertices column by
# column, the end of their lanes, the sum of their rows, and the rows.
FOLLOWING = 0
SIZE = 1
CAPACITY = 2
FIRST = 3
"""The window of its first lane."""
FINAL = 4
"""The last window that a vertex is in."""
WORDS = 5
LEVEL = 6
"""0: its vertices are as they came; 1: of a group, 2: of a large one."""
HEAD = 7

LONGEST = 64
"""Vertices of a chunk, at most."""
_GROUP = 16
"""Chunks of a group."""
_LARGE = 64
"""Chunks of a large group; a list must have twice as many, since a group is let go of as a whole."""


@inner
def new_chunk(heap: Heap, capacity: int, tests: int, kept: int, base: int) -> int:
    """A chunk without vertices; -1 where there is no room."""
    length = (heap.adds + heap.maxes) * heap.width
    words = HEAD + 2 * tests + capacity * (kept + 1) + (capacity + 1) * length
    at = take(heap, words)
    if at < 0:
        return -1
    heap.whole[at + FOLLOWING] = -1
    heap.whole[at + SIZE] = 0
    heap.whole[at + CAPACITY] = capacity
    heap.whole[at + FIRST] = base
    heap.whole[at + FINAL] = base
    heap.whole[at + WORDS] = words
    heap.whole[at + LEVEL] = 0
    sums = at + HEAD + 2 * tests + capacity * (kept + 1)
    for cell in range(heap.adds * heap.width):
        heap.words[sums + cell] = 0.0
    for cell in range(heap.adds * heap.width, length):
        heap.words[sums + cell] = -np.inf
    return int(at)


@inner
def begin_with(heap: Heap, at: int, tests: int, kept: int, base: int) -> None:
    """Let the lanes of a chunk begin with the first open window."""
    by = base - heap.whole[at + FIRST]
    ends = at + HEAD + 2 * tests + kept * heap.whole[at + CAPACITY]
    sums = ends + heap.whole[at + CAPACITY]
    length = (heap.adds + heap.maxes) * heap.width
    for row in range(1 + heap.whole[at + SIZE]):
        move_lanes(heap.words, sums + row * length, heap.adds, heap.maxes, heap.width, by)
    for vertex in range(heap.whole[at + SIZE]):
        heap.whole[ends + vertex] -= by
    heap.whole[at + FIRST] = base


@small
def note_codes(heap: Heap, at: int, tests: int, vertex: int) -> None:
    """Let the smallest and largest codes of a chunk include those of a vertex."""
    for test in range(tests):
        code = heap.whole[at + HEAD + 2 * tests + test * heap.whole[at + CAPACITY] + vertex]
        place = at + HEAD + 2 * test
        heap.whole[place] = code if vertex == 0 else min(code, heap.whole[place])
        heap.whole[place + 1] = code if vertex == 0 else max(code, heap.whole[place + 1])


@inner
def regroup(heap: Heap, instance: int, tests: int, kept: int, base: int) -> None:
    """Make a group of the newest chunks of a list, where there are enough."""
    about = heap.instance[instance]
    # Levels never rise along a chain: per level, how many chunks there are, and the one before its first.
    before, after_large = -1, -1
    chunks, small_groups, single = 0, 0, 0
    at, last = about[PLACE], -1
    while at >= 0:
        level = heap.whole[at + LEVEL]
        chunks += 1
        if level == 0:
            single += 1
        elif level == 1:
            small_groups += 1
            before = at
        else:
            before = at
            after_large = at
        last = at
        at = heap.whole[at + FOLLOWING]
    about[TABLE] = last
    if single < _GROUP:
        return
    level = 1
    if small_groups + single >= _LARGE and chunks >= 2 * _LARGE:
        before, single, level = after_large, small_groups + single, 2
    scratch = take(heap, single * LONGEST)
    if scratch < 0:
        return
    begin = about[PLACE] if before < 0 else heap.whole[before + FOLLOWING]
    count = _list_vertices(heap, scratch, begin, tests, kept, base)
    _order_vertices(heap, scratch, count, tests)
    # New chunks in a chain of their own take the place of the old ones.
    newest = before
    for k in range(0, count, LONGEST):
        chunk = new_chunk(heap, LONGEST, tests, kept, base)
        if heap.about[FULL] != 0:
            return
        heap.whole[chunk + LEVEL] = level
        for vertex in range(k, min(k + LONGEST, count)):
            _move(heap, heap.whole[scratch + vertex], chunk, (tests, kept, base))
        if newest < 0:
            about[PLACE] = chunk
        else:
            heap.whole[newest + FOLLOWING] = chunk
        newest = chunk
    if newest < 0:
        about[PLACE] = -1
    elif count == 0:
        heap.whole[newest + FOLLOWING] = -1
    about[TABLE] = newest
    give_back(heap, scratch, single * LONGEST)
    while begin >= 0:
        following = heap.whole[begin + FOLLOWING]
        give_back(heap, begin, heap.whole[begin + WORDS])
        begin = following


@inner
def _list_vertices(heap: Heap, scratch: int, chunk: int, tests: int, kept: int, base: int) -> int:
    """List the vertices of a chain that an open window holds, as chunk × LONGEST + place; how many there are."""
    count = 0
    while chunk >= 0:
        ends = chunk + HEAD + 2 * tests + kept * heap.whole[chunk + CAPACITY]
        for vertex in range(heap.whole[chunk + SIZE]):
            if heap.whole[chunk + FIRST] + heap.whole[ends + vertex] > base:
                heap.whole[scratch + count] = chunk * LONGEST + vertex
                count += 1
        chunk = heap.whole[chunk + FOLLOWING]
    return count


@inner
def _order_vertices(heap: Heap, scratch: int, count: int, tests: int) -> None:
    """Sort by the first test, and within strips of whole chunks by the second."""
    _sort(heap, scratch, count, tests, 0)
    if tests < 2:
        return
    chunks = (count + LONGEST - 1) // LONGEST
    strip = 1
    while strip * strip < chunks:
        strip += 1
    for k in range(0, count, strip * LONGEST):
        _sort(heap, scratch + k, min(strip * LONGEST, count - k), tests, 1)


@small
def _code(heap: Heap, vertex: int, tests: int, test: int) -> int:
    """What a test compares of a listed vertex."""
    chunk = vertex // LONGEST
    place = chunk + HEAD + 2 * tests + test * heap.whole[chunk + CAPACITY]
    return int(heap.whole[place + vertex - chunk * LONGEST])


@inner
def _sort(heap: Heap, scratch: int, count: int, tests: int, test: int) -> None:
    """Sort listed vertices by what a test compares; a heap in place, since there is no other room."""
    for k in range(count // 2 - 1, -1, -1):
        _sift(heap, scratch, k, count, tests, test)
    for k in range(count - 1, 0, -1):
        largest = heap.whole[scratch]
        heap.whole[scratch] = heap.whole[scratch + k]
        heap.whole[scratch + k] = largest
        _sift(heap, scratch, 0, k, tests, test)


@inner
def _sift(heap: Heap, scratch: int, k: int, count: int, tests: int, test: int) -> None:
    """Let a vertex sink to where no larger one is below it."""
    vertex = heap.whole[scratch + k]
    code = _code(heap, vertex, tests, test)
    while 2 * k + 1 < count:
        below = 2 * k + 1
        if below + 1 < count and _code(heap, heap.whole[scratch + below], tests, test) < _code(
            heap, heap.whole[scratch + below + 1], tests, test
        ):
            below += 1
        if _code(heap, heap.whole[scratch + below], tests, test) <= code:
            break
        heap.whole[scratch + k] = heap.whole[scratch + below]
        k = below
    heap.whole[scratch + k] = vertex


@inner
def _move(heap: Heap, listed: int, chunk: int, about: tuple[int, int, int]) -> None:
    """Copy a listed vertex to the end of a chunk, whose lanes begin with the first open window.

    ``about``: (tests, kept columns, first open window).
    """
    tests, kept, base = about
    whole = heap.whole
    old = listed // LONGEST
    vertex = listed - old * LONGEST
    size, capacity, before = whole[chunk + SIZE], whole[chunk + CAPACITY], whole[old + CAPACITY]
    source, target = old + HEAD + 2 * tests, chunk + HEAD + 2 * tests
    for k in range(kept):
        whole[target + k * capacity + size] = whole[source + k * before + vertex]
    note_codes(heap, chunk, tests, size)
    skip = base - whole[old + FIRST]
    end = whole[source + kept * before + vertex] - skip
    whole[target + kept * capacity + size] = end
    length = (heap.adds + heap.maxes) * heap.width
    row = source + (kept + 1) * before + (1 + vertex) * length
    sums = target + (kept + 1) * capacity
    own = sums + (1 + size) * length
    for slot in range(heap.adds + heap.maxes):
        place = slot * heap.width
        for lane in range(end):
            number = heap.words[row + place + skip + lane]
            heap.words[own + place + lane] = number
            if slot < heap.adds:
                heap.words[sums + place + lane] += number
            else:
                heap.words[sums + place + lane] = max(heap.words[sums + place + lane], number)
    whole[chunk + SIZE] = size + 1
    whole[chunk + FINAL] = max(whole[chunk + FINAL], base + end - 1)
