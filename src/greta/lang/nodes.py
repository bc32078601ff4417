# ruff: noqa: RUF009  (a span is immutable, so one default may be shared)
"""The syntax tree: frozen, typed nodes with their place in the text (paper, Definition 1 and grammar figure).

Spans do not take part in equality, so ``parse(str(query)) == query``. Nothing here knows how a query is
computed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from greta.errors import NOWHERE, Span
from greta.lang.expressions import (
    TREND_WORDS,
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
    TrendFunction,
    ValueFunction,
    ValuePart,
)
from greta.lang.patterns import (
    Atom,
    Conjunction,
    Disjunction,
    Maybe,
    Negation,
    Pattern,
    Plus,
    Repeat,
    Seq,
    Star,
)

__all__ = [
    "TREND_WORDS",
    "Aggregate",
    "AggregateFunction",
    "And",
    "Arithmetic",
    "ArithmeticOperator",
    "Atom",
    "Attribute",
    "Boolean",
    "Call",
    "Comparison",
    "ComparisonOperator",
    "Conjunction",
    "Disjunction",
    "Duration",
    "Equivalence",
    "EquivalenceAttribute",
    "Expression",
    "GroupAttribute",
    "MathFunction",
    "Maybe",
    "Name",
    "Negation",
    "Negative",
    "Not",
    "Number",
    "Or",
    "Pattern",
    "Plus",
    "Query",
    "Repeat",
    "ReturnAttribute",
    "ReturnValue",
    "Semantics",
    "Seq",
    "Star",
    "Text",
    "TrendAggregate",
    "TrendFunction",
    "ValueFunction",
    "ValuePart",
    "Within",
]


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class EquivalenceAttribute:
    """``company`` (all events agree: ``variable`` is None) or ``P.vehicle`` (the events of P agree)."""

    variable: str | None
    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Equivalence:
    """``[company, P.vehicle]``, a conjunct of WHERE."""

    attributes: tuple[EquivalenceAttribute, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ReturnAttribute:
    """A grouped attribute in RETURN: ``sector``, or ``P.vehicle`` (``variable`` is P)."""

    name: str
    variable: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ReturnValue:
    """An aggregate in RETURN, or a value computed from aggregates: ``COUNT(S) / COUNT(*) AS mean_length``.

    ``name`` is the column's name, given by AS or, for an aggregate by itself, by default.
    """

    expression: Expression
    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class GroupAttribute:
    """One name of ``GROUP-BY sector, P.vehicle``; with a variable, it means the scope ``[P.vehicle]`` too."""

    name: str
    variable: str | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time in whole milliseconds, however it was written."""

    milliseconds: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Within:
    """``WITHIN 10 minutes SLIDE 10 seconds``; windows are ``[i·slide, i·slide + within)``."""

    within: Duration
    slide: Duration
    span: Span = _span()


class Semantics(Enum):
    """Which events a trend may skip (paper, event selection semantics table)."""

    ANY = "skip-till-any-match"
    NEXT = "skip-till-next-match"
    CONTIGUOUS = "contiguous"


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query. ``where`` holds the conjuncts of WHERE; ``text`` is what was parsed, for errors."""

    returns: tuple[ReturnAttribute | ReturnValue, ...]
    pattern: Pattern
    semantics: Semantics = Semantics.ANY
    maximal: bool = False
    min_length: int = 1
    where: tuple[Equivalence | Expression, ...] = ()
    group_by: tuple[GroupAttribute, ...] = ()
    having: Expression | None = None
    window: Within | None = None
    maximal_span: Span = _span()
    min_length_span: Span = _span()
    text: str | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        from greta.lang.printer import print_query

        return print_query(self)
