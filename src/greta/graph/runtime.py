"""The GRETA graph at run time: Algorithm 2 with windows, predicates and negation (§4.2, §5.2, §6).

A graph takes one tick after another. Its vertices are events in states; edges are traversed once, when the
later event arrives, and not kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from greta.graph.conditions import EdgeConditions
from greta.graph.events import Cell, Event, Stream, Windows
from greta.graph.panes import Panes, Total, Vertex
from greta.graph.totals import Propagation
from greta.lang.nodes import Semantics
from greta.plan.flows import latest_start
from greta.plan.nodes import NegativeTemplate, Place, State, Template


class Recording:
    """All vertices and edges that a graph ever had, for pictures."""

    def __init__(self) -> None:
        self.vertices: list[Vertex] = []
        self.edges: list[tuple[Vertex, Vertex]] = []


class GretaGraph:
    """A template over the events of one cell.

    ``required`` has the scopes that a trend must have met to count; None: whatever it met. ``maximal``: trends
    count only where no event comes before their first and none follows their last. ``recording`` is given where the
    graph is to be looked at.
    """

    def __init__(
        self,
        stream: Stream,
        windows: Windows,
        template: Template,
        cell: Cell,
        propagation: Propagation,
        semantics: Semantics,
        required: int | None,
        recording: Recording | None = None,
        *,
        maximal: bool = False,
    ) -> None:
        self.template = template
        self.propagation = propagation
        self.semantics = semantics
        self.required = required
        self.maximal = maximal
        self.recording = recording
        self.windows = windows
        self.panes = Panes(windows, [EdgeConditions(stream, link) for link in template.links])
        self.results: dict[int, Total] = {}
        """The Results Hash Table: final aggregates per window."""
        self.matched: dict[int, int] = {}
        """Per window: the last tick that matched an event."""
        self.matchers: Sequence[GretaGraph] = (self,)
        """The graphs whose matched events stand between others under skip-till-next-match."""
        self.negatives = [
            [
                NegativeGraph(stream, windows, negative, part, recording is not None)
                for part in stream.cells(cell, _scopes_of(stream, negative.template))
            ]
            for negative in template.negatives
        ]
        """The Graph Dependencies Hash Table: the graphs that this one waits for, by negative sub-pattern."""
        self._closed: list[dict[int, int]] = [{} for _ in template.negatives]
        self._opened: list[dict[int, int]] = [{} for _ in template.negatives]
        self._cutoff: list[float] = [-math.inf for _ in template.negatives]
        self._arrived: list[Vertex] = []
        self._ends: list[Vertex] = []
        # Under contiguous, only the tick before is stored; skip-till-any-match skips what it likes.
        self._skips = semantics is not Semantics.NEXT
        self._states = _by_variable(template)
        self._into = [
            [(t.source, t.link) for t in template.transitions if t.target == s.index] for s in template.states
        ]
        self._leaving = [
            tuple(dict.fromkeys(t.link for t in template.transitions if t.source == s.index)) for s in template.states
        ]

    def process(self, time: int, events: list[Event]) -> None:
        """Algorithm 2 for the events of one tick; they see what ``commit`` has stored of earlier ticks."""
        self._wait_for_negatives(time)
        self.panes.purge(time)
        windows = self.windows.holding(time)
        for event in events:
            for variable in sorted(event.variables):
                states = self._states.get(variable, ())
                continued = self._follow(event, states, set(windows)) if self.maximal else set[int]()
                for state in states:
                    self._insert(event, state, windows, continued)

    def _follow(self, event: Event, states: Sequence[State], windows: set[int]) -> set[int]:
        """MAXIMAL: the windows in which an event continues a trend. None starts with it there, and the trends that it
        continues do not end before it.
        """
        continued: set[int] = set()
        for state in states:
            for predecessor, shared in self._edges(event, state, windows):
                predecessor.followed.update(shared)
                continued.update(shared)
        return continued

    def _insert(self, event: Event, state: State, windows: list[int], continued: set[int]) -> None:
        """Lines 4–8: find the predecessors of an event; if it has any, or may start, it becomes a vertex."""
        open_windows = [window for window in windows if self._is_open(state, window, event.time)]
        vertex = Vertex(event, state, {})
        if windows and not open_windows:
            vertex.clipped = True
            self._record(vertex)
            return
        if state.start:
            for window in open_windows:
                if window not in continued:
                    vertex.totals[window] = self.propagation.started(event, state)
            vertex.continued = not vertex.totals
        self._link(vertex, set(open_windows))
        if not vertex.totals:
            return
        for window, total in vertex.totals.items():
            self.propagation.take_part(total, event, state)
            if self.is_end(state) and not self.maximal:
                self._count(window, total)
        if self.is_end(state) and self.maximal:
            self._ends.append(vertex)
        self._arrived.append(vertex)
        self._record(vertex)

    def _count(self, window: int, total: Total) -> None:
        """Line 8: trends that end here are results of the window."""
        self.propagation.add(self.results.setdefault(window, self.propagation.nothing()), total)

    def close(self) -> None:
        """After the last tick: what nothing has followed is maximal."""
        for vertex in self._ends:
            for window, total in vertex.totals.items():
                if window not in vertex.followed:
                    self._count(window, total)

    def _link(self, vertex: Vertex, windows: set[int]) -> None:
        """Line 7, shared by windows (§6): add the totals of every predecessor, window by window."""
        totals, add = vertex.totals, self.propagation.add
        for predecessor, shared in self._edges(vertex.event, vertex.state, windows):
            for window in shared:
                if window not in totals:
                    totals[window] = self.propagation.nothing()
                add(totals[window], predecessor.totals[window])
            if self.recording is not None:
                self.recording.edges.append((predecessor, vertex))

    def _edges(self, event: Event, state: State, windows: set[int]) -> Iterator[tuple[Vertex, list[int]]]:
        """The predecessors of an event, each with the windows that the edge lies in."""
        for predecessor in self._predecessors(event, state):
            shared = [
                window
                for window in predecessor.totals
                if window in windows and (self._skips or self._is_near(predecessor, window))
            ]
            if shared:
                yield predecessor, shared

    def _predecessors(self, event: Event, state: State) -> Iterator[Vertex]:
        """Line 4: the valid vertices of the states before this one that satisfy the edge predicates."""
        for place in self._into[state.index]:
            yield from self.panes.find(place, event)

    def _is_near(self, predecessor: Vertex, window: int) -> bool:
        """Event selection under next-match: only the last matched tick of the window precedes."""
        last = max(graph.matched.get(window, -math.inf) for graph in self.matchers)
        return predecessor.event.time == last

    def is_end(self, state: State) -> bool:
        """Whether a trend may end in this state, with all scopes met that the cell asks for."""
        return state.end and (self.required is None or state.seen == self.required)

    def commit(self, time: int) -> None:
        """End the transaction of a tick: from now on its vertices precede others."""
        if self.semantics is Semantics.CONTIGUOUS:
            self.panes.clear()
        for vertex in self._arrived:
            self.panes.insert(vertex, self._leaving[vertex.state.index])
            for window in vertex.totals:
                self.matched[window] = time
        self._arrived = []

    def _wait_for_negatives(self, time: float) -> None:
        """Let the graphs that this one depends on finish all transactions before ``time`` (§7).

        A trailing NOT reaches back: only the end of a window tells which events it leaves. So its graph runs
        ahead. (Marking vertices when its match is found, as the paper does, would leave the totals of the
        events since the match began too high.)
        """
        for number, (negative, graphs) in enumerate(zip(self.template.negatives, self.negatives, strict=True)):
            until = math.inf if negative.place is Place.TRAILING else time
            for graph in graphs:
                for end, starts in graph.finished(until):
                    self._invalidate(number, negative.place, end, starts)

    def _invalidate(self, number: int, place: Place, end: int, starts: dict[int, int]) -> None:
        """Definition 5: what a finished negative match forbids; ``starts`` has its latest start per window."""
        match place:
            case Place.LEADING:
                for window in starts:
                    self._closed[number].setdefault(window, end)
            case Place.TRAILING:
                for window, start in starts.items():
                    self._opened[number][window] = max(start, self._opened[number].get(window, start))
            case Place.BETWEEN:
                before = max(starts.values())
                if before <= self._cutoff[number]:
                    return
                self._cutoff[number] = before
                for at, link in enumerate(self.template.links):
                    if number in link.negations:
                        self._mark(at, before)

    def _mark(self, link: int, before: int) -> None:
        """Marked vertices leave the trees of the link; one that can connect nowhere else is gone (§5.2)."""
        for vertex in self.panes.invalidate(link, before):
            vertex.invalid.add(link)
            vertex.pruned = vertex.invalid.issuperset(self._leaving[vertex.state.index])

    def _is_open(self, state: State, window: int, time: int) -> bool:
        """Whether leading and trailing NOTs leave an event of this time in the window."""
        return all(
            self._opened[clip].get(window, -math.inf) <= time <= self._closed[clip].get(window, math.inf)
            for clip in state.clips
        )

    def _record(self, vertex: Vertex) -> None:
        if self.recording is not None:
            self.recording.vertices.append(vertex)

    def settle(self) -> None:
        """At the end of the stream: let negative matches after the last event leave their marks, for pictures."""
        self._wait_for_negatives(math.inf)


class NegativeGraph(GretaGraph):
    """The graph of a negative sub-pattern; it always skips till any match and runs on its own ticks (§5.2)."""

    def __init__(self, stream: Stream, windows: Windows, negative: NegativeTemplate, cell: Cell, record: bool) -> None:
        super().__init__(
            stream,
            windows,
            negative.template,
            cell,
            Propagation(stream, latest_start(negative.template.variables)),
            Semantics.ANY,
            required=None,
            recording=Recording() if record else None,
        )
        self.place = negative.place
        self._ticks = list(cell.ticks())
        self._next = 0

    def finished(self, until: float) -> Iterator[tuple[int, dict[int, int]]]:
        """Run all ticks before ``until``; gives (end, latest start per window) of the matches found."""
        while self._next < len(self._ticks) and self._ticks[self._next][0] < until:
            time, events = self._ticks[self._next]
            self._next += 1
            self.process(time, events)
            ends = [vertex for vertex in self._arrived if vertex.state.end]
            self.commit(time)
            if ends:
                starts: dict[int, int] = {}
                for vertex in ends:
                    for window, (_, start) in vertex.totals.items():
                        starts[window] = max(start, starts.get(window, start))
                yield time, starts
                self._prune_finished(ends)

    def _prune_finished(self, ends: list[Vertex]) -> None:
        """Finished trend pruning: delete the events of all matches that have just ended.

        Any later match through one of them starts no later and ends later than a match that was found, so it
        forbids nothing new.
        """
        todo = ends
        while todo:
            vertex = todo.pop()
            if not vertex.pruned:
                vertex.pruned = True
                before = self._predecessors(vertex.event, vertex.state)
                todo += [p for p in before if p.event.time < vertex.event.time]
        self.panes.drop_pruned()


def _by_variable(template: Template) -> dict[str, list[State]]:
    states: dict[str, list[State]] = {}
    for state in template.states:
        states.setdefault(state.variable, []).append(state)
    return states


def _scopes_of(stream: Stream, template: Template) -> list[int]:
    """The scopes that the variables of a template take part in."""
    scopes = stream.plan.partitioning.scopes
    return [at for at, scope in enumerate(scopes) if not scope.variables.isdisjoint(template.variables)]
