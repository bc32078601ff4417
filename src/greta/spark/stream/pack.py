"""Rows → blobs before the shuffle, blobs → rows after it: a stream's events travel as Arrow, by hash bucket.

Packing keeps only the rows and columns that a query needs and makes one blob per bucket out of many rows, which is
far cheaper to shuffle than the rows; unpacking finishes the partial results that the stateful operator returned.
Both run inside ``mapInArrow``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.blobs import from_bytes, to_bytes
from greta.engine.stream_jobs import StreamJob, relevant
from greta.live.chunks import NEVER
from greta.spark.reading.formats import CORRUPT
from greta.spark.wire.buckets import bucket_keys
from greta.spark.wire.columns import arrive, depart, neutral
from greta.spark.wire.packing import chunks, order_by_part, runs
from greta.spark.wire.places import Places
from greta.spark.wire.records import BadRecords, readable_rows

Int = NDArray[np.int64]

PACKED = pa.schema([("bucket", pa.int32()), ("blob", pa.binary()), ("bad", pa.int64()), ("newest", pa.int64())])
PACKED_DDL = "bucket INT, blob BINARY, bad BIGINT, newest BIGINT"

_MOST_ROWS = 1 << 20
"""Rows packed at once: bounds a task's memory."""


@dataclass(frozen=True, slots=True)
class Packer:
    """Packs the events of a task: a row ``(bucket, blob, bad, newest)`` per bucket that has events.

    The first task also sends every bucket an empty row, so that all of them see every micro-batch: they close
    windows, and report their size, together. And every task tells every bucket the time of its newest event, in
    milliseconds: all of them know then what the watermark will be, and close windows in this micro-batch already.
    Where there is no event it is ``NEVER``: Spark 4.0 would make doubles of numbers beside a NULL.
    """

    jobs: tuple[StreamJob, ...]
    places: tuple[str, ...]
    """Per job the input column with the places of its events."""
    spread: Places
    """What the places tell: the bucket, and the event type unless it travels as a column of its own."""
    schema: pa.Schema
    """Names and types, as the engine has them, of the other input columns, which come first and in this order."""
    bad_records: BadRecords

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pack a task's events."""
        newest = NEVER
        for table in chunks(batches, _MOST_ROWS):
            packed, latest = self._pack(table)
            newest = max(newest, latest)
            yield packed
        if newest > NEVER or _is_first_task():
            keys = [
                self._key(at, number)
                for at, job in enumerate(self.jobs)
                for number in range(self.spread.parts if job.common else 1)
            ]
            yield _packed(keys, [b""] * len(keys), [0] * len(keys), newest)

    def _pack(self, batch: pa.Table) -> tuple[pa.RecordBatch, int]:
        """(rows for the buckets, the time of the newest event)"""
        columns = [arrive_column(batch.column(at), f.type) for at, f in enumerate(self.schema)]
        table = pa.table(columns, schema=self.schema)
        job = self.jobs[0]
        if self.spread.types is not None:
            _, codes = self.spread.split(batch.column(self.places[0]).to_numpy())
            table = table.append_column(job.type, self.spread.decoded(codes))
        events = dict(zip(table.column_names, table.columns, strict=True))
        texts = batch.column(CORRUPT) if CORRUPT in batch.column_names else None
        good = readable_rows(events, job.time, job.clock, self.bad_records, texts=texts)
        bad = 0
        if good is not None:
            bad = int(len(good) - np.count_nonzero(good))
            batch, table = batch.filter(pa.array(good)), table.filter(pa.array(good))
        keys: list[int] = []
        blobs: list[bytes] = []
        for at, (job, place) in enumerate(zip(self.jobs, self.places, strict=True)):
            buckets, _ = self.spread.split(batch.column(place).to_numpy())
            for number, part in _by_bucket(job, table, buckets):
                keys.append(self._key(at, number))
                blobs.append(to_bytes(part))
        if bad and not keys:
            keys, blobs = [self._key(0, 0)], [b""]
        packed = _packed(keys, blobs, [bad, *[0] * (len(keys) - 1)] if keys else [])
        times = self.jobs[0].clock.read(table.column(self.jobs[0].time), self.jobs[0].time)
        return packed, int(times.max()) // self.jobs[0].clock.per_millisecond if len(times) else NEVER

    def _key(self, job: int, number: int) -> int:
        return bucket_keys(len(self.jobs) * self.spread.parts)[job * self.spread.parts + number]


def _is_first_task() -> bool:
    from pyspark import TaskContext

    context = TaskContext.get()
    return context is not None and context.partitionId() == 0


def arrive_column(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    """A travelling column in the engine's type."""
    return pa.chunked_array([arrive(chunk, type_) for chunk in column.chunks], type=type_)


def _by_bucket(job: StreamJob, table: pa.Table, parts: Int) -> Iterator[tuple[int, pa.Table]]:
    kept, keep = relevant(job, table)
    if not kept.num_rows:
        return
    parts = parts[keep]
    order = order_by_part(parts)
    parts = parts[order]
    ordered = kept.take(pa.array(order)) if parts[0] != parts[-1] else kept
    for part, start, stop in runs(parts):
        yield part, ordered.slice(start, stop - start)


def _packed(keys: list[int], blobs: list[bytes], bad: list[int], newest: int = NEVER) -> pa.RecordBatch:
    arrays = [
        pa.array(keys, pa.int32()),
        pa.array(blobs, pa.binary()),
        pa.array(bad, pa.int64()),
        pa.array([newest] * len(keys), pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=PACKED)


@dataclass(frozen=True, slots=True)
class Unpacker:
    """Finishes partial results: rows ``(query, final, blob)`` in, rows of answers out, in their travelling types."""

    jobs: tuple[StreamJob, ...]
    answers: tuple[pa.Schema, ...]
    """Per job its columns as they travel."""
    schema: pa.Schema
    """The columns that go out: those of all queries, the label in front, the mark of final rows at the end."""
    labels: pa.Array | None
    """Names or numbers of several queries."""
    early: bool
    """Whether rows are marked as final or not."""
    merges: bool
    """Whether a group's partial results come from several buckets, so that a task must see all of them first."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Finish a task's partial results."""
        waiting: dict[tuple[int, bool], list[pa.Table]] = {}
        for batch in batches:
            for query, final, blob in zip(*(batch.column(c) for c in ("query", "final", "blob")), strict=True):
                if blob.is_valid:
                    parts = waiting.setdefault((query.as_py(), final.as_py()), [])
                    parts.append(from_bytes(blob.as_buffer()))
            if not self.merges:
                yield from self._finish(waiting)
                waiting = {}
        yield from self._finish(waiting)

    def _finish(self, waiting: dict[tuple[int, bool], list[pa.Table]]) -> Iterator[pa.RecordBatch]:
        for (query, final), parts in waiting.items():
            job = self.jobs[query]
            rows = depart(job.finish(pa.concat_tables(parts)), self.answers[query])
            columns = {name: rows.column(name) for name in rows.column_names}
            if self.labels is not None:
                columns[self.schema.names[0]] = pa.repeat(self.labels[query], rows.num_rows)
            if self.early:
                columns[self.schema.names[-1]] = pa.repeat(pa.scalar(final), rows.num_rows)
            spread = [
                columns[field.name] if field.name in columns else pa.nulls(rows.num_rows, field.type)
                for field in self.schema
            ]
            yield from pa.table(spread, schema=neutral(self.schema)).to_batches()
