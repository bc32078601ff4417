"""The path of a batch: DataFrame of events → plans → packed events → shuffle → engine → DataFrame of rows.

Nothing is computed here: the DataFrame that comes back is as lazy as the one that went in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from greta.engine.job import Job, Numbers
from greta.engine.queries import Queries, bind_all, labelled
from greta.errors import GretaError
from greta.spark.batch.jobs import Channel, SparkJob, relevant_types
from greta.spark.batch.ranges import Ranges, Share, plan_measured_ranges, plan_ranges
from greta.spark.batch.slices import Slice, answer_slices
from greta.spark.batch.tasks import BLOBS, aggregate_events, answer_directly, finish_groups, pack_events
from greta.spark.compat import repartition_by_id
from greta.spark.reading.times import TimeUnit, with_times
from greta.spark.sessions.choices import choose_arrow_batches
from greta.spark.sessions.cores import parallelism
from greta.spark.wire.carrier import carry_map
from greta.spark.wire.columns import Answer, arrow_schema, declared, finished, in_seconds, neutral, opened, outgoing
from greta.spark.wire.filters import fractions, useful
from greta.spark.wire.places import coded_types
from greta.spark.wire.queries import Merged, merged_columns
from greta.spark.wire.records import BadRecords, require_known


def aggregate(
    df: DataFrame,
    query: Queries,
    *,
    time: str = "time",
    type: str = "type",  # noqa: A002 - the word that every backend uses
    numbers: Numbers = "double",
    tasks: int | None = None,
    cut: float | Literal["measure"] | None = None,
    time_unit: TimeUnit | None = None,
    bad_records: BadRecords = "stop",
    observation: Observation | None = None,
    **streaming: Any,
) -> DataFrame:
    """Aggregate all trends of a query over a DataFrame of events: a row per group and window with a trend.

    Lazy, for classic Spark and Spark Connect alike, e.g. ``df.transform(greta.spark.aggregate, query)``. Mistakes in
    the query and columns that the events lack raise a ``GretaError`` here, before any job; ``check`` looks at the
    events as well.

    Several queries (a list, or names with queries) read the events once and shuffle them once. Their rows come
    under the columns of all of them, NULL where a query has no such column, with a column ``query`` in front: the
    query's name, or its position where none has a name. Fields of structures are attributes: ``S.payload.price``.

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
        time_unit: The unit in which times that are numbers count from 1970: ``s``, ``ms``, ``us`` or ``ns``; without it
            they are seconds.
        bad_records: ``"stop"`` at an event without a readable time, with an error that shows it, or ``"skip"`` it.
        observation: Counts what was skipped: ``observation.get["bad_records"]``, once an action has run.
        **streaming: The options of a stream, as below: first of all ``lateness="30 seconds"``.

    Returns:
        A DataFrame of rows.
    """
    if df.isStreaming:
        given = {"tasks": tasks, "cut": cut, "observation": observation}
        for name in (name for name, value in given.items() if value is not None):
            raise GretaError(
                f"{name} is for batches",
                hint="a stream is shared out by buckets=, its windows by time as they close; its progress has figures",
            )
        from greta.spark.stream import aggregate_stream

        return aggregate_stream(
            df,
            query,
            time=time,
            type=type,
            numbers=numbers,
            time_unit=time_unit,
            bad_records=bad_records,
            **streaming,
        )
    if streaming:
        raise GretaError(f"{', '.join(streaming)}: only a streaming DataFrame takes such options")
    options = BatchOptions(time, type, numbers, tasks, cut, bad_records, observation)
    events = with_times(opened(df), time, time_unit)
    return Batch.of(events, query, options).rows(events)


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """How a batch is computed, in the words of ``aggregate``."""

    time: str = "time"
    type: str = "type"
    numbers: Numbers = "double"
    tasks: int | None = None
    cut: float | Literal["measure"] | None = None
    bad_records: BadRecords = "stop"
    observation: Observation | None = None

    @staticmethod
    def counting(
        time: str,
        type: str,  # noqa: A002 - the word that every backend uses
        numbers: Numbers,
        cut: float | Literal["measure"] | None,
        *,
        skip: bool,
    ) -> BatchOptions:
        """Options of a batch that skips events without a readable time and counts them, if ``skip``."""
        if not skip:
            return BatchOptions(time, type, numbers, cut=cut)
        return BatchOptions(time, type, numbers, cut=cut, bad_records="skip", observation=Observation())

    @property
    def skipped(self) -> int:
        """Events that were left out. Ask only after an action has run."""
        return 0 if self.observation is None else int(self.observation.get["bad_records"] or 0)

    def __post_init__(self) -> None:
        require_known(self.bad_records)
        if isinstance(self.cut, str) and self.cut != "measure":
            raise GretaError(f"cut must be a number or 'measure', not {self.cut!r}")


@dataclass(frozen=True, slots=True)
class Batch:
    """Queries bound to a DataFrame's columns: what its events become, whoever reads and packs them."""

    job: SparkJob
    answers: tuple[Answer, ...]
    merged: Merged | None
    """For several queries: their labels, travelling columns and final types."""
    observation: Observation | None

    @staticmethod
    def of(df: DataFrame, query: Queries, options: BatchOptions) -> Batch:
        """Bind queries; with ``cut="measure"`` a small job counts the events at once."""
        labels, queries = labelled(query)
        schema = arrow_schema(df.schema)
        jobs = tuple(bind_all(labels, queries, schema, time=options.time, type=options.type, numbers=options.numbers))
        answers = tuple(Answer.of(job, df.schema) for job in jobs)
        merged = None if labels is None else merged_columns(labels, answers)
        tasks = options.tasks or parallelism(df.sparkSession)
        direct = merged is None and set(jobs[0].plan.partitioning.common) <= set(jobs[0].plan.group)
        measures = options.cut == "measure"
        job = share_out(jobs, tasks, direct, None if isinstance(options.cut, str) else options.cut)
        if measures:
            channels = (replace(channel, ranges=_measured(df, channel, job)) for channel in job.channels)
            job = replace(job, channels=tuple(channels))
        return Batch(replace(job, bad_records=options.bad_records), answers, merged, options.observation)

    def rows(self, df: DataFrame) -> DataFrame:
        """Events → rows."""
        choose_arrow_batches(df.sparkSession)
        pack = carry_map(partial(pack_events, job=self.job))
        return self.finished(_packable(df, self.job).mapInArrow(pack, declared(BLOBS)))

    def answered(self, numbers: DataFrame, slices: Sequence[Slice]) -> DataFrame:
        """Numbers of slices of files → rows."""
        names, common, final = self.merged or (None, self.answers[0].travelling, self.answers[0].final)
        answer = partial(
            answer_slices,
            slices=slices,
            job=self.job,
            schemas=[answer.travelling for answer in self.answers],
            labels=names,
            common=common,
        )
        return finished(numbers.mapInArrow(carry_map(answer), declared(neutral(common))), common.names, final)

    def finished(self, packed: DataFrame) -> DataFrame:
        """Blobs of events → rows."""
        job, answers = self.job, self.answers
        if job.bad_records == "skip":
            if self.observation is not None:
                skipped = F.coalesce(F.sum(F.when(F.col("blob").isNull(), F.col("slab"))), F.lit(0))
                packed = packed.observe(self.observation, skipped.alias("bad_records"))
            packed = packed.where("blob IS NOT NULL")
        events = packed.transform(repartition_by_id, job.tasks, "task").sortWithinPartitions("channel", "slab")
        if job.direct:
            answer = answers[0]
            rows = events.mapInArrow(
                carry_map(partial(answer_directly, job=job, schema=answer.travelling)),
                declared(neutral(answer.travelling)),
            )
            return finished(rows, answer.names, answer.final)
        parts = (
            events.mapInArrow(carry_map(partial(aggregate_events, job=job)), declared(BLOBS))
            .transform(repartition_by_id, job.tasks, "task")
            .sortWithinPartitions("channel", "slab")
        )
        names, common, final = self.merged or (None, answers[0].travelling, answers[0].final)
        finish = partial(
            finish_groups, job=job, schemas=[answer.travelling for answer in answers], labels=names, common=common
        )
        return finished(parts.mapInArrow(carry_map(finish), declared(neutral(common))), common.names, final)


