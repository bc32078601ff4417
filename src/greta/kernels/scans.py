"""Vertices kept one by one, for conditions that no tree can sum: each query looks at every candidate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel
from greta.kernels.conditions import STACK, linked
from greta.kernels.fenwick import rank_range
from greta.kernels.layout import Automaton, Events
from greta.kernels.numbers import Span, Store, add_span
from greta.kernels.ranks import SPARSE, Ranks


class Scans(NamedTuple):
    """The vertices of all SCAN indexes over one range of events; first axis: index."""

    size: NDArray[np.int64]
    event: NDArray[np.int64]
    """[index, vertex]: its event."""
    head: NDArray[np.int64]
    """[index, rank]: the newest vertex of a rank, or -1, where the link has a rank comparison."""
    older: NDArray[np.int64]
    """[index, vertex]: the next older vertex of the same rank, or -1."""
    stack: NDArray[np.float64]


@kernel
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


@inner
def reset(automaton: Automaton, scans: Scans, s: int, index: int, ranks: Ranks) -> None:
    """Forget all vertices of one index."""
    scans.size[s] = 0
    r = automaton.link_rank[automaton.index_link[index]]
    if r >= 0:
        scans.head[s, : ranks.distinct[r]] = -1


@inner
def insert(
    automaton: Automaton,
    store: Store,
    maxima: NDArray[np.int64],
    lanes: Span,
    base: int,
    scans: Scans,
    s: int,
    index: int,
    ranks: Ranks,
    first: int,
    i: int,
    row: int,
) -> None:
    """Keep the vertex of event ``i``; NULL in the rank comparison: it can link to nothing."""
    r = automaton.link_rank[automaton.index_link[index]]
    at = scans.size[s]
    if r >= 0:
        rank = ranks.previous[r, i - first]
        if rank < 0:
            return
        scans.older[s, at] = scans.head[s, rank]
        scans.head[s, rank] = at
    scans.event[s, at] = i
    scans.size[s] = at + 1
    add_span(store, maxima, lanes, base + at, row)


@inner
def query(
    automaton: Automaton,
    events: Events,
    store: Store,
    maxima: NDArray[np.int64],
    lanes: Span,
    base: int,
    scans: Scans,
    s: int,
    index: int,
    ranks: Ranks,
    first: int,
    j: int,
    into: int,
) -> None:
    """Add to row ``into`` the vertices that may come right before event ``j``."""
    link = automaton.index_link[index]
    r = automaton.link_rank[link]
    if r < 0:
        for at in range(scans.size[s]):
            if linked(automaton, events, link, scans.event[s, at], j, scans.stack):
                add_span(store, maxima, lanes, into, base + at)
        return
    rank = ranks.next[r, j - first]
    if rank < 0:
        return
    low, high = rank_range(automaton, ranks, r, rank)
    for here in range(low, high):
        at = scans.head[s, here]
        while at >= 0:
            if linked(automaton, events, link, scans.event[s, at], j, scans.stack):
                add_span(store, maxima, lanes, into, base + at)
            at = scans.older[s, at]
