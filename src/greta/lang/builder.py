# ruff: noqa: D102  (the grammar documents the rules)
"""Grammar rules → syntax tree. Lark calls the method named like a rule (or its alias) when it has read one.

Rules are reduced bottom-up, so nothing here recurses. A part in parentheses takes them into its span.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from lark.lexer import Token

from greta.errors import QuerySyntaxError, Span, did_you_mean
from greta.lang.measures import read_aggregate, read_part
from greta.lang.nodes import (
    Aggregate,
    And,
    Arithmetic,
    ArithmeticOperator,
    Atom,
    Attribute,
    Boolean,
    Call,
    Comparison,
    ComparisonOperator,
    Conjunction,
    Disjunction,
    Duration,
    Equivalence,
    EquivalenceAttribute,
    Expression,
    GroupAttribute,
    MathFunction,
    Maybe,
    Name,
    Negation,
    Negative,
    Not,
    Number,
    Or,
    Pattern,
    Plus,
    Repeat,
    ReturnAttribute,
    ReturnValue,
    Semantics,
    Seq,
    Star,
    Text,
    TrendAggregate,
    ValuePart,
)
from greta.lang.values import read_bound, read_duration, read_number
from greta.lang.words import upper

Children = list[Any]


@dataclass(frozen=True, slots=True)
class Word:
    """A name as it was written, quotes taken off."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Clause:
    """An optional clause: its keyword, what it says, and its place."""

    keyword: str
    value: Any
    span: Span


@dataclass(frozen=True, slots=True)
class Clauses:
    """All that was read, before the clauses are checked against each other."""

    returns: tuple[ReturnAttribute | ReturnValue, ...]
    pattern: Pattern
    optional: tuple[Clause, ...]


