"""Keys for a stream's buckets that Spark's hash deals out evenly.

Spark sends a key to the task ``hash(key) mod tasks``, so eight buckets with the keys 0 to 7 may well go five to one
task and three to the other, and a micro-batch waits for the five. Keys whose hashes count 0, 1, 2, … modulo a number
with many divisors are dealt out like cards among as many tasks as divide it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_CYCLE = 20_160
"""2⁶·3²·5·7: 1 to 10, 12, 14, 15, 16, 18, 20, 21, 24, 28, 30, 32, 64 and many more divide it."""

_SEED = np.uint32(42)
_BLOCK = 1 << 16


@lru_cache
def bucket_keys(count: int) -> tuple[int, ...]:
    """A key for each of so many buckets; part of the state's format.

    >>> (spark_hash(np.array(bucket_keys(5))) % 20_160).tolist()
    [0, 1, 2, 3, 4]
    """
    found: list[list[int]] = [[] for _ in range(min(count, _CYCLE))]
    rounds = -(-count // _CYCLE)
    missing = len(found) * rounds
    first = 0
    while missing:
        keys = np.arange(first, first + _BLOCK)
        places = spark_hash(keys) % _CYCLE
        wanted = np.flatnonzero(places < len(found))
        for key, place in zip(keys[wanted].tolist(), places[wanted].tolist(), strict=True):
            if len(found[place]) < rounds:
                found[place].append(key)
                missing -= 1
        first += _BLOCK
    return tuple(found[bucket % _CYCLE][bucket // _CYCLE] for bucket in range(count))


def spark_hash(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Spark's ``hash`` of INTs: the 32-bit Murmur3 of their four bytes, as signed numbers.

    >>> spark_hash(np.array([0, 1])).tolist()
    [933211791, -559580957]
    """
    words = _turned(values.astype(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    mixed = _turned(_SEED ^ words, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    mixed ^= np.uint32(4)
    mixed = (mixed ^ mixed >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    mixed = (mixed ^ mixed >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    mixed ^= mixed >> np.uint32(16)
    return mixed.view(np.int32).astype(np.int64)


def _turned(words: NDArray[np.uint32], by: int) -> NDArray[np.uint32]:
    return (words << np.uint32(by)) | (words >> np.uint32(32 - by))
