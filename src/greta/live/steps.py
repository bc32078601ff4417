"""A stream in steps: new events and a watermark in, partial rows of the windows that it closed out.

Between steps a store keeps what open windows still need (``greta.live.chunks``), and a cache of graphs on this machine
what has been computed (``greta.live.cache``). A step adds the events that the watermark has passed to the graph, reads
the windows that ended, and stores the new events, so that it costs what the new events do:

    watermark                      ▼
    W0  [-----------)              closed: returned once
    W1       [-----------)         closed
    W2            [-----------)    open: its numbers are in the graph, up to the watermark
    stored        ●  ●  ● ●● ○ ○   ○ not in the graph yet

Where the graph is missing, stale or garbled, it is made again from the stored events; where the query has none, there
is no room, or steps are so long that it does not pay, windows are computed from the events when they close. Queries
that only count and have no conditions between events store running totals in place of events where these are smaller
(``greta.engine.totals``).
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import greta
from greta.engine.job import WINDOW
from greta.engine.stream_jobs import StreamJob, keyed
from greta.engine.totals import count_partitions, fold, row_bytes
from greta.kernels.compiler import fingerprint
from greta.lang.printer import print_query
from greta.live.at_close import AtClose
from greta.live.cache import Cache, Slot
from greta.live.choice import new_graph, why_not
from greta.live.chunks import NEVER, ChunkCache, GraphNote, Index, Store, StoredChunks, StoredPiece
from greta.live.frozen import copied, freeze, thaw
from greta.live.graphs import Graph
from greta.live.kept import Kept, Pieces
from greta.live.orders import Surprise
from greta.live.program import Program
from greta.live.rows import partial_rows

_EVENT_BYTES = 10
"""What an event takes in a chunk, about."""

_FOREVER = 2**62


@dataclass(frozen=True, slots=True)
class Step:
    """What one step found."""

    closed: pa.Table
    """Partial rows of the windows that are final now."""
    open: pa.Table | None
    """Partial rows of open windows, where they were asked for."""
    late: pa.Table
    """Events before the watermark, or for windows that are closed already; they count nowhere."""
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
    waits_for: int | None
    """The watermark, in milliseconds, at which the bucket wants to be called; None where it keeps nothing."""
    live_bytes: int
    """Size of the graph that is kept on this machine."""
    why: str | None
    """Why windows were computed when they closed; None where they were brought forward by each event."""


def step(
    jobs: Sequence[StreamJob],
    store: Store,
    events: Sequence[pa.Table],
    watermark: int,
    *,
    chunks: ChunkCache,
    graphs: Cache | None,
    owner: str = "stream/bucket",
    early: bool = False,
    then: int = NEVER,
) -> list[Step]:
    """Take in new events, return the windows that the watermark (milliseconds) closes, keep what the others need.

    Events before ``watermark`` are late, and those before the ``then`` of an earlier step: the watermark once its
    events had come, where that is known. Windows that end by it are closed at once.

    Any cut of a stream into steps returns every window once, with the events that were not late when they came. A
    bucket that keeps nothing leaves nothing in its store; one that keeps something notes that it wants to be called as
    soon as the watermark has moved. ``jobs`` keep the same events (``sharing``), and keep them once; each has a step of
    its own. ``owner`` names the stream and the bucket in the caches, where buckets share them.
    """
    job, layout = jobs[0], jobs[0].fingerprint
    index = Index.unpack(store.read_index(), layout)
    before = index.timer
    index.graphs += [GraphNote() for _ in range(len(index.graphs), len(jobs))]
    per_millisecond = job.clock.per_millisecond
    new, times, late = _split(job, events, max(watermark * per_millisecond, index.until))
    stored = StoredChunks(job, store, chunks, owner, index, [new] if new.num_rows else [])
    buckets = [_Bucket(each, replace(stored, job=each), graphs, number) for number, each in enumerate(jobs)]
    now = max(watermark, then, index.until // per_millisecond)
    due, instant = job.first_open(now), now * per_millisecond
    try:
        closed = [bucket.advance(due, instant, new, times) for bucket in buckets]
        buckets[0].expire(due)
        stored.append_arrived(buckets[0].needed_from(due))
        partial = [bucket.open(due, instant) if early else None for bucket in buckets]
        index.until = instant
        for bucket in buckets:
            bucket.save()
    finally:
        for bucket in buckets:
            bucket.let_go()
    # Where the caller's watermark is behind, an event may come that is late already: the index must say so.
    keeps = bool(index.stored) or now > watermark
    if keeps:
        index.first, index.timer = max(index.first, due), watermark + 1
        store.write_index(index.pack(layout))
    else:
        store.clear()
    chunks.retain(owner, {chunk.key for chunk in index.stored})
    first, last = _windows(job, index, due)
    rows, size = (sum(getattr(chunk, of) for chunk in index.stored) for of in ("rows", "bytes"))
    return [
        Step(
            closed=closed[at],
            open=partial[at],
            late=late,
            rows=rows,
            bytes=size,
            first=first,
            last=last,
            timer=before,
            waits_for=watermark + 1 if keeps else None,
            live_bytes=bucket.live_bytes,
            why=bucket.why,
        )
        for at, bucket in enumerate(buckets)
    ]


def _windows(job: StreamJob, index: Index, due: int) -> tuple[int | None, int | None]:
    """The first and last window that something is kept for."""
    within, slide = job.windows
    lows = [(chunk.low - within) // slide + 1 for chunk in index.chunks] + [chunk.low for chunk in index.totals]
    highs = [job.last_window(chunk.high) for chunk in index.chunks] + [chunk.high for chunk in index.totals]
    if not lows:
        return None, None
    return max(due, min(lows), job.clock.lowest_window), max(highs)


def _split(job: StreamJob, events: Sequence[pa.Table], instant: int) -> tuple[pa.Table, NDArray[np.int64], pa.Table]:
    """(events in time, by time; their times; those before an instant)"""
    table = pa.concat_tables(events) if events else job.schema.empty_table()
    times = job.clock.read(table.column(job.time), job.time)
    in_time = times >= instant
    late = table.filter(pa.array(~in_time)) if not in_time.all() else table.slice(0, 0)
    rows = np.flatnonzero(in_time)
    rows = rows[np.argsort(times[rows], kind="stable")]
    ordered = len(rows) == table.num_rows and bool((np.diff(rows) == 1).all())
    return keyed(job, table if ordered else table.take(pa.array(rows))), times[rows], late


@dataclass(slots=True)
class _Bucket:
    """One bucket during a step, for one of the queries that share its chunks."""

    job: StreamJob
    chunks: StoredChunks
    graphs: Cache | None
    number: int
    """Of the query among those."""
    slot: Slot | None = None
    """The graph's file, where there is one."""
    graph: Graph | None = None
    """The graph, brought up to the watermark."""
    why: str | None = None
    """Why there is none."""
    name: bytes = b""
    """The query's name in the cache."""
    index: Index = field(init=False)

    def __post_init__(self) -> None:
        self.index = self.chunks.index

    @property
    def live_bytes(self) -> int:
        """Size of the graph."""
        return 0 if self.graph is None else self.graph.bytes

    def advance(self, due: int, instant: int, new: pa.Table, times: NDArray[np.int64]) -> pa.Table:
        """Partial rows of the windows before ``due``, which end at or before an instant.

        The new events tell which way of storing is the smaller one.
        """
        if self.job.keeps_totals and self._is_dense(new, times):
            closed = self._fold(due, instant)
        elif self.index.folded is not None:
            closed = self._of_totals(self.index.first, due)
        else:
            closed = self._by_graph(instant)
            if closed is None:
                closed = self._at_close().advance(self.job.schema.empty_table(), instant)
        return closed

    def expire(self, due: int) -> None:
        """Remove what only windows before ``due`` needed."""
        self.chunks.expire(self.needed_from(due))
        if self.index.folded is not None and due * self.job.windows[1] >= self.index.folded:
            # Open windows begin after all that is in the totals: events alone serve them.
            self.chunks.replace_totals(None, np.empty(0, dtype=np.int64))
            self.index.folded = None

    def open(self, due: int, instant: int) -> pa.Table:
        """Partial rows of the windows from ``due`` on, of all events so far."""
        if self.index.folded is not None:
            return self._of_totals(due, _FOREVER)
        if self.graph is None:
            return AtClose(self.job, "", self._kept(due)).open()
        # Events that the watermark has not passed must not be in the graph: others may come before them.
        waiting = self.chunks.events(instant, _FOREVER)
        graph, readings = self.graph, []
        if waiting.num_rows:
            graph = copied(graph)
            last = self.job.clock.read(waiting.column(self.job.time), self.job.time)[-1]
            if graph.program.is_far(graph.origin, int(last)):
                # Lengths of time since the graph's first event would lose digits.
                return AtClose(self.job, "", self._kept(due)).open()
            try:
                readings = graph.advance(waiting, int(last) + 1)
            except Surprise:
                return AtClose(self.job, "", self._kept(due)).open()
        return partial_rows(graph.program, [*readings, graph.read_open()], self._kept(due))

    @property
    def note(self) -> GraphNote:
        """What the index tells of the graph."""
        return self.index.graphs[self.number]

    def save(self) -> None:
        """Leave the graph to the next step, under the name that the index gives to this one."""
        self.note.token = None
        if self.graph is None or self.slot is None or not self.index.stored:
            return
        token = uuid.uuid4()
        if self.slot.save(self.name, token.bytes, self.graph.heap, freeze(self.graph)):
            self.note.token = token.hex

    def let_go(self) -> None:
        """Let other processes have the graph's file."""
        if self.slot is not None:
            self.slot.close()

    def _by_graph(self, instant: int) -> pa.Table | None:
        """Partial rows of the windows that end up to an instant, by the graph; None where there is none."""
        if not self.index.chunks or self.graphs is None:
            return None
        self.name = _name(self.job)
        program = _program(self.name, self.job)
        if isinstance(program, str) or self.note.why is not None:
            self.why = self.note.why or str(program)
            return None
        if not self.graphs.pays(self.job.windows[0], instant - self.index.until, self.note.token is not None):
            self.why = "micro-batches are long beside WITHIN: computing windows from their events costs less"
            return None
        self.slot = self.graphs.open(self.chunks.owner + (f"-{self.number}" if self.number else ""))
        if self.slot is None:
            self.why = f"no file for its graph can be had in {self.graphs.directory}"
            return None
        try:
            graph, since = self._loaded(program, self.slot)
            readings = graph.advance(self.chunks.events(since, instant), instant)
        except OSError as error:
            self.why = f"the graph cannot be kept: {error}"
            return None
        except Surprise as surprise:
            self.why = self.note.why = str(surprise)
            return None
        self.graph = graph
        return partial_rows(program, readings, self._kept(self.index.first))

    def _loaded(self, program: Program, slot: Slot) -> tuple[Graph, int]:
        """(the graph that the step before left, or a new one; the instant from which on it lacks events)"""
        if self.note.token is not None:
            found = slot.load(self.name, bytes.fromhex(self.note.token))
            if found is not None:
                graph = thaw(program, *found)
                if not program.is_far(graph.origin, self.index.until):
                    return graph, self.index.until
        heap = slot.fresh()
        graph = new_graph(program, heap.nbytes, heap)
        graph.start(self.index.first)
        return graph, max(self.index.first * self.job.windows[1], -_FOREVER)

    def _at_close(self) -> AtClose:
        return AtClose(self.job, self.why or "", self._kept(self.index.first))

    def _kept(self, first: int) -> Kept:
        """The events, for windows from ``first`` on."""
        pieces = (StoredPiece(self.chunks, chunk) for chunk in sorted(self.index.chunks, key=lambda chunk: chunk.low))
        kept = Kept(self.job, first, Pieces(pieces))
        for table in self.chunks.arrived:
            kept = kept.with_(table)
        return kept

    def needed_from(self, due: int) -> int:
        """The instant from which on events are needed where windows from ``due`` on are open."""
        since = due * self.job.windows[1]
        return since if self.index.folded is None else max(since, self.index.folded)

    def _is_dense(self, new: pa.Table, times: NDArray[np.int64]) -> bool:
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

    def _fold(self, due: int, instant: int) -> pa.Table:
        """Turn the events before an instant into totals; partial rows of the windows before ``due``."""
        index = self.index
        since = -_FOREVER if index.folded is None else index.folded
        events = self.chunks.events(since, instant)
        closed, totals = fold(self.job, self.chunks.totals(), events, index.first, due)
        windows = np.empty(0, dtype=np.int64) if totals is None else totals.column(WINDOW).to_numpy()
        self.chunks.replace_totals(totals, windows)
        index.folded = max(instant, since)
        return closed

    def _of_totals(self, first: int, last: int) -> pa.Table:
        """Partial rows of the windows ``[first, last)``, of totals and the events after them."""
        assert self.index.folded is not None
        events = self.chunks.events(self.index.folded, _FOREVER)
        return fold(self.job, self.chunks.totals(), events, first, last, last)[0]


_PROGRAMS: OrderedDict[bytes, Program | str] = OrderedDict()
"""Programs of the latest queries, by name; in place of a program: why there is none."""
_MOST_PROGRAMS = 64


def _name(job: StreamJob) -> bytes:
    """What a graph is the graph of: the whole query, its columns, and the code that computes it."""
    columns = {field.name: str(field.type) for field in job.schema}
    about = [print_query(job.plan.query), columns, job.time, job.type, job.numbers, greta.__version__, fingerprint()]
    return hashlib.sha256(json.dumps(about).encode()).digest()


def _program(name: bytes, job: StreamJob) -> Program | str:
    """The query in arrays, or why its windows are computed when they close."""
    if name not in _PROGRAMS:
        _PROGRAMS[name] = why_not(job) or Program.of(job)
        if len(_PROGRAMS) > _MOST_PROGRAMS:
            _PROGRAMS.popitem(last=False)
    return _PROGRAMS[name]
