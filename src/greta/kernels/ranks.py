"""Places and reaches: comparisons of codes become positions in a tree as small as the events at hand.

For a comparison ``f(prev) < g(next)`` the different values of ``f(prev)`` among some events are numbered in order::

    f(prev)            3   8   5   8        places   0   2   1   2
    g(next)            5   9   1   8        reaches  1   3   0   2      how many places lie below

An event is put at its place as a predecessor, and sums the places below its reach as a successor. ``<=`` reaches one
further where it meets its equal; ``>`` and ``>=`` are the same with all codes negated. With an equality beside the
comparison, places of one key lie next to each other, and an event reaches from the first place of its key on.

A partition is ranked once; the events of a few windows are then ranked among themselves from these places, so that a
tree never is much larger than what lives in it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, part
from greta.kernels.layout import (
    DIFFERS,
    EQUALS,
    GREATER,
    GREATER_EQUAL,
    LESS,
    NEXT,
    NOTHING,
    OPERATOR,
    PREVIOUS,
    STRIDE,
    Int,
)
from greta.kernels.sorting import sort_pairs

SPARSE = 4
"""Events keep their partition's places where these are at most so many times as many as the events."""

_FEW = 4096
"""Up to so many different codes they are told apart by hashing, which beats sorting all events."""
_SLOTS = 4 * _FEW
_SHORT = 512
"""Up to so many events sorting is as fast."""
_HASH = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(64 - 14)

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
    """Places and reaches of a range of events, one row per rank comparison."""

    place: NDArray[np.int32]
    """Per event, as a predecessor; -1: NULL."""
    reach: NDArray[np.int32]
    """Per event, as a successor: the number of places below, -1: NULL, or no place has its key. For EQUALS the place
    itself, -1: none. For DIFFERS twice the number of places below, plus 1 where there is an equal one."""
    first: NDArray[np.int32]
    """Per event, as a successor: the first place of its key, where the comparison has an equality."""
    distinct: NDArray[np.int64]
    """Per comparison: the number of places."""
    key_first: NDArray[np.int32]
    key_last: NDArray[np.int32]
    """[comparison, place]: the places ``[first, last)`` of the same key, where the comparison has an equality."""


class Scratch(NamedTuple):
    """Room to rank the codes of a range of events."""

    keys: NDArray[np.int64]
    items: NDArray[np.int64]
    keys_too: NDArray[np.int64]
    items_too: NDArray[np.int64]
    table: NDArray[np.int64]
    number: NDArray[np.int32]
    """A hash table: codes, and their numbers in order of appearance, -1 for an empty slot."""
    marks: NDArray[np.uint64]
    before: NDArray[np.int32]
    """Per 64 places: which occur, and how many occur before them."""


@part
def new_ranks(rank: Int, events: int, places: int) -> Ranks:
    """Room for so many events, at so many places at most."""
    comparisons = rank.shape[0]
    with_keys = 0
    for r in range(comparisons):
        if rank[r, STRIDE] > 0:
            with_keys = 1
    return Ranks(
        np.empty((comparisons, events), dtype=np.int32),
        np.empty((comparisons, events), dtype=np.int32),
        np.empty((comparisons, with_keys * events), dtype=np.int32),
        np.zeros(comparisons, dtype=np.int64),
        np.empty((comparisons, with_keys * places), dtype=np.int32),
        np.empty((comparisons, with_keys * places), dtype=np.int32),
    )


@part
def new_scratch(rank: Int, events: int) -> Scratch:
    """Room to rank so many events."""
    size = events if rank.shape[0] > 0 else 0
    slots = _SLOTS if size > _SHORT else 0
    return Scratch(
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(slots, dtype=np.int64),
        np.empty(slots, dtype=np.int32),
        np.empty((size >> 6) + 2, dtype=np.uint64),
        np.empty((size >> 6) + 2, dtype=np.int32),
    )


