"""Conditions that no index serves → postfix code, run for each pair of events (``kernels.conditions``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from greta.engine.codes import Codes
from greta.engine.columns import plain, sides
from greta.engine.digits import bound_of, digit_columns, digits_in, digits_of
from greta.engine.operands import EventArrays
from greta.engine.separation import separated
from greta.engine.values import as_double
from greta.errors import DataError
from greta.kernels import conditions as op
from greta.kernels.layout import DIFFERS, EQUALS, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL
from greta.lang.nodes import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Boolean,
    Call,
    Comparison,
    Expression,
    Name,
    Negative,
    Not,
    Number,
    Or,
    Text,
    TrendAggregate,
)

OPERATORS = {"<": LESS, "<=": LESS_EQUAL, ">": GREATER, ">=": GREATER_EQUAL, "=": EQUALS, "!=": DIFFERS}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_ARITHMETIC = {"+": op.ADD, "-": op.SUBTRACT, "*": op.MULTIPLY, "/": op.DIVIDE, "%": op.REMAINDER}
_WIDE = {"+": op.WIDE_ADD, "-": op.WIDE_SUBTRACT, "*": op.WIDE_MULTIPLY, "%": op.WIDE_REMAINDER}


@dataclass(slots=True)
class Residuals:
    """The code of all residual conditions of a template."""

    arrays: EventArrays
    comparison: Callable[[tuple[Codes, Codes], int], int]
    """The number of a comparison of codes, which is listed where it is new."""
    program: list[int] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)

    def emit(self, conditions: tuple[Expression, ...]) -> int:
        """Append the code of a conjunction; where it starts."""
        first = len(self.program)
        for count, condition in enumerate(conditions):
            self._emit_condition(condition)
            if count:
                self.program += [op.AND, 0]
        self.program += [op.STOP, 0]
        if _deepest(self.program[first:]) > op.STACK:
            raise DataError("a condition between two events is too long", hint="split it into several with AND")
        return first

    def _emit_condition(self, condition: Expression) -> None:
        """Postfix code that leaves 1, 0 or NaN."""
        match condition:
            case _ if len(sides(condition)) < 2:
                self._emit_number(condition)
            case And(parts=parts) | Or(parts=parts):
                for count, part in enumerate(parts):
                    self._emit_condition(part)
                    if count:
                        self.program += [op.AND if isinstance(condition, And) else op.OR, 0]
            case Not(operand=operand):
                self._emit_condition(operand)
                self.program += [op.NOT, 0]
            case Comparison(operator=operator, left=left, right=right):
                a, b = sides(left), sides(right)
                if a <= {False} and b <= {True}:
                    pair = self.arrays.comparands(left, right)
                    self.program += [op.COMPARE_CODES, self.comparison(pair, OPERATORS[operator])]
                elif a <= {True} and b <= {False}:
                    pair = self.arrays.comparands(right, left)
                    self.program += [op.COMPARE_CODES, self.comparison(pair, OPERATORS[_MIRRORED[operator]])]
                elif (apart := separated(condition, self.arrays.columns.is_whole)) is not None:
                    pair = self.arrays.comparands(*apart)
                    self.program += [op.COMPARE_CODES, self.comparison(pair, OPERATORS[operator])]
                elif (width := self._digits(left, right)) is not None:
                    self.program += [op.WIDTH, width]
                    self._emit_digits(left, width)
                    self._emit_digits(right, width)
                    self.program += [op.WIDE_COMPARE, OPERATORS[operator]]
                else:
                    self._emit_number(left)
                    self._emit_number(right)
                    self.program += [op.COMPARE, OPERATORS[operator]]
            case _:
                self._emit_number(condition)

    def _digits(self, left: Expression, right: Expression) -> int | None:
        """How many digits a comparison of integers needs; None where doubles do, or where it is not of integers."""
        bounds = [bound_of(side, self.arrays.columns) for side in (left, right)]
        known = [bound for bound in bounds if bound is not None]
        if len(known) < len(bounds) or not any(bound.needs_digits for bound in known):
            return None
        return digits_in(max(bound.on_the_way for bound in known))

    def _emit_digits(self, expression: Expression, width: int) -> None:
        """Postfix code that leaves an integer of so many digits."""
        match expression:
            case Number(value=int(value)):
                self.program += [op.WIDE_CONSTANT, len(self.constants)]
                self.constants += digits_of(value, width)
            case _ if len(about := sides(expression)) <= 1:
                self.program += [
                    op.WIDE_NEXT if True in about else op.WIDE_PREVIOUS,
                    self._digit_columns(expression, width),
                ]
            case Negative(operand=operand):
                self._emit_digits(operand, width)
                self.program += [op.WIDE_NEGATE, 0]
            case Arithmetic(operator="+" | "-" | "*" | "%" as operator, left=left, right=right):
                self._emit_digits(left, width)
                self._emit_digits(right, width)
                self.program += [_WIDE[operator], 0]
            case _:
                raise AssertionError("bounds are known of integers alone")

    def _digit_columns(self, expression: Expression, width: int) -> int:
        """The first of the columns of an integer's sign and digits, which stand side by side."""
        made: list[list[NDArray[np.float64]]] = []

        def column(at: int) -> NDArray[np.float64]:
            if not made:
                made.append(digit_columns(self.arrays.columns.evaluate(expression), width))
            return made[0][at]

        key = ("digits", plain(expression), width)
        arrays = [self.arrays.gather((*key, at), partial(column, at)) for at in range(width + 1)]
        first, *_ = (self.arrays.values.add(array) for array in arrays)
        return first

    def _emit_number(self, expression: Expression) -> None:
        """Postfix code that leaves a number, NaN for NULL."""
        about = sides(expression)
        match expression:
            case Number(value=value):
                self._emit_constant(as_double(value))
            case Boolean(value=truth):
                self._emit_constant(float(truth))
            case _ if len(about) <= 1:
                column = self.arrays.values.add(self.arrays.numbers(expression))
                self.program += [op.NEXT if True in about else op.PREVIOUS, column]
            case Negative(operand=operand):
                self._emit_number(operand)
                self.program += [op.NEGATE, 0]
            case Arithmetic(operator=operator, left=left, right=right):
                self._emit_number(left)
                self._emit_number(right)
                self.program += [_ARITHMETIC[operator], 0]
            case Comparison() | And() | Or() | Not():
                self._emit_condition(expression)
            case Attribute() | Name() | Aggregate() | TrendAggregate() | Call() | Text():
                raise DataError("a condition between two events cannot be computed")
            case _:
                assert_never(expression)

    def _emit_constant(self, value: float) -> None:
        self.constants.append(value)
        self.program += [op.CONSTANT, len(self.constants) - 1]


_PUSHED = (op.CONSTANT, op.PREVIOUS, op.NEXT, op.COMPARE_CODES)
_IN_PLACE = (op.NEGATE, op.NOT, op.WIDE_NEGATE)


def _deepest(program: list[int]) -> int:
    """How many cells of the stack a program needs, the scratch of products and remainders included."""
    depth, most, cells = 0, 0, 1
    for operation, argument in zip(program[::2], program[1::2], strict=True):
        if operation == op.WIDTH:
            cells = argument + 1
        elif operation in _PUSHED:
            depth += 1
        elif operation in (op.WIDE_CONSTANT, op.WIDE_PREVIOUS, op.WIDE_NEXT):
            depth += cells
        elif operation == op.WIDE_COMPARE:
            depth -= 2 * cells - 1
        elif operation > op.WIDTH and operation not in _IN_PLACE:
            most = max(most, depth + cells)
            depth -= cells
        elif operation != op.STOP and operation not in _IN_PLACE:
            depth -= 1
        most = max(most, depth)
    return most
