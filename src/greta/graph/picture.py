"""The graph that was built, as data to look at: vertices with counts, edges, what negation took away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from greta.engine.job import Job
from greta.engine.tables import Events, to_table
from greta.errors import DataError
from greta.graph.events import Stream, Windows
from greta.graph.panes import Vertex as RuntimeVertex
from greta.graph.run import partition_graphs
from greta.graph.runtime import GretaGraph
from greta.lang.nodes import Query
from greta.lang.printer import print_pattern
from greta.plan.nodes import Place, Plan


@dataclass(frozen=True, slots=True)
class Vertex:
    """An event in a state; ``counts`` has the number of trends that end here, by window start.

    ``invalid``: a negative match keeps it from connecting as it could (or shuts it out altogether).
    ``pruned``: it was deleted before the end, since it could not connect any more.
    """

    row: int
    label: str
    event_type: str
    time: Any
    variable: str
    state: int
    start: bool
    end: bool
    counts: dict[Any, int]
    invalid: bool
    pruned: bool

    @property
    def mark(self) -> str:
        """START, END, both or neither."""
        return " ".join(word for word, holds in (("START", self.start), ("END", self.end)) if holds)


@dataclass(frozen=True, slots=True)
class SubGraph:
    """The graph of one template. ``edges`` are pairs of indices into ``vertices``."""

    pattern: str
    place: Place | None
    vertices: tuple[Vertex, ...]
    edges: tuple[tuple[int, int], ...]
    counts: dict[Any, int]
    """Number of trends by window start; for a negative graph, of the matches that were found."""
    negatives: tuple[SubGraph, ...]

    def walk(self) -> Iterator[SubGraph]:
        """This graph, then those that it depends on."""
        yield self
        for negative in self.negatives:
            yield from negative.walk()

    def trends(self) -> Iterator[tuple[int, ...]]:
        """Every trend as a path of indices into ``vertices``, earlier starts first; as many as there are trends.

        A template spells each trend in one way, so paths from START to END are trends and no trend is two paths.

        >>> stream = [{"type": "A", "time": t} for t in (1, 2, 3)]
        >>> [partition] = build(stream, "RETURN COUNT(*) PATTERN A+ MIN LENGTH 2").partitions
        >>> [[partition.graphs[0].vertices[at].label for at in trend] for trend in partition.graphs[0].trends()]
        [['a1', 'a2'], ['a1', 'a2', 'a3'], ['a1', 'a3'], ['a2', 'a3']]
        """
        after: dict[int, list[int]] = {}
        for source, target in self.edges:
            after.setdefault(source, []).append(target)
        # What negation shuts out altogether has no count in any window.
        starts = [at for at, vertex in enumerate(self.vertices) if vertex.start and vertex.counts]
        waiting: list[tuple[int, ...]] = [(at,) for at in reversed(starts)]
        while waiting:
            path = waiting.pop()
            if self.vertices[path[-1]].end:
                yield path
            waiting.extend((*path, at) for at in reversed(after.get(path[-1], ())))


@dataclass(frozen=True, slots=True)
class Partition:
    """The graphs of one partition: one, or three for an outermost AND. ``values`` names the partition."""

    values: dict[str, Any]
    graphs: tuple[SubGraph, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """All graphs of a query over a stream, partitions without a vertex left out."""

    pattern: str
    partitions: tuple[Partition, ...]

    @property
    def windows(self) -> list[Any]:
        """The starts of the windows that vertices have counts in."""
        return sorted({start for vertex in self.vertices for start in vertex.counts})

    @property
    def vertices(self) -> list[Vertex]:
        """All vertices, negative graphs included."""
        return [v for p in self.partitions for top in p.graphs for graph in top.walk() for v in graph.vertices]

    def svg(self) -> str:
        """The graph as the paper's figures draw it; ``GretaError`` where it is too large for a picture."""
        from greta.graph.draw import draw

        return draw(self)

    def __str__(self) -> str:
        from greta.graph.text import table

        return table(self)


def build(
    events: Events,
    query: Query | str | Plan,
    *,
    window: Any = None,
    time: str = "time",
    type: str = "type",  # noqa: A002 - the name of greta.aggregate
) -> Graph:
    """The graph of a query over a stream, with its edges.

    ``window`` is the start of the window to look at, as in the column ``window_start``; None shows all windows
    in one graph, as they share it. Edges are kept here, so memory is O(n²).

    >>> stream = [{"type": "A", "time": t} for t in (1, 2, 3)]
    >>> [(v.label, v.counts[None]) for v in build(stream, "RETURN COUNT(*) PATTERN A+").vertices]
    [('a1', 1), ('a2', 2), ('a3', 4)]
    """
    table = to_table(events)
    stream = Stream(Job.bind(query, table.schema, time=time, type=type), table)
    view = _View(stream, _window_number(stream, window), time)
    return view.graph()


