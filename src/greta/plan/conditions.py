"""Conditions as the passes want them: NOT pushed inwards, conjuncts apart, constants folded."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from greta.lang.nodes import (
    And,
    Arithmetic,
    Attribute,
    Boolean,
    Call,
    Comparison,
    ComparisonOperator,
    Expression,
    Negative,
    Not,
    Number,
    Or,
    Text,
)
from greta.lang.walk import walk

OPPOSITE: dict[ComparisonOperator, ComparisonOperator] = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
}
"""``NOT (a < b)`` is ``a >= b``, also where one of them is NULL: both are unknown then."""

MIRRORED: dict[ComparisonOperator, ComparisonOperator] = {
    "=": "=",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
"""``a < b`` is ``b > a``."""

_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def attributes(condition: Expression) -> Iterator[Attribute]:
    """All attributes that the condition reads, in the order of the text, as often as they stand there."""
    return (node for node, _ in walk(condition) if isinstance(node, Attribute))


def rebuilt(expression: Expression, leaf: Callable[[Expression], Expression]) -> Expression:
    """The same expression with other leaves: constants, attributes, names and aggregates."""
    match expression:
        case Arithmetic(operator=sign, left=left, right=right):
            return Arithmetic(sign, rebuilt(left, leaf), rebuilt(right, leaf), expression.span)
        case Comparison(operator=comparison, left=left, right=right):
            return Comparison(comparison, rebuilt(left, leaf), rebuilt(right, leaf), expression.span)
        case Negative(operand=operand):
            return Negative(rebuilt(operand, leaf), expression.span)
        case Call(function=function, operand=operand):
            return Call(function, rebuilt(operand, leaf), expression.span)
        case Not(operand=operand):
            return Not(rebuilt(operand, leaf), expression.span)
        case And(parts=parts):
            return And(tuple(rebuilt(part, leaf) for part in parts), expression.span)
        case Or(parts=parts):
            return Or(tuple(rebuilt(part, leaf) for part in parts), expression.span)
        case _:
            return leaf(expression)


def conjuncts(condition: Expression) -> Iterator[Expression]:
    """The conditions that must all be true, NOT pushed inwards as far as it goes.

    ``NOT (a < b OR c = d)`` gives ``a >= b`` and ``c != d``. What has this form already stays as it is.
    """
    condition = _pushed(condition, positive=True)
    if isinstance(condition, And):
        for part in condition.parts:
            yield from conjuncts(part)
    else:
        yield condition


def _pushed(condition: Expression, *, positive: bool) -> Expression:
    match condition:
        case Not(operand=operand):
            return _pushed(operand, positive=not positive)
        case And(parts=parts) | Or(parts=parts):
            pushed = tuple(_pushed(part, positive=positive) for part in parts)
            if positive and all(new is old for new, old in zip(pushed, parts, strict=True)):
                return condition
            kind = And if isinstance(condition, And) == positive else Or
            flat: list[Expression] = []
            for part in pushed:
                flat.extend(part.parts if isinstance(part, kind) else (part,))
            return kind(tuple(flat), condition.span)
        case _ if positive:
            return condition
        case Comparison(operator=sign, left=left, right=right):
            return Comparison(OPPOSITE[sign], left, right, condition.span)
        case Boolean(value=value):
            return Boolean(not value, condition.span)
        case _:
            return Not(condition, condition.span)


def _is_double(value: int | float | str) -> bool:  # noqa: PYI041 - an int stands for itself here
    """Whether a double is this very number."""
    return not isinstance(value, str) and (isinstance(value, float) or abs(value) <= 2**53)


def constant(condition: Expression) -> int | float | str | bool | None:
    """The value of a condition over constants alone, None where only execution can tell.

    Division and remainder are left to execution, so that their rules for zero and signs live in one place; so is an
    integer that a double cannot hold beside one, and what has no result (∞ - ∞).

    >>> constant(Comparison("<", Number(1), Number(2)))
    True
    """
    match condition:
        case Number(value=value) | Text(value=value) | Boolean(value=value):
            return value
        case Negative(operand=operand):
            number = constant(operand)
            return None if number is None or isinstance(number, str) else -number
        case Arithmetic(operator=sign, left=left, right=right) | Comparison(operator=sign, left=left, right=right):
            one, other = constant(left), constant(right)
            fold = _FOLD.get(sign)
            if one is None or other is None or fold is None or isinstance(one, str) != isinstance(other, str):
                return None
            if any(isinstance(side, float) for side in (one, other)) and not (_is_double(one) and _is_double(other)):
                return None
            try:
                result: int | float | str | bool = fold(one, other)
            except (OverflowError, TypeError):
                return None
            return None if result != result else result
        case And(parts=parts) | Or(parts=parts):
            values = [constant(part) for part in parts]
            decisive = isinstance(condition, Or)
            if any(value is decisive for value in values):
                return decisive
            return None if None in values else not decisive
        case _:
            return None
