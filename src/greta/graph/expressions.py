"""Residual edge predicates of the graph: one pair of events at a time, in plain Python.

Three-valued logic as in SQL: NULL is None, NaN is NULL too, and a predicate holds only where it is True.
Brute force has the same rules once more: the judge shares nothing with the judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import assert_never

from greta.lang.nodes import (
    Aggregate,
    And,
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Boolean,
    Call,
    Comparison,
    ComparisonOperator,
    Expression,
    Name,
    Negative,
    Not,
    Number,
    Or,
    Text,
    TrendAggregate,
)

Lookup = Callable[[Attribute], object]


def known(value: object) -> object:
    """The value itself, or None where it is NaN.

    >>> known(float("nan")) is None, known(0)
    (True, 0)
    """
    return None if isinstance(value, float) and math.isnan(value) else value


def evaluate(expression: Expression, lookup: Lookup) -> object:
    """The value of an expression, None for NULL; ``lookup`` answers for attributes.

    Integers are exact; where an integer meets a float, both are floats.
    """
    match expression:
        case Number(value=value) | Text(value=value) | Boolean(value=value):
            return value
        case Attribute():
            return known(lookup(expression))
        case Arithmetic(operator=operator, left=left, right=right):
            return _arithmetic(operator, evaluate(left, lookup), evaluate(right, lookup))
        case Negative(operand=operand):
            return _arithmetic("-", 0, evaluate(operand, lookup))
        case Comparison(operator=operator, left=left, right=right):
            return _compare(operator, evaluate(left, lookup), evaluate(right, lookup))
        case And(parts=parts):
            return _all([evaluate(part, lookup) for part in parts])
        case Or(parts=parts):
            return _not(_all([_not(evaluate(part, lookup)) for part in parts]))
        case Not(operand=operand):
            return _not(evaluate(operand, lookup))
        case Name() | Aggregate() | TrendAggregate() | Call():
            raise AssertionError("edge predicates speak of attributes alone")
        case _:
            assert_never(expression)


def _float(number: int | Fraction) -> float:
    """The nearest float; beyond the largest one, infinity."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _same_kind(left: object, right: object) -> tuple[object, object]:
    if isinstance(left, float) and isinstance(right, int | Fraction):
        return left, _float(right)
    if isinstance(left, int | Fraction) and isinstance(right, float):
        return _float(left), right
    return left, right


def _arithmetic(operator: ArithmeticOperator, left: object, right: object) -> object:
    if left is None or right is None:
        return None
    # A decimal with a fraction is a float in arithmetic.
    left, right = (_float(side) if isinstance(side, Fraction) else side for side in (left, right))
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


def _divide(left: float, right: float) -> float:
    if isinstance(left, int) and isinstance(right, int):
        return _float(Fraction(left, right))
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