class _View:
    """Runtime graphs as data."""

    def __init__(self, stream: Stream, window: int | None, time: str) -> None:
        self.stream = stream
        self.windows = Windows.of(stream.plan, stream.clock, window)
        self.times = stream.columns.table.column(time)
        self._starts: dict[int, Any] = {}

    def graph(self) -> Graph:
        stream = self.stream
        if self.windows.only is not None:
            # Nothing outside the window may stand in the way of what is inside.
            stream.events = [event for event in stream.events if self.windows.holding(event.time)]
        partitioning, partitions = stream.plan.partitioning, []
        for found in partition_graphs(stream, self.windows, record=True):
            if not found.cell.events:
                continue
            for graph in found.graphs:
                graph.settle()
            row = found.cell.events[0].row
            values = {name: stream.columns.attribute(name)[row].as_py() for name in partitioning.common}
            for scope, value in found.cell.values.items():
                named = partitioning.scopes[scope]
                values[f"{'/'.join(sorted(named.variables))}.{named.attribute}"] = value
            partition = Partition(values, tuple(self._sub_graph(graph, None) for graph in found.graphs))
            if any(graph.vertices for graph in partition.graphs):
                partitions.append(partition)
        return Graph(print_pattern(stream.plan.query.pattern), tuple(partitions))

    def _sub_graph(self, graph: GretaGraph, place: Place | None) -> SubGraph:
        assert graph.recording is not None
        order = {vertex: at for at, vertex in enumerate(graph.recording.vertices)}
        return SubGraph(
            pattern=print_pattern(graph.template.pattern),
            place=place,
            vertices=tuple(self._vertex(vertex, graph) for vertex in graph.recording.vertices),
            edges=tuple((order[p], order[q]) for p, q in graph.recording.edges),
            counts={self._start(window): total[0] for window, total in sorted(graph.results.items())},
            negatives=tuple(
                self._sub_graph(negative, negative.place) for graphs in graph.negatives for negative in graphs
            ),
        )

    def _vertex(self, vertex: RuntimeVertex, graph: GretaGraph) -> Vertex:
        event, state = vertex.event, vertex.state
        time = self.times[event.row].as_py()
        return Vertex(
            row=event.row,
            label=_label(event.event_type, time),
            event_type=event.event_type,
            time=time,
            variable=state.variable,
            state=state.index,
            start=state.start and not vertex.continued,
            end=graph.is_end(state) and not (vertex.followed and vertex.followed.issuperset(vertex.totals)),
            counts={self._start(window): total[0] for window, total in sorted(vertex.totals.items())},
            invalid=bool(vertex.invalid) or vertex.clipped,
            pruned=vertex.pruned or vertex.clipped,
        )

    def _start(self, window: int) -> Any:
        if window not in self._starts:
            self._starts[window] = _window_start(self.stream, window)
        return self._starts[window]


def _window_start(stream: Stream, window: int) -> Any:
    """The start of a window as the events write time; None where the query has no windows."""
    import numpy as np

    if stream.plan.window is None:
        return None
    _, slide = stream.clock.units(stream.plan.window)
    return stream.clock.write(np.array([window * slide]), stream.plan.window)[0].as_py()


def _window_number(stream: Stream, start: Any) -> int | None:
    """The window that begins at ``start``; ``DataError`` names those around where none does."""
    if start is None or stream.plan.window is None:
        return None
    times = [event.time for event in stream.events]
    windows = Windows.of(stream.plan, stream.clock)
    numbers = sorted({number for time in times for number in windows.holding(time)})
    starts = {_window_start(stream, number): number for number in numbers}
    if isinstance(start, str) and starts and isinstance(next(iter(starts)), datetime):
        start = _read_time(start, next(iter(starts)))
    if start not in starts:
        shown = [str(known) for known in list(starts)[:5]]
        some = ", ".join(shown) + (", …" if len(starts) > len(shown) else "")
        raise DataError(f"no window with events starts at {start}", hint=f"windows start at {some or 'no time'}")
    return starts[start]


def _read_time(text: str, like: datetime) -> datetime | str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=like.tzinfo)


def _label(event_type: str, time: Any) -> str:
    """``a1`` as in the paper; longer names stand apart from the time."""
    when = time.time().isoformat() if isinstance(time, datetime) else f"{time:g}" if isinstance(time, float) else time
    return f"{event_type.lower()}{when}" if len(event_type) == 1 else f"{event_type} {when}"
