"""Fenwick trees over ranks: the sum of all vertices on one side of a comparison in O(log n).

With an equality beside the comparison, ranks of one key lie next to each other and each key has a tree of its
own inside the same rows. Trees that sum the larger ranks are stored mirrored. Nothing is ever subtracted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner
from greta.kernels.layout import BOTH_SIDES, EQUALS, GREATER, GREATER_EQUAL, LEAF, LESS, LESS_EQUAL, Automaton
from greta.kernels.numbers import Span, Store, add, add_span, raise_span
from greta.kernels.ranks import Ranks

Maxima = NDArray[np.int64]


@inner
def _bucket(automaton: Automaton, ranks: Ranks, r: int, rank: int) -> tuple[int, int]:
    if automaton.rank_stride[r] > 0:
        return ranks.bucket_first[r, rank], ranks.bucket_last[r, rank]
    return 0, ranks.distinct[r]


@inner
def rank_range(automaton: Automaton, ranks: Ranks, r: int, rank: int) -> tuple[int, int]:
    """The ranks ``[low, high)`` of earlier events that compare as wished with a later event's rank."""
    low, high = _bucket(automaton, ranks, r, rank)
    operator = automaton.rank_operator[r]
    if operator == LESS:
        high = rank
    elif operator == LESS_EQUAL:
        high = rank + 1
    elif operator == GREATER:
        low = rank + 1
    elif operator == GREATER_EQUAL:
        low = rank
    elif operator == EQUALS:
        low = rank
        high = rank + 1
    return low, high


@inner
def _add(store: Store, maxima: Maxima, lanes: Span, base: int, position: int, size: int, row: int) -> None:
    words = lanes.words
    at = base * words + lanes.skip
    k = position + 1
    while k <= size:
        add(store, at + (k - 1) * words, row * words + lanes.skip, lanes.cells)
        k += k & -k
    if lanes.extremes > 0:
        k = position + 1
        while k <= size:
            raise_span(maxima, lanes, base + k - 1, row)
            k += k & -k


@inner
def _sum(store: Store, maxima: Maxima, lanes: Span, base: int, count: int, into: int) -> None:
    words = lanes.words
    at = base * words + lanes.skip
    k = count
    while k > 0:
        add(store, into * words + lanes.skip, at + (k - 1) * words, lanes.cells)
        k -= k & -k
    if lanes.extremes > 0:
        k = count
        while k > 0:
            raise_span(maxima, lanes, into, base + k - 1)
            k -= k & -k


@inner
def rows_for(kind: int, distinct: int) -> int:
    """Rows of a tree over so many ranks."""
    return 2 * distinct if kind == BOTH_SIDES else distinct


@inner
def insert(
    store: Store,
    maxima: Maxima,
    lanes: Span,
    base: int,
    kind: int,
    operator: int,
    distinct: int,
    first: int,
    last: int,
    rank: int,
    row: int,
) -> None:
    """Add a vertex's row at a rank of the bucket ``[first, last)``."""
    size = last - first
    if kind == LEAF:
        add_span(store, maxima, lanes, base + rank, row)
    elif kind == BOTH_SIDES:
        _add(store, maxima, lanes, base + first, rank - first, size, row)
        _add(store, maxima, lanes, base + distinct + first, last - 1 - rank, size, row)
    else:
        _add(store, maxima, lanes, base + first, rank - first if operator <= LESS_EQUAL else last - 1 - rank, size, row)


@inner
def query(
    store: Store,
    maxima: Maxima,
    lanes: Span,
    base: int,
    kind: int,
    operator: int,
    distinct: int,
    first: int,
    last: int,
    rank: int,
    into: int,
) -> None:
    """Add to row ``into`` all vertices of the bucket ``[first, last)`` that compare as wished with a rank."""
    if kind == LEAF:
        add_span(store, maxima, lanes, into, base + rank)
        return
    if kind == BOTH_SIDES:
        _sum(store, maxima, lanes, base + distinct + first, last - 1 - rank, into)
        count = rank - first
    elif operator == LESS:
        count = rank - first
    elif operator == LESS_EQUAL:
        count = rank - first + 1
    elif operator == GREATER:
        count = last - 1 - rank
    else:
        count = last - rank
    _sum(store, maxima, lanes, base + first, count, into)
