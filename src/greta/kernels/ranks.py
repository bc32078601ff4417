"""Dense ranks: codes become positions in a tree as small as the events at hand.

A partition's codes are ranked once; the events of a few windows are then ranked among themselves from these
ranks, so that a tree never is larger than what lives in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel
from greta.kernels.layout import Automaton, Events
from greta.kernels.numbers import NOTHING
from greta.kernels.sorting import sort_pairs

SPARSE = 4
"""Events keep their partition's ranks where these are at most so many times as many as the events."""

_NONE = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_FOUR = np.uint64(4)
_LAST = np.uint64(56)
_PAIRS = np.uint64(0x5555555555555555)
_FOURS = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_EACH = np.uint64(0x0101010101010101)


class Ranks(NamedTuple):
    """Ranks of a range of events, one row per rank comparison. Negative: NULL."""

    previous: NDArray[np.int32]
    next: NDArray[np.int32]
    distinct: NDArray[np.int64]
    """Per comparison: the number of ranks."""
    bucket: NDArray[np.int64]
    """[comparison, rank]: its key, where the comparison has an equality."""
    bucket_first: NDArray[np.int32]
    bucket_last: NDArray[np.int32]
    """[comparison, rank]: the ranks ``[first, last)`` of the same key."""


class Scratch(NamedTuple):
    """Room to rank the codes of a range of events."""

    keys: NDArray[np.int64]
    items: NDArray[np.int64]
    keys_too: NDArray[np.int64]
    items_too: NDArray[np.int64]
    marks: NDArray[np.uint64]
    before: NDArray[np.int32]
    """Per 64 ranks: which occur, and how many occur before them."""


@kernel
def new_ranks(automaton: Automaton, events: int, most: int) -> Ranks:
    """Room for the ranks of so many events, of which there are at most ``most``."""
    comparisons = automaton.rank_operator.shape[0]
    with_keys = 0
    for stride in automaton.rank_stride:
        if stride > 0:
            with_keys = most
    return Ranks(
        np.empty((comparisons, events), dtype=np.int32),
        np.empty((comparisons, events), dtype=np.int32),
        np.zeros(comparisons, dtype=np.int64),
        np.empty((comparisons, with_keys), dtype=np.int64),
        np.empty((comparisons, with_keys), dtype=np.int32),
        np.empty((comparisons, with_keys), dtype=np.int32),
    )


@kernel
def new_scratch(automaton: Automaton, events: int) -> Scratch:
    """Room to rank so many events."""
    size = 0
    for r in range(automaton.rank_operator.shape[0]):
        same = automaton.rank_previous[r] == automaton.rank_next[r]
        size = max(size, events if same else 2 * events)
    return Scratch(
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty((size >> 6) + 1, dtype=np.uint64),
        np.empty((size >> 6) + 1, dtype=np.int32),
    )


@kernel
def rank_partition(automaton: Automaton, events: Events, first: int, last: int, ranks: Ranks, scratch: Scratch) -> None:
    """Rank the codes of the events ``[first, last)``."""
    for r in range(automaton.rank_operator.shape[0]):
        a = automaton.rank_previous[r]
        b = automaton.rank_next[r]
        size = 0
        for i in range(first, last):
            ranks.previous[r, i - first] = -1
            ranks.next[r, i - first] = -1
            if events.codes[a, i] != NOTHING:
                scratch.keys[size] = events.codes[a, i]
                scratch.items[size] = 2 * (i - first)
                size += 1
            if a != b and events.codes[b, i] != NOTHING:
                scratch.keys[size] = events.codes[b, i]
                scratch.items[size] = 2 * (i - first) + 1
                size += 1
        sort_pairs(scratch.keys, scratch.items, scratch.keys_too, scratch.items_too, size)
        stride = automaton.rank_stride[r]
        rank = -1
        for at in range(size):
            if at == 0 or scratch.keys[at] != scratch.keys[at - 1]:
                rank += 1
                if stride > 0:
                    ranks.bucket[r, rank] = scratch.keys[at] // stride
            _assign(ranks, r, scratch.items[at], rank, a == b)
        ranks.distinct[r] = rank + 1
        if stride > 0:
            _bound_buckets(ranks, r)


