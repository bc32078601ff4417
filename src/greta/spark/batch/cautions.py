"""A DataFrame of events and a query → warnings in the driver, from its first rows and, where they give ground, more."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from greta.engine.cautions import equal_times, only_types, ordered_text, small_units
from greta.engine.job import Job
from greta.engine.prepared import Prepared
from greta.engine.queries import Label, Queries, bind_all, labelled
from greta.errors import GretaWarning, warn
from greta.spark.compat import to_arrow
from greta.spark.reading.times import TimeUnit, with_times
from greta.spark.wire.columns import arrow_schema, named, opened

_LOOKED_AT = 1_000
_MOST_TYPES = 100


def check(
    df: DataFrame,
    query: Queries,
    *,
    time: str = "time",
    type: str = "type",  # noqa: A002 - the word that every backend uses
    time_unit: TimeUnit | None = None,
) -> None:
    """Warn where the rows of a query over a DataFrame would probably not be those that were meant.

    ``aggregate`` is lazy, so it can only warn of what the query says by itself. This looks at the events, in small jobs
    that run at once, and issues a ``GretaWarning`` where no event has a type that the query names, times count in
    another unit or are all equal, or an order is asked of text that reads as numbers. ``greta run`` does so by itself.

    Args:
        df: A DataFrame of events, no streaming one.
        query: A query, or several, as a list or as ``{name: query}``.
        time: The column with the time.
        type: The column with the type of each event.
        time_unit: The unit of times that are numbers, as for ``aggregate``.
    """
    events = with_times(opened(df), time, time_unit)
    labels, queries = labelled(query)
    jobs = bind_all(labels, queries, arrow_schema(events.schema), time=time, type=type, numbers="double")
    names: list[Label | None] = [None] if labels is None else [*labels]
    for label, job in zip(names, jobs, strict=True):
        for caution in (*absent_types(events, job), *first_rows(events, job)):
            warn(caution.about(label))


def first_rows(df: DataFrame, job: Job) -> Iterator[GretaWarning]:
    """Times in small units, text that reads as numbers, equal times.

    Spark reads the first rows for it; all times only where those of the first rows are equal.
    """
    rows = to_arrow(df.select(*(named(name) for name in job.columns)).limit(_LOOKED_AT))
    if not rows.num_rows:
        return
    job = Job.bind(job.plan, rows.schema, time=job.time, type=job.type)
    prepared = Prepared(job, rows)
    yield from (*small_units(job, prepared), *ordered_text(job, rows))
    for caution in equal_times(job, prepared):
        if rows.num_rows < _LOOKED_AT or _one_time(df, job.time):
            yield caution


def _one_time(df: DataFrame, time: str) -> bool:
    first, last = df.select(F.min(named(time)), F.max(named(time))).first() or (None, None)
    return bool(first == last)


def absent_types(df: DataFrame, job: Job) -> Iterator[GretaWarning]:
    """No event has a type that the query names. Spark reads the column of types for it."""
    found = df.select(named(job.type).cast("string")).distinct().limit(_MOST_TYPES).collect()
    there = [row[0] for row in found if row[0] is not None]
    if 0 < len(found) < _MOST_TYPES:
        yield from only_types(job, there)
