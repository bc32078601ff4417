"""The whole path in one function: events → table → bound plan → rows."""

from __future__ import annotations

import pyarrow as pa

from greta.engine.job import Job, Numbers
from greta.engine.tables import Events, to_table
from greta.lang.nodes import Query
from greta.plan.nodes import Plan


def aggregate(
    events: Events,
    query: Query | str | Plan,
    *,
    time: str = "time",
    type: str = "type",  # noqa: A002
    numbers: Numbers = "double",
) -> pa.Table:
    """Aggregate all trends of a query over a table of events, building none of them.

    Takes an Arrow table, a pandas or Polars frame or a list of dicts, in any order of time; gives an Arrow table
    with ``window_start``, ``window_end``, the returned attributes and the aggregates: a row per group and window
    with at least one trend. ``numbers="exact"`` gives COUNT and integer SUM as digits of any size.

    >>> stream = [{"type": "A", "time": t} for t in (1, 2, 3)]
    >>> aggregate(stream, "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds").to_pylist()
    [{'window_start': 0, 'window_end': 10, 'count': 7.0}]
    """
    table = to_table(events)
    return Job.bind(query, table.schema, time=time, type=type, numbers=numbers).run(table)
