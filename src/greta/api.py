"""``greta.aggregate`` and ``greta.stream``: the layer that knows the engine, the paper's graph and streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from greta.errors import GretaError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

    from greta.engine.job import Numbers
    from greta.engine.queries import Queries
    from greta.engine.tables import Events
    from greta.live.lateness import Lateness
    from greta.live.options import Emit
    from greta.live.stream import Schema, Stream

Strategy = Literal["auto", "graph"]
"""How to compute: the fastest way for each part of the query, or the paper's graph, edge by edge."""


def aggregate(
    events: Events,
    query: Queries,
    *,
    time: str = "time",
    type: str = "type",  # noqa: A002 - the column's usual name
    numbers: Numbers = "double",
    strategy: Strategy = "auto",
) -> pa.Table:
    """Aggregate all trends of a query over a table of events, building none of them.

    Several queries (a list, or names with queries) read, code and sort the events once. Their rows come one query
    after another under the columns of all of them, NULL where a query has no such column, with a column ``query`` in
    front: the query's name, or its position where none has a name.

    Args:
        events: An Arrow table, a pandas or Polars frame or a list of dicts, in any order of time.
        query: The text of a query, a parsed one or a plan; or several of them, as a list or as ``{name: query}``.
        time: The column with the time: time stamps, or seconds as numbers.
        type: The column with the type of each event.
        numbers: ``"double"``, or ``"exact"`` for COUNT and integer SUM as digits of any size.
        strategy: ``"auto"``, or ``"graph"`` for the same rows by the paper's own algorithm, in O(n²) plain Python: to
            compare with.

    Returns:
        An Arrow table with ``window_start``, ``window_end``, the returned attributes and the aggregates: a row per
        group and window with at least one trend.

    Examples:
        >>> stream = [{"type": "A", "time": t} for t in (1, 2, 3)]
        >>> aggregate(stream, "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds").to_pylist()
        [{'window_start': 0, 'window_end': 10, 'count': 7.0}]
    """
    if strategy not in get_args(Strategy):
        guess = did_you_mean(str(strategy), get_args(Strategy)) or "leave it out for the fastest way"
        raise GretaError(f"strategy must be 'auto' or 'graph', not {strategy!r}", hint=guess)
    if strategy == "graph":
        return _by_graph(events, query, time, type, numbers)
    from greta.engine.aggregate import aggregate as on_kernels

    return on_kernels(events, query, time=time, type=type, numbers=numbers)


def stream(
    query: Queries,
    *,
    schema: Schema | None = None,
    time: str = "time",
    type: str = "type",  # noqa: A002 - the column's usual name
    numbers: Numbers = "double",
    lateness: Lateness | None = None,
    emit: Emit = "final",
    snapshot: bytes | None = None,
) -> Stream:
    """Aggregate all trends of a query over events as they come, in this process: rows of a window when it ends.

    ``Stream.push`` takes what ``aggregate`` takes, and one dict for one event, and gives the rows of the windows that
    ended. ``Stream.close`` gives those of all that are open: altogether the rows of a batch over the same events.

    Args:
        query: A query, or several, as for ``aggregate``. Without WITHIN the row comes at the end.
        schema: The columns of the events; by default those of the first events.
        time: The column with the time.
        type: The column with the type of each event.
        numbers: ``"double"``, or ``"exact"`` for digits of any size.
        lateness: How late an event may come, as ``"10 seconds"``, a ``timedelta`` or seconds. The watermark is the
            latest time seen less this. A window ends when the watermark reaches its end; an event before the
            watermark is dropped and counted.
        emit: ``"update"`` also returns rows of open windows at every push, those that have changed, as of the
            watermark; a column ``final`` tells them apart.
        snapshot: Go on from what ``Stream.snapshot`` returned for the same query; it knows the other options.

    Examples:
        >>> falls = stream("RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds")
        >>> [falls.push({"type": "A", "time": t}).num_rows for t in (1, 2, 3)]
        [0, 0, 0]
        >>> falls.push({"type": "A", "time": 12}).to_pylist()
        [{'window_start': 0, 'window_end': 10, 'count': 7.0}]
    """
    from greta.live.stream import open_stream

    return open_stream(
        query,
        schema=schema,
        time=time,
        type=type,
        numbers=numbers,
        lateness=lateness,
        emit=emit,
        snapshot=snapshot,
    )


def _by_graph(events: Events, query: Queries, time: str, type_: str, numbers: Numbers) -> pa.Table:
    from greta import graph
    from greta.engine.queries import gathered, labelled, naming
    from greta.engine.tables import to_table

    labels, queries = labelled(query)
    if labels is None:
        return graph.aggregate(events, queries[0], time=time, type=type_, numbers=numbers)
    table, answers = to_table(events), []
    for label, one in zip(labels, queries, strict=True):
        with naming(label):
            answers.append(graph.aggregate(table, one, time=time, type=type_, numbers=numbers))
    return gathered(labels, answers)
