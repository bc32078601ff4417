"""A stream's open windows between micro-batches: events in columns, in chunks that are written once.

New events and a watermark go in; partial rows of the windows that the watermark closed come out, and a store keeps
what open windows still need. The store is whatever offers ``Store``: a dictionary in tests, Spark's state store in a
stream. A step reads an index, writes the new events as chunks and removes the chunks that no open window needs, so
its traffic is that of the new events, however many are kept; a cache of decoded chunks saves reading them again.
Where running totals can stand for events and are smaller, they do (``greta.engine.totals``), written anew in each step.

    watermark                      ▼
    W0  [-----------)              closed: returned once
    W1       [-----------)         closed
    W2            [-----------)    open
    kept          ●  ●  ● ●●
"""

from __future__ import annotations

import json
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.frames import Cut
from greta.engine.job import WINDOW
from greta.engine.stream_jobs import StreamJob
from greta.engine.totals import count_partitions, fold, row_bytes
from greta.errors import StateError

FORMAT = 4
"""Version of what is stored; a store of another version is refused."""

CHUNK_BYTES = 256 * 1024
"""Chunks are cut at this size, so that expiry is fine-grained and no value of a store is large."""

SMALL_CHUNK_BYTES = 32 * 1024
"""The latest chunk is written anew together with new events while it is smaller than this."""

_EVENT_BYTES = 10
"""What an event takes in a chunk, about."""

_QUICK = pa.ipc.IpcWriteOptions(compression="lz4")
_SMALL = pa.ipc.IpcWriteOptions(compression="zstd")


class Store(Protocol):
    """Where one bucket of a stream keeps its state."""

    def read_index(self) -> bytes | None:
        """The index, None where nothing is kept."""
        ...

    def write_index(self, value: bytes) -> None:
        """Replace the index."""
        ...

    def read_chunk(self, key: str) -> bytes:
        """A chunk that was written."""
        ...

    def write_chunk(self, key: str, value: bytes) -> None:
        """Keep a chunk under a new key."""
        ...

    def remove_chunk(self, key: str) -> None:
        """Remove a chunk."""
        ...

    def clear(self) -> None:
        """Remove the index; there are no chunks."""
        ...


def to_bytes(table: pa.Table, *, small: bool = False) -> bytes:
    """A table as one compressed Arrow stream; ``small`` takes longer, and pays where bytes are stored."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_SMALL if small else _QUICK) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def from_bytes(blob: bytes) -> pa.Table:
    """The table back."""
    with pa.ipc.open_stream(blob) as reader:
        return reader.read_all()


@dataclass(slots=True)
class Chunk:
    """Events that were stored together; times in the clock's units."""

    key: str
    rows: int
    bytes: int
    low: int
    high: int

    @property
    def fields(self) -> tuple[str, int, int, int, int]:
        """What makes the chunk anew."""
        return self.key, self.rows, self.bytes, self.low, self.high


@dataclass(slots=True)
class Index:
    """What a bucket stores besides its chunks."""

    first: int = -(2**62)
    """Windows below this one have been returned."""
    timer: int | None = None
    """The watermark that the bucket waits for, in milliseconds."""
    chunks: list[Chunk] = field(default_factory=list)
    folded: int | None = None
    """Events before this instant are in the totals, not in chunks; None: there are no totals."""
    totals: list[Chunk] = field(default_factory=list)
    """Running totals, with numbers of windows for times."""

    @property
    def stored(self) -> list[Chunk]:
        """All that is in the store."""
        return [*self.chunks, *self.totals]

    def pack(self, layout: str) -> bytes:
        """As bytes, with the version and the layout's fingerprint."""
        stored = {name: [chunk.fields for chunk in getattr(self, name)] for name in ("chunks", "totals")}
        known = {"first": self.first, "timer": self.timer, "folded": self.folded, **stored}
        return json.dumps({"format": FORMAT, "layout": layout, **known}).encode()

    @staticmethod
    def unpack(value: bytes | None, layout: str) -> Index:
        """The index back; raises StateError where the state is of another version or another query."""
        if value is None:
            return Index()
        read = json.loads(value)
        if read["format"] != FORMAT:
            raise StateError(
                f"the checkpoint's state has format {read['format']}, this greta reads format {FORMAT}",
                hint="go on with the version of greta that wrote it, or start with a new checkpoint",
            )
        if read["layout"] != layout:
            raise StateError(
                "the checkpoint's state was stored for another query: it lacks events or columns that this one needs",
                hint="go on with the old query, or start the new one with a new checkpoint",
            )
        chunks, totals = ([Chunk(*chunk) for chunk in read[name]] for name in ("chunks", "totals"))
        return Index(read["first"], read["timer"], chunks, read["folded"], totals)


