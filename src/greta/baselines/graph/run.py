"""The whole path: events → partitions → graphs, tick by tick → results per group and window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from greta.baselines.graph.events import Cell, Stream, Windows
from greta.baselines.graph.panes import Total
from greta.baselines.graph.runtime import GretaGraph, Recording
from greta.baselines.graph.totals import Aggregates
from greta.engine.job import Job, Numbers
from greta.engine.results import Merged, finish
from greta.engine.tables import Events, to_table
from greta.kernels.layout import NOTHING
from greta.lang.nodes import Query, Semantics
from greta.plan.nodes import Plan, SlotKind


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


def partition_graphs(
    stream: Stream, windows: Windows, aggregates: Aggregates, *, record: bool = False
) -> Iterator[CellGraphs]:
    """Run the graphs of every partition over its ticks, one transaction after another (§7).

    Memory is that of one partition at a time.
    """
    plan = stream.plan
    positive = frozenset[str]().union(*(template.variables for template in plan.templates))
    scopes = [at for at, s in enumerate(plan.partitioning.scopes) if not s.variables.isdisjoint(positive)]
    for events in stream.partitions():
        for cell in stream.cells(Cell({}, events), scopes):
            graphs = [
                GretaGraph(
                    stream,
                    windows,
                    template,
                    cell,
                    aggregates,
                    plan.semantics,
                    cell.required,
                    Recording() if record else None,
                )
                for template in plan.templates
            ]
            if plan.conjunction and plan.semantics is Semantics.NEXT:
                # A trend of both sides may skip what neither side matched.
                graphs[2].matchers = graphs[:2]
            for time, tick in cell.ticks():
                for graph in graphs:
                    graph.process(time, tick)
                for graph in graphs:
                    graph.commit(time)
            yield CellGraphs(cell, graphs)


class _Answer:
    """Results of all partitions, merged into groups (§6, "Event Trend Grouping")."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.plan = stream.plan
        self.aggregates = Aggregates(stream)
        self._groups: dict[tuple[Any, ...], int] = {}
        """Values of the GROUP-BY attributes → number of the group."""
        self._examples: list[list[int | None]] = []
        """Per group and GROUP-BY attribute: a row that shows its value; None where the value is NULL."""
        self._totals: dict[tuple[int, int], Total] = {}
        """(window, number of the group) → its aggregates."""
        windows = Windows.of(self.plan, stream.clock)
        for found in partition_graphs(stream, windows, self.aggregates):
            group = self._group(found.cell)
            for window, total in self._results(found.graphs):
                if total[0]:
                    place = self._totals.setdefault((window, group), self.aggregates.nothing())
                    self.aggregates.add(place, total)

    def _results(self, graphs: Sequence[GretaGraph]) -> Iterator[tuple[int, Total]]:
        if not self.plan.conjunction:
            yield from graphs[0].results.items()
            return
        for window in {w: None for graph in graphs for w in graph.results}:
            sides = [graph.results.get(window) or self.aggregates.nothing() for graph in graphs]
            yield window, self.aggregates.pairs(*sides)

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
        places = sorted(self._totals)
        totals = [self.aggregates.final(self._totals[place]) for place in places]
        slots = list(enumerate(self.plan.slots))
        extreme = [at for at, slot in slots if slot.kind in (SlotKind.MIN, SlotKind.MAX)]
        merged = Merged(
            np.array([group for _, group in places], dtype=np.int64),
            np.array([window for window, _ in places], dtype=np.int64),
            {at: _objects([total[at] for total in totals]) for at, _ in slots if at not in extreme},
            {at: _codes([total[at] for total in totals], self.plan.slots[at].kind) for at in extreme},
        )
        columns = self.stream.columns
        attributes = {
            name: columns.table.column(name).combine_chunks().take(pa.array(rows, pa.int64()))
            for name, rows in zip(self.plan.group, zip(*self._examples, strict=True), strict=False)
        }
        if not attributes:
            attributes = {name: columns.table.column(name).combine_chunks()[:0] for name in self.plan.group}
        decoders = {}
        for at in extreme:
            name = self.plan.slots[at].attribute
            assert name is not None
            decoders[at] = self._decoder(name, [total[at] for total in totals])
        return finish(self.stream.job, merged, attributes, decoders)

    def _decoder(self, name: str, values: list[Any]) -> Callable[[Any], pa.Array]:
        """From the number of a row to the extreme it shows."""
        return partial(_decode, values, self.stream.columns.attribute(name).type)


def _objects(values: list[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _codes(values: list[Any], kind: SlotKind) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Every row is its own code; the output of a MIN reads codes with the sign changed."""
    sign = -1 if kind is SlotKind.MIN else 1
    codes = [int(NOTHING) if value is None else sign * row for row, value in enumerate(values)]
    return np.array(codes, dtype=np.int64)


def _decode(values: list[Any], type_: pa.DataType, codes: Any) -> pa.Array:
    wanted = [values[code] for code in codes]
    if pa.types.is_timestamp(type_):
        return pa.array(wanted, pa.int64()).cast(pa.timestamp("ns", type_.tz)).cast(type_)
    return pa.array(wanted, type_)