@part
def rank_partition(
    rank: Int, all_codes: NDArray[np.int64], begin: int, end: int, ranks: Ranks, scratch: Scratch
) -> None:
    """Rank the codes of the events ``[begin, end)``."""
    for r in range(rank.shape[0]):
        operator = rank[r, OPERATOR]
        stride = rank[r, STRIDE]
        sign = -1 if operator == GREATER or operator == GREATER_EQUAL else 1
        codes = all_codes[rank[r, PREVIOUS], begin:end]
        place = ranks.place[r]
        distinct = _few_places(codes, sign, place, scratch) if end - begin > _SHORT else -1
        if distinct < 0:
            distinct = _sorted_places(codes, sign, place, scratch)
        ranks.distinct[r] = distinct
        # From here on ``scratch.keys`` holds the different codes in their order.
        if stride > 0:
            _bound_keys(scratch.keys[:distinct], stride, ranks.key_first[r], ranks.key_last[r])
        if rank[r, PREVIOUS] == rank[r, NEXT]:
            _reach_own(place, end - begin, operator, stride, r, ranks)
        else:
            following = all_codes[rank[r, NEXT], begin:end]
            _reach_others(following, sign, scratch.keys[:distinct], operator, stride, r, ranks)


@part
def _few_places(codes: NDArray[np.int64], sign: int, place: NDArray[np.int32], scratch: Scratch) -> int:
    """Places where there are few different codes, and their number; -1 where there are too many."""
    table, number = scratch.table, scratch.number
    number[:] = -1
    count: Any = np.int64(0)
    for i in range(codes.shape[0]):
        code = codes[i]
        if code == NOTHING:
            place[i] = -1
            continue
        code *= sign
        slot = np.int64((np.uint64(code) * _HASH) >> _SHIFT)
        while number[slot] >= 0 and table[slot] != code:
            slot = (slot + 1) & (_SLOTS - 1)
        if number[slot] < 0:
            if count == _FEW or (count > 256 and 4 * count > i):
                return -1
            table[slot] = code
            number[slot] = count
            scratch.keys[count] = code
            scratch.items[count] = count
            count += 1
        place[i] = number[slot]
    sort_pairs(scratch.keys, scratch.items, scratch.keys_too, scratch.items_too, count)
    order = scratch.items_too
    for at in range(count):
        order[scratch.items[at]] = at
    for i in range(codes.shape[0]):
        if place[i] >= 0:
            place[i] = order[place[i]]
    return int(count)


@part
def _sorted_places(codes: NDArray[np.int64], sign: int, place: NDArray[np.int32], scratch: Scratch) -> int:
    """Places by sorting all codes, and their number."""
    size: Any = np.int64(0)
    for i in range(codes.shape[0]):
        place[i] = -1
        if codes[i] != NOTHING:
            scratch.keys[size] = codes[i] * sign
            scratch.items[size] = i
            size += 1
    sort_pairs(scratch.keys, scratch.items, scratch.keys_too, scratch.items_too, size)
    count = 0
    for at in range(size):
        code = scratch.keys[at]
        if count == 0 or code != scratch.keys[count - 1]:
            scratch.keys[count] = code
            count += 1
        place[scratch.items[at]] = count - 1
    return count


@inner
def _bound_keys(codes: NDArray[np.int64], stride: int, first: NDArray[np.int32], last: NDArray[np.int32]) -> None:
    """The places of each key, for codes in their order: a key is the code without its order."""
    begin = 0
    for at in range(1, codes.shape[0] + 1):
        if at == codes.shape[0] or codes[at] // stride != codes[begin] // stride:
            for place in range(begin, at):
                first[place] = begin
                last[place] = at
            begin = at


@inner
def _reach_own(place: NDArray[np.int32], count: int, operator: int, stride: int, r: int, ranks: Ranks) -> None:
    """Reaches where both sides of the comparison are the same."""
    further = 1 if operator != LESS and operator != GREATER else 0
    for i in range(count):
        at = place[i]
        if at < 0:
            ranks.reach[r, i] = -1
            continue
        begin = 0
        if stride > 0:
            begin = ranks.key_first[r, at]
            ranks.first[r, i] = begin
        if operator == EQUALS:
            ranks.reach[r, i] = at
        elif operator == DIFFERS:
            ranks.reach[r, i] = 2 * (at - begin) + 1
        else:
            ranks.reach[r, i] = at - begin + further


