"""The path of a stream: streaming DataFrame → watermark → packed events → open windows in state → DataFrame of rows.

Buckets are hashes of the attributes that every trend agrees on, so a partition's events always meet in one bucket.
All buckets see every micro-batch and the same watermark, so they close a window in the same micro-batch, and the parts
of a group that lie in several buckets are merged within it, without more state.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Literal, get_args

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.engine.job import Numbers
from greta.engine.queries import Label, Queries, bind_all, labelled, naming
from greta.engine.stream_jobs import StreamJob, sharing, with_common_columns
from greta.errors import DataError, GretaError, QueryMeaningError
from greta.lang.nodes import Semantics
from greta.plan.nodes import Plan
from greta.spark.compat import transform_with_state
from greta.spark.reading.formats import CORRUPT
from greta.spark.reading.times import TimeUnit, with_times
from greta.spark.sessions.choices import choose_arrow_batches, choose_state
from greta.spark.stream.behind import WATERMARK, carry_watermark
from greta.spark.stream.carrier import carry_state
from greta.spark.stream.checkpoint import claim, stream_layout
from greta.spark.stream.graphs import local_directory, remove_at_the_end
from greta.spark.stream.pack import PACKED_DDL, Packer, Unpacker
from greta.spark.stream.pending import require_pending_files
from greta.spark.stream.state import RESULT_DDL, LateEvents, OpenWindows, ParquetLateEvents
from greta.spark.wire.carrier import carry_map
from greta.spark.wire.columns import Answer, arrow_schema, declared, finished, named, neutral, opened, outgoing, quoted
from greta.spark.wire.filters import fractions, useful
from greta.spark.wire.places import Places, coded_types
from greta.spark.wire.queries import merged_columns
from greta.spark.wire.records import BadRecords, require_known, unreadable

Emit = Literal["final", "update"]

BUCKETS = 8
FINAL = "final"
"""The column that tells final rows from early ones."""
METRICS = "greta"
"""The name under which a stream reports through Spark's query progress."""

_EVENT_TIME = "greta_event_time"


