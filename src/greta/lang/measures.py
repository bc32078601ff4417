"""What stands between the parentheses of an aggregate → ``Aggregate`` over events or ``TrendAggregate`` over trends.

The grammar reads any arithmetic there; what has no meaning, or could only be computed from the trends one by one, is
said here, with what can be asked instead.
"""

from __future__ import annotations

from typing import NoReturn, cast

from greta.errors import QuerySyntaxError, Span
from greta.lang.lexer import MAX_DEPTH, too_deep
from greta.lang.nodes import (
    Aggregate,
    Arithmetic,
    Attribute,
    Name,
    Negative,
    Number,
    TrendAggregate,
    ValueFunction,
    ValuePart,
)
from greta.lang.words import EVENT_FUNCTIONS, TREND_FUNCTIONS, VALUE_FUNCTIONS, quoted, upper

Measure = Number | Name | Attribute | ValuePart | Arithmetic | Negative
"""What the grammar reads between the parentheses; under arithmetic too, parts of values stand for expressions."""

ONE_BY_ONE = "needs the trends one by one, and they are never built"


def read_aggregate(function: str, star: bool, measure: Measure | None, span: Span) -> Aggregate | TrendAggregate:
    """The aggregate that ``function`` makes of a star, of a measure, or of nothing."""
    if measure is not None and not isinstance(measure, Name | Attribute):
        if function not in TREND_FUNCTIONS:
            raise QuerySyntaxError(
                f"{function} does not aggregate values of trends",
                span=span,
                hint=f"COUNT(*) counts the trends; {', '.join(TREND_FUNCTIONS[:-1])} and {TREND_FUNCTIONS[-1]} take a "
                "value of each: MAX(COUNT(*))",
            )
        return TrendAggregate(function, _parts(function, measure, span), span)
    if function not in EVENT_FUNCTIONS:
        shown = str(measure) if isinstance(measure, Attribute) else "S.price"
        raise QuerySyntaxError(
            f"{function} is taken over trends, of a value that each of them has",
            span=span,
            hint=f"say which value: {function}(SUM({shown})), {function}(LAST({shown})) or {function}(COUNT(*))",
        )
    return Aggregate(function, *_path(function, star, measure, span), span=span)


def read_part(function: str, star: bool, measure: Measure | None, span: Span) -> ValuePart:
    """A value of one trend, such as ``LAST(S.price)``."""
    if function not in VALUE_FUNCTIONS:
        shown = str(measure) if isinstance(measure, Attribute) else "S.price"
        raise QuerySyntaxError(
            f"an aggregate of {function}(...) of each trend {ONE_BY_ONE}",
            span=span,
            hint=f"{function}({shown}) alone runs over the events of all trends; a trend by itself has COUNT, SUM, "
            "MIN, MAX, FIRST, LAST and DURATION",
        )
    if measure is not None and not isinstance(measure, Name | Attribute):
        raise QuerySyntaxError(
            f"{function} of a trend takes an attribute of its events, not a computed value",
            span=span,
            hint=f"write {function}(S.price); a value of a trend is aggregated once, over the trends: MAX(COUNT(*))",
        )
    if function == "DURATION":
        if not star:
            raise QuerySyntaxError("a trend has one duration, from first to last event", span=span, hint="DURATION(*)")
        return ValuePart("DURATION", span=span)
    return ValuePart(cast("ValueFunction", function), *_path(function, star, measure, span), span=span)


def _path(function: str, star: bool, measure: Name | Attribute | None, span: Span) -> tuple[str | None, str | None]:
    """Variable and attribute, where the function takes them."""
    match measure:
        case Attribute(variable=variable) if function == "COUNT":
            message, hint = "COUNT counts events, not attributes", f"write COUNT({quoted(variable)}) or COUNT(*)"
        case Attribute(variable=variable, name=attribute):
            return variable, attribute
        case Name(name=variable) if function == "COUNT":
            return variable, None
        case Name(name=name) if upper(name) == "DURATION":
            message, hint = "a trend's duration is written with a star", f"write {function}(DURATION(*))"
        case Name(name=name):
            message = f"{function} needs a variable and its attribute"
            hint = f"write {function}({name}.attribute) if {name} is a variable, {function}(S.{name}) if not"
        case None if function == "COUNT" and star:
            return None, None
        case None if function == "COUNT":
            message, hint = "COUNT needs to know what to count", "COUNT(*) counts trends, COUNT(S) events of S"
        case _:
            message = f"{function} needs a variable and its attribute"
            hint = f"write {function}(S.price), with a variable of the pattern"
    raise QuerySyntaxError(message, span=span, hint=hint)


def _parts(function: str, measure: Measure, span: Span) -> tuple[ValuePart, ...]:
    """The parts of a sum or difference from left to right, signs distributed; no recursion, for any depth."""
    parts: list[ValuePart] = []
    waiting: list[tuple[Measure, bool, int]] = [(measure, False, 1)]
    while waiting:
        node, negative, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise too_deep(node.span)
        match node:
            case ValuePart(function=inner, variable=variable, attribute=attribute):
                parts.append(ValuePart(inner, variable, attribute, negative, node.span))
            case Negative(operand=operand):
                waiting.append((cast("Measure", operand), not negative, depth + 1))
            case Arithmetic(operator="+" | "-" as sign, left=left, right=right):
                waiting.append((cast("Measure", right), negative != (sign == "-"), depth + 1))
                waiting.append((cast("Measure", left), negative, depth + 1))
            case _:
                _reject(function, node, span)
    return tuple(parts)


def _reject(function: str, node: Number | Name | Attribute | Arithmetic, span: Span) -> NoReturn:
    """Say why what stands inside an aggregate is no sum or difference of values of a trend."""
    match node:
        case Number():
            message = "a value of a trend is a sum or difference of what the trend has, without numbers"
            hint = f"compute with the aggregate instead: {function}(COUNT(*)) - 1 AS name"
        case Arithmetic(left=Number()) | Arithmetic(right=Number()):
            message = "a value of a trend is a sum or difference of what the trend has, without numbers"
            hint = f"compute with the aggregate instead: {function}(SUM(S.price)) * 2 AS name"
        case Arithmetic(operator=sign):
            words = {"*": "a product", "/": "a quotient"}.get(sign, "a remainder")
            message = f"{words} of two values of each trend {ONE_BY_ONE}"
            hint = "sums and differences can be asked for, and aggregates can be divided by each other: "
            hint += "SUM(SUM(S.price)) / SUM(COUNT(S)) AS name"
        case _:
            shown = str(node)
            message = f"{shown} is of single events, and an aggregate takes one attribute, or values of a trend"
            hint = f"say which of a trend's values is meant: FIRST({shown}), LAST({shown}) or SUM({shown}); "
            hint += "or add the computed attribute to the events"
    raise QuerySyntaxError(message, span=node.span if node.span.stop else span, hint=hint)
