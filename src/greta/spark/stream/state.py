"""The stateful operator: buckets of open windows in Spark's state store, stepped once per micro-batch.

A call gets a bucket's new blobs, and returns the partial results of the windows that the watermark closed, with the
bucket's size. State is an index and chunks of events, both opaque to Spark and versioned by greta. What has been
computed of open windows lies in files on the executor's machine, where any of its Python workers can take it up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import Row

from greta.engine.blobs import from_bytes, to_bytes
from greta.engine.job import WINDOW
from greta.engine.stream_jobs import StreamJob
from greta.errors import StateError
from greta.live.cache import Cache
from greta.live.chunks import NEVER, ChunkCache
from greta.live.online import most_bytes
from greta.live.steps import Step, step
from greta.spark.stream.checkpoint import filesystem
from greta.spark.stream.graphs import graphs_directory
from greta.spark.wire.buckets import bucket_keys
from greta.spark.wire.workers import tell_of_compilation

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

LateEvents = Callable[[pa.Table, int], None]
"""Takes late events and the micro-batch's number; called in the workers, again where Spark repeats a task."""

RESULT_DDL = (
    "query INT, merge INT, final BOOLEAN, blob BINARY, late BIGINT, bad BIGINT, "
    "rows BIGINT, bytes BIGINT, first BIGINT, last BIGINT, oldest BIGINT, live BIGINT, at_close BIGINT"
)

_CACHE = ChunkCache()
"""Chunks that this worker has seen: workers outlive micro-batches, so most need not be read again."""

_MERGES = 8
"""Ways in which partial results of different windows are spread over the tasks that merge them."""


@dataclass(frozen=True, slots=True)
class ParquetLateEvents:
    """Writes late events into a directory, a file per micro-batch and bucket.

    A repeated task writes the same file again, so nothing is there twice.
    """

    directory: str

    def __call__(self, events: pa.Table, batch: int, bucket: int) -> None:
        """Write a bucket's late events of a micro-batch."""
        files, path = filesystem(self.directory)
        files.create_dir(path, recursive=True)
        name = f"late-{batch:010}-{bucket:06}.parquet"
        draft = f"{path}/.{name}.{_attempt()}"
        pq.write_table(events, draft, filesystem=files)
        files.move(draft, f"{path}/{name}")


def _attempt() -> int:
    context = TaskContext.get()
    return 0 if context is None else int(context.taskAttemptId())


def _property(name: str) -> str | None:
    context = TaskContext.get()
    return None if context is None else context.getLocalProperty(name)


def _batch() -> int:
    return int(_property("streaming.sql.batchId") or -1)


