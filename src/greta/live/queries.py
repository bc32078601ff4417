"""The queries of a stream, each with its open windows: events in order of time in, rows of all queries out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from greta.engine.queries import Label, common_schema, naming, spread
from greta.engine.stream_jobs import StreamJob, relevant
from greta.engine.tables import contiguous
from greta.errors import GretaError
from greta.live.waiting import Int
from greta.live.windows import Figures, Windows

FINAL = "final"
"""The column that tells final rows from early ones, as in streams on Spark."""

_NEVER = -(2**63)
_FOREVER = 2**63


class OpenQueries:
    """One query or several, all at the same time: the instant up to which their windows have been brought."""

    def __init__(
        self,
        labels: list[Label] | None,
        jobs: Sequence[StreamJob],
        make: Callable[[StreamJob], Windows],
        early: bool,
    ) -> None:
        self.jobs = list(jobs)
        self.early = early
        """Whether rows of open windows come too."""
        self.apart = False
        """Whether some windows have been brought forward and their rows not been returned; stays so after an error."""
        self._labels = labels
        self.nothing = self._schema().empty_table()
        """No rows, in the columns that all rows have."""
        self.windows: list[Windows] = [make(job) for job in self.jobs]
        self.until = _NEVER
        """The windows have all events before this, and those that ended here have been returned."""
        self.due = _NEVER
        """The earliest watermark at which a window may end."""
        self._no_events = [job.schema.empty_table() for job in self.jobs]
        self._room = min((2**63 - sum(job.windows) for job in self.jobs if job.plan.window), default=2**63)

    def _schema(self) -> pa.Schema:
        schemas = [job.output_schema for job in self.jobs]
        schema = schemas[0] if self._labels is None else common_schema(self._labels, schemas)
        if not self.early:
            return schema
        if FINAL in schema.names:
            raise GretaError(f"a column is named {FINAL}, which marks rows", hint="rename it with AS")
        return schema.append(pa.field(FINAL, pa.bool_()))

    def require_room(self, furthest: int) -> None:
        """``DataError`` where the bounds of a query's windows would not fit 64 bits for times this far from 0."""
        if furthest >= self._room:
            for job in self.jobs:
                if job.plan.window is not None:
                    job.clock.require_room(furthest, job.plan.window)

    def advance(self, ready: tuple[pa.Table, Int] | None, until: int) -> pa.Table:
        """Take in events in order of time, all before ``until``; rows of what ended, and of what changed if asked."""
        events = self._relevant(ready)
        closed = []
        for windows, table in zip(self.windows, events, strict=True):
            closed.append(windows.advance(table, until))
            self.apart = True
        rows = self._answer(closed, [windows.changes() for windows in self.windows] if self.early else None)
        self.goes_on_from(until)
        self.apart = False
        return rows

    def restored(self, windows: Sequence[Windows], until: int) -> None:
        """Go on with windows as they were; rows of open ones have been returned as they are, where they are."""
        self.windows = list(windows)
        if self.early:
            for one in self.windows:
                one.changes()
        self.goes_on_from(until)

    def goes_on_from(self, until: int) -> None:
        """Note how far all windows have been brought."""
        self.until = until
        self.due = min(_next_end(job, until) for job in self.jobs)

    def answered_at(self, watermark: int) -> int:
        """The instant up to which events must be taken in for all rows that are due at a watermark."""
        if self.early or watermark < self.due:
            return watermark
        return max((_last_end(job, watermark) for job in self.jobs if job.plan.window is not None), default=watermark)

    def close(self, ready: tuple[pa.Table, Int] | None) -> pa.Table:
        """Take in the last events; rows of all windows."""
        events = self._relevant(ready)
        until = self.until if ready is None else max(self.until, int(ready[1][-1]) + 1)
        closed = []
        for windows, table in zip(self.windows, events, strict=True):
            ended = windows.advance(table, until)
            self.apart = True
            closed.append(pa.concat_tables([ended, windows.close()]))
        rows = self._answer(closed, None)
        self.apart = False
        return rows

    def figures(self, waiting: tuple[pa.Table, Int] | None) -> list[Figures]:
        """Per query: what is kept, and its open windows, with those of events that are ``waiting`` to be taken in."""
        each = []
        for job, windows, events in zip(self.jobs, self.windows, self._relevant(waiting), strict=True):
            figures = windows.figures()
            if events.num_rows:
                times = job.clock.read(events.column(job.time), job.time)
                later = job.windows_of(int(times[0]), int(times[-1]), _first_open(job, self.until))
                start = figures.open.start if figures.open else later.start
                figures = replace(figures, open=range(start, later.stop))
            each.append(figures)
        return each

    def at_close(self) -> tuple[str, ...]:
        """Per query that is never online: why."""
        from greta.live.choice import why_not

        return tuple(why for job in self.jobs if (why := why_not(job)) is not None)

    def _relevant(self, ready: tuple[pa.Table, Int] | None) -> list[pa.Table]:
        if ready is None:
            return self._no_events
        return [relevant(job, ready[0])[0] for job in self.jobs]

    def _answer(self, closed: Sequence[pa.Table], changes: Sequence[pa.Table] | None) -> pa.Table:
        """The rows under the columns of all queries: final ones, then those of open windows that have changed."""
        parts = []
        labels: Sequence[Label | None] = self._labels or [None]
        for at, (label, job, final) in enumerate(zip(labels, self.jobs, closed, strict=True)):
            tables = [(final, True), *([(changes[at], False)] if changes is not None else [])]
            for table, is_final in tables:
                if table.num_rows:
                    with naming(label):
                        parts.append(self._spread(job.finish(table), label, final=is_final))
        return pa.concat_tables(parts) if parts else self.nothing

    def _spread(self, rows: pa.Table, label: Label | None, *, final: bool) -> pa.Table:
        schema = self.nothing.schema
        rows = _by_window(rows)
        if self.early:
            rows = rows.append_column(FINAL, pa.repeat(pa.scalar(final), rows.num_rows))
        if label is None:
            return rows
        return spread(rows, pa.scalar(label, schema.field(0).type), schema)


def _next_end(job: StreamJob, until: int) -> int:
    """The end of the first window that ends after ``until``."""
    if job.plan.window is None:
        return _FOREVER
    within, slide = job.windows
    return within + slide * _first_open(job, until)


def _last_end(job: StreamJob, until: int) -> int:
    """The end of the last window that ends at ``until`` or before."""
    return _next_end(job, until) - job.windows[1]


def _first_open(job: StreamJob, until: int) -> int:
    """The first window that ends after ``until``; 0 where there is but one."""
    if job.plan.window is None:
        return 0
    within, slide = job.windows
    return (until - within) // slide + 1


def _by_window(rows: pa.Table) -> pa.Table:
    """The rows in order of their windows."""
    starts = rows.column("window_start")
    if rows.num_rows < 2 or starts.null_count:
        return rows
    times = contiguous(starts).to_numpy(zero_copy_only=False)
    if (times[1:] >= times[:-1]).all():
        return rows
    return rows.take(pa.array(np.argsort(times, kind="stable")))
