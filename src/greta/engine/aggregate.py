"""The whole path in one function: events → table → bound plans → rows."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from greta.engine.cautions import cautions
from greta.engine.compiling import telling_of_compilation
from greta.engine.interrupts import interruptible
from greta.engine.job import Numbers
from greta.engine.prepared import Prepared
from greta.engine.queries import Label, Queries, bind_all, common_schema, gathered, labelled, naming
from greta.engine.tables import Events, to_table
from greta.engine.together import rows_together
from greta.errors import warn


def aggregate(
    events: Events,
    query: Queries,
    *,
    time: str = "time",
    type: str = "type",  # noqa: A002
    numbers: Numbers = "double",
) -> pa.Table:
    """Aggregate all trends of a query over a table of events, building none of them.

    Takes an Arrow table, a pandas or Polars frame or a list of dicts, in any order of time; gives an Arrow table
    with ``window_start``, ``window_end``, the returned attributes and the aggregates: a row per group and window
    with at least one trend. ``numbers="exact"`` gives COUNT and integer SUM as digits of any size.

    Several queries (a list, or names with queries) read, code and sort the events once. Their rows come one query
    after another, with a column ``query`` in front: the query's name, or its position where none has a name.

    >>> stream = [{"type": "A", "time": t} for t in (1, 2, 3)]
    >>> aggregate(stream, "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds").to_pylist()
    [{'window_start': 0, 'window_end': 10, 'count': 7.0}]
    >>> aggregate(stream, {"all": "RETURN COUNT(*) PATTERN A+", "pairs": "RETURN COUNT(*) PATTERN A{2}"}).select(
    ...     ["query", "count"]
    ... ).to_pylist()
    [{'query': 'all', 'count': 7.0}, {'query': 'pairs', 'count': 3.0}]
    """
    table = to_table(events)
    labels, queries = labelled(query)
    jobs = bind_all(labels, queries, table.schema, time=time, type=type, numbers=numbers)
    if labels is not None:
        # Refuses columns that clash before anything is computed.
        common_schema(labels, [job.output_schema for job in jobs])
    prepared = Prepared(jobs[0], table, shared=len(jobs) > 1)
    _ = prepared.instants  # a time that cannot be read is no query's fault
    names: Sequence[Label | None] = labels or [None]
    for label, job in zip(names, jobs, strict=True):
        for caution in cautions(job, prepared):
            warn(caution.about(label))

    def answers() -> pa.Table:
        if labels is None:
            return jobs[0].run(prepared)
        tables = []
        for label, job, shared in zip(labels, jobs, rows_together(jobs, prepared), strict=True):
            with naming(label):
                tables.append(job.run(prepared) if shared is None else shared)
        return gathered(labels, tables)

    with telling_of_compilation():
        return interruptible(answers)
