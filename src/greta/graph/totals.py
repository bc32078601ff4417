"""What flows along edges (§9, Theorem on aggregate computation): the steps of a flow, over plain Python numbers.

A total has the slots of a ``greta.plan.flows.Flow``, the additive ones in front and the number of trends first of all.
No aggregate is known here: a measure says by its flow what starting a trend and taking part in one do to its slots.
Numbers are exact, integers or fractions; an extreme that no value has reached is None.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any, assert_never

from greta.kernels.layout import NOTHING
from greta.plan.flows import Code, Flow, Guard, Op, Position, Step, Weight
from greta.plan.measures import Combine, Measure

if TYPE_CHECKING:
    from greta.graph.events import Event, Stream
    from greta.graph.panes import Total
    from greta.plan.nodes import State

_Column = list[Any] | int
"""A number per row, or one for all rows."""


@dataclass(slots=True)
class Weights:
    """What steps read of events, a column per weight and per guard, made once."""

    stream: Stream
    _columns: dict[Weight | Code | Position, _Column] = field(default_factory=dict)
    _guards: dict[Guard, list[bool]] = field(default_factory=dict)

    def column(self, weight: Weight | Code | Position | None) -> _Column:
        """A step's weight per row; None only for codes of NULL."""
        if weight is None:
            return 0
        if weight not in self._columns:
            self._columns[weight] = self._made(weight)
        return self._columns[weight]

    def _made(self, weight: Weight | Code | Position) -> _Column:
        match weight:
            case Position():
                return self.stream.times
            case Code(attribute=name, sign=sign):
                codes, _ = self.stream.columns.extremes(name, double=False)
                nothing = int(NOTHING)
                return [None if code == nothing else sign * code for code in codes.tolist()]
            case Weight(constant=constant, attributes=(), seconds=0):
                return constant
            case Weight(constant=constant, attributes=attributes, seconds=seconds):
                rows: list[Any] = [constant] * len(self.stream.times)
                for name, coefficient in attributes:
                    values = map(_exact, self.stream.values(name))
                    rows = [plus(row, times(coefficient, value)) for row, value in zip(rows, values, strict=True)]
                if seconds:
                    per_second = 1_000 * self.stream.clock.per_millisecond
                    instants = (Fraction(time, per_second) for time in self.stream.times)
                    rows = [plus(row, seconds * instant) for row, instant in zip(rows, instants, strict=True)]
                return [row.numerator if isinstance(row, Fraction) and row.denominator == 1 else row for row in rows]
            case _:
                assert_never(weight)

    def guard(self, guard: Guard) -> list[bool]:
        """Per row, whether a guarded step is taken."""
        if guard not in self._guards:
            rows = [True] * len(self.stream.times)
            for names, is_null in ((guard.valid, False), (guard.missing, True)):
                for name in names:
                    values = self.stream.values(name)
                    rows = [row and (value is None) is is_null for row, value in zip(rows, values, strict=True)]
            self._guards[guard] = rows
        return self._guards[guard]


@dataclass(frozen=True, slots=True)
class _Step:
    """A step with the columns that it reads; slots are positions in a total."""

    op: Op
    target: int
    source: int
    weight: _Column
    guard: list[bool] | None


class Propagation:
    """The phases of ``greta.plan.flows`` for one template; ``measures`` are those that the flow was built of."""

    def __init__(self, stream: Stream, flow: Flow, measures: tuple[Measure, ...] = ()) -> None:
        self.flow = flow
        self._weights = stream.weights
        self._nothing: Total = [0] * flow.adds + [None] * flow.maxes
        self._first: Total = [int(at in flow.start_adds) for at in range(flow.adds)]
        self._first += [0 if at in flow.start_maxes else None for at in range(flow.maxes)]
        self._starting = {name: [self._step(step) for step in steps] for name, steps in flow.starting.items()}
        self._taking_part = {name: [self._step(step) for step in steps] for name, steps in flow.taking_part.items()}
        combine: list[Callable[[Any, Any], Any]] = [operator.add, *[plus] * (flow.adds - 1), *[greatest] * flow.maxes]
        self._combine = list(enumerate(combine))
        self._results = [
            slot + (flow.adds if measure.combine is Combine.MAX else 0)
            for slot, measure in zip(flow.results, measures, strict=False)
        ]

    def _step(self, step: Step) -> _Step:
        shift = 0 if step.op.additive else self.flow.adds
        guard = None if step.guard is None else self._weights.guard(step.guard)
        return _Step(step.op, step.target + shift, step.source + shift, self._weights.column(step.weight), guard)

    def nothing(self) -> Total:
        """The total of no trends."""
        return self._nothing.copy()

    def started(self, event: Event, state: State) -> Total:
        """Phase 1: the total of the one trend that starts with an event."""
        total = self._first.copy()
        _take(self._starting.get(state.variable, ()), total, event.row)
        return total

    def add(self, total: Total, part: Total) -> None:
        """Phases 2 and 4: let ``total`` also stand for the trends of ``part``."""
        for at, combine in self._combine:
            total[at] = combine(total[at], part[at])

    def take_part(self, total: Total, event: Event, state: State) -> None:
        """Phase 3: let an event be the last one of all trends of ``total``."""
        _take(self._taking_part.get(state.variable, ()), total, event.row)

    def results(self, total: Total) -> list[Any]:
        """The value of each measure."""
        return [total[at] for at in self._results]


def _take(steps: list[_Step] | tuple[()], total: Total, row: int) -> None:
    for step in steps:
        if step.guard is not None and not step.guard[row]:
            continue
        target, source = step.target, step.source
        weight = step.weight[row] if isinstance(step.weight, list) else step.weight
        match step.op:
            case Op.ADD:
                total[target] = plus(total[target], times(weight, total[source]))
            case Op.COPY:
                total[target] = total[source]
            case Op.ZERO:
                total[target] = 0
            case Op.RAISE:
                total[target] = greatest(total[target], weight)
            case Op.PUT:
                total[target] = None if total[source] is None else plus(total[source], weight)
            case Op.JOIN:
                if total[source] is not None:
                    total[target] = greatest(total[target], plus(total[source], weight))
            case Op.LOWER:
                if total[target] is not None:
                    total[target] = min(total[target], weight)
            case Op.RAISE_IF:
                if total[source] is not None:
                    total[target] = greatest(total[target], weight)
            case Op.CLEAR:
                total[target] = None
            case _:
                assert_never(step.op)


def _exact(value: Any) -> Any:
    """A number without rounding, 0 for NULL; infinite ones stay floats."""
    if value is None:
        return 0
    return Fraction(value) if isinstance(value, float) and isfinite(value) else value


def plus(a: Any, b: Any) -> Any:
    """A sum that infinity, once in it, does not leave, however large the other side."""
    if isinstance(a, float) and not isinstance(b, float):
        return a
    if isinstance(b, float) and not isinstance(a, float):
        return b
    return a + b


def times(a: Any, b: Any) -> Any:
    """A product; nothing of something infinite is nothing."""
    if not isinstance(a, float) and not isinstance(b, float):
        return a * b
    if a == 0 or b == 0:
        return 0
    return (a if isinstance(a, float) else 1.0 if a > 0 else -1.0) * (
        b if isinstance(b, float) else 1.0 if b > 0 else -1.0
    )


def greatest(a: Any, b: Any) -> Any:
    """The larger of two, where None is none."""
    return a if b is None or (a is not None and a >= b) else b
