"""Events → cells (one partition in one window each) → vertices with pointers to their predecessors.

This is what the rivals have in common: reading the stream, windows, partitions, predicates and negation (§5).
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, assert_never

import pyarrow as pa

from greta.engine.times import Clock
from greta.lang.nodes import Attribute, Expression
from greta.plan.measures import Events, Extreme, Measure, Total, Trends, Values
from greta.plan.nodes import Link, Place, Plan, State, Template
from greta_research.brute_force.expressions import evaluate, known

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "!=": operator.ne,
}
_FOREVER = 2**63


@dataclass(slots=True, eq=False)
class Event:
    """An event of the stream, with the variables that its type and the local predicates let it take."""

    index: int
    time: int
    attributes: dict[str, object]
    variables: frozenset[str]


class Vertex:
    """An event in a state of the template, with pointers to its predecessors."""

    __slots__ = ("end", "event", "inside", "kept", "previous", "start", "state", "time", "values")

    def __init__(self, event: Event, state: State, values: tuple[Any, ...]) -> None:
        self.event = event
        self.state = state.index
        self.start = state.start
        self.end = state.end
        self.time = event.time
        self.values = values
        """What the event gives to each of the plan's measures."""
        self.previous: list[Vertex] = []
        self.kept: frozenset[Vertex] | None = None
        """Where negation was left for later: the predecessors that it leaves."""
        self.inside = True
        """Where negation was left for later: whether a leading or trailing NOT leaves the event."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The events of one partition in one window, by time; ``bound`` has the partition's values of scopes."""

    window: int
    group: tuple[object, ...]
    events: list[Event]
    bound: tuple[object, ...]
    stream: Cells

    def vertices(self, *, late_negation: bool = False) -> Iterator[Vertex]:
        """The vertices of the positive template in order of time, linked to their predecessors.

        Vertices that no trend can reach are left out. With ``late_negation`` NOT removes nothing, and says in
        ``kept`` and ``inside`` what it would have removed.
        """
        template = self.stream.plan.templates[0]
        return self.stream.linker(template).vertices(self, late_negation=late_negation)

    def may_take(self, event: Event, variable: str) -> bool:
        """Local predicates and the partition's scopes."""
        if variable not in event.variables:
            return False
        return all(
            event.attributes[scope.attribute] == value
            for scope, value in zip(self.stream.plan.partitioning.scopes, self.bound, strict=True)
            if variable in scope.variables
        )


