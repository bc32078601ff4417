"""``greta.trends``: events, a query and a row of its answer → some of that row's trends, a row per event of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from greta.engine.cautions import cautions
from greta.engine.compiling import telling_of_compilation
from greta.engine.interrupts import interruptible
from greta.engine.job import Job
from greta.engine.prepared import Prepared
from greta.engine.row_choice import Row, choose_row, no_such_row
from greta.engine.tables import Events, to_table
from greta.engine.walks import Trend, Walks
from greta.errors import GretaError, QueryError, QueryMeaningError, did_you_mean, warn
from greta.lang.nodes import Aggregate, Query, ReturnAttribute, ReturnValue, TrendAggregate
from greta.lang.parser import parse
from greta.plan.nodes import Plan

WORDS = ("sample", "first", "longest")
"""What picks trends by a word."""


def trends(
    events: Events,
    query: Query | str | Plan,
    *,
    n: int = 5,
    pick: str = "sample",
    window: object = None,
    group: Mapping[str, object] | None = None,
    seed: int = 0,
    time: str = "time",
    type: str = "type",  # noqa: A002 - the column's usual name
) -> pa.Table:
    """Some trends of one row of a query's answer: which events are they made of?

    The trends are all different; where there are no more than ``n``, all are returned.

    Args:
        events: An Arrow table, a pandas or Polars frame or a list of dicts, in any order of time.
        query: The text of a query, a parsed one or a plan.
        n: How many trends.
        pick: ``"sample"`` (every trend equally likely), ``"first"`` (in order of the times of their events),
            ``"longest"``, or the largest or smallest value of trends, such as
            ``"MIN(LAST(S.price) - FIRST(S.price))"``, or the name that RETURN gives it; of equal values the first.
        window: The ``window_start`` of the row that is meant. The first row that fits is taken, in order of
            windows and groups.
        group: Values of GROUP-BY attributes of the row that is meant.
        seed: Makes a sample repeatable.
        time: The column with the time.
        type: The column with the type of each event.

    Returns:
        An Arrow table with a row per event: ``trend`` and ``position``, counted from 0, ``variable``, the event's
        columns, then ``window_start``, ``window_end`` and ``group_<name>`` for every GROUP-BY attribute. A column of
        the events that has one of these names itself is called ``event_<name>``.

    Examples:
        >>> stream = [{"type": "A", "time": t} for t in (1, 2, 3)]
        >>> trends(stream, "RETURN COUNT(*) PATTERN A+", n=1, pick="longest").column("time").to_pylist()
        [1, 2, 3]
    """
    table = to_table(events)
    jobs = bind_picking(query, table.schema, n=n, pick=pick, time=time, type=type)
    job = jobs[0]
    for caution in (*job.idle_conditions, *cautions(job, Prepared(job, table.select(list(job.columns))))):
        warn(caution)
    return walked(table, jobs, n=n, pick=pick, window=window, group=group, seed=seed)


def walked(
    table: pa.Table,
    jobs: tuple[Job, Job],
    *,
    n: int,
    pick: str,
    window: object = None,
    group: Mapping[str, object] | None = None,
    seed: int = 0,
) -> pa.Table:
    """The trends that ``jobs`` (of ``bind_picking``) ask for, without a word on what was probably meant otherwise."""
    job, picking = jobs
    read = table.select(list(dict.fromkeys((*job.columns, *picking.columns))))

    def walk() -> pa.Table:
        row, inside, places = choose_row(job, read, window, group)
        chosen: list[Trend] = []
        if row is not None:
            walks = Walks(picking, inside, row, counted=pick == "sample")
            if not walks.parts and (window is not None or group):
                raise no_such_row(window, group or {})
            match pick:
                case "sample":
                    chosen = walks.sample(n, seed)
                case "first":
                    chosen = walks.first(n)
                case _:
                    chosen = walks.best(n)
        return _rows(job, table, row, chosen, places)

    with telling_of_compilation():
        return interruptible(walk)


def bind_picking(
    query: Query | str | Plan,
    schema: pa.Schema,
    *,
    n: int,
    pick: str,
    time: str,
    type: str,  # noqa: A002
) -> tuple[Job, Job]:
    """The job of the query, and the one that asks for nothing but what picks trends.

    Nothing is computed here: a ``GretaError`` for what cannot be asked comes before any work.
    """
    _check_arguments(query, n, pick)
    job = Job.bind(query, schema, time=time, type=type)
    if job.plan.conjunction:
        raise QueryMeaningError(
            "an outermost AND counts pairs of trends, and a pair is no trend",
            hint="ask for the trends of each side in a query of its own",
        )
    return job, _picking(job, pick, schema)


def _check_arguments(query: object, n: object, pick: object) -> None:
    """``GretaError`` for what is no query, no number of trends, or no way to pick them."""
    if not isinstance(query, str | Query | Plan):
        raise GretaError(
            f"trends are shown of one query, and this is a {type(query).__name__}",
            hint="ask for the trends of each query in a call of its own",
        )
    if not isinstance(n, int) or n < 0:
        raise GretaError(f"n must be a whole number from 0 on, and is {n!r}", hint="it is the number of trends")
    if not isinstance(pick, str):
        raise GretaError(f"cannot pick trends by {pick!r}", hint=_ways_to_pick())


def _picking(job: Job, pick: str, schema: pa.Schema) -> Job:
    """The job that asks for nothing but what picks trends: their number, or a value of them."""
    returned = _named_value(job.plan.query, pick) or _written_value(pick)
    value = returned.expression if isinstance(returned, ReturnValue) else None
    if pick not in WORDS and not _extreme(returned):
        hint = "take MIN or MAX of a value of trends, such as MAX(COUNT(*)) or MIN(LAST(S.price) - FIRST(S.price))"
        if isinstance(value, Aggregate) and value.attribute is not None and value.function in ("MIN", "MAX"):
            hint = f"a trend has several; write {value.function}({value}) for the extreme one of each trend"
        if value is None:
            names = [item.name for item in job.plan.query.returns if isinstance(item, ReturnValue) and _extreme(item)]
            hint = did_you_mean(pick, (*WORDS, *names)) or _ways_to_pick(names)
        raise GretaError(f"{pick} is not the largest or smallest value of trends", hint=hint)
    # Without the text: its places are not those of the value.
    asked = replace(job.plan.query, returns=(returned,), having=None, text=None)
    return Job.bind(asked, schema, time=job.time, type=job.type)


def _extreme(returned: ReturnAttribute | ReturnValue) -> bool:
    """Whether a column is the largest or smallest value of trends."""
    value = returned.expression if isinstance(returned, ReturnValue) else None
    return isinstance(value, TrendAggregate) and value.function in ("MIN", "MAX")


def _ways_to_pick(names: Sequence[str] = ()) -> str:
    """What picks trends: words, columns of RETURN that do, and values."""
    return f"write {', '.join((*WORDS, *names))}, or a value such as MAX(DURATION(*))"


def _named_value(query: Query, pick: str) -> ReturnValue | None:
    """The column of RETURN that has this name, unless it is a word of ``pick``."""
    if pick in WORDS:
        return None
    return next((item for item in query.returns if isinstance(item, ReturnValue) and item.name == pick), None)


def _written_value(pick: str) -> ReturnAttribute | ReturnValue:
    text = {"sample": "COUNT(*)", "first": "COUNT(*)", "longest": "MAX(COUNT(*))"}.get(pick, pick)
    try:
        (returned,) = parse(f"RETURN {text} PATTERN E").returns
    except (QueryError, ValueError) as error:
        guess = did_you_mean(pick, WORDS) or _ways_to_pick()
        raise GretaError(f"cannot pick trends by {pick!r}", hint=guess) from error
    return returned


def _rows(job: Job, table: pa.Table, row: Row | None, trends: list[Trend], places: np.ndarray | None) -> pa.Table:
    """A row per event of each trend."""
    lengths = [len(trend.rows) for trend in trends]
    total = sum(lengths)
    numbers = np.repeat(np.arange(len(trends)), lengths)
    first = np.repeat(np.cumsum([0, *lengths[:-1]]) if lengths else np.empty(0, dtype=np.int64), lengths)
    at = np.array([place for trend in trends for place in trend.rows], dtype=np.int64)
    taken = table.take(pa.array(at if places is None else places[at]))
    start, end = (row or Row(None)).bounds(job)
    columns: list[tuple[str, object]] = [
        ("trend", pa.array(numbers, type=pa.int64())),
        ("position", pa.array(np.arange(total) - first, type=pa.int64())),
        ("variable", pa.array([name for trend in trends for name in trend.variables], type=pa.string())),
    ]
    belongs = [("window_start", _repeated(start, total)), ("window_end", _repeated(end, total))]
    for name in job.plan.group:
        value = None if row is None else row.group[name]
        type_ = job.schema.field(name).type
        plain = type_.value_type if pa.types.is_dictionary(type_) else type_
        belongs.append((f"group_{name}", _repeated(pa.scalar(value, type=plain), total)))
    reserved = {name for name, _ in (*columns, *belongs)}
    for name, column in zip(taken.column_names, taken.columns, strict=True):
        columns.append((f"event_{name}" if name in reserved else name, column))
    columns += belongs
    return pa.Table.from_arrays([column for _, column in columns], names=[name for name, _ in columns])


def _repeated(value: pa.Scalar, times: int) -> pa.Array:
    return pa.repeat(value, times) if value.is_valid else pa.nulls(times, value.type)
