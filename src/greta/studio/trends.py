"""Some trends of a row of a result, as the page draws them over an attribute: points, and what each trend is in words.

Which trends can be asked for depends on the query: a sample, the longest, the steepest fall and rise of the attribute
that is drawn, and every extreme value of trends that RETURN names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather

from greta.engine.job import Job
from greta.engine.trends import bind_picking, walked
from greta.errors import DataError
from greta.lang.nodes import ReturnValue, TrendAggregate
from greta.plan.nodes import Plan
from greta.studio import sources
from greta.studio.charts import floats, seconds
from greta.studio.limits import LIMITS

_EVENTS_LISTED = 200


def trends(
    query: str,
    source: dict[str, Any],
    result: str,
    row: int | None = None,
    pick: str = "sample",
    attribute: str | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Up to ``Limits.trends_shown`` trends of a row; without one, of the row with the most to show.

    ``pick`` is the name of a way that the answer offers under ``picks``. Points are (seconds, value of the attribute).
    """
    events = sources.kept(source)
    plan = Job.bind(query, events.schema).plan
    offered = ways(plan, attribute)
    chosen = next((way for way in offered if way.name == pick), offered[0])
    said = {"pick": chosen.name, "picks": [{"pick": way.name, "title": way.title} for way in offered]}
    table = pyarrow.feather.read_table(result, memory_map=True)
    if not len(table):
        return said | {"row": None, "band": None, "trends": []}
    row = _telling(table, plan) if row is None else row
    if row >= len(table):
        raise DataError(f"there is no row {row + 1}", hint=f"choose one of {len(table)}")
    unknown = [name for name in plan.group if name not in plan.returned]
    if unknown:
        raise DataError(
            f"this row does not say which {unknown[0]} it is of, so its trends cannot be told from others",
            hint=f"name {', '.join(unknown)} in RETURN",
        )
    window = table.column("window_start")[row] if plan.window is not None else None
    group = {name: table.column(name)[row].as_py() for name in plan.group}
    # What was probably meant otherwise is told beside the rows already.
    jobs = bind_picking(query, events.schema, n=LIMITS.trends_shown, pick=chosen.pick, time="time", type="type")
    start = None if window is None else window.as_py()
    found = walked(events, jobs, n=LIMITS.trends_shown, pick=chosen.pick, window=start, group=group or None, seed=seed)
    return said | {"row": row, "band": _band(table, row), "trends": _drawn(found, attribute)}


@dataclass(frozen=True, slots=True)
class Way:
    """A way to pick trends: its name, which stays the same for every attribute, its title on the page, and the wish."""

    name: str
    title: str
    pick: str


def ways(plan: Plan, attribute: str | None) -> list[Way]:
    """How trends of a query can be picked; ``DataError`` where it has pairs of trends instead."""
    if plan.conjunction:
        raise DataError("an outermost AND counts pairs of trends", hint="ask for one side of it to see its trends")
    found = [Way("sample", "a sample", "sample"), Way("longest", "the longest", "longest")]
    if attribute is not None and attribute in dict(plan.schema or ()):
        first, last = _ends(plan)
        change = f"LAST({last}.{attribute}) - FIRST({first}.{attribute})"
        found.append(Way("fall", "the steepest falls", f"MIN({change})"))
        found.append(Way("rise", "the steepest rises", f"MAX({change})"))
    for item in plan.query.returns:
        value = item.expression if isinstance(item, ReturnValue) else None
        if isinstance(value, TrendAggregate) and value.function in ("MIN", "MAX"):
            found.append(Way(f"by {item.name}", f"by {item.name}", str(value)))
    return found


def _ends(plan: Plan) -> tuple[str, str]:
    """The variables with which trends begin and end; of several, the first to begin and the last to end."""
    states = plan.templates[0].states
    starts = [state.variable for state in states if state.start]
    ends = [state.variable for state in states if state.end]
    return starts[0], ends[-1]


def _telling(table: pa.Table, plan: Plan) -> int:
    """The row with the most to show: where the first aggregate is largest, or smallest if it asks for a minimum."""
    value = next(item for item in plan.query.returns if isinstance(item, ReturnValue))
    values = floats(table.column(value.name))
    smallest = isinstance(value.expression, TrendAggregate) and value.expression.function == "MIN"
    ranked = np.where(np.isnan(values), -math.inf, -values if smallest else values)
    return int(ranked.argmax())


def _band(table: pa.Table, row: int) -> list[float] | None:
    """Where the row's window begins and ends, in seconds."""
    bounds = [float(seconds(table.column(name).slice(row, 1))[0]) for name in ("window_start", "window_end")]
    return None if any(math.isnan(bound) for bound in bounds) else bounds


def _drawn(found: pa.Table, attribute: str | None) -> list[dict[str, Any]]:
    """Each trend's points and its number of events; of long ones, some points are left out of the drawing."""
    number = np.asarray(found.column("trend"))
    times = seconds(found.column("time"))
    named = attribute if attribute in found.column_names else f"event_{attribute}"
    values = floats(found.column(named)) if attribute and named in found.column_names else np.full(len(times), np.nan)
    shown = []
    for at in range(int(number[-1]) + 1 if len(number) else 0):
        mine = np.flatnonzero(number == at)
        drawn = mine[np.isfinite(values[mine])]
        step = -(-len(drawn) // LIMITS.points) or 1
        kept = np.union1d(drawn[::step], drawn[-1:])
        listed = found.take(pa.array(mine[:_EVENTS_LISTED]))
        shown.append(
            {
                "events": len(mine),
                "first": float(times[mine[0]]),
                "last": float(times[mine[-1]]),
                "from": _value(values[drawn[:1]]),
                "to": _value(values[drawn[-1:]]),
                "points": [[float(times[i]), float(values[i])] for i in kept],
                "listed": _listed(listed, named if attribute else None),
            }
        )
    return shown


def _listed(events: pa.Table, attribute: str | None) -> list[dict[str, Any]]:
    """The events of a trend: variable, time in seconds, value of the attribute."""
    names = events.column("variable").to_pylist()
    times = seconds(events.column("time")).tolist()
    there = attribute is not None and attribute in events.column_names
    values = events.column(attribute).to_pylist() if there else [None] * len(names)
    return [
        {"variable": name, "time": time, "value": float(value) if isinstance(value, int | float | Decimal) else None}
        for name, time, value in zip(names, times, values, strict=True)
    ]


def _value(values: Any) -> float | None:
    return float(values[0]) if len(values) else None
