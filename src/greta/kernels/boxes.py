"""k-d trees that sum the vertices in a box: several comparisons at once, in linear space.

All points are known before the first is inserted, so the tree is built balanced, and rows are only ever added
along the path from the root. A query touches O(n^(1 - 1/d)) nodes for d comparisons: O(√n) for two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel
from greta.kernels.layout import (
    EQUALS,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    NOTHING,
    Conditions,
)
from greta.kernels.numbers import Arena, add_row

Codes = NDArray[np.int64]

_LEAF = 8
_LOWEST = np.int64(-(2**63) + 1)
_HIGHEST = np.int64(2**63 - 1)


class Boxes(NamedTuple):
    """The trees of all BOX indexes over one range of events; first axis: index."""

    points: NDArray[np.int64]
    """[index, position]: event, relative to the range's first."""
    position: NDArray[np.int64]
    """[index, event]: its position, or -1."""
    inserted: NDArray[np.uint8]
    size: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """[index, node, dimension]: the box around the node's points."""
    filled: NDArray[np.int64]
    """[index, node]: how many of its points are inserted."""
    bounds: NDArray[np.int64]
    """Scratch: the queried box, [2, dimension]."""
    stack: NDArray[np.int64]


class Tree(NamedTuple):
    """One BOX index: which tree, its link, where its rows start, and the first event of the range."""

    number: int
    link: int
    base: int
    first: int


@kernel
def nodes_for(points: int) -> int:
    """Nodes of a balanced tree, in heap order."""
    leaves = 1
    while leaves * _LEAF < points:
        leaves *= 2
    return 2 * leaves - 1


def new_boxes(conditions: Conditions, indexes: int, events: int) -> Boxes:
    """Room for the trees of so many BOX indexes over so many events."""
    dimensions = max(1, int(np.diff(conditions.ptr).max(initial=0)))
    if indexes == 0:
        events = 0
    nodes = nodes_for(events)
    return Boxes(
        np.empty((indexes, events), dtype=np.int64),
        np.empty((indexes, events), dtype=np.int64),
        np.empty((indexes, events), dtype=np.uint8),
        np.zeros(indexes, dtype=np.int64),
        np.empty((indexes, nodes, dimensions), dtype=np.int64),
        np.empty((indexes, nodes, dimensions), dtype=np.int64),
        np.zeros((indexes, nodes), dtype=np.int64),
        np.empty((2, dimensions), dtype=np.int64),
        np.empty(256, dtype=np.int64),
    )


@inner
def build(
    conditions: Conditions,
    codes: Codes,
    mask: NDArray[np.uint64],
    boxes: Boxes,
    b: int,
    link: int,
    variable: int,
    first: int,
    last: int,
) -> None:
    """Build the tree of one index over the events ``[first, last)`` that may become its vertices: take its variable.

    Points are cut at the median of the dimension in which they lie widest apart. O(n log n).
    """
    begin = conditions.ptr[link]
    dimensions = conditions.ptr[link + 1] - begin
    bit = np.uint64(1) << np.uint64(variable)
    size = 0
    for i in range(first, last):
        boxes.position[b, i - first] = -1
        usable = mask[i] & bit != np.uint64(0)
        for d in range(dimensions):
            if codes[conditions.comparison[conditions.compare[begin + d], 0], i] == NOTHING:
                usable = False
        if usable:
            boxes.points[b, size] = i - first
            boxes.inserted[b, size] = 0
            size += 1
    boxes.size[b] = size
    boxes.filled[b, : nodes_for(size)] = 0
    boxes.stack[0] = 0
    boxes.stack[1] = 0
    boxes.stack[2] = size
    top = 3
    while top > 0:
        top -= 3
        node = boxes.stack[top]
        low = boxes.stack[top + 1]
        high = boxes.stack[top + 2]
        widest = _bound(conditions, codes, boxes, b, (begin, dimensions), first, node, low, high)
        if high - low > _LEAF:
            middle = (low + high) // 2
            column = conditions.comparison[conditions.compare[begin + widest], 0]
            _select(codes, boxes.points[b], column, first, low, high, middle)
            boxes.stack[top] = 2 * node + 1
            boxes.stack[top + 1] = low
            boxes.stack[top + 2] = middle
            boxes.stack[top + 3] = 2 * node + 2
            boxes.stack[top + 4] = middle
            boxes.stack[top + 5] = high
            top += 6
    for at in range(size):
        boxes.position[b, boxes.points[b, at]] = at


@inner
def _bound(
    conditions: Conditions,
    codes: Codes,
    boxes: Boxes,
    b: int,
    compared: tuple[int, int],
    first: int,
    node: int,
    low: int,
    high: int,
) -> int:
    """Bound the points ``[low, high)`` of a node; the dimension in which they lie widest apart.

    ``compared``: the first comparison of the link, and how many there are.
    """
    begin, dimensions = compared
    widest = 0
    width = -1.0
    for d in range(dimensions):
        column = conditions.comparison[conditions.compare[begin + d], 0]
        smallest = _HIGHEST
        largest = _LOWEST
        for at in range(low, high):
            code = codes[column, first + boxes.points[b, at]]
            smallest = min(smallest, code)
            largest = max(largest, code)
        boxes.low[b, node, d] = smallest
        boxes.high[b, node, d] = largest
        if float(largest) - float(smallest) > width:
            width = float(largest) - float(smallest)
            widest = d
    return widest


