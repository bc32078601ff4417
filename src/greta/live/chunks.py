"""What a bucket of a stream stores between micro-batches: an index, and events in chunks that are written once.

The store is whatever offers ``Store``: a dictionary in tests, Spark's state store in a stream. It is the truth: all
else that a step uses is made from it, or checked against it.
"""

from __future__ import annotations

import json
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.blobs import from_bytes, to_bytes
from greta.engine.stream_jobs import StreamJob, keyed
from greta.errors import StateError

FORMAT = 4
"""Version of what is stored; a store of another version is refused."""

CHUNK_BYTES = 256 * 1024
"""Chunks are cut at this size, so that expiry is fine-grained and no value of a store is large."""

SMALL_CHUNK_BYTES = 32 * 1024
"""The latest chunk is written anew together with new events while it is smaller than this."""

NEVER = -(2**62)
"""Before all windows, instants and watermarks."""


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
        """All of the chunk but its events, as the index lists it."""
        return self.key, self.rows, self.bytes, self.low, self.high


@dataclass(slots=True)
class GraphNote:
    """What a bucket's index tells of one query's graph."""

    token: str | None = None
    """The step's own name, which the graph that it left in a cache has, too; None: it left none."""
    why: str | None = None
    """Why the bucket's windows are computed when they close, though the query is one for online graphs."""


@dataclass(slots=True)
class Index:
    """What a bucket stores besides its chunks."""

    first: int = NEVER
    """Windows below this one have been returned."""
    timer: int | None = None
    """The watermark that the bucket waits for, in milliseconds."""
    chunks: list[Chunk] = field(default_factory=list)
    folded: int | None = None
    """Events before this instant are in the totals, not in chunks; None: there are no totals."""
    totals: list[Chunk] = field(default_factory=list)
    """Running totals, with numbers of windows for times."""
    until: int = NEVER
    """Events before this instant are in the graphs that the notes name, and windows that end by it are closed: what
    still comes is late."""
    graphs: list[GraphNote] = field(default_factory=list)
    """Per query that shares the chunks."""

    @property
    def stored(self) -> list[Chunk]:
        """All that is in the store."""
        return [*self.chunks, *self.totals]

    def pack(self, layout: str) -> bytes:
        """As bytes, with the version and the layout's fingerprint."""
        lists = {name: [chunk.fields for chunk in getattr(self, name)] for name in ("chunks", "totals")}
        others: dict[str, object] = {name: getattr(self, name) for name in ("first", "timer", "folded", "until")}
        others["graphs"] = [(note.token, note.why) for note in self.graphs]
        return json.dumps({"format": FORMAT, "layout": layout, **others, **lists}).encode()

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
        index = Index(read["first"], read["timer"], chunks, read["folded"], totals)
        # Version 0.1.0 stores no graph's name: then one is made from the events.
        index.until = read.get("until", NEVER)
        index.graphs = [GraphNote(*note) for note in read.get("graphs", [])]
        return index


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
class StoredChunks:
    """Reads and writes the chunks of one bucket."""

    job: StreamJob
    store: Store
    cache: ChunkCache
    owner: str
    """The bucket's name in the cache."""
    index: Index
    arrived: list[pa.Table]
    """Events that have come, sorted by time, and are not stored yet."""

    def read(self, chunk: Chunk) -> pa.Table:
        """A chunk's events."""
        table = self.cache.get(self.owner, chunk.key)
        if table is None:
            table = from_bytes(self.store.read_chunk(chunk.key))
            self.cache.put(self.owner, chunk.key, table)
        return table

    def write(self, table: pa.Table, places: NDArray[np.int64]) -> list[Chunk]:
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

    def events(self, since: int, until: int) -> pa.Table:
        """Events of ``[since, until)``, stored or not, in order of time."""
        chunks = sorted((c for c in self.index.chunks if c.high >= since and c.low < until), key=lambda c: c.low)
        empty = keyed(self.job, self.job.schema.empty_table())
        table = pa.concat_tables([empty, *(self.read(c) for c in chunks), *self.arrived])
        times = self.job.clock.read(table.column(self.job.time), self.job.time)
        rows = np.flatnonzero((times >= since) & (times < until))
        if len(rows) < len(times) or (times[1:] < times[:-1]).any():
            table = table.take(pa.array(rows[np.argsort(times[rows], kind="stable")]))
        return table

    def append_arrived(self, needed_from: int) -> None:
        """Store what has come, in chunks of bounded size; nobody needs events before an instant."""
        if not self.arrived:
            return
        tables = list(self.arrived)
        self.arrived.clear()
        # Merging also lets go of what a small chunk holds in vain: a slow stream may never fill one.
        latest = self.index.chunks[-1] if self.index.chunks else None
        if latest is not None and latest.bytes < SMALL_CHUNK_BYTES:
            tables.insert(0, self.read(latest))
            self.store.remove_chunk(latest.key)
            self.index.chunks.pop()
        table = keyed(self.job, pa.concat_tables(tables)) if len(tables) > 1 else tables[0]
        times = self.job.clock.read(table.column(self.job.time), self.job.time)
        needed = times >= needed_from
        if not needed.all():
            table, times = table.filter(pa.array(needed)), times[needed]
        if table.num_rows:
            self.index.chunks += self.write(table, times)

    def expire(self, needed_from: int) -> None:
        """Remove the chunks whose events are all before an instant."""
        for chunk in self.index.chunks:
            if chunk.high < needed_from:
                self.store.remove_chunk(chunk.key)
        self.index.chunks = [chunk for chunk in self.index.chunks if chunk.high >= needed_from]

    def replace_totals(self, totals: pa.Table | None, windows: NDArray[np.int64]) -> None:
        """Store running totals in place of those before; None: there are none."""
        for chunk in self.index.totals:
            self.store.remove_chunk(chunk.key)
        self.index.totals = [] if totals is None else self.write(totals, windows)

    def totals(self) -> pa.Table | None:
        """The running totals that are stored."""
        parts = [self.read(chunk) for chunk in self.index.totals]
        return pa.concat_tables(parts).combine_chunks() if parts else None


@dataclass(frozen=True, slots=True)
class StoredPiece:
    """A chunk as a piece of kept events, read when somebody asks for them."""

    chunks: StoredChunks
    chunk: Chunk

    @property
    def events(self) -> pa.Table:
        """The events."""
        return self.chunks.read(self.chunk)

    @property
    def low(self) -> int:
        """The first instant."""
        return self.chunk.low

    @property
    def high(self) -> int:
        """The last instant."""
        return self.chunk.high
