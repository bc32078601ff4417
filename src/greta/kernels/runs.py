"""Runs of an instance: rows sorted by code, each the sum of all rows up to it; ``merges`` puts them together.

A run has a block with its codes, the last window of each row, and the places of its pages, which hold the rows. Its
first lane is a window of its own, however many windows have closed since.
"""

from __future__ import annotations

from greta.kernels.compiler import inner, small
from greta.kernels.heap import FULL, Heap, give_back, give_page_back, take, take_page

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
"""Recent rows at most, before they become a run."""


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