def aggregate_stream(
    df: DataFrame,
    query: Queries,
    *,
    time: str = "time",
    type: str = "type",  # noqa: A002 - the word that every backend uses
    numbers: Numbers = "double",
    lateness: str | None = None,
    emit: Emit = "final",
    late_events: str | LateEvents | None = None,
    time_unit: TimeUnit | None = None,
    bad_records: BadRecords = "stop",
    buckets: int = BUCKETS,
    checkpoint: str | None = None,
    metrics: str = METRICS,
) -> DataFrame:
    """Aggregate all trends of a query over a stream: a row per group and window once the watermark passes its end.

    The rows are those of a batch over the same events, for the sink's append mode. Several queries share the stream,
    their rows come as from a batch; those with the same windows, types, local predicates and partitions keep their
    events once.

    ``window_end`` of the rows carries the watermark on: operators of Spark may stand behind them in the same query.

    Sets the session's state store to RocksDB, which stateful Python operators need, unless a store on RocksDB is set,
    such as a vendor's. Where nobody has set them, also that it stores what a micro-batch changed and no more, and
    ``spark.sql.shuffle.partitions``: Spark would make 200 parts of state and visit each in every micro-batch.

    Args:
        df: A streaming DataFrame of events.
        query: A query, or several, as for a batch. Every query needs WITHIN.
        time: The column with the time.
        type: The column with the type of each event.
        numbers: ``"double"``, or ``"exact"`` for digits of any size.
        lateness: How late events may come, e.g. ``"30 seconds"``, where ``df`` has no watermark on the time column.
            Events before the watermark are dropped and counted; it is that of this stream, though another one in the
            same query of Spark be further behind.
        emit: ``"update"`` also returns the current rows of open windows at every trigger; a column ``final`` tells
            them apart. Each trigger then costs a copy of what is kept online, too.
        late_events: A directory for Parquet files of the dropped events, or a function of (Arrow table, number of the
            micro-batch) that workers call, again where a task is repeated. Only the columns that the query reads are
            there.
        time_unit: The unit in which times that are numbers count from 1970: ``s``, ``ms``, ``us`` or ``ns``; it takes
            ``lateness`` too.
        bad_records: ``"stop"`` at an event without a readable time, or ``"skip"`` and count it.
        buckets: How many parts the partitions are dealt into, and so the most tasks that work at a time. Like the
            query's columns it is fixed by the checkpoint.
        checkpoint: The directory that the sink will use as its ``checkpointLocation``. A checkpoint that belongs to a
            query which this one cannot go on from is then refused here; otherwise by the first micro-batch that
            meets its state.
        metrics: The name of the figures in ``StreamingQueryProgress.observedMetrics``: ``late_events``,
            ``bad_records``, ``state_rows``, ``state_bytes``, ``live_bytes``, ``buckets_at_close``, ``open_windows`` and
            ``oldest_window`` (its start in milliseconds). Several queries have ``late_events_0`` and so on, too.

    Returns:
        A streaming DataFrame of rows.
    """
    _require(emit in get_args(Emit), f"emit must be 'final' or 'update', not {emit!r}")
    require_known(bad_records)
    _require(buckets > 0, f"buckets is {buckets}; it must be at least 1")
    _require(df.isStreaming, "aggregate_stream needs a streaming DataFrame", hint="use aggregate for a batch")
    df = with_times(opened(df), time, time_unit)
    labels, queries = labelled(query)
    schema = _schema(df)
    bound = bind_all(labels, queries, schema, time=time, type=type, numbers=numbers)
    names: Sequence[Label | None] = labels or [None]
    for label, job in zip(names, bound, strict=True):
        with naming(label):
            _require_window(job.plan)
    plain = [StreamJob.of(job) for job in bound]
    groups = sharing(plain)
    jobs = with_common_columns(plain, groups)
    answers = [Answer.of(job, df.schema) for job in bound]
    early = emit == "update"
    sink = ParquetLateEvents(late_events) if isinstance(late_events, str) else late_events
    if checkpoint is not None:
        claim(checkpoint, stream_layout(jobs, groups, buckets))
        require_pending_files(checkpoint)
    choose_arrow_batches(df.sparkSession)
    choose_state(df.sparkSession, buckets * len(groups))
    remove_at_the_end(df.sparkSession)
    marked = _watermarked(df, time, lateness)
    delay = None if lateness is None else _delay(marked, time)
    windows = OpenWindows(jobs, groups, buckets, early, sink, local_directory(df.sparkSession), delay)
    results = (
        _packed(marked, tuple(jobs[group[0]] for group in groups), schema, buckets, bad_records)
        .transform(_with_state, windows)
        .observe(metrics, *_figures(jobs))
    )
    merges = any(_merges(job.plan) for job in jobs)
    if merges:
        results = results.where("blob IS NOT NULL").repartition("query", "merge")
    marks, common, final = None, answers[0].travelling, answers[0].final
    if labels is not None:
        marks, common, final = merged_columns(labels, answers)
    if early:
        _require(FINAL not in common.names, f"a column is named {FINAL}, which marks rows", hint="rename it with AS")
        common, final = common.append(pa.field(FINAL, pa.bool_())), (*final, T.BooleanType())
    unpack = Unpacker(jobs, tuple(answer.travelling for answer in answers), common, marks, early, merges)
    rows = results.select("query", "final", "blob").mapInArrow(carry_map(unpack), declared(neutral(common)))
    return carry_watermark(finished(rows, common.names, final))


def why_at_close(
    df: DataFrame,
    query: Queries,
    *,
    time: str = "time",
    type: str = "type",  # noqa: A002 - the word that every backend uses
    numbers: Numbers = "double",
    time_unit: TimeUnit | None = None,
) -> list[str]:
    """Per query whose windows a stream computes from their events when they end, whatever its micro-batches: why."""
    from greta.live.choice import why_not

    labels, queries = labelled(query)
    schema = _schema(with_times(opened(df), time, time_unit))
    bound = bind_all(labels, queries, schema, time=time, type=type, numbers=numbers)
    return [why for job in bound if (why := why_not(StreamJob.of(job))) is not None]


def _schema(df: DataFrame) -> pa.Schema:
    """The columns of the events."""
    return arrow_schema(T.StructType([field for field in df.schema if field.name != CORRUPT]))


def _with_state(df: DataFrame, windows: OpenWindows) -> DataFrame:
    return transform_with_state(df.groupBy("bucket"), carry_state(windows), RESULT_DDL)


def _require(holds: bool, message: str, hint: str | None = None) -> None:
    if not holds:
        raise GretaError(message, hint=hint)


def _require_window(plan: Plan) -> None:
    if plan.window is None:
        raise QueryMeaningError(
            "a query over a stream needs WITHIN: without it, its one window never ends",
            hint="add a window, e.g. WITHIN 10 minutes SLIDE 10 seconds",
        )


def _merges(plan: Plan) -> bool:
    """Whether a group can have parts in several buckets."""
    common = set(plan.partitioning.common)
    return bool(common) and not common <= set(plan.group)


