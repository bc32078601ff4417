"""Comparison of sums over two events → the part of each event, on a side of its own.

    A.x - NEXT(A).x > NEXT(A).y + 1      →      A.x - 1 > NEXT(A).x + NEXT(A).y

Over integers both say the same, and each side is a column: it is computed once per event, exactly whatever its size,
where a condition on the pair would be computed in doubles. Over floating-point numbers they do not say the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from greta.engine.columns import sides
from greta.lang.nodes import Arithmetic, Comparison, Expression, Negative, Number

_Terms = dict[bool, list[tuple[int, Expression]]]
"""Summands with their factors, of the earlier event (False) and of the later one (True)."""


def separated(comparison: Comparison, is_whole: Callable[[Expression], bool]) -> tuple[Expression, Expression] | None:
    """(what the earlier event, what the later event is compared by); None where there is no such form.

    ``is_whole`` says of an expression over one event whether its values are integers.
    """
    terms: _Terms = {False: [], True: []}
    if not _collect(comparison.left, 1, terms, is_whole) or not _collect(comparison.right, -1, terms, is_whole):
        return None
    return _total(terms[False], 1), _total(terms[True], -1)


def _collect(expression: Expression, factor: int, terms: _Terms, is_whole: Callable[[Expression], bool]) -> bool:
    about = sides(expression)
    if len(about) < 2:
        if not is_whole(expression):
            return False
        terms[True in about].append((factor, expression))
        return True
    match expression:
        case Negative(operand=operand):
            return _collect(operand, -factor, terms, is_whole)
        case Arithmetic(operator="+", left=left, right=right):
            return _collect(left, factor, terms, is_whole) and _collect(right, factor, terms, is_whole)
        case Arithmetic(operator="-", left=left, right=right):
            return _collect(left, factor, terms, is_whole) and _collect(right, -factor, terms, is_whole)
        case (
            Arithmetic(operator="*", left=Number(value=int(value)), right=operand)
            | Arithmetic(operator="*", left=operand, right=Number(value=int(value)))
        ):
            return _collect(operand, factor * value, terms, is_whole)
        case _:
            return False


def _total(terms: list[tuple[int, Expression]], sign: int) -> Expression:
    products = [
        expression if factor * sign == 1 else Arithmetic("*", Number(factor * sign), expression)
        for factor, expression in terms
    ]
    return reduce(lambda left, right: Arithmetic("+", left, right), products)
