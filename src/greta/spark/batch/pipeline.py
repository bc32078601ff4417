"""The path of a batch: DataFrame of events → plans → packed events → shuffle → engine → DataFrame of rows.

Nothing is computed here: the DataFrame that comes back is as lazy as the one that went in.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from greta.engine.job import Job, Numbers
from greta.engine.queries import Queries, bind_all, labelled
from greta.errors import GretaError
from greta.spark.batch.jobs import SHARE_BITS, Channel, SparkJob, relevant_types
from greta.spark.batch.ranges import Ranges, Share, plan_measured_ranges, plan_ranges
from greta.spark.batch.tasks import BLOBS, aggregate_events, answer_directly, finish_groups, pack_events
from greta.spark.compat import repartition_by_id
from greta.spark.sessions.cores import parallelism
from greta.spark.wire.columns import Answer, arrow_schema, declared, finished, in_seconds, named, neutral, outgoing
from greta.spark.wire.filters import useful
from greta.spark.wire.queries import merged_columns


def aggregate(
    df: DataFrame,
    query: Queries,
    *,
    time: str = "time",
    type: str = "type",  # noqa: A002 - the word that every backend uses
    numbers: Numbers = "double",
    tasks: int | None = None,
    cut: float | Literal["measure"] | None = None,
    **streaming: Any,
) -> DataFrame:
    """Aggregate all trends of a query over a DataFrame of events: a row per group and window with a trend.

    Lazy, for classic Spark and Spark Connect alike, e.g. ``df.transform(greta.spark.aggregate, query)``. Mistakes in
    the query and columns that the events lack raise a ``GretaError`` here, before any job.

    Several queries (a list, or names with queries) read the events once and shuffle them once. Their rows come
    under the columns of all of them, NULL where a query has no such column, with a column ``query`` in front: the
    query's name, or its position where none has a name.

    Args:
        df: A DataFrame of events; a streaming one gives a streaming one.
        query: A query, or several, as a list or as ``{name: query}``.
        time: The column with the time.
        type: The column with the type of each event.
        numbers: ``"double"``, or ``"exact"`` for digits of any size.
        tasks: The number of tasks after the shuffle; by default the cores that Spark has.
        cut: The length, in multiples of WITHIN, of the time ranges that run in parallel within a partition; 0 runs
            every partition whole, and the default moves at most an eighth more events for it. ``"measure"`` counts
            the events first, in a small job that runs at once, and cuts as finely as they need: for windows that
            last long beside the events.
        **streaming: The options of a stream, as below: first of all ``lateness="30 seconds"``.

    Returns:
        A DataFrame of rows.
    """
    if isinstance(cut, str) and cut != "measure":
        raise GretaError(f"cut must be a number or 'measure', not {cut!r}")
    if df.isStreaming:
        if tasks is not None or cut is not None:
            raise GretaError(
                f"{'tasks' if tasks is not None else 'cut'} is for batches",
                hint="a stream is shared out by buckets=, its windows by time as they close",
            )
        from greta.spark.stream import aggregate_stream

        return aggregate_stream(df, query, time=time, type=type, numbers=numbers, **streaming)
    if streaming:
        raise GretaError(f"{', '.join(streaming)}: only a streaming DataFrame takes such options")
    labels, queries = labelled(query)
    schema = arrow_schema(df.schema)
    jobs = tuple(bind_all(labels, queries, schema, time=time, type=type, numbers=numbers))
    answers = [Answer.of(job, df.schema) for job in jobs]
    merged = None if labels is None else merged_columns(labels, answers)
    tasks = tasks or parallelism(df.sparkSession)
    direct = merged is None and set(jobs[0].plan.partitioning.common) <= set(jobs[0].plan.group)
    job = _shared_out(jobs, tasks, direct, None if cut == "measure" else cut)
    if cut == "measure":
        channels = (replace(channel, ranges=_measured(df, channel, job)) for channel in job.channels)
        job = replace(job, channels=tuple(channels))
    events = (
        _packable(df, job)
        .mapInArrow(partial(pack_events, job=job), declared(BLOBS))
        .transform(repartition_by_id, job.tasks, "task")
        .sortWithinPartitions("channel", "slab")
    )
    if job.direct:
        answer = answers[0]
        rows = events.mapInArrow(
            partial(answer_directly, job=job, schema=answer.travelling), declared(neutral(answer.travelling))
        )
        return finished(rows, answer.names, answer.final)
    parts = (
        events.mapInArrow(partial(aggregate_events, job=job), declared(BLOBS))
        .transform(repartition_by_id, job.tasks, "task")
        .sortWithinPartitions("channel", "slab")
    )
    names, common, final = merged or (None, answers[0].travelling, answers[0].final)
    finish = partial(
        finish_groups, job=job, schemas=[answer.travelling for answer in answers], labels=names, common=common
    )
    return finished(parts.mapInArrow(finish, declared(neutral(common))), common.names, final)


def _shared_out(jobs: tuple[Job, ...], tasks: int, direct: bool, cut: float | None) -> SparkJob:
    """Queries with the same partition attributes share a channel; what any of them reads travels once per channel."""
    fields = {field.name: field for job in jobs for field in job.schema}
    plans = [job.plan for job in jobs]
    coded = all(jobs[0].type not in plan.attributes for plan in plans)
    types = tuple(dict.fromkeys(name for plan in plans for name in plan.event_types)) if coded else None
    alike: dict[tuple[str, ...], list[int]] = {}
    for number, plan in enumerate(plans):
        alike.setdefault(tuple(sorted(plan.partitioning.common)), []).append(number)
    channels = []
    for common, members in alike.items():
        columns = dict.fromkeys(name for number in members for name in jobs[number].columns)
        members_plans = [plans[number] for number in members]
        channels.append(
            Channel(
                common,
                tuple(members),
                tuple(columns),
                relevant_types(members_plans, types),
                plan_ranges(tuple(members_plans), cut),
            )
        )
    return SparkJob(jobs, tuple(channels), pa.schema(list(fields.values())), types, tasks, direct)


def _packable(df: DataFrame, job: SparkJob) -> DataFrame:
    """Only rows and columns that some query needs, and the place of each row in each channel."""
    df = _filtered(df, job)
    kinds = {field.name: field.dataType for field in df.schema.fields}
    columns = [outgoing(name, kinds[name]).alias(f"c{at}") for at, name in enumerate(job.wire)]
    places = [_place(channel, job).alias(f"p{at}") for at, channel in enumerate(job.channels)]
    return df.select(*columns, *places)


def _filtered(df: DataFrame, job: SparkJob) -> DataFrame:
    fractions = [field.name for field in job.schema if pa.types.is_decimal(field.type) and field.type.scale > 0]
    condition = useful(job.plans, job.type, fractions)
    return df if condition is None else df.where(condition)


def _measured(df: DataFrame, channel: Channel, job: SparkJob) -> Ranges | None:
    """Ranges from counts per share: one job, which groups the events by at most 256 numbers."""
    plans = tuple(job.plans[number] for number in channel.queries)
    kind = next(field.dataType for field in df.schema.fields if field.name == job.time)
    seconds = in_seconds(job.time, kind)
    counted = (
        _filtered(df, job)
        .groupBy(_share(channel).alias("share"))
        .agg(F.count(F.lit(1)).alias("events"), F.min(seconds).alias("first"), F.max(seconds).alias("last"))
        .where(F.col("first").isNotNull())
    )
    return plan_measured_ranges(plans, [Share(*row) for row in counted.collect()], job.tasks)


def _share(channel: Channel) -> Column:
    """The top bits of the hash of a row's partition."""
    if not channel.common:
        return F.lit(0)
    hashed = F.xxhash64(*(named(name) for name in channel.common))
    return F.shiftrightunsigned(hashed, 64 - SHARE_BITS).cast("int")


def _place(channel: Channel, job: SparkJob) -> Column:
    """The share of a row's partition, and above it the code of its type."""
    share = _share(channel)
    if job.types is None or job.one_type:
        return share
    code = F.lit(len(job.types) << SHARE_BITS)
    for number, name in reversed(list(enumerate(job.types))):
        code = F.when(named(job.type) == name, F.lit(number << SHARE_BITS)).otherwise(code)
    return code + share
