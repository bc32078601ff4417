"""Runs that become too many → fewer, longer ones.

The four newest runs of about one length become one; long ones wait until there is leisure for it, so that not all
partitions merge theirs while somebody waits for one row. Each row of it is a sum of one row per run, nothing is ever
subtracted, and the largest instead of the sum is found in the same way. Equal codes share a row::

    run        2: a    5: a+b    9: a+b+c
    run        3: d    5: d+e
    merged     2: a    3: a+d    5: a+b+d+e    9: a+b+c+d+e

Merging leaves out what no open window holds; so does copying a run two fifths of whose windows are closed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greta.kernels.compiler import inner, small
from greta.kernels.heap import FULL, LEISURE, Heap
from greta.kernels.layout import Int
from greta.kernels.runs import BLOCK, FIRST, LANES, RECENT, ROWS, RUN_WORDS, RUNS, TABLE, let_go, list_run, row_at

_AT_ONCE = 4
"""So many runs of about one length are merged."""
_MOST_AT_ONCE = 16
LARGEST_RUN = 1 << 17
"""Longer runs are not merged: a merge takes as long as all of them are, and somebody waits for it."""
_SHORT = 256
"""Merges of so few rows wait for nothing."""
LEISURELY = 8
"""Rows of long runs that may be merged for each event that comes: more than merging takes in the long run."""
SCRATCH = RECENT + 4 * _MOST_AT_ONCE
_OVER = np.int64(2**63 - 1)
"""The next code of a run that has none."""


class Sources(NamedTuple):
    """The runs that are merged, oldest first, and how far each has been gone through."""

    code: Int
    """The next code, or ``_OVER``."""
    head: Int
    """The next row."""
    place: Int
    """Where the first open lane of the row before that lies; -1: nowhere, nothing has been passed."""
    lanes: Int
    """How many open lanes its rows have."""


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
def _length_class(rows: int) -> int:
    """Runs of one class are of about one length."""
    kind = 0
    while rows > RECENT:
        rows //= _AT_ONCE
        kind += 1
    return kind


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
    whole = heap.whole
    count = end - begin
    first = about[TABLE] + begin * RUN_WORDS
    at = RECENT
    sources = Sources(
        heap.scratch[at : at + count],
        heap.scratch[at + _MOST_AT_ONCE : at + _MOST_AT_ONCE + count],
        heap.scratch[at + 2 * _MOST_AT_ONCE : at + 2 * _MOST_AT_ONCE + count],
        heap.scratch[at + 3 * _MOST_AT_ONCE : at + 3 * _MOST_AT_ONCE + count],
    )
    _rewind(heap, first, base, sources)
    lanes = 0
    for source in range(count):
        lanes = max(lanes, sources.lanes[source])
    # How many rows there will be.
    rows = 0
    while _next_code(sources) != _OVER:
        if _pass(heap, first, base, sources) >= base:
            rows += 1
    list_run(heap, instance, rows, base, lanes)
    if heap.about[FULL] != 0:
        return
    first = about[TABLE] + begin * RUN_WORDS
    merged = about[TABLE] + (about[RUNS] - 1) * RUN_WORDS
    block = whole[merged + BLOCK]
    _rewind(heap, first, base, sources)
    n = 0
    while n < rows:
        code = _next_code(sources)
        last = _pass(heap, first, base, sources)
        if last >= base:
            whole[block + n] = code
            whole[block + rows + n] = last
            _add_up(heap, row_at(heap, merged, n), lanes, first, sources)
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


@inner
def _rewind(heap: Heap, first: int, base: int, sources: Sources) -> None:
    """Begin with the first row of every run."""
    for source in range(sources.code.shape[0]):
        run = first + source * RUN_WORDS
        sources.code[source] = heap.whole[heap.whole[run + BLOCK]] if heap.whole[run + ROWS] > 0 else _OVER
        sources.head[source] = 0
        sources.place[source] = -1
        sources.lanes[source] = heap.whole[run + FIRST] + heap.whole[run + LANES] - base


@small
def _next_code(sources: Sources) -> int:
    """The smallest code that has not been passed, or ``_OVER``."""
    code = sources.code[0]
    for source in range(1, sources.code.shape[0]):
        code = min(code, sources.code[source])
    return int(code)


@small
def _pass(heap: Heap, first: int, base: int, sources: Sources) -> int:
    """Go past the smallest code in all runs that have it; the last window that it is in."""
    whole = heap.whole
    code = _next_code(sources)
    last = -_OVER
    for source in range(sources.code.shape[0]):
        if sources.code[source] == code:
            run = first + source * RUN_WORDS
            block, rows, head = whole[run + BLOCK], whole[run + ROWS], sources.head[source]
            last = max(last, whole[block + rows + head])
            sources.place[source] = row_at(heap, run, head) + base - whole[run + FIRST]
            sources.head[source] = head + 1
            sources.code[source] = whole[block + head + 1] if head + 1 < rows else _OVER
    return int(last)


@inner
def _add_up(heap: Heap, at: int, lanes: int, first: int, sources: Sources) -> None:
    """Set a row of the merged run, at ``at``, to the sum of the rows passed last, or the largest of them.

    Four rows are read at once, where all have lanes: adding one after the other would write the sum four times.
    """
    count = sources.code.shape[0]
    for slot in range(heap.adds + heap.maxes):
        into = heap.words[at + slot * lanes : at + (slot + 1) * lanes]
        adds = slot < heap.adds
        done = 0
        common = 0
        if count >= _AT_ONCE:
            common = lanes
            done = _AT_ONCE
            for source in range(_AT_ONCE):
                common = min(common, sources.lanes[source])
                if sources.place[source] < 0:
                    common, done = 0, 0
        if done > 0:
            at_0, at_1 = _begin(heap, first, sources, 0, slot), _begin(heap, first, sources, 1, slot)
            at_2, at_3 = _begin(heap, first, sources, 2, slot), _begin(heap, first, sources, 3, slot)
            row_0, row_1 = heap.words[at_0 : at_0 + common], heap.words[at_1 : at_1 + common]
            row_2, row_3 = heap.words[at_2 : at_2 + common], heap.words[at_3 : at_3 + common]
            if adds:
                for i in range(row_0.shape[0]):
                    into[i] = (row_0[i] + row_1[i]) + (row_2[i] + row_3[i])
            else:
                for i in range(row_0.shape[0]):
                    into[i] = max(row_0[i], row_1[i], row_2[i], row_3[i])
        rest = into[common:]
        for i in range(rest.shape[0]):
            rest[i] = 0.0 if adds else -np.inf
        for source in range(count):
            if sources.place[source] >= 0:
                skip = common if source < done else 0
                begin = _begin(heap, first, sources, source, slot)
                more = heap.words[begin + skip : begin + sources.lanes[source]]
                target = into[skip : skip + more.shape[0]]
                if adds:
                    for i in range(target.shape[0]):
                        target[i] += more[i]
                else:
                    for i in range(target.shape[0]):
                        target[i] = max(target[i], more[i])


@small
def _begin(heap: Heap, first: int, sources: Sources, source: int, slot: int) -> int:
    """Where the open lanes of a slot begin in the row that was passed last."""
    return int(sources.place[source] + slot * heap.whole[first + source * RUN_WORDS + LANES])
