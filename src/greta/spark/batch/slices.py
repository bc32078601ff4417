"""Files that are in order of time → slices of time, each read and answered by one task, with no shuffle at all.

Footers tell the times of every row group. Where row groups follow each other in time, a task can read all events of
some windows by itself: those of the row groups that reach into them. It then has all partitions of these windows, so
its rows are final. Slices are whole ranges of time, as a shuffle would deal them out, so that the rows are the same to
the last bit; neighbouring ones both read the events of a WITHIN:

    row groups   |----0----|----1----|----2----|----3----|
    slices       |windows that start here|windows that start here|
    read         |-----------------------+WITHIN|
                                         |-----------------------+
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, lcm

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.queries import spread
from greta.engine.stream_jobs import readable
from greta.spark.batch.jobs import SHARE, SHARES, SLAB, SparkJob
from greta.spark.batch.ranges import Ranges
from greta.spark.batch.tasks import by_share, leave
from greta.spark.reading.parquet import Portion, RowGroup, portions_of, read_portion, to_engine
from greta.spark.wire.columns import depart
from greta.spark.wire.places import Places
from greta.spark.wire.records import readable_rows
from greta.spark.wire.relevance import kept_rows, useful_rows
from greta.spark.wire.workers import tell_of_compilation

Int = NDArray[np.int64]

_SLICES_PER_CORE = 2
_MOST_EVENTS = 1_500_000
"""Events that a task should hold at once."""
_MOST_READ = 3.0
"""How many events all tasks may read, for each that there is: reading costs a tenth of moving them."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Windows that start in ``[start, stop)``, in units of the clock; their events come before ``reach``."""

    start: int
    stop: int
    reach: int
    portions: tuple[Portion, ...]


@dataclass(frozen=True, slots=True)
class _Stretches:
    """Row groups, each from its first to its last event; events are taken to be spread evenly in between."""

    groups: tuple[RowGroup, ...]
    first: Int
    last: Int
    rows: Int

    def before(self, time: int) -> NDArray[np.float64]:
        """Of each row group, how many events come before."""
        part: NDArray[np.float64] = np.clip((time - self.first) / (self.last - self.first + 1), 0.0, 1.0) * self.rows
        return part


