"""A DataFrame of events, a query and a row of its answer → some of that row's trends: ``greta.spark.trends``.

Spark finds the row and reads the events of its window and group; these few come to the driver, which picks the trends
as ``greta.trends`` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.engine.job import Job
from greta.engine.row_choice import no_such_row, typed_group, window_number
from greta.engine.tables import to_table
from greta.engine.trends import bind_picking, walked
from greta.errors import GretaError, warn
from greta.lang.nodes import Query
from greta.plan.nodes import Plan
from greta.spark.batch.pipeline import aggregate
from greta.spark.compat import to_arrow
from greta.spark.reading.times import TimeUnit, with_times
from greta.spark.wire.columns import arrow_schema, in_seconds, named, opened
from greta.spark.wire.filters import useful

_MARGIN = 1.0
"""Seconds by which Spark's cut of a window is wider than the window: the engine draws the line exactly."""


def trends(
    df: DataFrame,
    query: Query | str | Plan,
    *,
    n: int = 5,
    pick: str = "sample",
    window: object = None,
    group: Mapping[str, object] | None = None,
    seed: int = 0,
    time: str = "time",
    type: str = "type",  # noqa: A002 - the word that every backend uses
    time_unit: TimeUnit | None = None,
) -> pa.Table:
    """Some trends of one row of a query's answer over a DataFrame of events: which events are they made of?

    Where ``window`` and ``group`` are given in full, Spark runs one job that reads this window alone; else it first
    aggregates, to find the row that fits. The events of the window and group come to the driver. Fields of structures
    are attributes, ``S.payload.price``, and shown as columns of these names.

    Args:
        df: The events, with all columns that are to be shown; a batch.
        query: The text of a query, a parsed one or a plan.
        n: How many trends.
        pick: ``"sample"``, ``"first"``, ``"longest"``, or the largest or smallest value of trends, or the name that
            RETURN gives it, as for ``greta.trends``.
        window: The ``window_start`` of the row that is meant; a naive one of a TIMESTAMP column is in the driver's
            zone, as ``collect()`` gives it. The first row that fits is taken, in order of windows and groups.
        group: Values of GROUP-BY attributes of the row that is meant.
        seed: Makes a sample repeatable.
        time: The column with the time.
        type: The column with the type of each event.
        time_unit: The unit in which times that are numbers count from 1970, as for ``aggregate``: ``s``, ``ms``, ``us``
            or ``ns``; they are shown as time stamps then, and ``window`` is one.

    Returns:
        An Arrow table with a row per event of each trend, in the columns of ``greta.trends``.
    """
    if df.isStreaming:
        raise GretaError(
            "trends are shown of a batch, and this DataFrame is a stream",
            hint="read the same events with spark.read, and name the window",
        )
    df = with_times(opened(df), time, time_unit)
    schema = arrow_schema(df.schema)
    job, _ = bind_picking(query, schema, n=n, pick=pick, time=time, type=type)
    for caution in job.idle_conditions:
        warn(caution)

    def shown(events: DataFrame, asked: Query | str | Plan, start: object = None) -> pa.Table:
        """The driver sees one row's events alone, which are no ground for a word on all of them."""
        table = to_table(to_arrow(events))
        jobs = bind_picking(asked, table.schema, n=n, pick=pick, time=time, type=type)
        return walked(table, jobs, n=n, pick=pick, window=start, group=group, seed=seed)

    group = typed_group(job, group or {})
    kinds = {field.name: field.dataType for field in df.schema.fields}
    if isinstance(window, datetime) and window.tzinfo is None and isinstance(kinds[time], T.TimestampType):
        window = window.astimezone(UTC)
    number = None if window is None else window_number(job, window)
    missing_window = job.plan.window is not None and number is None
    if missing_window or set(job.plan.group) != set(group) or job.plan.having is not None:
        first = _first_row(df, job, number, group)
        if first is None:
            if window is not None or group:
                raise no_such_row(window, group)
            return shown(df.limit(0), query)
        number, group = first
    # Whether the row is in the answer is settled.
    return shown(_of_row(df, job, number, group), replace(job.plan.query, having=None), _start(job, number))


def _first_row(
    df: DataFrame, job: Job, number: int | None, group: Mapping[str, object]
) -> tuple[int | None, dict[str, object]] | None:
    """Window and group of the first row of the answer that fits what is given of them."""
    names = job.plan.group
    keys = replace(job.plan, returned=names, columns=())
    if number is not None:
        # Only this window's events matter.
        df = _of_row(df, job, number, {})
    rows = aggregate(df, keys, time=job.time, type=job.type)
    for name, value in group.items():
        rows = rows.where(named(name).eqNullSafe(F.lit(value)))
    start = rows.schema.fields[0].dataType
    if number is not None:
        begins = _seconds(job, number)
        rows = rows.where(F.abs(in_seconds("window_start", start) - begins) < _half_slide(job))
    rows = rows.orderBy("window_start", *(named(name) for name in names)).limit(1)
    instant = isinstance(start, T.TimestampType)
    first = to_arrow(
        rows.select(
            (F.unix_micros(named("window_start")) if instant else named("window_start")).alias("window_start"),
            *(named(name) for name in names),
        )
    ).to_pylist()
    if not first:
        return None
    (row,) = first
    begin = row.pop("window_start")
    if begin is None:
        return None, row
    moment = pa.scalar(begin, pa.timestamp("us")) if instant else pa.scalar(begin)
    return window_number(job, moment.as_py()), row


def _of_row(df: DataFrame, job: Job, number: int | None, group: Mapping[str, object]) -> DataFrame:
    """The events that can play a part in a row: of its window, its group and the query's types, with all columns."""
    condition = useful((job.plan,), job.type)
    if condition is not None:
        df = df.where(condition)
    if number is not None and job.plan.window is not None:
        kind = next(field.dataType for field in df.schema.fields if field.name == job.time)
        seconds, begin = in_seconds(job.time, kind), _seconds(job, number)
        end = begin + job.plan.window.within / 1_000
        df = df.where((seconds >= begin - _MARGIN) & (seconds <= end + _MARGIN))
    for name, value in group.items():
        # Events that have no say in a group's attribute may still belong to it.
        if name in job.plan.partitioning.common:
            df = df.where(named(name).eqNullSafe(F.lit(value)))
    return df


def _start(job: Job, number: int | None) -> object:
    """``window_start`` of a window, as the engine's rows have it."""
    if number is None or job.plan.window is None:
        return None
    _, slide = job.clock.units(job.plan.window)
    return job.clock.write(np.array([number * slide]), job.plan.window)[0].as_py()


def _seconds(job: Job, number: int) -> float:
    """When a window begins, in seconds of the time column."""
    assert job.plan.window is not None
    return number * job.plan.window.slide / 1_000


def _half_slide(job: Job) -> float:
    assert job.plan.window is not None
    return job.plan.window.slide / 2_000
