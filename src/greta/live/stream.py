"""``greta.stream``: events in as they come, in about any order, the rows of windows out as they end.

    pushed ──► waiting ───────────► open windows ───────► rows
               until the watermark  of each query,        of a window, when
               has passed them      in order of time      the watermark reaches its end

Answers come first: a push that ends windows takes in the events that these hold, returns their rows, and leaves later
events for the next push; events between two ends wait until they are many, or the next end is near.

The watermark is the latest time seen, less the lateness. It never goes back; an event before it is late, dropped and
counted. Events *at* the watermark wait, since others of the same tick may follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias, get_args

import numpy as np
import pyarrow as pa

from greta.engine.cautions import ordered_text, small_units
from greta.engine.compiling import telling_of_compilation
from greta.engine.job import Job, Numbers
from greta.engine.prepared import Prepared
from greta.engine.queries import Label, Queries, bind_all, labelled
from greta.engine.stream_jobs import StreamJob
from greta.engine.tables import Events, to_table
from greta.engine.times import furthest_from_zero
from greta.errors import DataError, GretaError, SchemaError, StateError, warn
from greta.live.columns import Columns, fitted_column, plain_columns
from greta.live.lateness import Lateness, in_units, nanoseconds
from greta.live.options import Emit, Options
from greta.live.queries import OpenQueries
from greta.live.stored import Stored, printed, read, write
from greta.live.waiting import Int, Waiting
from greta.live.windows import Windows, load, windows_for

Schema: TypeAlias = "pa.Schema | Mapping[str, pa.DataType]"
"""Names and Arrow types of columns."""

NEVER = -(2**63)
"""A watermark before all times."""


@dataclass(frozen=True, slots=True)
class StreamFigures:
    """What a stream has done and what it keeps."""

    events: int
    """Events taken in so far."""
    late_events: int
    """Events that came after the watermark had passed them; they count nowhere."""
    rows: int
    """Rows returned so far."""
    watermark: datetime | float | None
    """Windows that end here or before are final; None before the first event."""
    waiting_events: int
    """Events that are in no window yet: the watermark has not passed them, or no row is due that needs them."""
    kept_events: int
    """Events kept for open windows, those of each query counted by themselves."""
    open_windows: int
    """Windows with events that have not ended, of all queries."""
    bytes: int
    """Size of all that is kept."""
    online: bool
    """Whether all queries compute each event once, as it comes."""
    why: tuple[str, ...]
    """Per query that is not online: why."""


class Stream:
    """Open windows of one query or several, fed by ``push``; made by ``greta.stream``.

    A call that raises leaves the stream as it was; only where windows had moved already (memory that ran out while
    their rows were made, an interrupt) does it end the stream, and say so. Not for several threads at a time.
    """

    few = 512
    """Fewer events are not taken in between two ends of windows: taking in one costs about as much as taking many."""
    enough = 32_768
    """So many events are taken in however far the end of a window is: it may come sooner than it seems."""

    def __init__(
        self,
        query: Queries,
        options: Options,
        schema: pa.Schema | None = None,
        windows: Callable[[StreamJob], Windows] = windows_for,
    ) -> None:
        self.options = options
        self.labels, self.queries = labelled(query)
        self._make = windows
        self._bound: tuple[Columns, OpenQueries] | None = None
        self._waiting = Waiting()
        self._rows: list[list[Any]] = []
        self._row_times: list[int] = []
        self._watermark = NEVER
        self._ahead: Any = None
        self._events = self._late = self._returned = 0
        self._fresh = 0
        self._closed = False
        self._broken = False
        if schema is not None:
            self._bind(schema)

    @staticmethod
    def restored(stored: Stored, query: Queries, windows: Callable[[StreamJob], Windows] = windows_for) -> Stream:
        """The stream that was stored, with the queries that it was stored of."""
        stream = Stream(query, stored.options, stored.schema, windows)
        stream._watermark, stream._ahead = stored.watermark, stored.ahead
        counts = stored.counts
        stream._events, stream._late, stream._returned = counts["events"], counts["late"], counts["rows"]
        stream._fresh = counts["fresh"]
        if stream._bound is not None:
            columns, queries = stream._bound
            dumps = zip(queries.jobs, stored.windows, strict=True)
            queries.restored([load(job, dump) for job, dump in dumps], stored.until)
            if stored.waiting is not None:
                times = columns.clock.read(stored.waiting.column(stored.options.time), stored.options.time)
                stream._waiting = Waiting().extended(stored.waiting, times)
        return stream

    def push(self, events: Events) -> pa.Table:
        """Take in events; the rows of the windows that ended by them.

        Events are an Arrow table or record batch, a pandas or Polars frame, a list of dicts, or one dict, in any order
        of time. The columns are those of the first events, or of ``schema``: later events are fitted to them where
        nothing is lost, and lack a column where they have NULL.
        """
        self._require_open()
        if isinstance(events, Mapping):
            if self._bound is not None:
                row = self._bound[0].row(events)
                if row is not None:
                    return self._push_row(*row)
            events = [events]
        if self._bound is None:
            table = to_table(events)
            return self._push_first(table) if table.num_columns else table
        columns, queries = self._bound
        table = columns.known(events)
        if table is None:
            table = columns.fit(to_table(events))
        times = columns.clock.read(table.column(self.options.time), self.options.time)
        queries.require_room(furthest_from_zero(times))
        return self._push_table(table, times)

    def advance(self, time: datetime | float) -> pa.Table:
        """Take note that it is ``time`` although no event tells so; the rows of the windows that ended by that.

        For a source that is idle: the watermark moves as if an event of that time had come.
        """
        self._require_open()
        if self._bound is None:
            if not isinstance(time, int | float | datetime):
                raise DataError(f"{time!r} is no time", hint="pass a datetime, or a number of seconds")
            self._ahead = time
            return pa.table({})
        watermark = max(self._watermark, self._instant(time) - self._lateness)
        self._settle()
        return self._move(self._waiting, watermark)

    def close(self) -> pa.Table:
        """The rows of all windows that are open, as if time were over; the stream takes no more events."""
        if self._closed:
            return pa.table({}) if self._bound is None else self._bound[1].nothing
        self._require_open()
        if self._bound is None:
            self._closed = True
            return pa.table({})
        _, queries = self._bound
        self._settle()
        everything = self._waiting.everything()
        rows = self._computed(lambda: queries.close(everything))
        self._waiting, self._closed = Waiting(), True
        self._returned += rows.num_rows
        return rows

    def snapshot(self) -> bytes:
        """All that the stream is; ``greta.stream(query, snapshot=...)`` goes on from it, in any process."""
        self._require_open()
        self._settle()
        waiting = self._waiting.everything()
        columns, queries = (None, None) if self._bound is None else self._bound
        return write(
            Stored(
                queries=[printed(query) for query in self.queries],
                labels=self.labels,
                options=self.options,
                schema=None if columns is None else columns.schema,
                watermark=self._watermark,
                until=NEVER if queries is None else queries.until,
                ahead=self._ahead,
                counts={"events": self._events, "late": self._late, "rows": self._returned, "fresh": self._fresh},
                waiting=None if waiting is None else waiting[0],
                windows=[] if queries is None else [windows.dump() for windows in queries.windows],
            )
        )

    @property
    def figures(self) -> StreamFigures:
        """What the stream has done and what it keeps now."""
        self._settle()
        waiting = self._waiting
        each = [] if self._bound is None else self._bound[1].figures(waiting.split(self._watermark)[0])
        return StreamFigures(
            events=self._events,
            late_events=self._late,
            rows=self._returned,
            watermark=self._shown_watermark(),
            waiting_events=waiting.rows,
            kept_events=sum(figures.events for figures in each),
            open_windows=sum(len(figures.open) for figures in each),
            bytes=waiting.bytes + sum(figures.bytes for figures in each),
            online=all(figures.online for figures in each),
            why=tuple(figures.why for figures in each if figures.why is not None),
        )

    @property
    def at_close(self) -> tuple[str, ...]:
        """Per query whose windows are computed when they end, whatever its events are: why; none before these came."""
        return () if self._bound is None else self._bound[1].at_close()

    @property
    def schema(self) -> pa.Schema | None:
        """The columns of the rows; None before the columns of the events are known."""
        return None if self._bound is None else self._bound[1].nothing.schema

    def _push_first(self, table: pa.Table) -> pa.Table:
        """The first events: they tell the columns. Nothing is bound where they cannot be taken in."""
        try:
            self._bind(plain_columns(table.schema))
        except SchemaError as error:
            error.hint = (
                f"{error.hint or 'the first events tell the columns'}; or name all columns: schema=pa.schema(...)"
            )
            raise
        try:
            self._caution(table)
            return self.push(table)
        except BaseException:
            self._bound, self._watermark = None, NEVER
            raise

    def _caution(self, table: pa.Table) -> None:
        """Warn where the first events look as if times or numbers were not what the queries take them for."""
        assert self._bound is not None
        names: Sequence[Label | None] = self.labels or [None]
        for label, job in zip(names, self._bound[1].jobs, strict=True):
            if table.num_rows:
                for caution in (*small_units(job, Prepared(job, table)), *ordered_text(job, table)):
                    warn(caution.about(label))

    def _bind(self, schema: pa.Schema) -> None:
        options = self.options
        jobs: list[Job] = bind_all(
            self.labels,
            self.queries,
            schema,
            time=options.time,
            type=options.type,
            numbers=options.numbers,
        )
        queries = OpenQueries(self.labels, [StreamJob.of(job) for job in jobs], self._make, options.emit == "update")
        self._attach(Columns(jobs), queries)

    def _attach(self, columns: Columns, queries: OpenQueries) -> None:
        self._bound = columns, queries
        self._lateness = in_units(self.options.lateness, columns.clock)
        if self._ahead is not None:
            self._watermark = max(self._watermark, self._instant(self._ahead) - self._lateness)

    def _push_row(self, instant: int, row: list[Any]) -> pa.Table:
        assert self._bound is not None
        columns, queries = self._bound
        queries.require_room(abs(instant))
        if instant < self._watermark:
            self._late += 1
            return queries.nothing
        watermark = max(self._watermark, instant - self._lateness)
        if not self._takes_in(watermark, self._fresh + len(self._rows) + 1):
            self._rows.append(row)
            self._row_times.append(instant)
            self._watermark = watermark
            self._events += 1
            if len(self._rows) >= self.few:
                self._settle()
            return queries.nothing
        self._settle()
        times = np.array([instant], dtype=np.int64)
        rows = self._move(self._waiting.extended(columns.table_of([row]), times), watermark)
        self._events += 1
        return rows

    def _push_table(self, table: pa.Table, times: Int) -> pa.Table:
        assert self._bound is not None
        _, queries = self._bound
        self._settle()
        late = 0
        if len(times) and int(times.min()) < self._watermark:
            rows = np.flatnonzero(times >= self._watermark)
            late = len(times) - len(rows)
            table, times = table.take(pa.array(rows)), times[rows]
        watermark = self._watermark
        if len(times):
            watermark = max(watermark, int(times.max()) - self._lateness)
        waiting = self._waiting.extended(table, times)
        if self._takes_in(watermark, self._fresh + len(times)):
            answer = self._move(waiting, watermark)
        else:
            self._waiting, self._watermark = waiting, watermark
            self._fresh += len(times)
            answer = queries.nothing
        self._events += len(times)
        self._late += late
        return answer

    def _takes_in(self, watermark: int, fresh: int) -> bool:
        """Whether a push that moves the watermark here takes events in; ``fresh`` have come since one did.

        It does where a window ends, and half-way from the last time to the next end, again and again: the more events
        at once, the less each of them costs, and what is left for the push that ends the window is little::

            taken in    ●─────────────────●────────●────●──●─●  end of a window
            waiting       more and more     less     ...
        """
        assert self._bound is not None
        _, queries = self._bound
        if watermark >= queries.due or queries.early or fresh >= self.enough:
            return True
        return fresh >= self.few and queries.due - watermark <= watermark - queries.until

    def _move(self, waiting: Waiting, watermark: int) -> pa.Table:
        """Return the rows of windows that end up to a watermark, which is the stream's from here on.

        Where windows end, events after the last of their ends still wait: no row is about them.
        """
        assert self._bound is not None
        _, queries = self._bound
        until = queries.answered_at(watermark)
        ready, left = waiting.split(until)
        rows = self._computed(lambda: queries.advance(ready, until))
        self._waiting, self._watermark = left, watermark
        self._fresh = left.before(watermark) if until < watermark else 0
        self._returned += rows.num_rows
        return rows

    def _computed(self, step: Callable[[], pa.Table]) -> pa.Table:
        """The rows of a step of all queries; an error that comes when some windows have moved ends the stream."""
        assert self._bound is not None
        with telling_of_compilation():
            try:
                return step()
            except BaseException:
                self._broken = self._bound[1].apart
                raise

    def _settle(self) -> None:
        """Put single events with the others that wait."""
        if self._rows:
            assert self._bound is not None
            times = np.array(self._row_times, dtype=np.int64)
            self._waiting = self._waiting.extended(self._bound[0].table_of(self._rows), times)
            self._fresh += len(self._rows)
            self._rows, self._row_times = [], []

    def _instant(self, time: Any) -> int:
        """A time in the clock's units."""
        assert self._bound is not None
        columns, queries = self._bound
        name = self.options.time
        value = fitted_column(to_table([{name: time}]).column(name), columns.schema.field(name).type, name)
        instant = int(columns.clock.read(value, name)[0])
        queries.require_room(abs(instant))
        return instant

    def _shown_watermark(self) -> datetime | float | None:
        if self._watermark == NEVER or self._bound is None:
            return None
        clock = self._bound[0].clock
        if clock.kind != "timestamp":
            return self._watermark / (1_000 * clock.per_millisecond)
        units = pa.scalar(self._watermark * 1_000 // clock.per_millisecond, pa.int64())
        shown: datetime = units.cast(pa.timestamp("us", clock.type.tz)).as_py()
        return shown

    def _require_open(self) -> None:
        if self._closed:
            raise GretaError("the stream is closed", hint="make a new one with greta.stream")
        if self._broken:
            raise StateError(
                "an error has left this stream in the middle of a push: windows have moved, their rows are lost",
                hint="go on from an earlier snapshot, with greta.stream(query, snapshot=...)",
            )


def open_stream(
    query: Queries,
    *,
    schema: Schema | None = None,
    time: str = "time",
    type: str = "type",  # noqa: A002 - the column's usual name
    numbers: Numbers = "double",
    lateness: Lateness | None = None,
    emit: Emit = "final",
    snapshot: bytes | None = None,
    windows: Callable[[StreamJob], Windows] = windows_for,
) -> Stream:
    """What ``greta.stream`` does, with a choice of what keeps the windows."""
    _require(emit in get_args(Emit), f"emit must be 'final' or 'update', not {emit!r}")
    options = Options(time, type, numbers, nanoseconds(lateness), emit)
    columns = None if schema is None else plain_columns(pa.schema(schema))
    if snapshot is None:
        return Stream(query, options, columns, windows)
    stored = read(snapshot)
    stored.require(*labelled(query), options, columns)
    return Stream.restored(stored, query, windows)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise GretaError(message)
