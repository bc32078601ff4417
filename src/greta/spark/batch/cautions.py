"""A DataFrame of events and a query → warnings in the driver, from its first rows and, without an answer, its types."""

from __future__ import annotations

from pyspark.sql import DataFrame

from greta.engine.cautions import only_types, ordered_text, small_units
from greta.engine.job import Job
from greta.engine.prepared import Prepared
from greta.errors import warn
from greta.lang.nodes import Query
from greta.spark.compat import to_arrow
from greta.spark.wire.columns import arrow_schema, named

_LOOKED_AT = 1_000
_MOST_TYPES = 100


def look_at_first_rows(df: DataFrame, query: Query, *, time: str, type: str) -> None:  # noqa: A002
    """Warn of times in small units and of text that reads as numbers. Spark reads the first rows for it."""
    job = Job.bind(query, arrow_schema(df.schema), time=time, type=type)
    rows = to_arrow(df.select(*(named(name) for name in job.columns)).limit(_LOOKED_AT))
    job = Job.bind(query, rows.schema, time=time, type=type)
    if rows.num_rows:
        for caution in (*small_units(job, Prepared(job, rows)), *ordered_text(job, rows)):
            warn(caution)


def explain_no_rows(df: DataFrame, query: Query, *, time: str, type: str) -> None:  # noqa: A002
    """Warn where no event has a type that the query names. Spark reads the column of types for it."""
    job = Job.bind(query, arrow_schema(df.schema), time=time, type=type)
    found = df.select(named(type).cast("string")).distinct().limit(_MOST_TYPES).collect()
    there = [row[0] for row in found if row[0] is not None]
    if 0 < len(found) < _MOST_TYPES and not set(there) & set(job.plan.event_types):
        warn(only_types(job, there))
