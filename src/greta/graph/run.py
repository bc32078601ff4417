"""The whole path: events → partitions → graphs, tick by tick → results per group and window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from greta.engine.job import Job, Numbers
from greta.engine.results import Merged, finish
from greta.engine.tables import Events, to_table
from greta.graph.events import Cell, Stream, Windows
from greta.graph.pairs import combined, nothing, paired
from greta.graph.runtime import GretaGraph, Recording
from greta.graph.totals import Propagation
from greta.kernels.layout import NOTHING
from greta.lang.nodes import Query, Semantics
from greta.plan.measures import Combine, build_flow
from greta.plan.nodes import Plan


def aggregate(
    events: Events,
    query: Query | str | Plan,
    *,
    time: str = "time",
    type: str = "type",  # noqa: A002 - the name of greta.aggregate
    numbers: Numbers = "double",
) -> pa.Table:
    """Aggregate all trends as the paper does. Takes and gives what ``greta.aggregate`` takes and gives.

    O(n²·k) for n events of a partition in k windows each.

    >>> stream = [{"type": "A", "time": t} for t in (1, 2, 3)]
    >>> aggregate(stream, "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds").to_pylist()
    [{'window_start': 0, 'window_end': 10, 'count': 7.0}]
    """
    table = to_table(events)
    return _Answer(Stream(Job.bind(query, table.schema, time=time, type=type, numbers=numbers), table)).table()


@dataclass(frozen=True, slots=True)
class CellGraphs:
    """What ran over one cell: one graph, or three for an outermost AND."""

    cell: Cell
    graphs: Sequence[GretaGraph]


def partition_graphs(stream: Stream, windows: Windows, *, record: bool = False) -> Iterator[CellGraphs]:
    """Run the graphs of every partition over its ticks, one transaction after another (§7).

    Memory is that of one partition at a time.
    """
    plan = stream.plan
    names = {name for measure in plan.measures for name in measure.attributes}
    complete = frozenset(name for name in names if stream.columns.valid(name) is None)
    flows = [
        Propagation(stream, build_flow(plan.measures, template.variables, complete), plan.measures)
        for template in plan.templates
    ]
    positive = frozenset[str]().union(*(template.variables for template in plan.templates))
    scopes = [at for at, s in enumerate(plan.partitioning.scopes) if not s.variables.isdisjoint(positive)]
    for events in stream.partitions():
        for cell in stream.cells(Cell({}, events), scopes, plan.met_scopes):
            graphs = [
                GretaGraph(
                    stream,
                    windows,
                    template,
                    cell,
                    flow,
                    plan.semantics,
                    cell.required,
                    Recording() if record else None,
                    maximal=plan.maximal,
                )
                for template, flow in zip(plan.templates, flows, strict=True)
            ]
            if plan.conjunction and plan.semantics is Semantics.NEXT:
                # A trend of both sides may skip what neither side matched.
                graphs[2].matchers = graphs[:2]
            for time, tick in cell.ticks():
                for graph in graphs:
                    graph.process(time, tick)
                for graph in graphs:
                    graph.commit(time)
            for graph in graphs:
                graph.close()
            yield CellGraphs(cell, graphs)


class _Answer:
    """Results of all partitions, merged into groups (§6, "Event Trend Grouping")."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.plan = stream.plan
        self._groups: dict[tuple[Any, ...], int] = {}
        """Values of the GROUP-BY attributes → number of the group."""
        self._examples: list[list[int | None]] = []
        """Per group and GROUP-BY attribute: a row that shows its value; None where the value is NULL."""
        self._values: dict[tuple[int, int], list[Any]] = {}
        """(window, number of the group) → the values of its measures."""
        measures = self.plan.measures
        for found in partition_graphs(stream, Windows.of(self.plan, stream.clock)):
            group = self._group(found.cell)
            for window, values in self._results(found.graphs):
                if values[0]:
                    before = self._values.get((window, group))
                    self._values[window, group] = values if before is None else combined(measures, before, values)

    def _results(self, graphs: Sequence[GretaGraph]) -> Iterator[tuple[int, list[Any]]]:
        measures = self.plan.measures
        for window in {w: None for graph in graphs for w in graph.results}:
            sides = [
                graph.propagation.results(graph.results[window]) if window in graph.results else nothing(measures)
                for graph in graphs
            ]
            yield window, paired(measures, *sides) if self.plan.conjunction else sides[0]

    def _group(self, cell: Cell) -> int:
        """The number of a cell's group. A grouped attribute that only scopes name has their first value."""
        key, rows = [], []
        for name in self.plan.group:
            row: int | None = None
            if name in self.plan.partitioning.common:
                row = cell.events[0].row if cell.events else None
            else:
                scopes = self.plan.partitioning.scopes
                wanted = [v for at, v in cell.values.items() if scopes[at].attribute == name and v is not None]
                if wanted:
                    values = self.stream.values(name)
                    row = next(event.row for event in cell.events if values[event.row] == wanted[0])
            key.append(None if row is None else self.stream.values(name)[row])
            rows.append(row)
        number = self._groups.setdefault(tuple(key), len(self._groups))
        if number == len(self._examples):
            self._examples.append(rows)
        return number

    def table(self) -> pa.Table:
        """The rows, by window and group."""
        places = sorted(self._values)
        values = [self._values[place] for place in places]
        measures = list(enumerate(self.plan.measures))
        merged = Merged(
            np.array([group for _, group in places], dtype=np.int64),
            np.array([window for window, _ in places], dtype=np.int64),
            {at: _objects([row[at] for row in values]) for at, measure in measures if measure.combine is Combine.ADD},
            {at: _extremes([row[at] for row in values]) for at, measure in measures if measure.combine is Combine.MAX},
        )
        columns = self.stream.columns
        attributes = {
            name: columns.table.column(name).combine_chunks().take(pa.array(rows, pa.int64()))
            for name, rows in zip(self.plan.group, zip(*self._examples, strict=True), strict=False)
        }
        if not attributes:
            attributes = {name: columns.table.column(name).combine_chunks()[:0] for name in self.plan.group}
        decoders = {
            at: columns.extremes(measure.compared, double=False)[1]
            for at, measure in measures
            if measure.compared is not None
        }
        return finish(self.stream.job, merged, attributes, decoders)


def _objects(values: list[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _extremes(values: list[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    """Codes in 64 bits, numbers of any size as objects."""
    present = [int(NOTHING) if value is None else value for value in values]
    small = all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in present)
    return np.array(present, dtype=np.int64) if small else _objects(present)
