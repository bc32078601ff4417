"""Trends → aggregates → rows: the second step of two-step approaches, one trend at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from greta.engine.times import Clock
from greta.lang.nodes import Aggregate, Attribute, Name
from greta.plan.nodes import Output, Plan, Slot, SlotKind
from greta_research.brute_force.expressions import evaluate
from greta_research.rivals.cells import Vertex


class Totals:
    """The plan's slots over the trends added so far, those of one window and group."""

    def __init__(self, slots: tuple[Slot, ...]) -> None:
        self.trends = 0
        self.kinds = tuple(slot.kind for slot in slots)
        self.values: list[Any] = [None if kind in (SlotKind.MIN, SlotKind.MAX) else 0 for kind in self.kinds]
        self.only_counts = all(kind is SlotKind.TRENDS for kind in self.kinds)

    def add(self, trend: Sequence[Vertex]) -> None:
        """Aggregate one trend. O(its length), or O(1) where trends are only counted."""
        self.trends += 1
        if not self.only_counts:
            for vertex in trend:
                self.add_values(vertex.values)

    def add_values(self, values: Sequence[Any], times: int = 1) -> None:
        """Add what an event gives to the slots, for each of ``times`` trends."""
        for at, kind in enumerate(self.kinds):
            value = values[at]
            match kind:
                case SlotKind.TRENDS:
                    pass
                case SlotKind.MIN | SlotKind.MAX:
                    self.values[at] = extreme(kind, self.values[at], value)
                case _:
                    self.values[at] += value * times

    def value(self, slot: int) -> Any:
        """The value of a slot."""
        return self.trends if self.kinds[slot] is SlotKind.TRENDS else self.values[slot]


def extreme(kind: SlotKind, one: Any, other: Any) -> Any:
    """The lesser (MIN) or greater (MAX) of two values, where None is no value."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other) if kind is SlotKind.MIN else max(one, other)


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
        outputs = {output.name: _value(output, totals) for output in plan.outputs}
        known = grouped | outputs
        if plan.having is not None and evaluate(plan.having, lambda leaf, known=known: known[_name(leaf)]) is not True:  # type: ignore[misc]
            continue
        rows.append(
            {
                "window_start": bounds[window][0],
                "window_end": bounds[window][1],
                **{name: grouped[name] for name in plan.returned},
                **{output.name: outputs[output.name] for output in plan.outputs if not output.hidden},
            }
        )
    return rows


def _name(leaf: Attribute | Name | Aggregate) -> str:
    assert isinstance(leaf, Name)
    return leaf.name


def _value(output: Output, totals: Totals) -> object:
    values = [totals.value(slot) for slot in output.slots]
    match output.function:
        case "COUNT" | "MIN" | "MAX":
            return values[0]
        case "SUM":
            return values[0] if values[1] else None
        case "AVG":
            return values[0] / values[1] if values[1] else None
