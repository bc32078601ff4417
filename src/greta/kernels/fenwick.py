"""Fenwick trees over ranks: the sum of all vertices on one side of a comparison in O(log n).

With an equality beside the comparison, ranks of one key lie next to each other and each key has a tree of its
own inside the same rows. Trees that sum the larger ranks are stored mirrored. Nothing is ever subtracted.
"""

from __future__ import annotations

from greta.kernels.compiler import inner
from greta.kernels.layout import BOTH_SIDES, EQUALS, GREATER, GREATER_EQUAL, LEAF, LESS, LESS_EQUAL, Automaton
from greta.kernels.numbers import Rows, add_row
from greta.kernels.ranks import Ranks


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
def _add(rows: Rows, base: int, position: int, size: int, row: int) -> None:
    k = position + 1
    while k <= size:
        add_row(rows, base + k - 1, row)
        k += k & -k


@inner
def _sum(rows: Rows, base: int, count: int, into: int) -> None:
    while count > 0:
        add_row(rows, into, base + count - 1)
        count -= count & -count


@inner
def rows_for(kind: int, distinct: int) -> int:
    """Rows of a tree over so many ranks."""
    return 2 * distinct if kind == BOTH_SIDES else distinct


@inner
def insert(
    rows: Rows, base: int, kind: int, operator: int, distinct: int, first: int, last: int, rank: int, row: int
) -> None:
    """Add a vertex's row at a rank of the bucket ``[first, last)``."""
    size = last - first
    if kind == LEAF:
        add_row(rows, base + rank, row)
    elif kind == BOTH_SIDES:
        _add(rows, base + first, rank - first, size, row)
        _add(rows, base + distinct + first, last - 1 - rank, size, row)
    elif operator <= LESS_EQUAL:
        _add(rows, base + first, rank - first, size, row)
    else:
        _add(rows, base + first, last - 1 - rank, size, row)


@inner
def query(
    rows: Rows, base: int, kind: int, operator: int, distinct: int, first: int, last: int, rank: int, into: int
) -> None:
    """Add to row ``into`` all vertices of the bucket ``[first, last)`` that compare as wished with a rank."""
    if kind == LEAF:
        add_row(rows, into, base + rank)
    elif kind == BOTH_SIDES:
        _sum(rows, base + first, rank - first, into)
        _sum(rows, base + distinct + first, last - 1 - rank, into)
    elif operator == LESS:
        _sum(rows, base + first, rank - first, into)
    elif operator == LESS_EQUAL:
        _sum(rows, base + first, rank - first + 1, into)
    elif operator == GREATER:
        _sum(rows, base + first, last - 1 - rank, into)
    else:
        _sum(rows, base + first, last - rank, into)