@kernel
def rank_chunk(automaton: Automaton, whole: Ranks, skip: int, count: int, ranks: Ranks, scratch: Scratch) -> None:
    """Rank ``count`` events, ``skip`` after the partition's first, among themselves.

    The partition's ranks that occur are marked in a bitmap; a rank's place is the number of marks before it.
    O(events + ranks of the partition / 64).
    """
    for r in range(automaton.rank_operator.shape[0]):
        same = automaton.rank_previous[r] == automaton.rank_next[r]
        if whole.distinct[r] <= SPARSE * count:
            for i in range(count):
                ranks.previous[r, i] = whole.previous[r, skip + i]
                ranks.next[r, i] = whole.next[r, skip + i]
            ranks.distinct[r] = whole.distinct[r]
            if automaton.rank_stride[r] > 0:
                for rank in range(whole.distinct[r]):
                    ranks.bucket_first[r, rank] = whole.bucket_first[r, rank]
                    ranks.bucket_last[r, rank] = whole.bucket_last[r, rank]
            continue
        previous = whole.previous[r, skip : skip + count]
        following = whole.next[r, skip : skip + count]
        marks = scratch.marks[: (whole.distinct[r] >> 6) + 1]
        before = scratch.before[: marks.shape[0]]
        marks[:] = _NONE
        _mark(marks, previous)
        if not same:
            _mark(marks, following)
        total = 0
        for at in range(marks.shape[0]):
            before[at] = total
            total += _ones(marks[at])
        ranks.distinct[r] = total
        _look_up(marks, before, previous, ranks.previous[r])
        _look_up(marks, before, following, ranks.next[r])
        if automaton.rank_stride[r] > 0:
            rank = 0
            for at in range(whole.distinct[r]):
                if marks[at >> 6] >> np.uint64(at & 63) & _ONE != _NONE:
                    ranks.bucket[r, rank] = whole.bucket[r, at]
                    rank += 1
            _bound_buckets(ranks, r)


@inner
def _mark(marks: NDArray[np.uint64], ranks: NDArray[np.int32]) -> None:
    for rank in ranks:
        if rank >= 0:
            marks[rank >> 6] |= _ONE << np.uint64(rank & 63)


@inner
def _look_up(
    marks: NDArray[np.uint64], before: NDArray[np.int32], ranks: NDArray[np.int32], result: NDArray[np.int32]
) -> None:
    for i in range(ranks.shape[0]):
        rank = ranks[i]
        if rank >= 0:
            lower = marks[rank >> 6] & ((_ONE << np.uint64(rank & 63)) - _ONE)
            result[i] = before[rank >> 6] + _ones(lower)
        else:
            result[i] = -1


@inner
def _ones(word: np.uint64) -> int:
    """How many bits are set: sums of bits in pairs, in fours, in bytes, and of all bytes."""
    word = word - ((word >> _ONE) & _PAIRS)
    word = (word & _FOURS) + ((word >> _TWO) & _FOURS)
    word = (word + (word >> _FOUR)) & _BYTES
    return int((word * _EACH) >> _LAST)


@inner
def _assign(ranks: Ranks, r: int, item: int, rank: int, same: bool) -> None:
    event = item >> 1
    if same:
        ranks.previous[r, event] = rank
        ranks.next[r, event] = rank
    elif item & 1:
        ranks.next[r, event] = rank
    else:
        ranks.previous[r, event] = rank


@inner
def _bound_buckets(ranks: Ranks, r: int) -> None:
    first = 0
    for rank in range(1, ranks.distinct[r] + 1):
        if rank == ranks.distinct[r] or ranks.bucket[r, rank] != ranks.bucket[r, first]:
            for at in range(first, rank):
                ranks.bucket_first[r, at] = first
                ranks.bucket_last[r, at] = rank
            first = rank
