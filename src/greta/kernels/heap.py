"""Memory of indexes that grow: one heap of words, blocks of any size and pages of one size.

A block is taken and given back by the number of words that are wanted. Pages are all of one size, so that none is lost
between others. Whoever finds no room leaves ``FULL`` set, and the caller starts again with a larger heap.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel, small
from greta.kernels.layout import Int

# ``Heap.about``: words in use, whether there was no room, how many rows of long runs may be merged before somebody has
# waited too long, how often lists were gone through, with how many vertices in them and how many looked at one by one,
# the first free page and the first free block of each size.
TOP = 0
FULL = 1
LEISURE = 2
SCANS = 3
LISTED_THERE = 4
LOOKED_AT = 5
_PAGES = 6
_FREE = 7
ABOUT = _FREE + 256


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
def take(heap: Heap, wanted: int) -> int:
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
def copy_block(heap: Heap, source: int, words: int) -> int:
    """A block with the content of another, which was taken for so many words; -1 where there is no room."""
    at = take(heap, words)
    if at >= 0:
        for i in range(words):
            heap.whole[at + i] = heap.whole[source + i]
    return int(at)


@inner
def give_back(heap: Heap, at: int, wanted: int) -> None:
    """Let go of a block that was taken for so many words."""
    kind, _ = _size_class(wanted)
    heap.whole[at] = heap.about[_FREE + kind]
    heap.about[_FREE + kind] = at


@inner
def take_page(heap: Heap) -> int:
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


@inner
def give_page_back(heap: Heap, page: int) -> None:
    """Let go of a page."""
    heap.whole[page] = heap.about[_PAGES]
    heap.about[_PAGES] = page


@small
def add_lanes(rows: Any, row: int, heap: Heap, at: int, stride: int, skip: int, low: int, high: int) -> None:
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
