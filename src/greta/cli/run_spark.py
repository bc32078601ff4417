"""``greta run`` on Spark: inputs in, the rows that someone looks at out, all others straight into their directory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

import greta.spark
from greta.cli.rows import BOUNDS
from greta.datasets.inputs import Columns, Input
from greta.engine.job import Job
from greta.errors import DataError, GretaError, GretaWarning, SetupError, warn
from greta.lang.nodes import Query

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from greta.cli.trends import Wish
    from greta.engine.job import Numbers
    from greta.spark.reading.formats import Format
    from greta.spark.reading.inputs import Malformed

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where Spark runs and how it is set up."""

    master: str | None
    settings: Mapping[str, str]
    ship: bool
    title: str


@dataclass(frozen=True, slots=True)
class Reading:
    """How Spark reads the inputs."""

    inputs: Sequence[Input]
    columns: Columns
    format: Format | None
    schema: str | None
    malformed: Malformed


@dataclass(frozen=True, slots=True)
class Directory:
    """Where Spark writes all rows."""

    path: str
    format: str
    overwrite: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """The first rows, where someone asked for rows, and how many rows of the input were left out."""

    rows: pa.Table | None
    skipped: int


def answer(
    query: Query,
    cluster: Cluster,
    reading: Reading,
    numbers: Numbers,
    cut: float | Literal["measure"] | None,
    *,
    directory: Directory | None,
    most: int | None,
    quiet: bool,
    wish: Wish | None,
) -> Answer:
    """Run the query; ``most`` rows come back (all for None), and all of them go to ``directory`` if there is one.

    With a ``wish``, the trends that are wished for come back instead.
    """
    greta.spark.require_pyspark()
    from greta.spark.compat import OLDEST_STREAMS, client_version, require

    require(client_version(), OLDEST_STREAMS, "commands")
    from greta.spark.batch.cautions import absent_types, first_rows
    from greta.spark.batch.files import aggregate_inputs
    from greta.spark.batch.pipeline import BatchOptions
    from greta.spark.reading.inputs import read_events
    from greta.spark.sessions.progress import describe
    from greta.spark.sessions.quiet import start_quietly
    from greta.spark.wire.columns import arrow_schema

    columns = reading.columns
    with _progress(quiet) as step, told():
        spark = step("starting Spark", lambda: start_quietly(cluster.master, cluster.settings), None)
        if cluster.ship:
            step("packing greta", lambda: greta.spark.ship(spark), None)
        describe(spark, cluster.title)
        events = step(
            "looking at the input",
            lambda: read_events(
                spark,
                reading.inputs,
                format=reading.format,
                time=columns.time,
                time_unit=columns.time_unit,
                type=columns.type,
                schema=reading.schema,
                malformed=reading.malformed,
            ),
            spark,
        )
        if wish is not None:
            picked = partial(
                greta.spark.trends, events.df, query, time=columns.time, type=columns.type, **wish.arguments()
            )
            return Answer(step("looking for trends", picked, spark), events.skipped)
        options = BatchOptions.counting(columns.time, columns.type, numbers, cut, skip=reading.malformed == "skip")
        rows = aggregate_inputs(events.df, events.files, query, options)
        job = Job.bind(query, arrow_schema(events.df.schema), time=columns.time, type=columns.type)
        if not events.observations:
            # What is counted while Spark reads is counted by the first job alone.
            step("looking at the first rows", lambda: _warn(first_rows(events.df, job)), spark)
        if directory is not None:
            _write(rows, directory.path, directory.format, directory.overwrite, step, spark)
            rows = spark.read.format(directory.format).schema(rows.schema).load(directory.path)
        table = _collect(rows, most, step, spark)
        if table is not None and not table.num_rows:
            _warn(absent_types(events.df, job))
    ran = directory is not None or table is not None
    return Answer(table, events.skipped + options.skipped if ran else 0)


def _warn(cautions: Iterable[GretaWarning]) -> None:
    for caution in cautions:
        warn(caution)


def _write(rows: DataFrame, output: str, format_: str, overwrite: bool, step: Step, spark: SparkSession) -> None:
    writer = rows.write.mode("overwrite" if overwrite else "error").format(format_)
    if format_ == "csv":
        writer = writer.option("header", True)
    try:
        step("aggregating", lambda: writer.save(output), spark)
    except Exception as error:
        from greta.spark.failures import met, no_source
        from greta.spark.reading.inputs import package_hint

        if met(error, "PATH_ALREADY_EXISTS"):
            raise DataError(f"{output}: is there already", hint="replace it with --overwrite") from error
        if no_source(error):
            raise SetupError(f"Spark cannot write {format_}", hint=package_hint()) from error
        raise


def _collect(rows: DataFrame, most: int | None, step: Step, spark: SparkSession) -> pa.Table | None:
    """The first rows (all for None) in order of time; nothing else ever reaches this process."""
    if most == 0:
        return None
    from greta.spark.compat import to_arrow

    ordered = rows.orderBy("window_start", *(name for name in rows.columns if name not in BOUNDS))
    limited = ordered if most is None else ordered.limit(most)
    table: pa.Table = step("aggregating", lambda: to_arrow(limited), spark)
    return table


@contextmanager
def told() -> Iterator[None]:
    """What Spark raises, in greta's words and without the stack of the machinery in between."""
    try:
        yield
    except GretaError:
        raise
    except Exception as error:
        from greta.spark import failures

        if not failures.of_spark(error):
            raise
        raise failures.told(error, "Spark", "Spark's own log has more; --conf spark.log.level=WARN shows it") from error


Step = Callable[[str, Callable[[], Any], "SparkSession | None"], Any]


@contextmanager
def _progress(quiet: bool) -> Iterator[Step]:
    """A way to do one thing after another with a bar on stderr that follows Spark's tasks."""
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=quiet or not sys.stderr.isatty(),
    )

    def step(title: str, work: Callable[[], Result], spark: SparkSession | None) -> Result:
        task = bar.add_task(title, total=None)
        done = Event()
        follower = Thread(target=_follow, args=(bar, task, spark, done), daemon=True)
        if spark is not None and not bar.disable:
            follower.start()
        try:
            return work()
        finally:
            done.set()
            bar.remove_task(task)

    with bar:
        yield step


def _follow(bar: Progress, task: Any, spark: SparkSession, done: Event) -> None:
    from greta.spark.sessions.progress import running

    while not done.wait(0.3):
        stages = running(spark)
        if stages is not None and stages.total:
            bar.update(task, completed=stages.done, total=stages.total)
