"""Events → places: where each goes and which type it has, as one number, worked out by Spark or here alike.

    place = part + parts × code        part: of the events' partitions, by the hash of what they agree on
                                       code: of the event type, one past the last for a type that no query names

One column is cheaper than two: every column costs the JVM more on its way to Python than all work on it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from greta.engine.job import Job
from greta.engine.tables import contiguous
from greta.spark.wire.columns import named
from greta.spark.wire.hashing import xxhash64

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Places:
    """How many parts there are, and the event types by code."""

    parts: int
    types: tuple[str, ...] | None
    """None where the type is no part of the place: it travels as text, or all events have the same."""

    def column(self, common: Sequence[str], type_: str) -> Column:
        """The places of events that agree on ``common``, for Spark to work out."""
        place = self.part(common)
        if self.types is not None:
            code = F.lit(len(self.types) * self.parts)
            for number, name in reversed(list(enumerate(self.types))):
                code = F.when(named(type_) == name, F.lit(number * self.parts)).otherwise(code)
            place = place + code
        return place.cast("int")

    def part(self, common: Sequence[str]) -> Column:
        """The parts alone."""
        if not common:
            return F.lit(0)
        return F.pmod(F.xxhash64(*(named(name) for name in common)), F.lit(self.parts)).cast("int")

    def numbers(self, events: Mapping[str, pa.Array], rows: int, common: Sequence[str], type_: str) -> Int:
        """The same places, worked out here from events in the engine's types."""
        place = np.zeros(rows, dtype=np.int64)
        if common:
            place = xxhash64([events[name] for name in common], rows) % self.parts
        return place if self.types is None else place + self.parts * self.codes(events[type_])

    def codes(self, types: pa.Array | pa.ChunkedArray) -> Int:
        """The code of each event's type."""
        assert self.types is not None
        array = contiguous(types)
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        known = pc.index_in(encoded.dictionary.cast(pa.string()), value_set=pa.array(self.types, pa.string()))
        codes = known.take(encoded.indices).fill_null(len(self.types))
        return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64)

    def split(self, places: NDArray[np.integer]) -> tuple[Int, Int]:
        """(part, code) of each place."""
        wide = places.astype(np.int64)
        return wide % self.parts, wide // self.parts

    def decoded(self, codes: NDArray[np.integer]) -> pa.DictionaryArray:
        """Event types by their codes; NULL for a type that no query names."""
        return decoded_types(codes, self.types or ())


def decoded_types(codes: NDArray[np.integer], types: Sequence[str]) -> pa.DictionaryArray:
    """Event types by their codes; NULL for the code after the last."""
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array([*types, None], pa.string()))


def coded_types(jobs: Sequence[Job]) -> tuple[str, ...] | None:
    """The event types that the queries name, by code; None where a query reads the type as an attribute."""
    if any(job.type in job.plan.attributes for job in jobs):
        return None
    return tuple(dict.fromkeys(name for job in jobs for name in job.plan.event_types))