class OpenWindows:
    """Steps buckets; the place of a bucket's key is the number of its queries' group times ``buckets`` plus its own."""

    def __init__(
        self,
        jobs: tuple[StreamJob, ...],
        groups: tuple[tuple[int, ...], ...],
        buckets: int,
        early: bool,
        late_events: ParquetLateEvents | LateEvents | None,
        local: str | None = None,
        delay: int | None = None,
    ) -> None:
        self.jobs = jobs
        self.groups = groups
        """Numbers of the queries that keep the same events."""
        self.buckets = buckets
        self.early = early
        self.late_events = late_events
        self.local = local
        """Where graphs may lie, if all tasks run on the driver's machine."""
        self.delay = delay
        """How many milliseconds the watermark will be behind the newest event; None where that is not known."""

    def attach(self, handle: StatefulProcessorHandle, index: Any, chunks: Any) -> None:
        """Take the state of whichever bucket Spark is calling for; before the first call."""
        tell_of_compilation()
        self.handle = handle
        self.places = {key: place for place, key in enumerate(bucket_keys(len(self.groups) * self.buckets))}
        self.index = index
        self.chunks = chunks
        self.graphs = Cache(graphs_directory(self.local), most_bytes() // self._most_buckets)

    @property
    def _most_buckets(self) -> int:
        """How many buckets there are of all queries: events that agree on nothing are all in one."""
        return sum(self.buckets if job.common else 1 for job in self.jobs)

    def take_rows(self, key: Any, rows: Iterable[Any], timers: Any) -> Iterator[Row]:
        """A bucket of a micro-batch with data."""
        tables, bad, newest = [], 0, NEVER
        for row in rows:
            bad += row.bad
            if row.blob:
                tables.append(from_bytes(bytes(row.blob)))
            newest = max(newest, row.newest)
        then = NEVER if self.delay is None else newest - self.delay
        yield from self._step(int(key[0]), tables, bad, timers.getCurrentWatermarkInMs(), then)

    def take_timer(self, key: Any, timers: Any, expired: Any) -> Iterator[Row]:
        """A bucket of a micro-batch without data: the watermark alone has moved."""
        fired = expired.getExpiryTimeInMs()
        yield from self._step(int(key[0]), [], 0, timers.getCurrentWatermarkInMs(), fired=fired)

    def _step(
        self,
        key: int,
        tables: list[pa.Table],
        bad: int,
        watermark: int,
        then: int = NEVER,
        *,
        fired: int | None = None,
    ) -> Iterator[Row]:
        """New events of a bucket and the watermark → the rows of windows that are over; state is brought forward.

        ``then`` is the next micro-batch's watermark where it is known, ``fired`` the time of the timer that called.
        """
        if key not in self.places:
            raise StateError(
                "the checkpoint's state is of another version of greta, or was stored with other buckets",
                hint="go on with the version and the options that wrote it, or start with a new checkpoint",
            )
        place = self.places[key]
        queries = self.groups[place // self.buckets]
        jobs = tuple(self.jobs[query] for query in queries)
        owner = f"{_property('sql.streaming.queryId')}/{key}"
        store = _SparkStore(self)
        steps = step(
            jobs,
            store,
            tables,
            watermark,
            chunks=_CACHE,
            graphs=self.graphs,
            owner=owner,
            early=self.early,
            then=then,
        )
        found = steps[0]
        wanted = found.waits_for
        if found.timer is not None and found.timer not in (wanted, fired):
            self.handle.deleteTimer(found.timer)
        if wanted is not None and found.timer != wanted:
            self.handle.registerTimer(wanted)
        if found.late.num_rows and self.late_events is not None:
            if isinstance(self.late_events, ParquetLateEvents):
                self.late_events(found.late, _batch(), place)
            else:
                self.late_events(found.late, _batch())
        for query, job, found in zip(queries, jobs, steps, strict=True):
            # What is kept once counts once.
            share = found if query == queries[0] else replace(found, rows=0, bytes=0)
            yield _report(query, job, share, bad if query == queries[0] else 0)
            for final, table in ((True, found.closed), (False, found.open)):
                if table is not None:
                    yield from _results(query, final, table)


def _report(query: int, job: StreamJob, found: Step, bad: int) -> Row:
    oldest = None
    if found.first is not None:
        oldest = found.first * job.windows[1] // job.clock.per_millisecond
    return _row(
        query=query,
        late=found.late.num_rows,
        bad=bad,
        rows=found.rows,
        bytes=found.bytes,
        first=found.first,
        last=found.last,
        oldest=oldest,
        live=found.live_bytes,
        at_close=int(found.rows > 0 and found.why is not None),
    )


def _results(query: int, final: bool, table: pa.Table) -> Iterator[Row]:
    if not table.num_rows:
        return
    ways = table.column(WINDOW).to_numpy() % _MERGES
    for way in sorted(set(ways.tolist())):
        part = table.filter(pa.array(ways == way))
        yield _row(query=query, merge=way, final=final, blob=to_bytes(part))


def _row(**values: Any) -> Row:
    names = [part.split()[0] for part in RESULT_DDL.split(", ")]
    return Row(*names)(*(values.get(name) for name in names))


class _SparkStore:
    """A bucket's store: the state of the key that Spark is calling for."""

    def __init__(self, owner: OpenWindows) -> None:
        self._index = owner.index
        self._chunks = owner.chunks

    def read_index(self) -> bytes | None:
        value = self._index.get()
        return None if value is None else bytes(value[0])

    def write_index(self, value: bytes) -> None:
        self._index.update((value,))

    def read_chunk(self, key: str) -> bytes:
        value = self._chunks.getValue((key,))
        assert value is not None, "an index names a chunk that is not there"
        return bytes(value[0])

    def write_chunk(self, key: str, value: bytes) -> None:
        self._chunks.updateValue((key,), (value,))

    def remove_chunk(self, key: str) -> None:
        self._chunks.removeKey((key,))

    def clear(self) -> None:
        self._index.clear()