@inner
def _reach_others(
    codes: NDArray[np.int64],
    sign: int,
    places: NDArray[np.int64],
    operator: int,
    stride: int,
    r: int,
    ranks: Ranks,
) -> None:
    """Reaches of other codes than those that have places: by bisection. O(log places) each."""
    strict = operator == LESS or operator == GREATER
    for i in range(codes.shape[0]):
        ranks.reach[r, i] = -1
        if codes[i] == NOTHING:
            continue
        code = codes[i] * sign
        at = _first_not_below(places, code)
        equal = at < places.shape[0] and places[at] == code
        begin = 0
        if stride > 0:
            key = code // stride
            if at < places.shape[0] and places[at] // stride == key:
                begin = ranks.key_first[r, at]
            elif at > 0 and places[at - 1] // stride == key:
                begin = ranks.key_first[r, at - 1]
            else:
                continue
            ranks.first[r, i] = begin
        if operator == EQUALS:
            if equal:
                ranks.reach[r, i] = at
        elif operator == DIFFERS:
            ranks.reach[r, i] = 2 * (at - begin) + int(equal)
        else:
            ranks.reach[r, i] = at - begin + (1 if equal and not strict else 0)


@inner
def _first_not_below(places: NDArray[np.int64], code: int) -> int:
    low = 0
    high = places.shape[0]
    while low < high:
        middle = (low + high) // 2
        if places[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low


@part
def dense_enough(whole: Ranks, count: int) -> bool:
    """Whether so many events can keep their partition's places."""
    for r in range(whole.distinct.shape[0]):
        if whole.distinct[r] > SPARSE * count:
            return False
    return True


@part
def rank_chunk(rank: Int, whole: Ranks, skip: int, count: int, ranks: Ranks, scratch: Scratch) -> None:
    """Rank ``count`` events, ``skip`` after the partition's first, among themselves.

    The partition's places that occur are marked in a bitmap; the new place is the number of marks before the old one.
    O(events + places of the partition / 64).
    """
    for r in range(rank.shape[0]):
        operator = rank[r, OPERATOR]
        stride = rank[r, STRIDE]
        place = whole.place[r, skip : skip + count]
        reach = whole.reach[r, skip : skip + count]
        marks = scratch.marks[: (whole.distinct[r] >> 6) + 1]
        before = scratch.before[: marks.shape[0]]
        marks[:] = _NONE
        for at in place:
            if at >= 0:
                marks[at >> 6] |= _ONE << np.uint64(at & 63)
        total = 0
        for at in range(marks.shape[0]):
            before[at] = total
            total += _ones(marks[at])
        ranks.distinct[r] = total
        for i in range(count):
            ranks.place[r, i] = -1
            ranks.reach[r, i] = -1
            if place[i] >= 0:
                new = _marked_before(marks, before, place[i])
                ranks.place[r, i] = new
                if stride > 0:
                    ranks.key_first[r, new] = _marked_before(marks, before, whole.key_first[r, place[i]])
                    ranks.key_last[r, new] = _marked_before(marks, before, whole.key_last[r, place[i]])
            if reach[i] < 0:
                continue
            begin = 0
            if stride > 0:
                begin = whole.first[r, skip + i]
                ranks.first[r, i] = _marked_before(marks, before, begin)
            start = _marked_before(marks, before, begin)
            if stride > 0 and _marked_before(marks, before, whole.key_last[r, begin]) == start:
                continue
            if operator == EQUALS:
                if _is_marked(marks, reach[i]):
                    ranks.reach[r, i] = _marked_before(marks, before, reach[i])
            elif operator == DIFFERS:
                middle = begin + (reach[i] >> 1)
                equal = reach[i] & 1 == 1 and _is_marked(marks, middle)
                ranks.reach[r, i] = 2 * (_marked_before(marks, before, middle) - start) + int(equal)
            else:
                ranks.reach[r, i] = _marked_before(marks, before, begin + reach[i]) - start


@inner
def _is_marked(marks: NDArray[np.uint64], at: int) -> bool:
    return bool(marks[at >> 6] >> np.uint64(at & 63) & _ONE != _NONE)


@inner
def _marked_before(marks: NDArray[np.uint64], before: NDArray[np.int32], at: int) -> int:
    """How many marks lie before a place."""
    lower = marks[at >> 6] & ((_ONE << np.uint64(at & 63)) - _ONE)
    return int(before[at >> 6] + _ones(lower))


@inner
def _ones(word: np.uint64) -> int:
    """How many bits are set: sums of bits in pairs, in fours, in bytes, and of all bytes."""
    word = word - ((word >> _ONE) & _PAIRS)
    word = (word & _FOURS) + ((word >> _TWO) & _FOURS)
    word = (word + (word >> _FOUR)) & _BYTES
    return int((word * _EACH) >> _LAST)
