"""Sorting by integers: stable counting and radix sorts, and dense ranks.

All take and give permutations, never move the events' columns themselves, and cost O(n) per pass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel, part

_BITS = 11
_DIGITS = 1 << _BITS
_RUN = 20
"""Up to this length an insertion sort is fastest."""
_SHORT = 160
"""Up to this length merging is faster than the passes of a radix sort, each of which counts all digits."""
_LEADING = 2
"""Digits that keys are sorted by at least, the highest ones, before what is left is mended by insertion."""
_SPARE = 6
"""Leading bits beyond those that number the keys: so many that few neighbours share all of them."""
_PATIENCE = 2
"""Steps per key that mending may take."""


@kernel
def is_sorted(values: NDArray[np.int64]) -> bool:
    """Whether the values never fall."""
    for i in range(1, values.shape[0]):
        if values[i] < values[i - 1]:
            return False
    return True


@kernel
def number_integers(values: NDArray[np.int64]) -> tuple[NDArray[np.int32], int]:
    """(numbers 0, 1, 2, … for the values in the order in which they first occur, how many there are).

    The count is -1, and nothing is numbered, where values lie so far apart that it takes a hash table.
    """
    codes = np.empty(values.shape[0], dtype=np.int32)
    if values.shape[0] == 0:
        return codes, 0
    low, high = values[0], values[0]
    for row in range(values.shape[0]):
        low = min(low, values[row])
        high = max(high, values[row])
    # As doubles, since the difference may not fit 64 bits.
    if float(high) - float(low) >= 4.0 * values.shape[0] + 1024.0:
        return codes, -1
    number = np.full(high - low + 1, -1, dtype=np.int32)
    count = 0
    for row in range(values.shape[0]):
        at = values[row] - low
        if number[at] < 0:
            number[at] = count
            count += 1
        codes[row] = number[at]
    return codes, count


@kernel
def number_densely(
    codes: NDArray[np.int64], null: NDArray[np.bool_], size: int
) -> tuple[NDArray[np.int32], int, NDArray[np.int64]]:
    """Numbers 0, 1, 2, … for the codes that occur, in their order; how many; and the first row of each.

    Codes are below ``size``; rows that are NULL get -1.
    """
    first = np.full(size, -1, dtype=np.int64)
    for row in range(codes.shape[0] - 1, -1, -1):
        if not null[row]:
            first[codes[row]] = row
    number = np.empty(size, dtype=np.int32)
    count = 0
    for code in range(size):
        if first[code] >= 0:
            number[code] = count
            first[count] = first[code]
            count += 1
    dense = np.empty(codes.shape[0], dtype=np.int32)
    for row in range(codes.shape[0]):
        dense[row] = -1 if null[row] else number[codes[row]]
    return dense, count, first[:count].copy()


@kernel
def order_by_group(
    groups: NDArray[np.int32], count: int, order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Stable counting sort of ``order`` by group: (offsets of the groups, new order). Groups below 0 vanish."""
    offsets = np.zeros(count + 1, dtype=np.int64)
    for i in range(order.shape[0]):
        group = groups[order[i]]
        if group >= 0:
            offsets[group + 1] += 1
    for group in range(count):
        offsets[group + 1] += offsets[group]
    cursor = offsets[:-1].copy()
    result = np.empty(offsets[count], dtype=np.int64)
    for i in range(order.shape[0]):
        group = groups[order[i]]
        if group >= 0:
            result[cursor[group]] = order[i]
            cursor[group] += 1
    return offsets, result