def share_out(jobs: tuple[Job, ...], tasks: int, direct: bool, cut: float | None) -> SparkJob:
    """Queries with the same partition attributes share a channel; what any of them reads travels once per channel."""
    fields = {field.name: field for job in jobs for field in job.schema}
    plans = [job.plan for job in jobs]
    types = coded_types(jobs)
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
    places = [job.places.column(channel.common, job.type).alias(f"p{at}") for at, channel in enumerate(job.channels)]
    return df.select(*columns, *places)


def _filtered(df: DataFrame, job: SparkJob) -> DataFrame:
    condition = useful(job.plans, job.type, fractions(job.schema))
    return df if condition is None else df.where(condition)


def _measured(df: DataFrame, channel: Channel, job: SparkJob) -> Ranges | None:
    """Ranges from counts per share: one job, which groups the events by at most 256 numbers."""
    plans = tuple(job.plans[number] for number in channel.queries)
    kind = next(field.dataType for field in df.schema.fields if field.name == job.time)
    seconds = in_seconds(job.time, kind)
    counted = (
        _filtered(df, job)
        .groupBy(job.places.part(channel.common).alias("share"))
        .agg(F.count(F.lit(1)).alias("events"), F.min(seconds).alias("first"), F.max(seconds).alias("last"))
        .where(F.col("first").isNotNull())
    )
    return plan_measured_ranges(plans, [Share(*row) for row in counted.collect()], job.tasks)