class Builder:
    """One method per rule of ``grammar.lark``; each gets the rule's parts, tokens included."""

    def query(self, parts: Children) -> Clauses:
        returns = tuple(part for part in parts if isinstance(part, ReturnAttribute | ReturnValue))
        optional = tuple(part for part in parts if isinstance(part, Clause))
        return Clauses(returns, parts[len(parts) - len(optional) - 1], optional)

    # Clauses

    def semantics(self, parts: Children) -> Clause:
        name = parts[1].lower()
        known = [semantics.value for semantics in Semantics]
        if name not in known:
            guess = did_you_mean(name, known)
            others = f"the event selections are {', '.join(known)}"
            raise QuerySyntaxError(
                f"there is no event selection named {parts[1]}",
                span=_span(parts[1:]),
                hint=f"{guess} ({others})" if guess else others,
            )
        return Clause("SEMANTICS", Semantics(name), _span(parts))

    def maximal(self, parts: Children) -> Clause:
        return Clause("MAXIMAL", True, _span(parts))

    def min_length(self, parts: Children) -> Clause:
        least = read_bound(parts[1], _span(parts[1:]))
        if least == 0:
            raise QuerySyntaxError(
                "MIN LENGTH counts events, and a trend has at least one",
                span=_span(parts),
                hint="leave the clause out, or ask for more: MIN LENGTH 2",
            )
        return Clause("MIN LENGTH", least, _span(parts))

    def where(self, parts: Children) -> Clause:
        condition = parts[1]
        conjuncts = condition.parts if isinstance(condition, And) else (condition,)
        return Clause("WHERE", conjuncts, _span(parts))

    def group_by(self, parts: Children) -> Clause:
        return Clause("GROUP-BY", tuple(_between_signs(parts)), _span(parts))

    def grouped_by(self, parts: Children) -> GroupAttribute:
        return GroupAttribute(*_attribute_path(parts), _span(parts))

    def having(self, parts: Children) -> Clause:
        return Clause("HAVING", parts[1], _span(parts))

    def within(self, parts: Children) -> Clause:
        return Clause("WITHIN", parts[1], _span(parts))

    def slide(self, parts: Children) -> Clause:
        return Clause("SLIDE", parts[1], _span(parts))

    def duration(self, parts: Children) -> Duration:
        *sign, number, unit = parts
        return read_duration(number, unit.value, negative=bool(sign), span=_span(parts), unit_span=unit.span)

    # RETURN

    def return_attribute(self, parts: Children) -> ReturnAttribute:
        return ReturnAttribute(*_attribute_path(parts), _span(parts))

    def return_value(self, parts: Children) -> ReturnValue:
        expression = parts[0]
        if len(parts) == 3:
            return ReturnValue(expression, parts[2].value, _span(parts))
        if isinstance(expression, Aggregate | TrendAggregate):
            return ReturnValue(expression, expression.default_name, _span(parts))
        raise QuerySyntaxError(
            "a computed column needs a name",
            span=_span(parts),
            hint="name it with AS: COUNT(S) / COUNT(*) AS mean_length",
        )

    def aggregate(self, parts: Children) -> Aggregate | TrendAggregate:
        return read_aggregate(upper(parts[0]), *_argument(parts), _span(parts))

    def value_part(self, parts: Children) -> ValuePart:
        return read_part(upper(parts[0]), *_argument(parts), _span(parts))

    def call(self, parts: Children) -> Call:
        return Call(cast("MathFunction", upper(parts[0])), parts[2], _span(parts))

    # PATTERN

    def atom(self, parts: Children) -> Atom:
        return Atom(parts[0].value, parts[-1].value, _span(parts))

    def seq(self, parts: Children) -> Seq:
        return Seq(tuple(_between_signs(parts[2:-1])), _span(parts))

    def plus(self, parts: Children) -> Plus:
        return Plus(parts[0], _span(parts))

    def star(self, parts: Children) -> Star:
        return Star(parts[0], _span(parts))

    def maybe(self, parts: Children) -> Maybe:
        return Maybe(parts[0], _span(parts))

    def exactly(self, parts: Children) -> Repeat:
        return self._repeat(parts, parts[2], parts[2])

    def at_least(self, parts: Children) -> Repeat:
        return self._repeat(parts, parts[2], None)

    def between(self, parts: Children) -> Repeat:
        return self._repeat(parts, parts[2], parts[4])

    def _repeat(self, parts: Children, least: Token, most: Token | None) -> Repeat:
        at_least = read_bound(least, _span([least]))
        at_most = None if most is None else read_bound(most, _span([most]))
        span = _span(parts[1:])
        if at_most == 0:
            raise QuerySyntaxError(
                "a part that is repeated zero times matches nothing",
                span=span,
                hint="use {1} or more, or ? for optional",
            )
        if at_most is not None and at_most < at_least:
            raise QuerySyntaxError(
                f"the bounds are the wrong way round: at least {at_least}, at most {at_most}",
                span=span,
                hint=f"write {{{at_most},{at_least}}}",
            )
        return Repeat(parts[0], at_least, at_most, _span(parts))

    def negation(self, parts: Children) -> Negation:
        return Negation(parts[1], _span(parts))

    def disjunction(self, parts: Children) -> Disjunction:
        flat: list[Pattern] = []
        for part in _between_signs(parts):
            flat.extend(part.parts if isinstance(part, Disjunction) else (part,))
        return Disjunction(tuple(flat), _span(parts))

    def conjunction(self, parts: Children) -> Conjunction:
        left, *rest = _between_signs(parts)
        for right in rest:
            left = Conjunction(left, right, left.span | right.span)
        return cast("Conjunction", left)

    def grouped(self, parts: Children) -> Pattern | Expression | Equivalence:
        return cast("Pattern", replace(parts[1], span=_span(parts)))

    # WHERE and HAVING

    def or_(self, parts: Children) -> Or:
        flat: list[Expression] = []
        for part in _between_signs(parts):
            flat.extend(part.parts if isinstance(part, Or) else (part,))
        return Or(tuple(flat), _span(parts))

    def and_(self, parts: Children) -> And:
        flat: list[Expression] = []
        for part in _between_signs(parts):
            flat.extend(part.parts if isinstance(part, And) else (part,))
        return And(tuple(flat), _span(parts))

    def not_(self, parts: Children) -> Not:
        return Not(parts[1], _span(parts))

    def compare(self, parts: Children) -> Comparison:
        left, sign, right = parts
        operator = "!=" if sign == "<>" else str(sign)
        return Comparison(cast("ComparisonOperator", operator), left, right, _span(parts))

    def arithmetic(self, parts: Children) -> Arithmetic:
        left, operator, right = parts
        return Arithmetic(cast("ArithmeticOperator", str(operator)), left, right, _span(parts))

    def negative(self, parts: Children) -> Number | Negative:
        operand = parts[1]
        # A minus before an unsigned number is its sign; str() also tells 0.0 from -0.0.
        if isinstance(operand, Number) and not str(operand.value).startswith("-"):
            # -0 is the int 0, which prints without a sign.
            return Number(-operand.value, _span(parts))
        return Negative(operand, _span(parts))

    def number(self, parts: Children) -> Number:
        return Number(read_number(parts[0], _span(parts)), _span(parts))

    def text(self, parts: Children) -> Text:
        return Text(parts[0][1:-1].replace("''", "'"), _span(parts))

    def boolean(self, parts: Children) -> Boolean:
        return Boolean(parts[0].type == "TRUE", _span(parts))

    def bare_name(self, parts: Children) -> Name:
        return Name(parts[0].value, _span(parts))

    def attribute(self, parts: Children) -> Attribute:
        return Attribute(parts[0].value, parts[2].value, span=_span(parts))

    def next_attribute(self, parts: Children) -> Attribute:
        return Attribute(parts[2].value, parts[5].value, next=True, span=_span(parts))

    def equivalence(self, parts: Children) -> Equivalence:
        return Equivalence(tuple(_between_signs(parts[1:-1])), _span(parts))

    def agreed(self, parts: Children) -> EquivalenceAttribute:
        variable = parts[0].value if len(parts) == 3 else None
        return EquivalenceAttribute(variable, parts[-1].value, _span(parts))

    def path(self, parts: Children) -> Word:
        """A field of a structure has the name that Arrow gives it where the structure is opened."""
        return Word(".".join(part.value for part in _between_signs(parts)), _span(parts))

    def name(self, parts: Children) -> Word:
        token = parts[0]
        if token.type != "QUOTED":
            return Word(str(token), _span(parts))
        quote = token[0]
        value = token[1:-1].replace(quote * 2, quote)
        if not value:
            raise QuerySyntaxError(
                "a name cannot be empty",
                span=_span(parts),
                hint="write a name between the quotes; empty text is ''",
            )
        return Word(value, _span(parts))


def _between_signs(parts: Children) -> list[Any]:
    return [part for part in parts if not isinstance(part, Token)]


def _attribute_path(parts: Children) -> tuple[str, str | None]:
    """Attribute and variable of ``price`` and ``S.price``."""
    return parts[-1].value, parts[0].value if len(parts) == 3 else None


def _argument(parts: Children) -> tuple[bool, Any]:
    """What stands in ``FUNCTION(...)``: whether it is a star, and the measure, None where there is none."""
    inside = parts[2:-1]
    star = bool(inside) and isinstance(inside[0], Token)
    return star, None if star or not inside else inside[0]


def _span(parts: Children) -> Span:
    """From the first part's start to the last part's stop."""
    first, last = parts[0], parts[-1]
    start = first.start_pos if isinstance(first, Token) else first.span.start
    stop = last.end_pos if isinstance(last, Token) else last.span.stop
    return Span(cast("int", start), cast("int", stop))
