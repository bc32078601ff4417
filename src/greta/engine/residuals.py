"""Conditions that no index serves → postfix code, run for each pair of events (``kernels.conditions``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from greta.engine.codes import Codes
from greta.engine.columns import sides
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
                else:
                    self._emit_number(left)
                    self._emit_number(right)
                    self.program += [op.COMPARE, OPERATORS[operator]]
            case _:
                self._emit_number(condition)

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
