"""Words and rows of codes → numbers, by hashing: equal ones get one number, those of earlier pushes are found again.

codes    7 7 3 7        slots   place of the hash → a number whose codes are those, or -1
         1 2 1 1
numbers  0 1 2 0
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import kernel, small
from greta.kernels.layout import Int


class Words(NamedTuple):
    """Words one after another, and where their hashes say that they are; there are empty slots, whose word is -1."""

    slots: Int
    hashes: NDArray[np.uint64]
    offsets: Int
    letters: NDArray[np.uint8]


_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@small
def _place(codes: Int, row: int, mask: int) -> np.int64:
    """Where a column of ``codes`` is looked for first."""
    hashed = np.uint64(0)
    for k in range(codes.shape[0]):
        hashed = (hashed ^ np.uint64(codes[k, row])) * _MULTIPLIER
        hashed ^= hashed >> _HALF
    return np.int64(hashed & np.uint64(mask))


@small
def _same(codes: Int, row: int, others: Int, other: int) -> bool:
    for k in range(codes.shape[0]):
        if codes[k, row] != others[k, other]:
            return False
    return True


@kernel
def number_rows(codes: Int, null: NDArray[np.bool_]) -> tuple[NDArray[np.int32], Int]:
    """Per event a number for what it has in all columns, counted as they come, -1 for NULL; an event of each number.

    ``codes`` is [column, event].
    """
    rows = codes.shape[1]
    size = 16
    while size < 2 * rows:
        size *= 2
    slots = np.full(size, -1, dtype=np.int64)
    numbers = np.empty(rows, dtype=np.int32)
    example = np.empty(rows, dtype=np.int64)
    count = 0
    for row in range(rows):
        if null[row]:
            numbers[row] = -1
            continue
        at = _place(codes, row, size - 1)
        while slots[at] >= 0 and not _same(codes, row, codes, example[slots[at]]):
            at = (at + 1) & (size - 1)
        if slots[at] < 0:
            slots[at] = count
            example[count] = row
            count += 1
        numbers[row] = slots[at]
    return numbers, example[:count].copy()


@kernel
def find_rows(slots: Int, known: Int, valid: NDArray[np.bool_], codes: Int) -> Int:
    """The number of each column of ``codes`` among those that are known and valid; -1 for none.

    ``known`` is [column, number]; there are empty slots, whose number is -1.
    """
    found = np.full(codes.shape[1], -1, dtype=np.int64)
    mask = slots.shape[0] - 1
    for row in range(codes.shape[1]):
        at = _place(codes, row, mask)
        while slots[at] >= 0:
            if valid[slots[at]] and _same(codes, row, known, slots[at]):
                found[row] = slots[at]
                break
            at = (at + 1) & mask
    return found


@kernel
def put_rows(slots: Int, known: Int, numbers: Int) -> None:
    """Let numbers, whose codes are known, be found; there must be room."""
    mask = slots.shape[0] - 1
    for i in range(numbers.shape[0]):
        at = _place(known, numbers[i], mask)
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = numbers[i]


@kernel
def number_words(
    words: Words, count: int, offsets: NDArray[np.int32], letters: NDArray[np.uint8], grow: bool
) -> tuple[Int, int]:
    """The number of each text among the words, ``count`` of them, and how many there are then.

    New ones are added where they may ``grow``, and there must be room for all texts then; otherwise they get -1.
    """
    numbers = np.empty(offsets.shape[0] - 1, dtype=np.int64)
    mask = words.slots.shape[0] - 1
    for row in range(numbers.shape[0]):
        begin, length = offsets[row], offsets[row + 1] - offsets[row]
        hashed = np.uint64(length)
        for i in range(begin, begin + length):
            hashed = (hashed ^ np.uint64(letters[i])) * _MULTIPLIER
            hashed ^= hashed >> _HALF
        at = np.int64(hashed & np.uint64(mask))
        while words.slots[at] >= 0:
            word = words.slots[at]
            if words.hashes[word] == hashed and words.offsets[word + 1] - words.offsets[word] == length:
                start = words.offsets[word]
                i = 0
                while i < length and words.letters[start + i] == letters[begin + i]:
                    i += 1
                if i == length:
                    break
            at = (at + 1) & mask
        if words.slots[at] < 0 and grow:
            words.slots[at] = count
            words.hashes[count] = hashed
            start = words.offsets[count]
            for i in range(length):
                words.letters[start + i] = letters[begin + i]
            words.offsets[count + 1] = start + length
            count += 1
        numbers[row] = words.slots[at]
    return numbers, count
