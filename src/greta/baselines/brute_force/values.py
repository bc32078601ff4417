"""Values of trends by definition: each trend's value, then the aggregate over all trends that have one.

Numbers are exact fractions until the end; only what is returned is rounded, once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never, cast

from greta.baselines.brute_force.expressions import fold, nearest_float
from greta.baselines.brute_force.search import Trend
from greta.lang.nodes import TrendAggregate, TrendFunction, ValuePart

Resolve = Callable[[str], frozenset[str]]
"""The variables that a name stands for."""

_NANOSECONDS = 10**9


@dataclass(frozen=True, slots=True)
class _Value:
    """A trend's value; ``whole`` where the aggregate of such values is an integer."""

    exact: Fraction
    whole: bool


def over_trends(aggregate: TrendAggregate, trends: Iterable[Trend], resolve: Resolve) -> object:
    """The aggregate of the trends' values, trends without the value passed over; NULL where none has it."""
    match aggregate.function, aggregate.parts:
        case "MIN" | "MAX" as function, (ValuePart(function="MIN" | "MAX", negative=False) as part,):
            return fold(function, (_folded(part, trend, resolve) for trend in trends))
        case function, parts:
            values = [value for trend in trends if (value := _value(parts, trend, resolve)) is not None]
            return _aggregated(function, values) if values else None


def _value(parts: Sequence[ValuePart], trend: Trend, resolve: Resolve) -> _Value | None:
    total, whole = Fraction(0), True
    for part in parts:
        number = _part(part, trend, resolve)
        if number is None:
            return None
        total += -Fraction(number) if part.negative else Fraction(number)
        whole &= not isinstance(number, float)
    return _Value(total, whole and total.denominator == 1)


def _part(part: ValuePart, trend: Trend, resolve: Resolve) -> int | float | Fraction | None:
    """One part of one trend's value, None where the trend does not have it."""
    match part.function:
        case "COUNT":
            if part.variable is None:
                return len(trend)
            variables = resolve(part.variable)
            return sum(variable in variables for _, variable in trend)
        case "DURATION":
            return Fraction(trend[-1][0].time - trend[0][0].time, _NANOSECONDS)
        case "FIRST" | "LAST":
            present = _present(part, trend, resolve)
            return None if not present else present[0 if part.function == "FIRST" else -1]
        case "SUM" | "MIN" | "MAX":
            return _folded(part, trend, resolve)
        case _:
            assert_never(part.function)


def _folded(part: ValuePart, trend: Trend, resolve: Resolve) -> int | float | None:
    """SUM, MIN or MAX over the events of one trend."""
    return cast("float | None", fold(part.function, _present(part, trend, resolve)))  # type: ignore[arg-type]


def _present(part: ValuePart, trend: Trend, resolve: Resolve) -> list[float]:
    """The values of the part's attribute that are not NULL, from first to last event."""
    assert part.variable is not None
    assert part.attribute is not None
    variables = resolve(part.variable)
    values = (event.get(part.attribute) for event, variable in trend if variable in variables)
    return [cast("float", value) for value in values if value is not None]


def _aggregated(function: TrendFunction, values: list[_Value]) -> int | float:
    numbers = [value.exact for value in values]
    match function:
        case "MIN":
            result = min(numbers)
        case "MAX":
            result = max(numbers)
        case "SUM":
            result = sum(numbers, Fraction(0))
        case "AVG":
            return nearest_float(sum(numbers, Fraction(0)) / len(numbers))
        case "STDDEV":
            mean = sum(numbers, Fraction(0)) / len(numbers)
            return _root(sum(((number - mean) ** 2 for number in numbers), Fraction(0)) / len(numbers))
        case _:
            assert_never(function)
    return int(result) if all(value.whole for value in values) else nearest_float(result)


def _root(number: Fraction) -> float:
    """The square root, from a whole root with at least 100 bits."""
    shift = max(0, 200 - number.numerator.bit_length() + number.denominator.bit_length()) // 2
    scaled = (number.numerator << (2 * shift)) // number.denominator
    return nearest_float(Fraction(math.isqrt(scaled), 1 << shift))
