"""Seeded blocks of random events: what the three generators have in common.

A stream is made in blocks of a fixed size, each with a random generator of its own that is derived from the
seed and the block's number. How the stream is then cut into batches changes nothing in it, a shorter stream
is the beginning of a longer one, and memory is bounded by a block and a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from greta.errors import DataError

BLOCK = 1 << 16
"""Events per block; part of what a seed means, so changing it changes every generated stream."""

TIME = pa.timestamp("us", tz="UTC")
START = datetime(2024, 1, 2, 9, 30, tzinfo=UTC)
"""Where generated streams begin unless told otherwise."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Resolution = Literal["us", "ms", "s"]

_MICROSECONDS: dict[str, int] = {"us": 1, "ms": 1_000, "s": 1_000_000}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def block_random(seed: int, *key: int) -> np.random.Generator:
    """The random generator of one block; different keys give independent streams."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=key)))


def microseconds(moment: datetime) -> int:
    """Whole microseconds since the epoch; a moment without a time zone is read as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def demand(holds: bool, problem: str, hint: str) -> None:
    """Raise ``DataError`` with its hint unless the argument of a generator makes sense."""
    if not holds:
        raise DataError(problem, hint=hint)


class Clock:
    """Time stamps of a Poisson stream, block by block, never decreasing.

    ``ties`` is the share of events that have their time stamp in common with another event: each event joins
    the one before with a probability p such that 1 - (1 - p)² = ties. All other gaps are at least one
    microsecond, so with ``ties=0`` and the finest resolution all time stamps differ.
    """

    def __init__(self, start: datetime, rate: float, ties: float, resolution: Resolution) -> None:
        demand(rate > 0, f"rate is {rate}, but events need time to pass", "give a rate above 0, e.g. rate=1000")
        demand(
            0 <= ties < 1,
            f"ties is {ties}, but it is a share of the events",
            "give 0 <= ties < 1, e.g. ties=0.5",
        )
        demand(resolution in _MICROSECONDS, f"unknown resolution {resolution!r}", "use 'us', 'ms' or 's'")
        self._now = microseconds(start)
        self._unit = _MICROSECONDS[resolution]
        self._join = 1 - (1 - ties) ** 0.5
        gap = 1e6 / (rate * (1 - self._join))
        demand(
            gap >= 1,
            f"{rate} events per second do not fit into microseconds with ties={ties}",
            "give a rate of at most 1,000,000, or a larger share of ties",
        )
        self._tick = 1 / gap

    def times(self, random: np.random.Generator, count: int) -> Ints:
        """The next ``count`` time stamps in microseconds."""
        joined = random.random(count) < self._join
        gaps = random.geometric(self._tick, count)
        gaps[joined] = 0
        times = self._now + np.cumsum(gaps, dtype=np.int64)
        self._now = int(times[-1])
        return times if self._unit == 1 else times // self._unit * self._unit


@dataclass(frozen=True, slots=True)
class Grouped:
    """The events of a block brought together by key, in stream order within each key.

    ``order[i]`` is the place in the block of the i-th event so ordered; ``first`` and ``last`` are where the
    keys' runs begin and end, ``keys`` the keys that occur at all.
    """

    order: npt.NDArray[np.intp]
    keys: Ints
    first: npt.NDArray[np.intp]
    last: npt.NDArray[np.intp]
    run: npt.NDArray[np.intp]

    @classmethod
    def by(cls, codes: Ints, distinct: int) -> Grouped:
        """Group the events with these keys, all of them below ``distinct``. O(n) up to 65,536 keys."""
        # Sixteen bits sort by radix, several times faster than comparisons.
        order = np.argsort(codes.astype(np.uint16) if distinct <= 1 << 16 else codes, kind="stable")
        ordered = codes[order]
        starts = np.empty(len(codes), dtype=np.bool_)
        starts[:1] = True
        np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
        first = np.flatnonzero(starts)
        last = np.append(first[1:], len(codes)) - 1
        return cls(order, ordered[first], first, last, np.cumsum(starts) - 1)

    def running_sum(self, values: Ints, carried: Ints) -> Ints:
        """Sums along each key's run, from that key's carried value on; ``values`` in grouped order."""
        total = np.cumsum(values, dtype=np.int64)
        return total + (carried - (total[self.first] - values[self.first]))[self.run]

    def running_min(self, values: Ints) -> Ints:
        """Minima along each key's run. Values must stay within ±2³⁸."""
        # Every run is lifted below all the runs before it, so that one pass over the block serves them all.
        lift = self.run.astype(np.int64) << 40
        lowest: Ints = np.minimum.accumulate(values - lift) + lift
        return lowest

    def ranks(self) -> Ints:
        """0, 1, 2, … along each key's run."""
        return np.arange(len(self.order), dtype=np.int64) - self.first[self.run]

    def restore(self, grouped: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Bring values from grouped order back to stream order."""
        result = np.empty_like(grouped)
        result[self.order] = grouped
        return result


def words(codes: npt.NDArray[Any], dictionary: Sequence[str]) -> pa.Array:
    """Text column from codes into a dictionary."""
    return pa.array(dictionary, pa.string()).take(pa.array(codes))


def constant(word: str, count: int) -> pa.Array:
    """Text column with one word throughout."""
    return pa.repeat(pa.scalar(word, pa.string()), count)


def cut(blocks: Iterator[pa.RecordBatch], schema: pa.Schema, events: int, chunk: int) -> Iterator[pa.RecordBatch]:
    """The first ``events`` events of endless blocks, in batches of ``chunk`` (the last one may be shorter).

    At least one batch comes out, so that even an empty stream has its schema.
    """
    if events == 0:
        yield pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
        return
    held: list[pa.RecordBatch] = []
    holding = made = 0
    while made < events:
        block = next(blocks)
        block = block.slice(0, events - made)
        made += len(block)
        while len(block):
            part = block.slice(0, chunk - holding)
            block = block.slice(len(part))
            held.append(part)
            holding += len(part)
            if holding == chunk or (made == events and not len(block)):
                yield held[0] if len(held) == 1 else pa.concat_batches(held)
                held, holding = [], 0


def check_size(events: int, chunk: int) -> None:
    """Refuse numbers of events and chunk sizes that mean nothing."""
    demand(events >= 0, f"events is {events}", "ask for 0 events or more")
    demand(chunk >= 1, f"chunk is {chunk}", "put at least one event into a batch")