class ChunkCache:
    """Decoded chunks by owner and key, the latest used within a bound; chunks never change, so none is ever stale."""

    def __init__(self, most_bytes: int = 1 << 29) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._tables: OrderedDict[tuple[str, str], pa.Table] = OrderedDict()

    @property
    def bytes(self) -> int:
        """Size of all that is kept."""
        return self._bytes

    def get(self, owner: str, key: str) -> pa.Table | None:
        """The chunk if it is still here."""
        table = self._tables.get((owner, key))
        if table is not None:
            self._tables.move_to_end((owner, key))
        return table

    def put(self, owner: str, key: str, table: pa.Table) -> None:
        """Keep a chunk, and let go of the longest unused ones."""
        self._tables[owner, key] = table
        self._bytes += table.nbytes
        while self._bytes > self._most and self._tables:
            _, oldest = self._tables.popitem(last=False)
            self._bytes -= oldest.nbytes

    def retain(self, owner: str, keys: set[str]) -> None:
        """Forget an owner's other chunks: another process may have removed them from the store."""
        gone = [place for place in self._tables if place[0] == owner and place[1] not in keys]
        for place in gone:
            self._bytes -= self._tables.pop(place).nbytes


@dataclass(frozen=True, slots=True)
class Step:
    """What one step found."""

    closed: pa.Table
    """Partial rows of the windows that are final now."""
    open: pa.Table | None
    """Partial rows of open windows, where they were asked for."""
    late: pa.Table
    """Events before the watermark; they count nowhere."""
    rows: int
    """Events and rows of totals kept."""
    bytes: int
    """Size of the stored chunks."""
    first: int | None
    """First open window with an event kept; None where nothing is."""
    last: int | None
    """Last window with an event kept."""
    timer: int | None
    """The timer that the step before had noted."""


def step(
    job: StreamJob,
    store: Store,
    events: Sequence[pa.Table],
    watermark: int,
    *,
    cache: ChunkCache,
    owner: str = "",
    early: bool = False,
) -> Step:
    """Take in new events, return the windows that the watermark (milliseconds) closes, keep what the others need.

    Any cut of a stream into steps returns every window once, with the events that were not late when they came. A
    bucket that keeps nothing leaves nothing in its store; one that keeps something notes that it wants to be called as
    soon as the watermark has moved. ``owner`` names the bucket in the cache, where buckets share one.
    """
    layout = job.fingerprint
    index = Index.unpack(store.read_index(), layout)
    before = index.timer
    new, times, late = _split(job, events, watermark)
    bucket = _Bucket(job, store, cache, owner, index)
    due = job.first_open(watermark)
    if job.keeps_totals and bucket.is_dense(new, times):
        closed = bucket.fold(due, watermark * job.clock.per_millisecond)
    else:
        closed = bucket.answer(index.first, due)
    bucket.expire(due)
    bucket.append(new, times, due)
    if index.stored:
        index.first, index.timer = max(index.first, due), watermark + 1
        store.write_index(index.pack(layout))
    else:
        store.clear()
    partial = bucket.answer(due, 2**62) if early else None
    cache.retain(owner, {chunk.key for chunk in index.stored})
    first, last = _windows(job, index, due)
    rows, size = (sum(getattr(chunk, of) for chunk in index.stored) for of in ("rows", "bytes"))
    return Step(closed, partial, late, rows, size, first, last, before)