class Cells:
    """A stream cut into the cells of a plan; iterating gives them one by one, window after window."""

    def __init__(self, events: pa.Table, plan: Plan) -> None:
        self.plan = plan
        self.clock = Clock.of(events.schema.field("time").type)
        self.events = _read(events, plan, self.clock)
        self._linkers: dict[int, Linker] = {}
        self._columns: dict[Expression, list[Any]] = {}

    def __iter__(self) -> Iterator[Cell]:
        for bound, group, events in self._partitions():
            times = [event.time for event in events]
            for window, start, stop in self._windows(times):
                inside = events[bisect_left(times, start) : bisect_left(times, stop)]
                yield Cell(window, group, inside, bound, self)

    def _partitions(self) -> Iterator[tuple[tuple[object, ...], tuple[object, ...], list[Event]]]:
        common, scopes = self.plan.partitioning.common, self.plan.partitioning.scopes
        parts: dict[tuple[object, ...], list[Event]] = defaultdict(list)
        for event in self.events:
            parts[tuple(event.attributes[name] for name in common)].append(event)
        for key, events in parts.items():
            if None in key:
                continue
            values = dict(zip(common, key, strict=True))
            for bound, inside in self._scoped(events):
                values |= {
                    scope.attribute: value
                    for scope, value in zip(scopes, bound, strict=True)
                    if scope.attribute not in common
                }
                yield bound, tuple(values[name] for name in self.plan.group), inside

    def _scoped(self, events: list[Event]) -> Iterator[tuple[tuple[object, ...], list[Event]]]:
        """Cut by the scopes' values; events that need not agree on a scope are in the parts of all its values."""
        scopes = self.plan.partitioning.scopes
        if not scopes:
            yield (), events
            return
        positive = self.plan.templates[0].variables
        free: list[Event] = []
        parts: dict[tuple[object, ...], list[Event]] = defaultdict(list)
        for event in events:
            if not event.variables.isdisjoint(positive):
                parts[tuple(event.attributes[scope.attribute] for scope in scopes)].append(event)
            if not event.variables <= positive:
                free.append(event)
        for bound, inside in parts.items():
            if None not in bound:
                merged = dict.fromkeys([*inside, *free])
                yield bound, sorted(merged, key=lambda event: (event.time, event.index)) if free else inside

    def _windows(self, times: list[int]) -> Iterator[tuple[int, int, int]]:
        window = self.plan.window
        if window is None:
            yield 0, -_FOREVER, _FOREVER
            return
        within, slide = self.clock.units(window)
        numbers = dict.fromkeys(
            number
            for time in dict.fromkeys(times)
            for number in range((time - within) // slide + 1, time // slide + 1)
            if number >= self.clock.lowest_window
        )
        for number in numbers:
            yield number, number * slide, number * slide + within

    def linker(self, template: Template) -> Linker:
        """The linker of a template, made once."""
        if id(template) not in self._linkers:
            self._linkers[id(template)] = Linker(self, template)
        return self._linkers[id(template)]

    def column(self, expression: Expression) -> list[Any]:
        """The expression's value for every event of the stream, computed once."""
        if expression not in self._columns:
            self._columns[expression] = [_of_one(expression, event) for event in self.events]
        return self._columns[expression]


@dataclass(frozen=True, slots=True)
class Barrier:
    """Matches of a NOT in a cell: by end, the latest start among those that ended so far."""

    ends: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def cutoff(self, time: int) -> int:
        """The latest start of a match that ended before ``time``: no earlier event connects to one then."""
        at = bisect_left(self.ends, time)
        return self.starts[at - 1] if at else -_FOREVER


class Linker:
    """Puts a cell's events into the states of one template and finds their predecessors."""

    def __init__(self, stream: Cells, template: Template) -> None:
        self.stream = stream
        self.template = template
        self.into: list[list[tuple[int, Link]]] = [[] for _ in template.states]
        for transition in template.transitions:
            self.into[transition.target].append((transition.source, template.links[transition.link]))
        self.measures = given(stream.plan.measures)
        states: dict[str, list[State]] = defaultdict(list)
        for state in template.states:
            states[state.variable].append(state)
        self.by_variable = list(states.items())

    def gives(self, variable: str, event: Event) -> tuple[Any, ...]:
        """What an event gives to each of the plan's measures where it takes the variable."""
        return tuple(_give(measure, variable, event) for measure in self.measures)

    def vertices(self, cell: Cell, *, late_negation: bool = False) -> Iterator[Vertex]:
        """See ``Cell.vertices``."""
        barriers = [self._barrier(cell, negative.template) for negative in self.template.negatives]
        clips = [self._clip(state, barriers) for state in self.template.states]
        stacks: list[list[Vertex]] = [[] for _ in self.template.states]
        times: list[list[int]] = [[] for _ in self.template.states]
        for _, tick in groupby(cell.events, key=lambda event: event.time):
            fresh = []
            for event in tick:
                for variable, states in self.by_variable:
                    if not cell.may_take(event, variable):
                        continue
                    values = self.gives(variable, event)
                    for state in states:
                        first, last = clips[state.index]
                        inside = first <= event.time <= last
                        if not inside and not late_negation:
                            continue
                        vertex = Vertex(event, state, values)
                        vertex.inside = inside
                        self._point(vertex, stacks, times, barriers, late_negation)
                        if vertex.start or vertex.previous:
                            fresh.append(vertex)
                            yield vertex
            for vertex in fresh:
                stacks[vertex.state].append(vertex)
                times[vertex.state].append(vertex.time)

    def _point(
        self,
        vertex: Vertex,
        stacks: list[list[Vertex]],
        times: list[list[int]],
        barriers: list[Barrier],
        late_negation: bool,
    ) -> None:
        kept: set[Vertex] = set()
        for source, link in self.into[vertex.state]:
            candidates = stacks[source]
            cutoff = max((barriers[at].cutoff(vertex.time) for at in link.negations), default=-_FOREVER)
            if link.negations and not late_negation:
                candidates = candidates[bisect_left(times[source], cutoff) :]
            found = self._linked(candidates, vertex, link)
            vertex.previous += found
            if late_negation:
                kept.update(p for p in found if p.time >= cutoff)
        if late_negation and self.template.negatives:
            vertex.kept = frozenset(kept)

    def _linked(self, candidates: list[Vertex], vertex: Vertex, link: Link) -> list[Vertex]:
        """The candidates that satisfy the link's edge predicates with the vertex."""
        at = vertex.event.index
        for equal in link.equal:
            before, value = self.stream.column(equal.previous), self.stream.column(equal.next)[at]
            if value is None:
                return []
            candidates = [p for p in candidates if before[p.event.index] == value]
        for ordered in link.ordered:
            before, value = self.stream.column(ordered.previous), self.stream.column(ordered.next)[at]
            if value is None:
                return []
            holds = _COMPARE[ordered.operator]
            candidates = [p for p in candidates if (x := before[p.event.index]) is not None and holds(x, value)]
        for condition in link.residual:
            candidates = [p for p in candidates if _of_two(condition, p.event, vertex.event) is True]
        return candidates.copy()

    def _barrier(self, cell: Cell, template: Template) -> Barrier:
        """Latest starts flow along the negative template's edges, so its matches are never built."""
        latest: dict[Vertex, int] = {}
        by_end: dict[int, int] = {}
        for vertex in self.stream.linker(template).vertices(cell):
            start = max((latest[p] for p in vertex.previous), default=-_FOREVER)
            latest[vertex] = max(start, vertex.time) if vertex.start else start
            if vertex.end:
                by_end[vertex.time] = max(by_end.get(vertex.time, -_FOREVER), latest[vertex])
        barrier = Barrier()
        for end, start in by_end.items():
            barrier.ends.append(end)
            barrier.starts.append(max(start, barrier.starts[-1]) if barrier.starts else start)
        return barrier

    def _clip(self, state: State, barriers: list[Barrier]) -> tuple[int, int]:
        """The time in which events may be in the state: a leading NOT closes it, a trailing one opens it."""
        first, last = -_FOREVER, _FOREVER
        for at in state.clips:
            if not barriers[at].ends:
                continue
            if self.template.negatives[at].place is Place.LEADING:
                last = min(last, barriers[at].ends[0])
            else:
                first = max(first, barriers[at].starts[-1])
        return first, last


def _read(table: pa.Table, plan: Plan, clock: Clock) -> list[Event]:
    """The stream by time; NaN is NULL."""
    times = clock.read(table.column("time"), "time").tolist()
    types = table.column("type").to_pylist()
    columns = {name: [known(value) for value in table.column(name).to_pylist()] for name in plan.attributes}
    of_type: dict[str, list[tuple[str, tuple[Expression, ...]]]] = defaultdict(list)
    for variable in plan.variables:
        of_type[variable.event_type].append((variable.name, plan.local_conditions(variable.name)))
    events: list[Event] = []
    for index in sorted(range(len(times)), key=times.__getitem__):
        event = Event(0, times[index], {name: column[index] for name, column in columns.items()}, frozenset())
        event.variables = frozenset(
            name
            for name, conditions in of_type.get(types[index], ())
            if all(_of_one(condition, event) is True for condition in conditions)
        )
        event.index = len(events)
        events.append(event)
    return events


Given = Trends | Events | Values | Total | Extreme
"""The measures that single events give something to: those that rivals know."""


def given(measures: tuple[Measure, ...]) -> tuple[Given, ...]:
    """The measures as those that rivals know; the others are none, see ``CellByCell.supports``."""
    return tuple(measure for measure in measures if isinstance(measure, Given))


def _give(measure: Given, variable: str, event: Event) -> Any:
    """What an event gives to a measure where it takes the variable."""
    match measure:
        case Trends():
            return 0
        case Events(variables=variables):
            return int(variable in variables)
        case Values(variables=variables, attribute=name):
            return int(variable in variables and event.attributes[name] is not None)
        case Total(variables=variables, attribute=name):
            value = event.attributes[name] if variable in variables else None
            return 0 if value is None else value
        case Extreme(variables=variables, attribute=name):
            return event.attributes[name] if variable in variables else None
        case _:
            assert_never(measure)


def _of_one(expression: Expression, event: Event) -> object:
    return evaluate(expression, lambda leaf: event.attributes[leaf.name] if isinstance(leaf, Attribute) else None)


def _of_two(condition: Expression, earlier: Event, later: Event) -> object:
    def lookup(leaf: object) -> object:
        assert isinstance(leaf, Attribute)
        return (later if leaf.next else earlier).attributes[leaf.name]

    return evaluate(condition, lookup)
