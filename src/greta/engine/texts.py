"""Text → numbers that stay the same from table to table, read from Arrow's own memory: no string of Python is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.kernels.numbering import Words, number_words

Int = NDArray[np.int64]

_MOST_LETTERS = 2**31 - 1
"""Of all words together: Arrow counts the letters of text in 32 bits."""


@dataclass(slots=True)
class Texts:
    """Words that have come, each with its number."""

    first: int
    """The number of the first word."""
    count: int = 0
    words: Words = field(default_factory=lambda: _room_for(1, 1))

    @staticmethod
    def of(texts: Sequence[str]) -> Texts:
        """Words whose numbers are their places."""
        words = Texts(0)
        words.numbers(pa.array(texts, pa.string()))
        return words

    def numbers(self, texts: pa.Array) -> Int:
        """The number of each text, a new one where it is new or was forgotten; that of NULL may be any."""
        offsets, letters = _letters(texts)
        self._make_room(len(texts), int(offsets[-1]) - int(offsets[0]))
        numbers, self.count = number_words(self.words, self.count, offsets, letters, True)
        return numbers + self.first

    def places(self, texts: pa.Array) -> Int:
        """The number of each text less the first one, -1 where it is new; that of NULL may be any."""
        return number_words(self.words, self.count, *_letters(texts), False)[0]

    def forget(self) -> None:
        """Forget all words; those that come again get numbers that no word has had."""
        self.first += self.count
        self.count, self.words = 0, _room_for(1, 1)

    def _make_room(self, words: int, letters: int) -> None:
        if letters + int(self.words.offsets[self.count]) > _MOST_LETTERS:
            self.forget()
        had, count = self.words, self.count
        words, letters = words + count, letters + int(had.offsets[count])
        if words <= len(had.hashes) and letters <= len(had.letters):
            return
        self.words = _room_for(2 * words, 2 * letters)
        # Put in again, they have the numbers that they had: these count them as they came.
        offsets = had.offsets[: count + 1].astype(np.int32)
        number_words(self.words, 0, _fixed(offsets), _fixed(had.letters), True)


def _room_for(words: int, letters: int) -> Words:
    slots = np.full(1 << (2 * words).bit_length(), -1, dtype=np.int64)
    offsets = np.zeros(words + 1, dtype=np.int64)
    return Words(slots, np.empty(words, dtype=np.uint64), offsets, np.empty(letters, dtype=np.uint8))


def _letters(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """(where each text begins and the last one ends, all letters)"""
    _, ends, letters = texts.buffers()
    offsets = np.frombuffer(b"" if ends is None else ends, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    if not len(offsets):
        # Arrow may leave the offsets of no text out.
        offsets = np.zeros(1, dtype=np.int32)
    return _fixed(offsets), _fixed(np.frombuffer(b"" if letters is None else letters, dtype=np.uint8))


def _fixed(array: NDArray[Any]) -> NDArray[Any]:
    """The array as one that is only read: kernels are compiled for that alone."""
    fixed = array.view()
    fixed.flags.writeable = False
    return fixed