def _windows(job: StreamJob, index: Index, due: int) -> tuple[int | None, int | None]:
    """The first and last window that something is kept for."""
    within, slide = job.windows
    lows = [(chunk.low - within) // slide + 1 for chunk in index.chunks] + [chunk.low for chunk in index.totals]
    highs = [job.last_window(chunk.high) for chunk in index.chunks] + [chunk.high for chunk in index.totals]
    if not lows:
        return None, None
    return max(due, min(lows), job.clock.lowest_window), max(highs)


def _split(job: StreamJob, events: Sequence[pa.Table], watermark: int) -> tuple[pa.Table, NDArray[np.int64], pa.Table]:
    """(events in time, by time; their times; late events)"""
    table = pa.concat_tables(events) if events else job.schema.empty_table()
    times = job.clock.read(table.column(job.time), job.time)
    in_time = times >= watermark * job.clock.per_millisecond
    late = table.filter(pa.array(~in_time)) if not in_time.all() else table.slice(0, 0)
    rows = np.flatnonzero(in_time)
    rows = rows[np.argsort(times[rows], kind="stable")]
    ordered = len(rows) == table.num_rows and bool((np.diff(rows) == 1).all())
    return keyed(job, table if ordered else table.take(pa.array(rows))), times[rows], late


def keyed(job: StreamJob, table: pa.Table) -> pa.Table:
    """Events as they are stored: text that partitions are made of as a dictionary, encoded once and not at each step.

    What is a dictionary already is encoded anew, so that it holds no word in vain.
    """
    for name in job.plan.partitioning.common:
        if pa.types.is_string(job.schema.field(name).type):
            words = table.column(name).combine_chunks().cast(pa.string()).dictionary_encode()
            table = table.set_column(table.column_names.index(name), name, words)
    return table


@dataclass(slots=True)
class _Bucket:
    """The chunks of one bucket during a step."""

    job: StreamJob
    store: Store
    cache: ChunkCache
    owner: str
    index: Index

    def answer(self, first: int, last: int) -> pa.Table:
        """Partial rows of the windows ``[first, last)``."""
        job = self.job
        if self.index.folded is not None:
            return fold(job, self._totals(), self._events(self.index.folded, 2**62), first, last, last)[0]
        within, slide = job.windows
        chunks = [c for c in self.index.chunks if c.high >= first * slide and c.low < (last - 1) * slide + within]
        if first >= last or not chunks:
            return job.partial_schema.empty_table()
        table = pa.concat_tables([self._read(chunk) for chunk in sorted(chunks, key=lambda c: c.low)])
        return job.partials(table, Cut(first, last))

    def is_dense(self, new: pa.Table, times: NDArray[np.int64]) -> bool:
        """Whether totals of all open windows are smaller than their events, if all is as in the new events.

        Where there are totals they must be far larger to be given up, since going back and forth costs, too.
        """
        index, plan = self.index, self.job.plan
        assert plan.window is not None
        if not new.num_rows:
            return index.folded is not None
        totals = (1 + plan.window.per_event) * count_partitions(self.job, new) * row_bytes(plan)
        events = sum(chunk.bytes for chunk in index.chunks)
        if index.folded is None:
            return totals < events
        span = int(times[-1] - times[0])
        if not span:
            return True
        events = max(events, new.num_rows * _EVENT_BYTES * self.job.windows[0] // span)
        return bool(max(totals, sum(chunk.bytes for chunk in index.totals)) < 4 * events)

    def fold(self, due: int, instant: int) -> pa.Table:
        """Turn the events before an instant into totals; partial rows of the windows before ``due``."""
        index = self.index
        since = -(2**62) if index.folded is None else index.folded
        closed, totals = fold(self.job, self._totals(), self._events(since, instant), index.first, due)
        for chunk in index.totals:
            self._remove(chunk)
        index.totals, index.folded = [], max(instant, since)
        if totals is not None:
            index.totals = self._write(totals, totals.column(WINDOW).to_numpy())
        return closed

    def expire(self, due: int) -> None:
        """Remove the chunks that no window from ``due`` on can need."""
        from_ = self._needed_from(due)
        for chunk in self.index.chunks:
            if chunk.high < from_:
                self._remove(chunk)
        self.index.chunks = [chunk for chunk in self.index.chunks if chunk.high >= from_]
        if self.index.folded is not None and due * self.job.windows[1] >= self.index.folded:
            # Open windows begin after all that is in the totals: events alone serve them.
            for chunk in self.index.totals:
                self._remove(chunk)
            self.index.folded, self.index.totals = None, []

    def _needed_from(self, due: int) -> int:
        since = due * self.job.windows[1]
        return since if self.index.folded is None else max(since, self.index.folded)

    def _totals(self) -> pa.Table | None:
        parts = [self._read(chunk) for chunk in self.index.totals]
        return pa.concat_tables(parts).combine_chunks() if parts else None

    def _events(self, since: int, until: int) -> pa.Table:
        """Stored events of ``[since, until)``."""
        chunks = sorted((c for c in self.index.chunks if c.high >= since and c.low < until), key=lambda c: c.low)
        table = pa.concat_tables([keyed(self.job, self.job.schema.empty_table()), *(self._read(c) for c in chunks)])
        times = self.job.clock.read(table.column(self.job.time), self.job.time)
        inside = (times >= since) & (times < until)
        return table if inside.all() else table.filter(pa.array(inside))

    def append(self, table: pa.Table, times: NDArray[np.int64], due: int) -> None:
        """Store events, sorted by time, in chunks of bounded size; no window below ``due`` needs any."""
        if not table.num_rows:
            return
        # Merging also lets go of what a small chunk holds in vain: a slow stream may never fill one.
        latest = self.index.chunks[-1] if self.index.chunks else None
        if latest is not None and latest.bytes < SMALL_CHUNK_BYTES:
            table = keyed(self.job, pa.concat_tables([self._read(latest), table]))
            times = self.job.clock.read(table.column(self.job.time), self.job.time)
            needed = times >= self._needed_from(due)
            table, times = table.filter(pa.array(needed)), times[needed]
            self._remove(latest)
            self.index.chunks.pop()
        self.index.chunks += self._write(table, times)

    def _write(self, table: pa.Table, places: NDArray[np.int64]) -> list[Chunk]:
        """Store a table, with a time or window per row, in chunks of bounded size."""
        pieces = max(1, -(-table.nbytes // CHUNK_BYTES))
        rows = -(-table.num_rows // pieces)
        chunks = []
        for start in range(0, table.num_rows, rows):
            piece, here = table.slice(start, rows).combine_chunks(), places[start : start + rows]
            key, blob = uuid.uuid4().hex, to_bytes(piece, small=True)
            self.store.write_chunk(key, blob)
            self.cache.put(self.owner, key, piece)
            chunks.append(Chunk(key, piece.num_rows, len(blob), int(here.min()), int(here.max())))
        return chunks

    def _read(self, chunk: Chunk) -> pa.Table:
        table = self.cache.get(self.owner, chunk.key)
        if table is None:
            table = from_bytes(self.store.read_chunk(chunk.key))
            self.cache.put(self.owner, chunk.key, table)
        return table

    def _remove(self, chunk: Chunk) -> None:
        self.store.remove_chunk(chunk.key)
