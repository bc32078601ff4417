"""Events in, partitions out: vertex predicates filter and cut the stream (§6, "Vertex Predicates").

A partition is what agrees on the common attributes. Scopes (``[P.vehicle]``) cut it further: into one cell per
value, and one for the trends that have no event of the scope.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from math import gcd
from typing import Any

import pyarrow as pa

from greta.engine.columns import Columns
from greta.engine.instants import NANOSECONDS
from greta.engine.job import Job
from greta.engine.times import Clock, furthest_from_zero
from greta.graph.totals import Weights
from greta.lang.nodes import Semantics
from greta.plan.nodes import Plan


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A row of the input. ``variables`` are those it may take, by its type, local predicates and scopes."""

    row: int
    time: int
    event_type: str
    variables: frozenset[str]


@dataclass(frozen=True, slots=True)
class Cell:
    """The events of a partition that have the given values in scopes, or that scopes do not concern.

    ``values`` maps scopes of the plan to a value, or to None for trends without an event of the scope.
    """

    values: dict[int, Any]
    events: list[Event]

    def ticks(self) -> Iterator[tuple[int, list[Event]]]:
        """The events by time stamp: each is one stream transaction (§7)."""
        for time, events in groupby(self.events, key=lambda event: event.time):
            yield time, list(events)

    @property
    def required(self) -> int:
        """Bits of the scopes whose value a trend of this cell must have met."""
        return sum(1 << scope for scope, value in self.values.items() if value is not None)


@dataclass(frozen=True, slots=True)
class Windows:
    """``[i·slide, i·slide + within)`` in units of the clock; without WITHIN, window 0 holds everything.

    ``only`` leaves a single one of them.
    """

    within: int | None
    slide: int
    lowest: int
    only: int | None = None

    @staticmethod
    def of(plan: Plan, clock: Clock, only: int | None = None) -> Windows:
        """The windows of a plan."""
        if plan.window is None:
            return Windows(None, 1, 0)
        within, slide = clock.units(plan.window)
        return Windows(within, slide, clock.lowest_window, only)

    def holding(self, time: int) -> list[int]:
        """The windows that an event of this time falls into.

        >>> Windows(within=10, slide=3, lowest=0).holding(4)
        [0, 1]
        """
        if self.within is None:
            return [0]
        first = max((time - self.within) // self.slide + 1, self.lowest)
        return [w for w in range(first, time // self.slide + 1) if self.only is None or w == self.only]

    @property
    def pane(self) -> int | None:
        """Length of a time pane: windows begin and end only between panes. None: one pane for all."""
        return None if self.within is None else gcd(self.within, self.slide)

    def last_end(self, time: int) -> int | None:
        """When the last window ends that an event of this time falls into."""
        return None if self.within is None else time // self.slide * self.slide + self.within


class Stream:
    """A table of events under a plan: times, attributes, and which variables each event may take."""

    def __init__(self, job: Job, table: pa.Table) -> None:
        self.job = job
        self.plan = plan = job.plan
        self.columns = Columns(table)
        self.clock = job.clock
        self.times: list[int] = []
        """Per row, in units of the clock."""
        self.weights = Weights(self)
        self._values: dict[str, list[Any]] = {}
        self._variables_of: dict[str, frozenset[str]] = {
            name: frozenset(v.name for v in plan.variables if v.event_type == name) for name in plan.event_types
        }
        self._keep_all = plan.semantics is Semantics.CONTIGUOUS
        self.events = self._read(table)

    def _read(self, table: pa.Table) -> list[Event]:
        """The events by time, with their local predicates applied."""
        instants = self.clock.read(table.column(self.job.time), self.job.time)
        if self.plan.window is not None:
            self.clock.require_room(furthest_from_zero(instants), self.plan.window)
        self.times = times = instants.tolist()
        types = table.column(self.job.type).cast(pa.string()).to_pylist()
        allowed = {
            v.name: [self.columns.holds(c) for c in self.plan.local_conditions(v.name)] for v in self.plan.variables
        }
        events = [
            Event(row, times[row], event_type or "", self._may_take(row, event_type, allowed))
            for row, event_type in enumerate(types)
        ]
        return sorted(events, key=lambda event: event.time)

    def _may_take(self, row: int, event_type: str | None, allowed: dict[str, list[Any]]) -> frozenset[str]:
        variables = self._variables_of.get(event_type, frozenset()) if event_type is not None else frozenset[str]()
        return frozenset(name for name in variables if all(holds[row] for holds in allowed[name]))

    def values(self, attribute: str) -> list[Any]:
        """An attribute's value per row, None for NULL; time stamps as whole nanoseconds, decimals as exact numbers."""
        if attribute not in self._values:
            array = self.columns.attribute(attribute)
            if pa.types.is_timestamp(array.type):
                factor = NANOSECONDS[array.type.unit]
                counts = array.view(pa.int64()).to_pylist()
                self._values[attribute] = [None if count is None else count * factor for count in counts]
            elif pa.types.is_decimal(array.type):
                exact = (None if value is None else Fraction(value) for value in array.to_pylist())
                self._values[attribute] = [
                    value.numerator if value is not None and value.denominator == 1 else value for value in exact
                ]
            else:
                self._values[attribute] = array.to_pylist()
        return self._values[attribute]

    def partitions(self) -> Iterator[list[Event]]:
        """The events that agree on the common attributes; those that are NULL there are in no partition."""
        columns = [self.values(name) for name in self.plan.partitioning.common]
        found: dict[tuple[Any, ...], list[Event]] = {}
        for event in self.events:
            key = tuple(column[event.row] for column in columns)
            if None not in key:
                found.setdefault(key, []).append(event)
        yield from found.values()

    def cells(self, cell: Cell, scopes: Iterable[int], met: frozenset[int] | None = None) -> list[Cell]:
        """Cut a cell by the scopes that it is not cut by yet.

        ``met`` has the sets of scopes, as bits, whose cells are of use; without it all are.
        """
        cells = [cell]
        decided = 0
        for scope in scopes:
            if scope not in cell.values:
                cells = [part for whole in cells for part in self._cut(whole, scope)]
            if met is not None:
                decided |= 1 << scope
                useful = {bits & decided for bits in met}
                cells = [part for part in cells if part.required in useful]
        return cells

    def _cut(self, cell: Cell, number: int) -> list[Cell]:
        """One cell per value of a scope, and one for trends that never meet it.

        An event that can only be the scope's goes to the cell of its value; all others go to every cell, where
        they may take the scope's variables only if the value is theirs.
        """
        scope = self.plan.partitioning.scopes[number]
        values = self.values(scope.attribute)
        parts: dict[Any, list[Event]] = {None: []}
        for event in cell.events:
            if event.variables & scope.variables and values[event.row] is not None:
                parts.setdefault(values[event.row], [])
        for event in cell.events:
            own = values[event.row]
            # Under `contiguous` an event may only stand in the way: then its type tells where it belongs.
            taken = self._variables_of.get(event.event_type, frozenset()) if self._keep_all else event.variables
            bound = bool(taken) and taken <= scope.variables
            for value in (own,) if bound else parts:
                if value is not None and value == own:
                    parts.get(value, []).append(event)
                elif not bound:
                    rest = event.variables - scope.variables
                    if rest or self._keep_all:
                        parts[value].append(replace(event, variables=rest))
        return [Cell(cell.values | {number: value}, events) for value, events in parts.items()]