@kernel
def argsort(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Stable permutation that sorts ``keys``."""
    n = keys.shape[0]
    order = np.arange(n)
    sort_pairs(keys.copy(), order, np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), n)
    return order


@part
def sort_pairs(
    keys: NDArray[np.int64],
    items: NDArray[np.int64],
    keys_scratch: NDArray[np.int64],
    items_scratch: NDArray[np.int64],
    n: int,
) -> None:
    """Sort the first ``n`` keys, and the items with them, in place; stable.

    Codes of doubles have 50 bits and more, of which the leading ones put all but a few keys in their places; where they
    do not, since keys lie close together and far from some other, all bits are sorted by.
    """
    if n <= _SHORT:
        _merge_pairs(keys, items, keys_scratch, items_scratch, n)
        return
    low = keys[0]
    high = keys[0]
    for i in range(1, n):
        low = min(low, keys[i])
        high = max(high, keys[i])
    # Differences as unsigned words: high - low may not fit a signed one.
    base = np.uint64(low)
    bits = _length(np.uint64(high) - base)
    shift = _LEADING * _BITS
    while bits > shift and n >> (shift - _SPARE) != 0:
        shift += _BITS
    lowest = max(0, bits - shift)
    _sort_digits(keys, items, keys_scratch, items_scratch, n, base, lowest, bits)
    if lowest > 0 and not _mend(keys, items, n):
        _sort_digits(keys, items, keys_scratch, items_scratch, n, base, 0, bits)


@inner
def _length(word: np.uint64) -> int:
    """How many bits a number has, without leading zeros."""
    bits = 0
    while bits < 64 and word >> np.uint64(bits) != np.uint64(0):
        bits += 1
    return bits


@part
def _sort_digits(
    keys: NDArray[np.int64],
    items: NDArray[np.int64],
    keys_scratch: NDArray[np.int64],
    items_scratch: NDArray[np.int64],
    n: int,
    base: np.uint64,
    low: int,
    high: int,
) -> None:
    """Sort by the bits ``[low, high)`` of the differences to ``base``; a pass for every digit, the lowest first."""
    counts = np.empty(_DIGITS, dtype=np.int64)
    passes = 0
    mask = np.uint64(_DIGITS - 1)
    for bit in range(low, high, _BITS):
        shift = np.uint64(bit)
        counts[:] = 0
        for i in range(n):
            counts[np.int64(((np.uint64(keys[i]) - base) >> shift) & mask)] += 1
        total = 0
        for digit in range(_DIGITS):
            here = counts[digit]
            counts[digit] = total
            total += here
        for i in range(n):
            bucket = np.int64(((np.uint64(keys[i]) - base) >> shift) & mask)
            at = counts[bucket]
            counts[bucket] = at + 1
            keys_scratch[at] = keys[i]
            items_scratch[at] = items[i]
        keys, keys_scratch = keys_scratch, keys
        items, items_scratch = items_scratch, items
        passes += 1
    if passes % 2 == 1:
        for i in range(n):
            keys_scratch[i] = keys[i]
            items_scratch[i] = items[i]


@inner
def _mend(keys: NDArray[np.int64], items: NDArray[np.int64], n: int) -> bool:
    """Sort keys that are nearly in order by insertion; False, with work left to do, where they are far from it."""
    patience = _PATIENCE * n
    for i in range(1, n):
        key = keys[i]
        if keys[i - 1] <= key:
            continue
        item = items[i]
        j = i - 1
        while j >= 0 and keys[j] > key:
            keys[j + 1] = keys[j]
            items[j + 1] = items[j]
            j -= 1
        keys[j + 1] = key
        items[j + 1] = item
        patience -= i - 1 - j
        if patience < 0:
            return False
    return True


@inner
def _merge_pairs(
    keys: NDArray[np.int64],
    items: NDArray[np.int64],
    keys_scratch: NDArray[np.int64],
    items_scratch: NDArray[np.int64],
    n: int,
) -> None:
    """Sort short runs by insertion, then merge them pair by pair."""
    for start in range(0, n, _RUN):
        for i in range(start + 1, min(start + _RUN, n)):
            key = keys[i]
            item = items[i]
            j = i - 1
            while j >= start and keys[j] > key:
                keys[j + 1] = keys[j]
                items[j + 1] = items[j]
                j -= 1
            keys[j + 1] = key
            items[j + 1] = item
    length = _RUN
    while length < n:
        for start in range(0, n - length, 2 * length):
            stop = min(start + 2 * length, n)
            # The left run steps aside; what is merged never overtakes what is left of the right one.
            for i in range(length):
                keys_scratch[i] = keys[start + i]
                items_scratch[i] = items[start + i]
            left, right, at = 0, start + length, start
            while left < length:
                if right < stop and keys[right] < keys_scratch[left]:
                    keys[at] = keys[right]
                    items[at] = items[right]
                    right += 1
                else:
                    keys[at] = keys_scratch[left]
                    items[at] = items_scratch[left]
                    left += 1
                at += 1
        length *= 2
