"""The floor of a micro-batch: the operators of a greta stream without any work, so what Spark takes for itself.

Events are read and handed to Python, a blob per bucket goes through the shuffle into a stateful operator in Python that
stores a few bytes, and a row per bucket comes out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

BUCKETS = 8

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


class Keeper(StatefulProcessor):
    """Stores a few bytes per bucket and micro-batch."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.index = handle.getValueState("index", "value BINARY")
        self.chunks = handle.getMapState("chunks", "key STRING", "value BINARY")

    def handleInputRows(self, key: Any, rows: Iterator[Row], _: Any) -> Iterator[Row]:  # noqa: N802
        size = sum(len(row.blob) for row in rows)
        self.index.get()
        self.index.update((bytes(size),))
        self.chunks.updateValue((str(key[0]),), (bytes(size),))
        yield Row("blob")(bytes(size))

    def close(self) -> None:
        pass


def drain(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        pass
    columns = [pa.array(range(BUCKETS), pa.int32()), pa.array([bytes(100)] * BUCKETS, pa.binary())]
    yield pa.RecordBatch.from_arrays(columns, names=["bucket", "blob"])


def hand_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def floor_rows(events: DataFrame, lateness: str) -> DataFrame:
    place = F.pmod(F.xxhash64("company", "sector"), F.lit(BUCKETS)).cast("int")
    columns = (F.unix_micros("time"), F.col("company"), F.col("sector"), F.col("price"), place)
    packed = events.withWatermark("time", lateness).select(*columns).mapInArrow(drain, "bucket INT, blob BINARY")
    kept = packed.groupBy("bucket").transformWithState(Keeper(), "blob BINARY", "Append", "EventTime")
    return kept.mapInArrow(hand_on, "blob BINARY")
