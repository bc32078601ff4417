# ruff: noqa: RUF009  (a span is immutable, so one default may be shared)
"""Nodes of expressions: predicates, aggregates, and what is computed from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, cast

from greta.errors import NOWHERE, Span


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


class _PrintedExpression:
    """``str`` of an expression is its text, as of a whole query."""

    __slots__ = ()

    def __str__(self) -> str:
        from greta.lang.printer import print_expression

        return print_expression(cast("Expression", self))


@dataclass(frozen=True, slots=True)
class Number(_PrintedExpression):
    """``10`` is an int, ``10.0`` and ``1e1`` are floats; a sign belongs to the number."""

    value: int | float
    span: Span = _span()

    def __eq__(self, other: object) -> bool:
        """Whether all that is computed with the numbers is the same: an int is no float, integers have more digits."""
        if not isinstance(other, Number):
            return NotImplemented
        return self.value == other.value and isinstance(self.value, int) == isinstance(other.value, int)

    def __hash__(self) -> int:
        """Equal for equal numbers."""
        return hash(self.value)


@dataclass(frozen=True, slots=True)
class Text(_PrintedExpression):
    """``'IBM'``; a quote inside is written twice."""

    value: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Boolean(_PrintedExpression):
    """``TRUE`` or ``FALSE``"""

    value: bool
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Attribute(_PrintedExpression):
    """``S.price``, or ``NEXT(S).price`` where ``next``. ``variable`` may also be an event type's name."""

    variable: str
    name: str
    next: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Name(_PrintedExpression):
    """A bare name in HAVING: a grouped attribute or the name of a returned aggregate."""

    name: str
    span: Span = _span()


AggregateFunction = Literal["COUNT", "MIN", "MAX", "SUM", "AVG"]


@dataclass(frozen=True, slots=True)
class Aggregate(_PrintedExpression):
    """``COUNT(*)`` (no variable), ``COUNT(S)`` (no attribute), ``MIN MAX SUM AVG (S.price)``."""

    function: AggregateFunction
    variable: str | None = None
    attribute: str | None = None
    span: Span = _span()

    @property
    def default_name(self) -> str:
        """Column name where the query gives none.

        >>> Aggregate("SUM", "S", "price").default_name, Aggregate("SUM", "S", "payload.price").default_name
        ('sum_S_price', 'sum_S_payload_price')
        """
        return "_".join([self.function.lower(), *_words(self.variable, self.attribute)])


def _words(variable: str | None, attribute: str | None) -> list[str]:
    """Parts of a column's name; the field of a structure without its dots, which SQL would read as its own."""
    return [word.replace(".", "_") for word in (variable, attribute) if word is not None]


ValueFunction = Literal["COUNT", "SUM", "MIN", "MAX", "FIRST", "LAST", "DURATION"]
TrendFunction = Literal["MIN", "MAX", "SUM", "AVG", "STDDEV"]
TREND_WORDS: dict[TrendFunction, str] = {
    "MIN": "the smallest",
    "MAX": "the largest",
    "SUM": "the sum of the",
    "AVG": "the average",
    "STDDEV": "the standard deviation of the",
}
"""What each gives of a value of trends, in words."""


@dataclass(frozen=True, slots=True)
class ValuePart:
    """What one trend has: ``COUNT(*)`` events, ``LAST(S.price)``; subtracted from the value where ``negative``.

    ``COUNT(*)`` and ``DURATION(*)`` have no variable, ``COUNT(S)`` has no attribute.
    """

    function: ValueFunction
    variable: str | None = None
    attribute: str | None = None
    negative: bool = False
    span: Span = _span()

    def __str__(self) -> str:
        from greta.lang.printer import print_part

        return print_part(self)


@dataclass(frozen=True, slots=True)
class TrendAggregate(_PrintedExpression):
    """An aggregate over trends of a value of each: ``AVG(LAST(S.price) - FIRST(S.price))``.

    The value is the sum of its parts, in the order of the text.
    """

    function: TrendFunction
    parts: tuple[ValuePart, ...]
    span: Span = _span()

    @property
    def default_name(self) -> str:
        """Column name where the query gives none.

        >>> TrendAggregate("MAX", (ValuePart("COUNT"),)).default_name
        'max_count'
        >>> steepness = (ValuePart("LAST", "S", "price"), ValuePart("FIRST", "S", "price", negative=True))
        >>> TrendAggregate("AVG", steepness).default_name
        'avg_last_S_price_minus_first_S_price'
        """
        words = [self.function.lower()]
        for at, part in enumerate(self.parts):
            if part.negative:
                words.append("minus")
            elif at:
                words.append("plus")
            words += [part.function.lower(), *_words(part.variable, part.attribute)]
        return "_".join(words)


ArithmeticOperator = Literal["+", "-", "*", "/", "%"]
ComparisonOperator = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Arithmetic(_PrintedExpression):
    """``S.price * 2``; operators of one rank group from the left."""

    operator: ArithmeticOperator
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Negative(_PrintedExpression):
    """Unary minus. ``-5`` itself is ``Number(-5)``."""

    operand: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Comparison(_PrintedExpression):
    """``<>`` is read as ``!=``."""

    operator: ComparisonOperator
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class And(_PrintedExpression):
    """At least two parts, none of them an ``And``."""

    parts: tuple[Expression, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Or(_PrintedExpression):
    """At least two parts, none of them an ``Or``."""

    parts: tuple[Expression, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Not(_PrintedExpression):
    """``NOT S.price > 10``"""

    operand: Expression
    span: Span = _span()


MathFunction = Literal["LOG2", "LOG10", "LN", "SQRT", "ABS"]


@dataclass(frozen=True, slots=True)
class Call(_PrintedExpression):
    """``LOG2(COUNT(*))``: a function of one number, in RETURN and HAVING."""

    function: MathFunction
    operand: Expression
    span: Span = _span()


Expression = (
    Number
    | Text
    | Boolean
    | Attribute
    | Name
    | Aggregate
    | TrendAggregate
    | Arithmetic
    | Negative
    | Call
    | Comparison
    | And
    | Or
    | Not
)
