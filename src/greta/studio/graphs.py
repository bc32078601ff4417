"""The graph behind one row of a result: the window's events as vertices, with counts, edges and trends.

Only small windows are drawn. Counts and edges come from the paper's algorithm, trends from brute force; the
window's events are all they see, so the query is judged without its window.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather

from greta.baselines import brute_force
from greta.baselines.graph import Graph, build
from greta.baselines.graph.picture import Partition, SubGraph, Vertex
from greta.engine.job import Job
from greta.errors import DataError, GretaError
from greta.lang.nodes import Query, Semantics
from greta.plan.nodes import Plan
from greta.studio import sources
from greta.studio.draw import Dot, draw
from greta.studio.limits import LIMITS
from greta.studio.results import shown

Trends = list[list[int]] | None
_ROLES = ("left of AND", "right of AND", "trends of both")


def graph(query: str, source: dict[str, Any], result: str, row: int) -> dict[str, Any]:
    """Pictures of the graphs behind a row: one per partition that has a vertex."""
    events = _load(json.dumps(source, sort_keys=True))
    plan = Job.bind(query, events.schema).plan
    inside = _behind(events, plan, result, row)
    if len(inside) > LIMITS.graph_events:
        raise DataError(
            f"this row has {len(inside):,} events behind it; graphs are drawn up to {LIMITS.graph_events}\n"
            "hint: choose a row with fewer events, a shorter window, or another GROUP-BY"
        )
    alone = replace(plan.query, window=None)
    rows = inside.to_pylist()
    found = build(inside, alone)
    names = _names(found, rows)
    trends = _trends(rows, alone)
    several = len(found.partitions) > 1
    parts = [
        _part(top, names, rows, trends, _title(partition, at, several))
        for partition in found.partitions
        for at, top in enumerate(partition.graphs)
        if top.vertices
    ]
    return {"about": f"{len(inside)} events lie in this window.", "parts": parts}


@lru_cache(maxsize=1)
def _load(source: str) -> pa.Table:
    return sources.load(json.loads(source))


def _behind(events: pa.Table, plan: Plan, result: str, row: int) -> pa.Table:
    """The events of a row's window and group, in order of time."""
    table = pyarrow.feather.read_table(result, memory_map=True)
    if row >= len(table):
        raise DataError(f"there is no row {row + 1}\nhint: choose one of {len(table)}")
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


def _trends(rows: list[dict[str, Any]], query: Query) -> list[brute_force.Trend] | None:
    """All trends; None where there are too many to list."""
    try:
        found = brute_force.trends(rows, query, limit=LIMITS.graph_trends)
    except GretaError:
        return None
    return [trend for partition in found for trend in partition.trends]


def _title(partition: Partition, at: int, several: bool) -> str:
    role = _ROLES[at] if len(partition.graphs) > 1 else ""
    values = ", ".join(f"{name} = {value}" for name, value in partition.values.items()) if several else ""
    return ": ".join(part for part in (values, role) if part)


def _part(top: SubGraph, names: dict[int, str], rows: list[dict[str, Any]], trends: Any, title: str) -> dict[str, Any]:
    dots = [_dot(vertex, names, rows) for vertex in top.vertices]
    negatives = [
        (f"NOT {negative.pattern}", [_dot(vertex, names, rows) for vertex in negative.vertices], negative.edges)
        for negative in list(top.walk())[1:]
        if negative.vertices
    ]
    count = sum(top.counts.values())
    paths = None if trends is None else _Paths(top).all(trends)
    said = f"{count:,} {'trend' if count == 1 else 'trends'} in this graph: the sum of the counts of END vertices."
    if paths is None:
        said += f" More than {LIMITS.graph_trends:,} in the window, so they are not listed."
    return {
        "title": title,
        "summary": said,
        "picture": draw(top.pattern, dots, top.edges, negatives),
        "names": [dot.name if dot.when == "" else f"{dot.name} ({dot.when})" for dot in dots],
        "trends": paths,
    }


def _dot(vertex: Vertex, names: dict[int, str], rows: list[dict[str, Any]]) -> Dot:
    event = rows[vertex.row]
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
        about=f"{name}: {vertex.variable}, {count:,} {kind} end here; {state}{details}",
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


@dataclass(slots=True)
class _Paths:
    """Trends as paths through a graph's vertices; a template spells each trend in one way."""

    graph: SubGraph

    def all(self, trends: list[brute_force.Trend]) -> list[list[int]]:
        """The paths of those trends that run through this graph."""
        after: dict[int, list[int]] = {}
        for source, target in self.graph.edges:
            after.setdefault(source, []).append(target)
        starts = [at for at, vertex in enumerate(self.graph.vertices) if vertex.start]
        return [path for trend in trends if (path := self._path(trend, starts, after)) is not None]

    def _path(self, trend: brute_force.Trend, starts: list[int], after: dict[int, list[int]]) -> list[int] | None:
        paths = [[at] for at in starts if self._fits(at, trend[0])]
        for step in trend[1:]:
            paths = [[*path, at] for path in paths for at in after.get(path[-1], ()) if self._fits(at, step)]
        return next((path for path in paths if self.graph.vertices[path[-1]].end), None)

    def _fits(self, at: int, step: tuple[int, str]) -> bool:
        vertex = self.graph.vertices[at]
        return (vertex.row, vertex.variable) == step
