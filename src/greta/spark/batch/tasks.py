"""What runs on the executors: pack events by task, aggregate them, finish groups. Each step is an Arrow map.

Rows are expensive to shuffle and Arrow buffers are not: events travel as blobs, some hundred events of one task in
each. A task reads its blobs in order of time range (or share of keys) and aggregates whatever is complete, so its
memory depends on how many events are open at once, and not on how many it reads.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.job import WINDOW, Job
from greta.engine.queries import spread
from greta.engine.tables import as_type, contiguous
from greta.spark.batch.jobs import SHARE, SLAB, Channel, SparkJob
from greta.spark.batch.ranges import Ranges
from greta.spark.wire.columns import arrive, depart, neutral
from greta.spark.wire.packing import CHUNK_ROWS, binary, chunks, cuts, order_by_part
from greta.spark.wire.places import decoded_types
from greta.spark.wire.records import readable_rows
from greta.spark.wire.workers import tell_of_compilation

Int = NDArray[np.int64]

BLOBS = pa.schema([("task", pa.int32()), ("channel", pa.int32()), ("slab", pa.int64()), ("blob", pa.binary())])
"""How packed rows travel: to which task, what they are, where they stand, and the rows."""

_BLOB_BYTES = 1 << 15
"""Spark hands blobs to Python by the ten thousand, so this bounds a task's memory as well."""
_ENOUGH_ROWS = 1 << 20


def pack_events(batches: Iterable[pa.RecordBatch], job: SparkJob) -> Iterator[pa.RecordBatch]:
    """Events → blobs per channel and task, those of two ranges in both."""
    tell_of_compilation()
    for table in chunks(batches):
        columns = {
            name: arrive(contiguous(table.column(at)), job.schema.field(name).type) for at, name in enumerate(job.wire)
        }
        places = [table.column(len(job.wire) + at).to_numpy() for at in range(len(job.channels))]
        good = readable_rows(columns, job.time, job.jobs[0].clock, job.bad_records)
        if good is not None:
            yield bad_batch(int(len(good) - np.count_nonzero(good)))
            columns = {name: column.filter(pa.array(good)) for name, column in columns.items()}
            places = [place[good] for place in places]
        yield from pack_channels(columns, places, job)


def bad_batch(count: int) -> pa.RecordBatch:
    """So many events without a readable time: a row without a blob, counted and left out before the shuffle."""
    return pa.RecordBatch.from_pylist([{"task": 0, "channel": 0, "slab": count, "blob": None}], BLOBS)


def pack_channels(
    columns: Mapping[str, pa.Array], places: Sequence[NDArray[np.integer]], job: SparkJob
) -> Iterator[pa.RecordBatch]:
    """Events → blobs, with the place of each event in each channel."""
    for at, (channel, place) in enumerate(zip(job.channels, places, strict=True)):
        yield _pack_channel(columns, place, at, channel, job)


def _pack_channel(
    columns: Mapping[str, pa.Array],
    places: NDArray[np.integer],
    number: int,
    channel: Channel,
    job: SparkJob,
) -> pa.RecordBatch:
    """Events of one channel → a blob per task and slab: what a task reads whole, and what it computes by itself."""
    share, code = job.places.split(places)
    rows, slab, task = np.arange(len(share)), share, share % job.tasks
    if channel.ranges is not None:
        first, last = _ranges_of(columns[job.time], channel.ranges, job)
        if (first == last).all():
            slab = first
        else:
            copies = last - first + 1
            rows = np.repeat(rows, copies)
            slab = first[rows] + np.arange(len(rows)) - np.repeat(np.cumsum(copies) - copies, copies)
        # Neighbouring ranges of a busy partition go to different tasks.
        task = (share[rows] + slab) % job.tasks
    if channel.types is not None and job.types is not None and len(channel.types) < len(job.types):
        kept = np.isin(code[rows], list(channel.types))
        rows, slab, task = rows[kept], slab[kept], task[kept]
    order = order_by_part(task, slab)
    rows, slab, task = rows[order], slab[order], task[order]
    packed = job.packed_schema(channel)
    take = pa.array(rows)

    def column(name: str, type_: pa.DataType) -> pa.Array:
        if name == SHARE:
            return pa.array(share[rows].astype(np.int16))
        if name == SLAB:
            return pa.array(slab)
        if name == job.type and job.types is not None:
            return pa.array(code[rows].astype(np.int16))
        return as_type(columns[name].take(take), type_)

    arrays = [column(name, type_) for name, type_ in zip(packed.names, packed.types, strict=True)]
    return _blobs(pa.RecordBatch.from_arrays(arrays, schema=packed), task, slab, number)


