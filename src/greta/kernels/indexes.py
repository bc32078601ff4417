"""One interface for all ways to sum predecessors: room, reset, query, insert; the one place that tells kinds apart.

An index holds the vertices of one state along one link. Its rows lie in the arena one after another, those of index 0
from row 1 on (row 0 collects the results), new vertices after the last index::

    row 0       1 ...            base[1] ...       used ...
    results     index 0          index 1           vertices of the current tick
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels import boxes as box_trees
from greta.kernels import scans as scan_lists
from greta.kernels.boxes import Boxes, Tree, new_boxes, nodes_for
from greta.kernels.compiler import inner, kernel
from greta.kernels.layout import (
    BOTH_SIDES,
    BOX,
    FREE,
    KIND,
    LEAF,
    LINK,
    PREFIX,
    RANK,
    SCAN,
    STRIDE,
    Automaton,
    Events,
)
from greta.kernels.numbers import Arena, add_row, add_to_tree, sum_tree
from greta.kernels.ranks import Ranks
from greta.kernels.scans import List, Scans, new_scans


class Indexes(NamedTuple):
    """Where each index of an automaton lies, and what some kinds keep besides rows."""

    base: NDArray[np.int64]
    """Per index: its first row."""
    ordinal: NDArray[np.int64]
    """Per BOX or SCAN index: its number among those of its kind."""
    first: NDArray[np.int64]
    """One number: the first event of the chunk, which BOX indexes count from."""
    boxes: Boxes
    scans: Scans


class Chunk(NamedTuple):
    """What is computed in one pass: the windows ``[window, stop)`` over the events ``[first, last)``."""

    window: int
    stop: int
    first: int
    last: int
    origin: int
    """The event that ranks are counted from."""
    required: int
    """The scopes that a trend must have met to belong to the partition."""


@kernel
def new_indexes(automaton: Automaton, events: int) -> Indexes:
    """Room for the indexes of an automaton over so many events at a time."""
    count = automaton.index.shape[0]
    ordinal = np.zeros(count, dtype=np.int64)
    boxes = 0
    scans = 0
    for index in range(count):
        if automaton.index[index, KIND] == BOX:
            ordinal[index] = boxes
            boxes += 1
        elif automaton.index[index, KIND] == SCAN:
            ordinal[index] = scans
            scans += 1
    return Indexes(
        np.empty(count, dtype=np.int64),
        ordinal,
        np.zeros(1, dtype=np.int64),
        new_boxes(automaton, boxes, events),
        new_scans(scans, events),
    )


@kernel
def reset(automaton: Automaton, events: Events, indexes: Indexes, ranks: Ranks, chunk: Chunk) -> int:
    """Lay out all indexes anew for the events of a chunk; the number of rows that are in use then."""
    used = 1
    indexes.first[0] = chunk.first
    for index in range(automaton.index.shape[0]):
        indexes.base[index] = used
        kind = automaton.index[index, KIND]
        number = indexes.ordinal[index]
        r = automaton.index[index, RANK]
        if kind == FREE:
            used += 1
        elif kind == BOX:
            box_trees.build(automaton, events, indexes.boxes, number, index, chunk.first, chunk.last)
            size = indexes.boxes.size[number]
            used += nodes_for(size) + size
        elif kind == SCAN:
            scan_lists.reset(indexes.scans, number, ranks.distinct[r] if r >= 0 else 0)
            used += chunk.last - chunk.first
        elif kind == BOTH_SIDES:
            used += 2 * ranks.distinct[r]
        else:
            used += ranks.distinct[r]
    return used


@inner
def query(
    arena: Arena,
    automaton: Automaton,
    events: Events,
    indexes: Indexes,
    ranks: Ranks,
    index: int,
    i: int,
    origin: int,
    row: int,
    lanes: tuple[int, int],
) -> None:
    """Add to a row all vertices of an index that may come right before event ``i``."""
    low, high = lanes
    kind = automaton.index[index, KIND]
    base = indexes.base[index]
    if kind == FREE:
        add_row(arena, row, base, low, high)
        return
    r = automaton.index[index, RANK]
    if kind == BOX:
        tree = Tree(indexes.ordinal[index], automaton.index[index, LINK], base, indexes.first[0])
        box_trees.query(arena, automaton, events, indexes.boxes, tree, i, row, low, high)
        return
    if kind == SCAN:
        kept = List(indexes.ordinal[index], automaton.index[index, LINK], r, base, origin)
        scan_lists.query(arena, automaton, events, indexes.scans, kept, ranks, i, row, low, high)
        return
    reach = ranks.reach[r, i - origin]
    if reach < 0:
        return
    if kind == LEAF:
        add_row(arena, row, base + reach, low, high)
        return
    begin = 0
    if automaton.rank[r, STRIDE] > 0:
        begin = ranks.first[r, i - origin]
    if kind == PREFIX:
        sum_tree(arena, row, base + begin, reach, low, high)
        return
    end = ranks.distinct[r]
    if automaton.rank[r, STRIDE] > 0:
        end = ranks.key_last[r, begin] if begin < end and ranks.key_first[r, begin] == begin else begin
    below = reach >> 1
    above = end - begin - below - (reach & 1)
    sum_tree(arena, row, base + begin, below, low, high)
    sum_tree(arena, row, base + ranks.distinct[r] + begin, above, low, high)


@inner
def insert(
    arena: Arena,
    automaton: Automaton,
    indexes: Indexes,
    ranks: Ranks,
    index: int,
    i: int,
    origin: int,
    row: int,
    lanes: tuple[int, int],
) -> None:
    """Put the vertex of event ``i`` into an index."""
    low, high = lanes
    kind = automaton.index[index, KIND]
    base = indexes.base[index]
    if kind == FREE:
        add_row(arena, base, row, low, high)
        return
    r = automaton.index[index, RANK]
    if kind == BOX:
        box_trees.insert(arena, indexes.boxes, indexes.ordinal[index], base, i - indexes.first[0], row, low, high)
        return
    if kind == SCAN:
        kept = List(indexes.ordinal[index], automaton.index[index, LINK], r, base, origin)
        scan_lists.insert(arena, indexes.scans, kept, ranks, i, row, low, high)
        return
    place = ranks.place[r, i - origin]
    if place < 0:
        return
    if kind == LEAF:
        add_row(arena, base + place, row, low, high)
        return
    begin = 0
    end = ranks.distinct[r]
    if automaton.rank[r, STRIDE] > 0:
        begin = ranks.key_first[r, place]
        end = ranks.key_last[r, place]
    add_to_tree(arena, row, base + begin, place - begin, end - begin, low, high)
    if kind == BOTH_SIDES:
        # The second tree is mirrored: it sums what lies above.
        add_to_tree(arena, row, base + ranks.distinct[r] + begin, end - 1 - place, end - begin, low, high)