def plan_slices(groups: Sequence[RowGroup], job: SparkJob, cores: int) -> list[Slice] | None:
    """Slices of about as many events each, of whole ranges; None where time cannot be cut, or is read too often."""
    ranges = [channel.ranges for channel in job.channels if channel.ranges is not None]
    if len(ranges) < len(job.channels) or not groups or job.bad_records == "skip":
        return None
    stretches = _stretches(groups, job)
    if stretches is None:
        return None
    scale = job.jobs[0].clock.per_millisecond
    unit = lcm(*(each.length for each in ranges)) * scale
    further = max(each.within - each.step for each in ranges) * scale
    total = int(stretches.rows.sum())
    first, last = int(stretches.first.min()), int(stretches.last.max())
    edges = _edges(stretches, unit, max(_SLICES_PER_CORE * cores, ceil(total / _MOST_EVENTS)))
    # Windows that start before the first event may have it, too.
    bounds = [(first - further) // unit * unit, *edges, last // unit * unit + unit]
    slices, read = [], 0
    for start, stop in pairwise(bounds):
        reach = stop + further
        mine = np.flatnonzero((stretches.first < reach) & (stretches.last >= start))
        read += int(stretches.rows[mine].sum())
        slices.append(Slice(start, stop, reach, tuple(portions_of([stretches.groups[at] for at in mine.tolist()]))))
    return slices if len(slices) >= cores and read <= _MOST_READ * total else None


def _stretches(groups: Sequence[RowGroup], job: SparkJob) -> _Stretches | None:
    """Row groups with their times in units of the clock; None where some do not tell them."""
    ends = [end for group in groups for end in (group.times.low, group.times.high)]
    if any(end is None for end in ends):
        return None
    try:
        times = to_engine(pa.array(ends), job.schema.field(job.time).type)
    except (pa.ArrowException, TypeError):
        return None
    if readable(pa.chunked_array([times]), job.jobs[0].clock).all():
        first, last = job.jobs[0].clock.read(pa.chunked_array([times]), job.time).reshape(-1, 2).T
        return _Stretches(tuple(groups), first, last, np.array([group.rows for group in groups], dtype=np.int64))
    return None


def _edges(stretches: _Stretches, unit: int, parts: int) -> list[int]:
    """Multiples of ``unit`` between slices: where the next part of all events begins, in ascending order."""
    total = int(stretches.rows.sum())
    first, last = int(stretches.first.min()), int(stretches.last.max())
    edges: list[int] = []
    for number in range(1, parts):
        low, high = first // unit, last // unit
        # The last multiple before which there are no more than so many events.
        while low < high:
            middle = (low + high + 1) // 2
            if stretches.before(middle * unit).sum() <= total * number / parts:
                low = middle
            else:
                high = middle - 1
        if low * unit > (edges[-1] if edges else first):
            edges.append(low * unit)
    return edges


def answer_slices(
    batches: Iterable[pa.RecordBatch],
    slices: Sequence[Slice],
    job: SparkJob,
    schemas: Sequence[pa.Schema],
    labels: pa.Array | None,
    common: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """Numbers of slices → their rows; with labels, those of several queries under common columns."""
    tell_of_compilation()
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from _answer(slices[number], job, schemas, labels, common)


def _answer(
    part: Slice,
    job: SparkJob,
    schemas: Sequence[pa.Schema],
    labels: pa.Array | None,
    common: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """Final rows of the windows that start in a slice, query after query, in their travelling types."""
    pieces = [piece for portion in part.portions for piece in _events(portion, part, job)]
    if not pieces:
        return
    events = pa.concat_tables(pieces).unify_dictionaries()
    for channel in job.channels:
        table = events
        if not job.direct:
            shares = [Places(SHARES, None).numbers(_columns(piece), len(piece), channel.common, "") for piece in pieces]
            table = table.append_column(SHARE, pa.array(np.concatenate(shares).astype(np.int16)))
        assert channel.ranges is not None
        table = _in_ranges(table, part, channel.ranges, job)
        for number in channel.queries:
            asked = job.jobs[number]
            cut = channel.cut(asked.plan)
            if job.direct:
                rows = asked.run(table, cut)
            else:
                parts = by_share(asked).partials(table, cut)
                rows = asked.finish(parts.select(asked.partial_schema.names))
            rows = depart(rows, schemas[number])
            yield from leave(rows if labels is None else spread(rows, labels[number], common))


def _in_ranges(table: pa.Table, part: Slice, ranges: Ranges, job: SparkJob) -> pa.Table:
    """The events once for each range of the slice that they lie in, with its number: as they come from a shuffle."""
    clock = job.jobs[0].clock
    length = ranges.length * clock.per_millisecond
    first, last = ranges.number(clock.read(table.column(job.time), job.time), clock)
    first, last = np.maximum(first, part.start // length), np.minimum(last, part.stop // length - 1)
    copies = np.maximum(last - first + 1, 0)
    if (copies == 1).all():
        slab = first
    else:
        rows = np.repeat(np.arange(len(copies)), copies)
        slab = first[rows] + np.arange(len(rows)) - np.repeat(np.cumsum(copies) - copies, copies)
        table = table.take(pa.array(rows))
    return table.append_column(SLAB, pa.array(slab)) if ranges.overlap else table


def _columns(table: pa.Table) -> dict[str, pa.Array]:
    return {name: table.column(name).chunk(0) for name in table.column_names}


def _events(portion: Portion, part: Slice, job: SparkJob) -> Iterator[pa.Table]:
    """The events of a portion that lie in some window of the slice and can play a part; text as dictionaries."""
    clock = job.jobs[0].clock
    for events in read_portion(portion, job.schema, job.type):
        events = kept_rows(events, useful_rows(job.plans, job.type, events, len(events[job.time])))
        readable_rows(events, job.time, clock, job.bad_records, portion.path)
        times = clock.read(pa.chunked_array([events[job.time]]), job.time)
        kept = (times >= part.start) & (times < part.reach)
        if kept.any():
            table = pa.table({name: _coded(events[name]) for name in job.schema.names})
            yield table if kept.all() else table.filter(pa.array(kept)).combine_chunks()


def _coded(column: pa.Array) -> pa.Array:
    return column.dictionary_encode() if pa.types.is_string(column.type) else column
