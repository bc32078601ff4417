"""The graph behind one row of a result: the window's events as vertices, with counts, edges and trends.

Only small windows are drawn. Counts, edges and trends come from the paper's algorithm; the window's events are
all it sees, so the query is judged without its window.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather

from greta.engine.job import Job
from greta.errors import DataError
from greta.graph import Graph, build
from greta.graph.picture import Partition, SubGraph, Vertex
from greta.lang.nodes import Semantics
from greta.plan.nodes import Plan
from greta.studio import sources
from greta.studio.draw import Dot, draw
from greta.studio.limits import LIMITS
from greta.studio.results import shown

_ROLES = ("left of AND", "right of AND", "trends of both")


def graph(query: str, source: dict[str, Any], result: str, row: int, height: str | None = None) -> dict[str, Any]:
    """Pictures of the graphs behind a row: one per partition that has a vertex.

    ``height`` names a numeric attribute: vertices stand as high as their values of it.
    """
    events = sources.kept(source)
    plan = Job.bind(query, events.schema).plan
    inside = _behind(events, plan, result, row)
    if len(inside) > LIMITS.graph_events:
        raise DataError(
            f"this row has {len(inside):,} events behind it; graphs are drawn up to {LIMITS.graph_events}",
            hint="choose a row with fewer events, a shorter window, or another GROUP-BY",
        )
    alone = replace(plan.query, window=None)
    rows = inside.to_pylist()
    found = build(inside, alone)
    names = _names(found, rows)
    graphs = [graph for partition in found.partitions for graph in partition.graphs]
    listed = sum(sum(graph.counts.values()) for graph in graphs) <= LIMITS.graph_trends
    several = len(found.partitions) > 1
    parts = [
        _part(top, names, rows, listed, _title(partition, at, several), height)
        for partition in found.partitions
        for at, top in enumerate(partition.graphs)
        if top.vertices
    ]
    return {"about": f"{len(inside)} events lie in this window.", "parts": parts}


def _behind(events: pa.Table, plan: Plan, result: str, row: int) -> pa.Table:
    """The events of a row's window and group, in order of time."""
    table = pyarrow.feather.read_table(result, memory_map=True)
    if row >= len(table):
        raise DataError(f"there is no row {row + 1}", hint=f"choose one of {len(table)}")
    values = {name: table.column(name)[row] for name in table.column_names}
    time = events.column("time")
    if plan.window is not None:
        within = pc.and_(pc.greater_equal(time, values["window_start"]), pc.less(time, values["window_end"]))
        events = events.filter(within)
    for name in plan.returned:
        if name in plan.partitioning.common:
            events = events.filter(pc.equal(events.column(name), values[name]))
    if plan.semantics is not Semantics.CONTIGUOUS:
        # Under contiguous, an event of any type can stand in the way.
        types = pa.array(plan.event_types, pa.string())
        events = events.filter(pc.is_in(events.column("type"), value_set=types))
    return events.sort_by("time")


def _title(partition: Partition, at: int, several: bool) -> str:
    role = _ROLES[at] if len(partition.graphs) > 1 else ""
    values = ", ".join(f"{name} = {value}" for name, value in partition.values.items()) if several else ""
    return ": ".join(part for part in (values, role) if part)


def _part(
    top: SubGraph, names: dict[int, str], rows: list[dict[str, Any]], listed: bool, title: str, height: str | None
) -> dict[str, Any]:
    """One graph: its picture, the names of its vertices, and its trends as lists of vertices, if they are listed."""
    dots = [_dot(vertex, names, rows, height) for vertex in top.vertices]
    negatives = [
        (f"NOT {negative.pattern}", [_dot(vertex, names, rows, None) for vertex in negative.vertices], negative.edges)
        for negative in list(top.walk())[1:]
        if negative.vertices
    ]
    count = sum(top.counts.values())
    said = f"{count:,} {'trend' if count == 1 else 'trends'} in this graph: the sum of the counts of END vertices."
    if not listed:
        said += f" More than {LIMITS.graph_trends:,} in the window, so they are not listed."
    return {
        "title": title,
        "summary": said,
        "picture": draw(top.pattern, dots, top.edges, negatives, height),
        "names": [_called(dot) for dot in dots],
        "trends": [list(trend) for trend in top.trends()] if listed else None,
    }


def _called(dot: Dot) -> str:
    """How a list of trends names a vertex: by its value where that is drawn."""
    name = dot.name if dot.value is None else f"{dot.value:.5g}"
    return name if dot.when == "" else f"{name} ({dot.when})"


def _dot(vertex: Vertex, names: dict[int, str], rows: list[dict[str, Any]], height: str | None) -> Dot:
    event = rows[vertex.row]
    value = None if height is None else event.get(height)
    count = sum(vertex.counts.values())
    details = ", ".join(f"{name} {shown(value)}" for name, value in event.items() if value is not None)
    name = names[vertex.row]
    kind = "trends" if vertex.end else "partial trends"
    state = "invalidated by a negative match; " if vertex.invalid else ""
    return Dot(
        name=name,
        when="" if name == vertex.label else str(shown(vertex.time)).partition(" ")[2][:8] or str(vertex.time),
        instant=vertex.time,
        lane=vertex.state,
        variable=vertex.variable,
        count=count,
        start=vertex.start,
        end=vertex.end,
        faded=vertex.invalid or vertex.pruned,
        about=f"{vertex.variable}, {count:,} {kind} end here; {state}{details}",
        value=float(value) if isinstance(value, int | float | Decimal) and math.isfinite(value) else None,
    )


def _names(found: Graph, rows: list[dict[str, Any]]) -> dict[int, str]:
    """Short names for events: the paper's ``a3`` where types are letters, else the type's first letter and a number."""
    labels = {vertex.row: vertex.label for vertex in found.vertices}
    if all(len(label) <= 4 for label in labels.values()) and len(set(labels.values())) == len(labels):
        return labels
    numbers: dict[str, int] = {}
    named = {}
    for row in sorted(labels, key=lambda row: (rows[row]["time"], row)):
        letter = str(rows[row]["type"])[:1].lower() or "?"
        numbers[letter] = numbers.get(letter, 0) + 1
        named[row] = f"{letter}{numbers[letter]}"
    return named
