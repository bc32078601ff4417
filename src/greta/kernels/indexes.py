"""One interface for all ways to sum predecessors: room, reset, query, insert; the one place that tells kinds apart.

An index holds the vertices of one state along one link. Its rows lie in the arena one after another, those of index 0
from row 1 on (row 0 collects the results), new vertices after the last index::

    row 0       1 ...            base[1] ...       used ...
    results     index 0          index 1           vertices of the current tick

BOX and SCAN keep more than rows, in ``Extra``. Where an automaton has neither, ``None`` stands for it, and the compiler
leaves their code out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels import boxes as box_trees
from greta.kernels import scans as scan_lists
from greta.kernels.boxes import Boxes, Tree, new_boxes, nodes_for
from greta.kernels.compiler import inner, part, small
from greta.kernels.layout import (
    BOTH_SIDES,
    BOX,
    FREE,
    KIND,
    LEAF,
    LINK,
    OPERATOR,
    PREFIX,
    RANK,
    SCAN,
    STRIDE,
    VARIABLE,
    Automaton,
    Conditions,
    Int,
    Operands,
    States,
)
from greta.kernels.numbers import Arena, add_row, add_to_tree, sum_tree
from greta.kernels.ranks import Ranks
from greta.kernels.scans import List, Scans, new_scans


class Extra(NamedTuple):
    """What BOX and SCAN indexes need besides rows."""

    boxes: Boxes
    scans: Scans
    ordinal: Int
    """Per index: its number among those of its kind."""
    first: Int
    """One number: the first event of the chunk, which BOX indexes count from."""
    conditions: Conditions
    operands: Operands
    mask: NDArray[np.uint64]


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
    free_row: int
    """The first row of the arena that no index needs: vertices of the current tick lie from here on."""


def needs_extra(indexes: Int) -> bool:
    """Whether there are BOX or SCAN indexes."""
    return any(kind in (BOX, SCAN) for kind in indexes[:, KIND].tolist())


def new_extra(automaton: Automaton, operands: Operands, mask: NDArray[np.uint64], events: int) -> Extra | None:
    """Room for BOX and SCAN indexes over so many events at a time, if there are such."""
    if not needs_extra(automaton.states.indexes):
        return None
    kinds = automaton.states.indexes[:, KIND]
    boxes, scans = kinds == BOX, kinds == SCAN
    ordinal = np.where(boxes, np.cumsum(boxes) - 1, np.where(scans, np.cumsum(scans) - 1, 0))
    return Extra(
        new_boxes(automaton.conditions, int(boxes.sum()), events),
        new_scans(int(scans.sum()), events),
        ordinal.astype(np.int64),
        np.zeros(1, dtype=np.int64),
        automaton.conditions,
        operands,
        mask,
    )


@part
def reset(index: Int, base: Int, ranks: Ranks, extra: Extra | None, first: int, last: int) -> int:
    """Lay out all indexes anew for the events ``[first, last)``; the number of rows that are in use then."""
    used = 1
    for at in range(index.shape[0]):
        base[at] = used
        kind = index[at, KIND]
        r = index[at, RANK]
        if kind == FREE:
            used += 1
        elif kind == BOTH_SIDES:
            used += 2 * ranks.distinct[r]
        elif kind == LEAF or kind == PREFIX:
            used += ranks.distinct[r]
        elif extra is not None:
            used += _reset_extra(extra, index, at, ranks, first, last)
    return used


@inner
def _reset_extra(extra: Extra, index: Int, at: int, ranks: Ranks, first: int, last: int) -> int:
    """Lay out a BOX or SCAN index anew; its rows."""
    number = extra.ordinal[at]
    extra.first[0] = first
    if index[at, KIND] == SCAN:
        r = index[at, RANK]
        scan_lists.reset(extra.scans, number, ranks.distinct[r] if r >= 0 else 0)
        return last - first
    link, variable = index[at, LINK], index[at, VARIABLE]
    codes = extra.operands.codes
    box_trees.build(extra.conditions, codes, extra.mask, extra.boxes, number, link, variable, first, last)
    size = extra.boxes.size[number]
    return int(nodes_for(size) + size)


@small
def query(
    arena: Arena,
    states: States,
    base: Int,
    ranks: Ranks,
    extra: Extra | None,
    at: int,
    i: int,
    origin: int,
    row: int,
    lanes: tuple[int, int],
) -> None:
    """Add to a row all vertices of an index that may come right before event ``i``."""
    low, high = lanes
    kind = states.indexes[at, KIND]
    begin = base[at]
    if kind == FREE:
        add_row(arena, row, begin, low, high)
        return
    r = states.indexes[at, RANK]
    if kind == BOX or kind == SCAN:
        if extra is not None:
            _query_extra(arena, states, extra, ranks, at, begin, i, origin, row, lanes)
        return
    reach: Any = np.int64(ranks.reach[r, i - origin])
    if reach < 0:
        return
    if kind == LEAF:
        add_row(arena, row, begin + reach, low, high)
        return
    first: Any = np.int64(0)
    if states.rank[r, STRIDE] > 0:
        first = np.int64(ranks.first[r, i - origin])
    if kind == PREFIX:
        sum_tree(arena, row, begin + first, reach, low, high)
        return
    distinct = ranks.distinct[r]
    last: Any = distinct
    if states.rank[r, STRIDE] > 0:
        last = np.int64(ranks.key_last[r, first])
    below = reach >> 1
    above = last - first - below - (reach & 1)
    sum_tree(arena, row, begin + first, below, low, high)
    sum_tree(arena, row, begin + distinct + first, above, low, high)


@inner
def _query_extra(
    arena: Arena,
    states: States,
    extra: Extra,
    ranks: Ranks,
    at: int,
    base: int,
    i: int,
    origin: int,
    row: int,
    lanes: tuple[int, int],
) -> None:
    """The same for a BOX or SCAN index."""
    if states.indexes[at, KIND] == BOX:
        tree = Tree(extra.ordinal[at], states.indexes[at, LINK], base, extra.first[0])
        codes = extra.operands.codes
        box_trees.query(arena, extra.conditions, codes, extra.boxes, tree, i, row, lanes[0], lanes[1])
    else:
        kept = _kept(states, extra, at, base, origin)
        conditions, operands = extra.conditions, extra.operands
        scan_lists.query(arena, conditions, operands, extra.scans, kept, ranks, i, row, lanes[0], lanes[1])


@inner
def _kept(states: States, extra: Extra, at: int, base: int, origin: int) -> List:
    r = states.indexes[at, RANK]
    operator, stride = (states.rank[r, OPERATOR], states.rank[r, STRIDE]) if r >= 0 else (0, 0)
    return List(extra.ordinal[at], states.indexes[at, LINK], base, r, operator, stride, origin)


@small
def insert(
    arena: Arena,
    states: States,
    base: Int,
    ranks: Ranks,
    extra: Extra | None,
    at: int,
    i: int,
    origin: int,
    row: int,
    lanes: tuple[int, int],
) -> None:
    """Put the vertex of event ``i`` into an index."""
    low, high = lanes
    kind = states.indexes[at, KIND]
    begin = base[at]
    if kind == FREE:
        add_row(arena, begin, row, low, high)
        return
    if kind == BOX or kind == SCAN:
        if extra is not None:
            if kind == BOX:
                box_trees.insert(arena, extra.boxes, extra.ordinal[at], begin, i - extra.first[0], row, low, high)
            else:
                kept = _kept(states, extra, at, begin, origin)
                scan_lists.insert(arena, extra.scans, kept, ranks, i, row, low, high)
        return
    r = states.indexes[at, RANK]
    place: Any = np.int64(ranks.place[r, i - origin])
    if place < 0:
        return
    if kind == LEAF:
        add_row(arena, begin + place, row, low, high)
        return
    first: Any = np.int64(0)
    distinct = ranks.distinct[r]
    last: Any = distinct
    if states.rank[r, STRIDE] > 0:
        first = np.int64(ranks.key_first[r, place])
        last = np.int64(ranks.key_last[r, place])
    add_to_tree(arena, row, begin + first, place - first, last - first, low, high)
    if kind == BOTH_SIDES:
        # The second tree is mirrored: it sums what lies above.
        add_to_tree(arena, row, begin + distinct + first, last - 1 - place, last - first, low, high)
