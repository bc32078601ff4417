"""Expressions and aggregates of brute force: one value at a time, in plain Python.

Three-valued logic as in SQL: NULL is None, NaN is NULL too, and a predicate holds only where it is True.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import assert_never, cast

from greta.lang.nodes import (
    Aggregate,
    AggregateFunction,
    And,
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Boolean,
    Call,
    Comparison,
    ComparisonOperator,
    Expression,
    MathFunction,
    Name,
    Negative,
    Not,
    Number,
    Or,
    Text,
    TrendAggregate,
)

Leaf = Attribute | Name | Aggregate | TrendAggregate
Lookup = Callable[[Leaf], object]


def known(value: object) -> object:
    """The value itself, or None where it is NaN.

    >>> known(float("nan")) is None, known(0)
    (True, 0)
    """
    return None if isinstance(value, float) and math.isnan(value) else value


def evaluate(expression: Expression, lookup: Lookup) -> object:
    """The value of an expression, None for NULL; ``lookup`` answers for attributes, names and aggregates.

    Integers are exact; where an integer meets a float, both are floats.
    """
    match expression:
        case Number(value=value) | Text(value=value) | Boolean(value=value):
            return value
        case Attribute() | Name() | Aggregate() | TrendAggregate():
            return known(lookup(expression))
        case Arithmetic(operator=operator, left=left, right=right):
            return _arithmetic(operator, evaluate(left, lookup), evaluate(right, lookup))
        case Negative(operand=operand):
            return _arithmetic("-", 0, evaluate(operand, lookup))
        case Call(function=function, operand=operand):
            return _called(function, evaluate(operand, lookup))
        case Comparison(operator=operator, left=left, right=right):
            return _compare(operator, evaluate(left, lookup), evaluate(right, lookup))
        case And(parts=parts):
            return _all([evaluate(part, lookup) for part in parts])
        case Or(parts=parts):
            return _not(_all([_not(evaluate(part, lookup)) for part in parts]))
        case Not(operand=operand):
            return _not(evaluate(operand, lookup))
        case _:
            assert_never(expression)


def names_in(expression: Expression) -> list[Leaf]:
    """All leaves that need a lookup, from left to right."""
    match expression:
        case Number() | Text() | Boolean():
            return []
        case Attribute() | Name() | Aggregate() | TrendAggregate():
            return [expression]
        case Arithmetic(left=left, right=right) | Comparison(left=left, right=right):
            return names_in(left) + names_in(right)
        case And(parts=parts) | Or(parts=parts):
            return [leaf for part in parts for leaf in names_in(part)]
        case Negative(operand=operand) | Not(operand=operand) | Call(operand=operand):
            return names_in(operand)
        case _:
            assert_never(expression)


def fold(function: AggregateFunction, values: Iterable[object]) -> object:
    """MIN, MAX, SUM or AVG of the values that are not NULL; NULL where there is none.

    Sums are exact until the end: integers stay integers, floats are rounded once.
    """
    present = [value for value in map(known, values) if value is not None]
    if not present:
        return None
    numbers = cast("list[float]", present)
    match function:
        case "COUNT":
            return len(present)
        case "MIN":
            return min(numbers)
        case "MAX":
            return max(numbers)
        case "SUM" if not any(isinstance(number, float) for number in numbers):
            return sum(numbers)
        case "SUM":
            return _quotient(numbers, 1)
        case "AVG":
            return _quotient(numbers, len(numbers))
        case _:
            assert_never(function)


def _quotient(numbers: list[float], count: int) -> float | None:
    """Sum over count, rounded once at the end; NULL where infinities cancel out."""
    infinite = [number for number in numbers if number in (math.inf, -math.inf)]
    if infinite:
        return None if min(infinite) != max(infinite) else infinite[0]
    return nearest_float(sum(map(Fraction, numbers), Fraction(0)) / count)


def nearest_float(number: int | Fraction) -> float:
    """The nearest float; beyond the largest one, infinity."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _same_kind(left: object, right: object) -> tuple[object, object]:
    if isinstance(left, float) and isinstance(right, int):
        return left, nearest_float(right)
    if isinstance(left, int) and isinstance(right, float):
        return nearest_float(left), right
    return left, right


def _arithmetic(operator: ArithmeticOperator, left: object, right: object) -> object:
    if left is None or right is None:
        return None
    left, right = _same_kind(left, right)
    assert isinstance(left, int | float)
    assert isinstance(right, int | float)
    match operator:
        case "+":
            return known(left + right)
        case "-":
            return known(left - right)
        case "*":
            return known(left * right)
        case "/":
            return None if right == 0 else known(_divide(left, right))
        case "%":
            return None if right == 0 else known(_remainder(left, right))
        case _:
            assert_never(operator)


def _called(function: MathFunction, operand: object) -> int | float | None:
    """A function of one number; NULL where it has no result. Integers beyond every float have logarithms too."""
    if operand is None:
        return None
    assert isinstance(operand, int | float)
    match function:
        case "ABS":
            return abs(operand)
        case "SQRT" if operand < 0:
            return None
        case "SQRT" if isinstance(operand, int):
            return _whole_root(operand)
        case "SQRT":
            return math.sqrt(operand)
        case _ if operand <= 0:
            return None
        case "LOG2":
            return math.log2(operand)
        case "LOG10":
            return math.log10(operand)
        case "LN":
            return math.log(operand)
        case _:
            assert_never(function)


def _whole_root(number: int) -> float:
    """The square root of an integer of any size."""
    shift = max(0, number.bit_length() - 256) // 2
    return nearest_float(Fraction(math.isqrt(number >> 2 * shift) << shift)) if shift else math.sqrt(number)


def _divide(left: float, right: float) -> float:
    if isinstance(left, int) and isinstance(right, int):
        return nearest_float(Fraction(left, right))
    return left / right


def _remainder(left: float, right: float) -> float:
    """``%`` takes the sign of the dividend, as in SQL."""
    if isinstance(left, int) and isinstance(right, int):
        size = abs(left) % abs(right)
        return size if left >= 0 else -size
    return math.nan if math.isinf(left) else math.fmod(left, right)


def _compare(operator: ComparisonOperator, left: object, right: object) -> bool | None:
    if left is None or right is None:
        return None
    left, right = _same_kind(left, right)
    match operator:
        case "=":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right  # type: ignore[operator, no-any-return]
        case "<=":
            return left <= right  # type: ignore[operator, no-any-return]
        case ">":
            return left > right  # type: ignore[operator, no-any-return]
        case ">=":
            return left >= right  # type: ignore[operator, no-any-return]
        case _:
            assert_never(operator)


def _all(values: list[object]) -> bool | None:
    if False in values:
        return False
    return None if None in values else True


def _not(value: object) -> bool | None:
    return None if value is None else not value
