"""Trends → aggregates → rows: the second step of two-step approaches, one trend at a time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

import numpy as np

from greta.engine.times import Clock
from greta.lang.nodes import Name
from greta.plan.measures import Combine, Measure, Trends
from greta.plan.nodes import Finish, Output, Plan
from greta_research.brute_force.expressions import Leaf, evaluate
from greta_research.rivals.cells import Vertex, given


class Totals:
    """The plan's measures over the trends added so far, those of one window and group."""

    def __init__(self, measures: tuple[Measure, ...]) -> None:
        self.trends = 0
        self.measures = given(measures)
        self.joins = tuple(join_of(measure) for measure in self.measures)
        self.nothing: list[Any] = [0 if measure.combine is Combine.ADD else None for measure in self.measures]
        self.values = self.nothing.copy()
        self.only_counts = all(isinstance(measure, Trends) for measure in self.measures)

    def add(self, trend: Sequence[Vertex]) -> None:
        """Aggregate one trend. O(its length), or O(1) where trends are only counted."""
        self.trends += 1
        if not self.only_counts:
            for vertex in trend:
                self.add_values(vertex.values)

    def add_values(self, values: Sequence[Any]) -> None:
        """Add what events give to the measures."""
        for at, join in enumerate(self.joins):
            self.values[at] = join(self.values[at], values[at])

    def value(self, measure: int) -> Any:
        """The value of a measure."""
        return self.trends if isinstance(self.measures[measure], Trends) else self.values[measure]


Join = Callable[[Any, Any], Any]
"""From values of a measure over some events, and over others, to that over all."""


def join_of(measure: Measure) -> Join:
    """Numbers add up; of extremes the lesser or greater counts, where None is no value."""
    if measure.combine is Combine.ADD:
        return operator.add
    return _least if measure.sign < 0 else _greatest


def _least(one: Any, other: Any) -> Any:
    return one if other is None or (one is not None and one <= other) else other


def _greatest(one: Any, other: Any) -> Any:
    return one if other is None or (one is not None and one >= other) else other


def rows_of(
    plan: Plan, clock: Clock, found: Mapping[tuple[int, tuple[object, ...]], Totals]
) -> list[dict[str, object]]:
    """The rows that HAVING leaves, by window and in the order in which groups appeared."""
    windows = sorted({window for window, _ in found})
    bounds: dict[int, tuple[object, object]] = dict.fromkeys(windows, (None, None))
    if plan.window is not None:
        within, slide = clock.units(plan.window)
        starts = np.array(windows, dtype=np.int64) * slide
        written = (clock.write(edge, plan.window).to_pylist() for edge in (starts, starts + within))
        bounds = dict(zip(windows, zip(*written, strict=True), strict=True))
    rows = []
    for (window, group), totals in sorted(found.items(), key=lambda item: item[0][0]):
        grouped = dict(zip(plan.group, group, strict=True))
        known = grouped | {output.name: _value(output, totals) for output in plan.outputs}
        for computed in plan.computed:
            known[computed.name] = evaluate(computed.expression, lambda leaf, known=known: known[_name(leaf)])  # type: ignore[misc]
        if plan.having is not None and evaluate(plan.having, lambda leaf, known=known: known[_name(leaf)]) is not True:  # type: ignore[misc]
            continue
        rows.append(
            {
                "window_start": bounds[window][0],
                "window_end": bounds[window][1],
                **{name: grouped[name] for name in plan.returned},
                **{name: known[name] for name in plan.columns},
            }
        )
    return rows


def _name(leaf: Leaf) -> str:
    assert isinstance(leaf, Name)
    return leaf.name


def _value(output: Output, totals: Totals) -> object:
    values = [totals.value(measure) for measure in output.measures]
    match output.finish:
        case Finish.COUNT | Finish.EXTREME:
            return values[0]
        case Finish.SUM:
            return values[0] if values[1] else None
        case Finish.MEAN:
            return values[0] / values[1] if values[1] else None
        case Finish.DEVIATION:
            raise AssertionError("only values of trends have deviations")
        case _:
            assert_never(output.finish)
