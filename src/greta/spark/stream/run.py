"""A running stream watched from outside: figures per micro-batch, a polite end, and errors in greta's words."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from greta.errors import GretaError, SetupError
from greta.spark import failures
from greta.spark.failures import no_source
from greta.spark.stream.pipeline import METRICS
from greta.spark.stream.sources import no_connector
from greta.spark.wire.columns import in_seconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

ROWS = "greta_rows"
"""The name under which the rows that a sink gets are counted."""
PROGRESS = "_greta/progress.jsonl"
"""Where a stream's figures are written, beneath its output directory."""
QUERY = "_greta/query.greta"
"""Where its query is written: whoever reads the rows can see what they mean."""

_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Status:
    """Figures of one micro-batch."""

    time: str
    batch: int
    events: int
    events_per_second: float
    batch_seconds: float
    lag_seconds: float | None
    """How far the clock is ahead of the latest event that the batch brought."""
    open_windows: int
    state_rows: int
    state_bytes: int
    late_events: int
    """All so far; those of runs before this one, too, where their log is at hand."""
    bad_records: int
    rows: int = 0
    """Rows that the batch gave to the sink."""
    last_row_seconds: float | None = None
    """End of the latest window among them, in seconds since the epoch."""
    buckets_at_close: int = 0
    """Buckets whose windows were computed from their events when they ended, of all queries."""

    @staticmethod
    def of(progress: dict[str, Any], late: int, bad: int) -> Status:
        """Read Spark's progress report; ``late`` and ``bad`` are the sums before it."""
        figures = progress.get("observedMetrics", {}).get(METRICS) or {}
        written = progress.get("observedMetrics", {}).get(ROWS) or {}
        began = datetime.fromisoformat(progress["timestamp"])
        seconds = progress.get("batchDuration", 0) / 1000
        newest = progress.get("eventTime", {}).get("max")
        lag = None if newest is None else began.timestamp() + seconds - datetime.fromisoformat(newest).timestamp()
        events = int(progress.get("numInputRows", 0))
        return Status(
            time=datetime.fromtimestamp(began.timestamp() + seconds, UTC).isoformat(timespec="milliseconds"),
            batch=int(progress["batchId"]),
            events=events,
            events_per_second=round(events / seconds, 1) if seconds else 0.0,
            batch_seconds=seconds,
            lag_seconds=None if lag is None else round(lag, 3),
            open_windows=int(figures.get("open_windows") or 0),
            state_rows=int(figures.get("state_rows") or 0),
            state_bytes=int(figures.get("state_bytes") or 0),
            late_events=late + int(figures.get("late_events") or 0),
            bad_records=bad + int(figures.get("bad_records") or 0),
            rows=int(written.get("rows") or 0),
            last_row_seconds=written.get("last_row"),
            buckets_at_close=int(figures.get("buckets_at_close") or 0),
        )


@dataclass(slots=True)
class Watch:
    """Follows a query's micro-batches, writes their figures, and ends it when asked."""

    query: StreamingQuery
    log: Path | None = None
    show: Callable[[Status], None] | None = None
    events: int = 0
    late: int = 0
    bad: int = 0
    _seen: int = field(default=-1)

    def __post_init__(self) -> None:
        if self.log is not None and self.log.is_file():
            lines = self.log.read_text("utf-8").splitlines()
            # A kill may have cut the last line short.
            whole = next((line for line in reversed(lines) if line.endswith("}")), "{}")
            self.late = json.loads(whole).get("late_events", 0)
            self.bad = json.loads(whole).get("bad_records", 0)

    def until(self, ended: Callable[[], bool]) -> None:
        """Watch until the query ends, or ``ended()``: then the running micro-batch is finished first.

        Raises what made the query fail, as a ``GretaError``.
        """
        while self.query.isActive and not ended():
            self.look()
            time.sleep(_POLL_SECONDS)
        if self.query.isActive:
            self._finish_batch()
            self.query.stop()
        self.look()
        failure = self._failure()
        self._write(
            {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "ended": "failed" if failure is not None else "stopped",
                "late_events": self.late,
                "bad_records": self.bad,
            }
        )
        if failure is not None:
            raise explained(failure)

    def _failure(self) -> Exception | None:
        """What made the query fail, as Spark raises it: what ``exception()`` returns has lost its causes."""
        failure = self.query.exception()
        if failure is not None:
            try:
                self.query.awaitTermination(1)
            except StreamingQueryException as raised:
                return raised
        return failure

    def look(self) -> None:
        """Take in the micro-batches that have ended since the last look."""
        for report in self.query.recentProgress:
            progress = json.loads(report.json)
            # Spark reports idle triggers too, under the number of the batch to come.
            if progress["batchId"] <= self._seen or "addBatch" not in progress["durationMs"]:
                continue
            self._seen = progress["batchId"]
            status = Status.of(progress, self.late, self.bad)
            self.late, self.bad = status.late_events, status.bad_records
            self.events += status.events
            self._write(asdict(status))
            if self.show is not None:
                self.show(status)

    def _write(self, line: dict[str, Any]) -> None:
        """Add a line to the log: the figures of a micro-batch, or last of all how the stream ended."""
        if self.log is not None:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            with self.log.open("a", encoding="utf-8") as log:
                log.write(json.dumps(line) + "\n")

    def _finish_batch(self) -> None:
        seen = self._seen
        while self.query.isActive and self.query.status["isTriggerActive"] and self._seen == seen:
            time.sleep(_POLL_SECONDS)
            self.look()


def counted(rows: DataFrame) -> DataFrame:
    """The same rows, counted on their way, with the end of the latest window."""
    kind = next(field.dataType for field in rows.schema.fields if field.name == "window_end")
    last = F.max(in_seconds("window_end", kind)).alias("last_row")
    return rows.observe(ROWS, F.count(F.lit(1)).alias("rows"), last)


def note_query(directory: Path, text: str) -> None:
    """Write the query beneath the output directory."""
    file = directory / QUERY
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"the output directory {directory} cannot be written: {error}",
            hint="give a directory that you may write, on a disk with room",
        ) from error


def explained(failure: Exception) -> GretaError:
    """Why a stream stopped, without the stack of the machinery in between."""
    if no_source(failure):
        return no_connector()
    return failures.told(
        failure,
        "the stream",
        "once the cause is mended, start it again with the same checkpoint: it goes on where it stopped",
    )
