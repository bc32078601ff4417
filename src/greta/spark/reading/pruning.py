"""Statistics of a row group and plans → whether any of its rows can play a part.

A row group may only be left out where that is certain: what a statistic does not tell, or a condition that is not a
comparison of an attribute with a constant, leaves it in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from greta.lang.nodes import And, Attribute, Comparison, Expression, Number, Or, Semantics, Text
from greta.plan.nodes import Plan
from greta.spark.wire.relevance import variables_by_type

_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of a column in a row group: its least and greatest value, and whether it has any."""

    low: Any = None
    high: Any = None
    empty: bool = False
    """Whether all values are NULL."""


def can_matter(plans: Sequence[Plan], type_: str, bounds: Mapping[str, Bounds]) -> bool:
    """Whether some row of a row group can play a part in one of the queries."""
    return any(_matters(plan, type_, bounds) for plan in plans)


def _matters(plan: Plan, type_: str, bounds: Mapping[str, Bounds]) -> bool:
    if any(bounds[name].empty for name in plan.partitioning.common if name in bounds):
        return False
    if plan.semantics is Semantics.CONTIGUOUS:
        return True
    return any(
        _may_hold(Comparison("=", Attribute("", type_), Text(name)), bounds)
        and any(all(_may_hold(condition, bounds) for condition in conditions) for conditions in choices)
        for name, choices in variables_by_type([plan]).items()
    )


def _may_hold(condition: Expression, bounds: Mapping[str, Bounds]) -> bool:
    match condition:
        case And(parts=parts):
            return all(_may_hold(part, bounds) for part in parts)
        case Or(parts=parts):
            return any(_may_hold(part, bounds) for part in parts)
        case Comparison(operator=operator, left=Attribute(name=name), right=Number(value=value) | Text(value=value)):
            return _may_compare(operator, bounds.get(name, Bounds()), value)
        case Comparison(operator=operator, left=Number(value=value) | Text(value=value), right=Attribute(name=name)):
            return _may_compare(_MIRRORED[operator], bounds.get(name, Bounds()), value)
        case _:
            return True


def _may_compare(operator: str, bounds: Bounds, value: float | str) -> bool:
    """Whether some value within the bounds compares so with a constant."""
    if bounds.empty:
        return False
    low, high = bounds.low, bounds.high
    if not _comparable(low, value) or not _comparable(high, value):
        return True
    if isinstance(value, float) or isinstance(low, float):
        # As the engine compares: where an integer meets a float, both are doubles.
        low, high, value = float(low), float(high), float(value)
    match operator:
        case "=":
            return bool(low <= value <= high)
        case "<":
            return bool(low < value)
        case "<=":
            return bool(low <= value)
        case ">":
            return bool(high > value)
        case ">=":
            return bool(high >= value)
        case _:
            return True


def _comparable(bound: object, value: float | str) -> bool:
    if isinstance(value, str):
        return isinstance(bound, str)
    if isinstance(value, int) and abs(value) >= 2**63:
        return False
    return isinstance(bound, int | float) and not isinstance(bound, bool) and not isnan(bound)
