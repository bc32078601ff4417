"""Vertices kept one by one, for conditions that no tree can sum: each query looks at every candidate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner
from greta.kernels.conditions import STACK, linked
from greta.kernels.layout import EQUALS, Conditions, Operands
from greta.kernels.numbers import Arena, add_row
from greta.kernels.ranks import SPARSE, Ranks


class Scans(NamedTuple):
    """The vertices of all SCAN indexes over one range of events; first axis: index."""

    size: NDArray[np.int64]
    event: NDArray[np.int64]
    """[index, vertex]: its event."""
    head: NDArray[np.int64]
    """[index, place]: the newest vertex at a place, or -1, where the link has a rank comparison."""
    older: NDArray[np.int64]
    """[index, vertex]: the next older vertex at the same place, or -1."""
    stack: NDArray[np.float64]


def new_scans(indexes: int, events: int) -> Scans:
    """Room for so many SCAN indexes over so many events."""
    if indexes == 0:
        events = 0
    return Scans(
        np.zeros(indexes, dtype=np.int64),
        np.empty((indexes, events), dtype=np.int64),
        np.empty((indexes, SPARSE * events), dtype=np.int64),
        np.empty((indexes, events), dtype=np.int64),
        np.empty(STACK, dtype=np.float64),
    )


class List(NamedTuple):
    """One SCAN index: which list, its link, and where its rows start.

    Its rank comparison (or -1) has an operator and a stride; ``origin`` is the event that ranks are counted from.
    """

    number: int
    link: int
    base: int
    rank: int
    operator: int
    stride: int
    origin: int


@inner
def reset(scans: Scans, s: int, places: int) -> None:
    """Forget all vertices of one index, at so many places."""
    scans.size[s] = 0
    scans.head[s, :places] = -1


@inner
def insert(arena: Arena, scans: Scans, kept: List, ranks: Ranks, i: int, row: int, low: int, high: int) -> None:
    """Keep the vertex of event ``i``; NULL in the rank comparison: it can link to nothing."""
    s = kept.number
    at = scans.size[s]
    if kept.rank >= 0:
        place = ranks.place[kept.rank, i - kept.origin]
        if place < 0:
            return
        scans.older[s, at] = scans.head[s, place]
        scans.head[s, place] = at
    scans.event[s, at] = i
    scans.size[s] = at + 1
    add_row(arena, kept.base + at, row, low, high)


@inner
def query(
    arena: Arena,
    conditions: Conditions,
    operands: Operands,
    scans: Scans,
    kept: List,
    ranks: Ranks,
    j: int,
    into: int,
    low: int,
    high: int,
) -> None:
    """Add to row ``into`` the vertices that may come right before event ``j``."""
    s, r = kept.number, kept.rank
    if r < 0:
        for at in range(scans.size[s]):
            if linked(conditions, operands, kept.link, scans.event[s, at], j, scans.stack):
                add_row(arena, into, kept.base + at, low, high)
        return
    reach = ranks.reach[r, j - kept.origin]
    if reach < 0:
        return
    begin = ranks.first[r, j - kept.origin] if kept.stride > 0 else 0
    end = begin + reach
    if kept.operator == EQUALS:
        begin, end = reach, reach + 1
    for place in range(begin, end):
        at = scans.head[s, place]
        while at >= 0:
            if linked(conditions, operands, kept.link, scans.event[s, at], j, scans.stack):
                add_row(arena, into, kept.base + at, low, high)
            at = scans.older[s, at]
