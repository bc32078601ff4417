"""A DataFrame of events and a query → warnings in the driver, from its first rows and, where they give ground, more."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from greta.engine.cautions import equal_times, only_types, ordered_text, small_units
from greta.engine.job import Job
from greta.engine.prepared import Prepared
from greta.errors import warn
from greta.lang.nodes import Query
from greta.spark.compat import to_arrow
from greta.spark.wire.columns import arrow_schema, named

_LOOKED_AT = 1_000
_MOST_TYPES = 100


def look_at_first_rows(df: DataFrame, query: Query, *, time: str, type: str) -> None:  # noqa: A002
    """Warn of times in small units, of text that reads as numbers and of equal times.

    Spark reads the first rows for it; all times only where those of the first rows are equal.
    """
    job = Job.bind(query, arrow_schema(df.schema), time=time, type=type)
    rows = to_arrow(df.select(*(named(name) for name in job.columns)).limit(_LOOKED_AT))
    job = Job.bind(query, rows.schema, time=time, type=type)
    if rows.num_rows:
        prepared = Prepared(job, rows)
        for caution in (*small_units(job, prepared), *ordered_text(job, rows)):
            warn(caution)
        for caution in equal_times(job, prepared):
            if rows.num_rows < _LOOKED_AT or _one_time(df, time):
                warn(caution)


def _one_time(df: DataFrame, time: str) -> bool:
    first, last = df.select(F.min(named(time)), F.max(named(time))).first() or (None, None)
    return bool(first == last)


def explain_no_rows(df: DataFrame, query: Query, *, time: str, type: str) -> None:  # noqa: A002
    """Warn where no event has a type that the query names. Spark reads the column of types for it."""
    job = Job.bind(query, arrow_schema(df.schema), time=time, type=type)
    found = df.select(named(type).cast("string")).distinct().limit(_MOST_TYPES).collect()
    there = [row[0] for row in found if row[0] is not None]
    if 0 < len(found) < _MOST_TYPES and not set(there) & set(job.plan.event_types):
        warn(only_types(job, there))