def _watermarked(df: DataFrame, time: str, lateness: str | None) -> DataFrame:
    """The stream with a watermark on its time; without one, Spark would never close a window, nor say so."""
    marked = [field.name for field in df.schema.fields if WATERMARK in field.metadata]
    kind = df.schema[time].dataType
    if lateness is None:
        if time in marked:
            return df
        other = f"; the one on {marked[0]} does not serve" if marked else ""
        raise DataError(
            f"the stream has no watermark on its time column {time!r}{other}, so no window would ever close",
            hint=f"pass lateness='30 seconds', or use df.withWatermark({time!r}, '30 seconds')",
        )
    if marked:
        raise DataError(
            f"the stream already has a watermark on {marked[0]}, and lateness would give it another", hint="drop one"
        )
    instants = isinstance(kind, T.TimestampType)
    if not instants:
        df = df.withColumn(_EVENT_TIME, _instant(time, kind))
    try:
        return df.withWatermark(quoted(time) if instants else _EVENT_TIME, lateness)
    except PySparkException as error:
        raise GretaError(f"lateness {lateness!r} is no length of time", hint="write it as '30 seconds'") from error


def _delay(df: DataFrame, time: str) -> int | None:
    """How many milliseconds the watermark is behind the newest event; None where that is not on Spark's own times."""
    delay = df.schema[time].metadata.get(WATERMARK)
    return None if delay is None else int(delay)


def _instant(time: str, kind: T.DataType) -> Column:
    match kind:
        # Times without a zone mean UTC, whatever the session's zone is.
        case T.TimestampNTZType():
            return F.concat(named(time).cast("string"), F.lit("Z")).cast("timestamp")
        case T.DateType():
            return F.concat(named(time).cast("string"), F.lit("T00:00:00Z")).cast("timestamp")
        case _:
            # What is no time must not move the watermark.
            micros = F.floor(named(time).cast("double") * 1_000_000).cast("bigint")
            return F.when(~unreadable(time, kind), F.timestamp_micros(micros))


def _packed(
    df: DataFrame, jobs: tuple[StreamJob, ...], schema: pa.Schema, buckets: int, bad_records: BadRecords
) -> DataFrame:
    kinds = {field.name: field.dataType for field in df.schema.fields}
    # Under contiguous semantics events of all types are stored, under their names.
    contiguous = any(job.plan.semantics is Semantics.CONTIGUOUS for job in jobs)
    spread = Places(buckets, None if contiguous else coded_types(jobs))
    needed = dict.fromkeys(name for job in jobs for name in job.schema.names)
    if spread.types is not None:
        del needed[jobs[0].type]
    keys = {job.common: f"greta_place_{at}" for at, job in enumerate(jobs)}
    places = [spread.column(common, jobs[0].type).alias(name) for common, name in keys.items()]
    # By position: names with dots in them are no names to the function that calls Python.
    columns = [outgoing(name, kinds[name]).alias(f"c{at}") for at, name in enumerate(needed)]
    # The text of a record that cannot be read, for the error that stops at it.
    texts = [F.col(CORRUPT)] if CORRUPT in df.columns and bad_records == "stop" else []
    selected = _useful(df, jobs).select(*columns, *places, *texts)
    packer = Packer(
        jobs,
        tuple(keys[job.common] for job in jobs),
        spread,
        pa.schema([schema.field(name) for name in needed]),
        bad_records,
    )
    return selected.mapInArrow(carry_map(packer), PACKED_DDL)


def _useful(df: DataFrame, jobs: tuple[StreamJob, ...]) -> DataFrame:
    """Only rows that can play a part, and those that have no readable time and must be met as such.

    The condition speaks of the watermark's own column, so Spark keeps it above the watermark: events that play no part
    still move time on.
    """
    condition = useful(
        [job.plan for job in jobs], jobs[0].type, fractions(field for job in jobs for field in job.schema)
    )
    if condition is None:
        return df
    time = jobs[0].time
    bad = unreadable(time, df.schema[time].dataType)
    if _EVENT_TIME in df.columns:
        bad = bad | F.col(_EVENT_TIME).isNull()
    return df.where(condition | bad)


def _figures(jobs: tuple[StreamJob, ...]) -> list[Column]:
    windows = [F.coalesce(F.max(_of(at, "last")) - F.min(_of(at, "first")) + 1, F.lit(0)) for at in range(len(jobs))]
    figures = [
        *(F.coalesce(F.sum(column), F.lit(0)).alias(name) for column, name in _SUMS.items()),
        F.min("oldest").alias("oldest_window"),
        reduce(lambda left, right: left + right, windows).alias("open_windows"),
    ]
    if len(jobs) > 1:
        figures += [F.coalesce(F.sum(_of(at, "late")), F.lit(0)).alias(f"late_events_{at}") for at in range(len(jobs))]
    return figures


_SUMS = {
    "late": "late_events",
    "bad": "bad_records",
    "rows": "state_rows",
    "bytes": "state_bytes",
    "live": "live_bytes",
    "at_close": "buckets_at_close",
}


def _of(query: int, column: str) -> Column:
    return F.when(F.col("query") == query, F.col(column))
