"""Intermediate aggregates and how they flow along edges (§9, Theorem on aggregate computation).

Whatever is aggregated, a vertex's total is the sum of its predecessors' totals, and then the event takes part in
all the trends that end at it. Numbers are exact: integers stay integers, and a column of floats is counted in
the smallest power of two that they all are multiples of.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from greta.graph.events import Event, Stream
from greta.graph.panes import Total
from greta.plan.nodes import Slot, SlotKind, State


class Propagation(Protocol):
    """What flows along edges. The first number of a total is always the number of trends."""

    def nothing(self) -> Total:
        """The total of no trends."""

    def add(self, total: Total, part: Total) -> None:
        """Let ``total`` also stand for the trends of ``part``."""

    def take_part(self, total: Total, event: Event, state: State) -> None:
        """Let an event be the last one of all trends of ``total``."""


class LatestStart:
    """For negative sub-patterns: [number of matches, latest start of one]; all that they forbid follows from it."""

    def nothing(self) -> Total:
        """No match, no start."""
        return [0, -math.inf]

    def add(self, total: Total, part: Total) -> None:
        """More matches; the latest start of either."""
        total[0] += part[0]
        total[1] = max(total[1], part[1])

    def take_part(self, total: Total, event: Event, state: State) -> None:
        """An event that begins a match is later than all that began before it."""
        if state.start:
            total[1] = event.time


@dataclass(frozen=True, slots=True)
class _Column:
    """A slot with the values that it needs, and the unit that they are counted in."""

    kind: SlotKind
    variables: frozenset[str]
    values: list[Any]
    unit: Fraction = Fraction(1)


class Aggregates:
    """For the pattern itself: one number per slot of the plan, COUNT(*) first."""

    def __init__(self, stream: Stream) -> None:
        self._columns = [_column(slot, stream) for slot in stream.plan.slots]
        self._combine = [(at, _COMBINE[column.kind]) for at, column in enumerate(self._columns)]

    def nothing(self) -> Total:
        """No trends: nothing to count or sum, no extreme."""
        return [None if c.kind in (SlotKind.MIN, SlotKind.MAX) else 0 for c in self._columns]

    def add(self, total: Total, part: Total) -> None:
        """Add numbers, and keep the more extreme of extremes."""
        for at, combine in self._combine:
            total[at] = combine(total[at], part[at])

    def take_part(self, total: Total, event: Event, state: State) -> None:
        """COUNT(E) grows by 1, SUM(E.attr) by the value for every trend that the event is in."""
        trends = total[0]
        for at, column in enumerate(self._columns):
            if state.variable not in column.variables:
                continue
            if column.kind is SlotKind.EVENTS:
                total[at] += trends
                continue
            value = column.values[event.row]
            if value is None:
                continue
            match column.kind:
                case SlotKind.VALUES:
                    total[at] += trends
                case SlotKind.SUM:
                    total[at] = _plus(total[at], value * trends if isinstance(value, int) else value)
                case SlotKind.MIN:
                    total[at] = _least(total[at], value)
                case SlotKind.MAX:
                    total[at] = _greatest(total[at], value)
                case _:
                    pass

    def pairs(self, left: Total, right: Total, both: Total) -> Total:
        """Outermost AND (§9): X trends only left, Y only right and Z on both sides make
        XY + XZ + YZ + Z(Z-1)/2 pairs of different trends; the rest runs over both trends of every pair.
        """
        z = both[0]
        x, y = left[0] - z, right[0] - z
        partners_of_x, partners_of_y, partners_of_z = y + z, x + z, x + y + z - 1
        taken = ((left, x and partners_of_x), (right, y and partners_of_y), (both, z and partners_of_z))
        total = self.nothing()
        for at, column in enumerate(self._columns):
            match column.kind:
                case SlotKind.TRENDS:
                    total[at] = x * y + x * z + y * z + z * (z - 1) // 2
                case SlotKind.MIN | SlotKind.MAX:
                    # A trend of both sides shows in the extremes of each; where it has no partner, nothing has.
                    better = _least if column.kind is SlotKind.MIN else _greatest
                    for side, has_partner in taken:
                        total[at] = better(total[at], side[at]) if has_partner else total[at]
                case _ if any(isinstance(side[at], float) for side in (left, right, both)):
                    # Infinite sums have no differences: one with a partner makes the whole infinite.
                    total[at] = sum(s[at] for s, has_partner in taken if has_partner and isinstance(s[at], float))
                case _:
                    a, b, c = left[at], right[at], both[at]
                    total[at] = (a - c) * partners_of_x + (b - c) * partners_of_y + c * partners_of_z
        return total

    def final(self, total: Total) -> Total:
        """The numbers in the attributes' own units."""
        return [
            number if column.unit == 1 or not isinstance(number, int) else number * column.unit
            for number, column in zip(total, self._columns, strict=True)
        ]


def _column(slot: Slot, stream: Stream) -> _Column:
    if slot.attribute is None:
        return _Column(slot.kind, slot.variables, [])
    values = stream.values(slot.attribute)
    if slot.kind is not SlotKind.SUM or stream.columns.is_integer(slot.attribute):
        return _Column(slot.kind, slot.variables, values)
    finite = [value for value in values if value is not None and math.isfinite(value)]
    # Every float is a whole number of some power of two.
    parts = max((value.as_integer_ratio()[1] for value in finite), default=1)
    whole = [int(Fraction(value) * parts) if value is not None and math.isfinite(value) else value for value in values]
    return _Column(slot.kind, slot.variables, whole, Fraction(1, parts))


def _plus(a: Any, b: Any) -> Any:
    """A sum that infinity, once in it, does not leave, however large the other side."""
    if isinstance(a, float) and isinstance(b, int):
        return a
    if isinstance(b, float) and isinstance(a, int):
        return b
    return a + b


def _least(a: Any, b: Any) -> Any:
    return a if b is None or (a is not None and a <= b) else b


def _greatest(a: Any, b: Any) -> Any:
    return a if b is None or (a is not None and a >= b) else b


_COMBINE: dict[SlotKind, Callable[[Any, Any], Any]] = {
    SlotKind.TRENDS: operator.add,
    SlotKind.EVENTS: operator.add,
    SlotKind.VALUES: operator.add,
    SlotKind.SUM: _plus,
    SlotKind.MIN: _least,
    SlotKind.MAX: _greatest,
}
