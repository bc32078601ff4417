"""Keys for a stream's buckets that Spark's hash deals out evenly.

Spark sends a key to the task ``hash(key) mod tasks``, so eight buckets with the keys 0 to 7 may well go five to one
task and three to the other, and a micro-batch waits for the five. Keys whose hashes count 0, 1, 2, … modulo a number
with many divisors are dealt out like cards, for nearly any number of tasks.
"""

from __future__ import annotations

from functools import lru_cache

_CYCLE = 840
"""The least number that 1 to 8 all divide."""

_SEED = 42
_WORD = 0xFFFFFFFF


@lru_cache
def bucket_keys(count: int) -> tuple[int, ...]:
    """A key for each of so many buckets; part of the state's format.

    >>> [spark_hash(key) % 840 for key in bucket_keys(5)]
    [0, 1, 2, 3, 4]
    """
    found: list[list[int]] = [[] for _ in range(min(count, _CYCLE))]
    rounds = -(-count // _CYCLE)
    missing = len(found) * rounds
    key = 0
    while missing:
        place = spark_hash(key) % _CYCLE
        if place < len(found) and len(found[place]) < rounds:
            found[place].append(key)
            missing -= 1
        key += 1
    return tuple(found[bucket % _CYCLE][bucket // _CYCLE] for bucket in range(count))


def spark_hash(value: int) -> int:
    """Spark's ``hash`` of an INT: the 32-bit Murmur3 of its four bytes, as a signed number.

    >>> spark_hash(0), spark_hash(1)
    (933211791, -559580957)
    """
    word = value * 0xCC9E2D51 & _WORD
    word = _turned(word, 15) * 0x1B873593 & _WORD
    mixed = (_turned(_SEED ^ word, 13) * 5 + 0xE6546B64) & _WORD
    mixed ^= 4
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & _WORD
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & _WORD
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _turned(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & _WORD