def _ranges_of(time: pa.Array, ranges: Ranges, job: SparkJob) -> tuple[Int, Int]:
    """(first, last) time range of each event."""
    clock = job.jobs[0].clock
    return ranges.number(clock.read(pa.chunked_array([time]), job.time), clock)


def _blobs(batch: pa.RecordBatch, task: Int, slab: Int, number: int) -> pa.RecordBatch:
    """Cut sorted rows where the task changes, and into small buffers, which Java moves faster than large ones."""
    if not batch.num_rows:
        return pa.RecordBatch.from_pylist([], BLOBS)
    starts, stops = cuts(task, max(1, _BLOB_BYTES * batch.num_rows // max(1, batch.nbytes)))
    blobs = [
        batch.slice(start, stop - start).serialize()
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(task[starts].astype(np.int32)),
            pa.array(np.full(len(starts), number, dtype=np.int32)),
            pa.array(slab[starts]),
            binary(blobs),
        ],
        schema=BLOBS,
    )


@dataclass(slots=True)
class _Sweep:
    """Rows in order of their slab, handed on when nothing more can come for them and they are worth a call."""

    schema: pa.Schema
    slabs: Callable[[pa.RecordBatch], Int]
    """Per row of a batch: its slab."""
    held: list[tuple[pa.RecordBatch, Int | None]] = field(default_factory=list)
    """Batches, with their slabs once they have been worked out."""
    rows: int = 0
    reached: int | None = None

    def add(self, slab: int, blob: pa.Buffer) -> Iterator[pa.Table]:
        if self.rows >= _ENOUGH_ROWS and slab != self.reached:
            yield from self._complete(slab)
        self.reached = slab
        batch = pa.ipc.read_record_batch(blob, self.schema)
        self.held.append((batch, None))
        self.rows += batch.num_rows

    def _complete(self, slab: int) -> Iterator[pa.Table]:
        done: list[pa.RecordBatch] = []
        open_: list[tuple[pa.RecordBatch, Int | None]] = []
        for batch, known in self.held:
            slabs = self.slabs(batch) if known is None else known
            at = int(np.searchsorted(slabs, slab))
            if at:
                done.append(batch.slice(0, at))
            if at < batch.num_rows:
                open_.append((batch.slice(at), slabs[at:]))
        self.held = open_
        if done:
            self.rows = sum(batch.num_rows for batch, _ in open_)
            yield pa.Table.from_batches(done, schema=self.schema)

    def rest(self) -> Iterator[pa.Table]:
        if self.held:
            done, self.held, self.rows = [batch for batch, _ in self.held], [], 0
            yield pa.Table.from_batches(done, schema=self.schema)


def _swept(
    batches: Iterable[pa.RecordBatch], kinds: Sequence[tuple[pa.Schema, Callable[[pa.RecordBatch], Int]]]
) -> Iterator[tuple[int, pa.Table]]:
    """(channel, complete rows) from blobs that come in order of channel and slab.

    ``kinds`` per channel: the schema of its blobs, and the slabs of a batch's rows.
    """
    sweep: _Sweep | None = None
    now = -1
    for batch in batches:
        blobs = batch.column(3)
        for at, (number, slab) in enumerate(zip(batch.column(1).to_pylist(), batch.column(2).to_pylist(), strict=True)):
            if sweep is None or number != now:
                if sweep is not None:
                    yield from ((now, table) for table in sweep.rest())
                sweep, now = _Sweep(*kinds[number]), number
            yield from ((now, table) for table in sweep.add(slab, blobs[at].as_buffer()))
    if sweep is not None:
        yield from ((now, table) for table in sweep.rest())


def _events(batches: Iterable[pa.RecordBatch], job: SparkJob) -> Iterator[tuple[Channel, pa.Table]]:
    """Complete events by channel, as the engine reads them."""
    tell_of_compilation()
    kinds = [(job.packed_schema(channel), partial(_slabs, channel=channel, job=job)) for channel in job.channels]
    for number, table in _swept(batches, kinds):
        if job.one_type:
            table = table.append_column(job.type, decoded_types(np.zeros(len(table), dtype=np.int8), job.types or ()))
        elif job.types is not None:
            at = table.schema.get_field_index(job.type)
            table = table.set_column(at, job.type, decoded_types(table.column(at).to_numpy(), job.types))
        yield job.channels[number], table


def _slabs(batch: pa.RecordBatch, channel: Channel, job: SparkJob) -> Int:
    """Per event: the number of its time range, or of its share of the keys."""
    if channel.ranges is None:
        return np.asarray(batch.column(SHARE).to_numpy())
    if channel.ranges.overlap:
        return np.asarray(batch.column(SLAB).to_numpy())
    return _ranges_of(batch.column(job.time), channel.ranges, job)[0]


def answer_directly(batches: Iterable[pa.RecordBatch], job: SparkJob, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Blobs of events → rows of the only query, where no group has partitions in two tasks."""
    (only,) = job.jobs
    for channel, table in _events(batches, job):
        yield from leave(depart(only.run(table, channel.cut(only.plan)), schema))


def aggregate_events(batches: Iterable[pa.RecordBatch], job: SparkJob) -> Iterator[pa.RecordBatch]:
    """Blobs of events → blobs of partial rows, by the task that finishes them."""
    for channel, table in _events(batches, job):
        for number in channel.queries:
            asked = job.jobs[number]
            parts = by_share(asked).partials(table, channel.cut(asked.plan))
            if parts.num_rows:
                yield _pack_partials(parts.select(asked.partial_schema.names), number, job)


def by_share(job: Job) -> Job:
    """The same job with the share as one more GROUP-BY attribute, so that parts of a group are summed per share."""
    plan = replace(job.plan, group=(*job.plan.group, SHARE))
    return replace(job, plan=plan, schema=job.schema.append(pa.field(SHARE, pa.int16())))


def _pack_partials(parts: pa.Table, number: int, job: SparkJob) -> pa.RecordBatch:
    window = contiguous(parts.column(WINDOW)).to_numpy()
    plan = job.jobs[number].plan
    # Equal groups of a window must meet: by window where there are many, else by group.
    place = window if plan.window is not None else _hash_groups(parts, len(plan.group))
    task = place % job.tasks
    order = order_by_part(task, window)
    batch = parts.take(pa.array(order)).combine_chunks().to_batches()[0]
    return _blobs(batch, task[order], window[order], number)


def _hash_groups(parts: pa.Table, attributes: int) -> Int:
    """A number per row that depends on its group alone, the same in every process."""
    total = np.zeros(parts.num_rows, dtype=np.int64)
    for at in range(attributes):
        encoded = pc.dictionary_encode(contiguous(parts.column(f"group_{at}")), null_encoding="encode")
        hashes = np.array(
            [zlib.crc32(repr(value).encode()) for value in encoded.dictionary.to_pylist()], dtype=np.int64
        )
        total = (total * 31 + hashes[encoded.indices.to_numpy(zero_copy_only=False)]) & (2**62 - 1)
    return total


def finish_groups(
    batches: Iterable[pa.RecordBatch],
    job: SparkJob,
    schemas: list[pa.Schema],
    labels: pa.Array | None,
    common: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """Blobs of partial rows → rows; with labels, those of several queries under common columns."""
    for number, table in _swept(batches, [(one.partial_schema, _windows) for one in job.jobs]):
        rows = depart(job.jobs[number].finish(table), schemas[number])
        if labels is not None:
            rows = spread(rows, labels[number], common)
        yield from leave(rows)


def _windows(batch: pa.RecordBatch) -> Int:
    return np.asarray(batch.column(WINDOW).to_numpy())


def leave(rows: pa.Table) -> list[pa.RecordBatch]:
    """Batches under the names that Spark expects."""
    return cast("list[pa.RecordBatch]", rows.rename_columns(neutral(rows.schema).names).to_batches(CHUNK_ROWS))