@inner
def _select(codes: Codes, points: NDArray[np.int64], column: int, first: int, low: int, high: int, middle: int) -> None:
    """Quickselect: the points before ``middle`` are at most, those after at least, the one on it."""
    high -= 1
    while low < high:
        pivot = codes[column, first + points[(low + high) // 2]]
        i = low
        j = high
        while i <= j:
            while codes[column, first + points[i]] < pivot:
                i += 1
            while codes[column, first + points[j]] > pivot:
                j -= 1
            if i <= j:
                points[i], points[j] = points[j], points[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@inner
def insert(arena: Arena, boxes: Boxes, b: int, base: int, event: int, row: int, low_lane: int, high_lane: int) -> None:
    """Add a vertex's row to its point and to every node above it; NULL in a comparand: to none."""
    at = boxes.position[b, event]
    if at < 0:
        return
    nodes = nodes_for(boxes.size[b])
    add_row(arena, base + nodes + at, row, low_lane, high_lane)
    boxes.inserted[b, at] = 1
    low = 0
    high = boxes.size[b]
    node = 0
    while True:
        add_row(arena, base + node, row, low_lane, high_lane)
        boxes.filled[b, node] += 1
        if high - low <= _LEAF:
            return
        middle = (low + high) // 2
        if at < middle:
            node = 2 * node + 1
            high = middle
        else:
            node = 2 * node + 2
            low = middle


@inner
def _bound_query(conditions: Conditions, codes: Codes, boxes: Boxes, begin: int, dimensions: int, j: int) -> bool:
    """The box of codes that may come before event ``j``; False where a comparand is NULL."""
    for d in range(dimensions):
        comparison = conditions.compare[begin + d]
        code = codes[conditions.comparison[comparison, 1], j]
        if code == NOTHING:
            return False
        operator = conditions.comparison[comparison, 2]
        boxes.bounds[0, d] = _LOWEST
        boxes.bounds[1, d] = _HIGHEST
        if operator == LESS:
            boxes.bounds[1, d] = code - 1
        elif operator == LESS_EQUAL:
            boxes.bounds[1, d] = code
        elif operator == GREATER:
            boxes.bounds[0, d] = code + 1
        elif operator == GREATER_EQUAL:
            boxes.bounds[0, d] = code
        elif operator == EQUALS:
            boxes.bounds[0, d] = code
            boxes.bounds[1, d] = code
    return True


@inner
def query(
    arena: Arena,
    conditions: Conditions,
    codes: Codes,
    boxes: Boxes,
    tree: Tree,
    j: int,
    into: int,
    low_lane: int,
    high_lane: int,
) -> None:
    """Add to row ``into`` the vertices that may come right before event ``j``."""
    b, base, first = tree.number, tree.base, tree.first
    begin = conditions.ptr[tree.link]
    dimensions = conditions.ptr[tree.link + 1] - begin
    if boxes.size[b] == 0 or not _bound_query(conditions, codes, boxes, begin, dimensions, j):
        return
    nodes = nodes_for(boxes.size[b])
    boxes.stack[0] = 0
    boxes.stack[1] = 0
    boxes.stack[2] = boxes.size[b]
    top = 3
    while top > 0:
        top -= 3
        node = boxes.stack[top]
        low = boxes.stack[top + 1]
        high = boxes.stack[top + 2]
        if boxes.filled[b, node] == 0:
            continue
        apart = False
        inside = True
        for d in range(dimensions):
            if boxes.low[b, node, d] > boxes.bounds[1, d] or boxes.high[b, node, d] < boxes.bounds[0, d]:
                apart = True
            if boxes.low[b, node, d] < boxes.bounds[0, d] or boxes.high[b, node, d] > boxes.bounds[1, d]:
                inside = False
        if apart:
            continue
        if inside:
            add_row(arena, into, base + node, low_lane, high_lane)
        elif high - low <= _LEAF:
            for at in range(low, high):
                if boxes.inserted[b, at] == 0:
                    continue
                i = first + boxes.points[b, at]
                within = True
                for d in range(dimensions):
                    code = codes[conditions.comparison[conditions.compare[begin + d], 0], i]
                    if code < boxes.bounds[0, d] or code > boxes.bounds[1, d]:
                        within = False
                if within:
                    add_row(arena, into, base + nodes + at, low_lane, high_lane)
        else:
            middle = (low + high) // 2
            boxes.stack[top] = 2 * node + 1
            boxes.stack[top + 1] = low
            boxes.stack[top + 2] = middle
            boxes.stack[top + 3] = 2 * node + 2
            boxes.stack[top + 4] = middle
            boxes.stack[top + 5] = high
            top += 6
