"""The path of a batch from files: Parquet → packed events in the tasks that read it → shuffle → engine → rows.

Only packed buffers pass through the JVM. Where files are not what tasks can read by themselves, Spark reads them, and
the rows are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from greta.engine.job import Numbers
from greta.engine.queries import Queries
from greta.errors import DataError, GretaError
from greta.spark.batch.jobs import SparkJob
from greta.spark.batch.pipeline import Batch, BatchOptions
from greta.spark.batch.slices import plan_slices
from greta.spark.batch.tasks import BLOBS, bad_batch, pack_channels
from greta.spark.failures import met
from greta.spark.reading.parquet import Files, Portion, Wanted, deal, read_portion, useful_groups
from greta.spark.reading.times import TimeUnit, with_times
from greta.spark.sessions.cores import parallelism
from greta.spark.wire.carrier import carry_map
from greta.spark.wire.columns import declared, opened
from greta.spark.wire.hashing import can_hash
from greta.spark.wire.records import BadRecords, readable_rows
from greta.spark.wire.relevance import kept_rows, useful_rows
from greta.spark.wire.workers import tell_of_compilation

if TYPE_CHECKING:
    from pyspark.sql import Observation, SparkSession

_TASKS_PER_CORE = 2
"""Reading tasks: more than one per core even out row groups that take unequally long."""


def aggregate_files(
    spark: SparkSession,
    paths: str | Path | Sequence[str | Path],
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
) -> DataFrame:
    """Aggregate all trends of a query over Parquet files: the rows of ``aggregate(spark.read.parquet(…))``, sooner.

    Tasks read the files by themselves, row group by row group, and leave out those in which their statistics say that
    no event can play a part; only packed events pass through the JVM. This needs files that executors reach as plain
    paths (on this machine, or mounted alike everywhere), with the same columns in the same types in each; others
    (``s3a://``, partition directories, columns that some files lack) are read by Spark.

    The files are listed, and their footers read, at the call; otherwise it is as lazy as ``aggregate``.

    Args:
        spark: The session.
        paths: A file, a directory or a pattern, or several.
        query: A query, or several, as a list or as ``{name: query}``.
        time: The column with the time.
        type: The column with the type of each event.
        numbers: ``"double"``, or ``"exact"`` for digits of any size.
        tasks: The number of tasks after the shuffle; by default the cores that Spark has.
        cut: The length of the time ranges that run in parallel, as for ``aggregate``.
        time_unit: In which unit times that are numbers count from 1970; Spark reads the files then.
        bad_records: ``"stop"`` at an event without a readable time, with an error that shows it and names its file, or
            ``"skip"`` it.
        observation: Counts what was skipped: ``observation.get["bad_records"]``, once an action has run.

    Returns:
        A DataFrame of rows.
    """
    places = [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not places:
        raise GretaError("there are no paths", hint="name at least one file or directory")
    try:
        df = spark.read.parquet(*places)
    except Exception as error:
        if met(error, "PATH_NOT_FOUND"):
            raise DataError(f"{', '.join(places)}: there is no such path") from error
        if met(error, "UNABLE_TO_INFER_SCHEMA"):
            raise DataError(f"{', '.join(places)}: no Parquet files in it") from error
        raise
    options = BatchOptions(time, type, numbers, tasks, cut, bad_records, observation)
    return aggregate_inputs(with_times(opened(df), time, time_unit), [Files(df)], query, options)


def aggregate_inputs(df: DataFrame, inputs: Sequence[Files] | None, query: Queries, options: BatchOptions) -> DataFrame:
    """The rows over ``df``, which is what these inputs hold together; tasks read them by themselves if they can."""
    batch = Batch.of(df, query, options)
    job = batch.job
    groups = None
    if inputs is not None and all(can_hash(type_) for type_ in job.key_types):
        kinds = {field.name: field.dataType for field in df.schema.fields}
        wanted = Wanted({name: kinds[name] for name in job.schema.names}, job.plans, job.time, job.type)
        groups = useful_groups(inputs, wanted)
    if groups is None:
        return batch.rows(df)
    cores = parallelism(df.sparkSession)
    slices = plan_slices(groups, job, options.tasks or cores) if options.cut is None else None
    if slices is not None:
        return batch.answered(_numbers(df.sparkSession, len(slices)), slices)
    portions = deal(groups, _TASKS_PER_CORE * cores)
    packed = _numbers(df.sparkSession, len(portions)).mapInArrow(
        carry_map(partial(pack_files, hands=portions, job=job)), declared(BLOBS)
    )
    return batch.finished(packed)


def _numbers(spark: SparkSession, count: int) -> DataFrame:
    """The numbers from 0 on, each in a task of its own."""
    return spark.range(0, count, 1, max(1, count))


def pack_files(
    batches: Iterable[pa.RecordBatch], hands: Sequence[Sequence[Portion]], job: SparkJob
) -> Iterator[pa.RecordBatch]:
    """Numbers of hands → blobs of the events in their portions."""
    tell_of_compilation()
    for batch in batches:
        for number in batch.column(0).to_pylist():
            for portion in hands[number]:
                for events in read_portion(portion, job.schema, job.type):
                    yield from pack_piece(events, job, portion.path)


def pack_piece(events: dict[str, pa.Array], job: SparkJob, file: str) -> Iterator[pa.RecordBatch]:
    """Events of a file, columns by name in the engine's types → blobs of those that can play a part."""
    rows = len(events[job.time])
    events = kept_rows(events, useful_rows(job.plans, job.type, events, rows))
    good = readable_rows(events, job.time, job.jobs[0].clock, job.bad_records, file)
    if good is not None:
        yield bad_batch(int(len(good) - np.count_nonzero(good)))
        events = kept_rows(events, good)
    rows = len(events[job.time])
    if rows:
        places = [job.places.numbers(events, rows, channel.common, job.type) for channel in job.channels]
        yield from pack_channels(events, places, job)
