"""Query → plain words: a sentence or two that a reader without the language understands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from greta.lang.nodes import (
    TREND_WORDS,
    Aggregate,
    And,
    Arithmetic,
    Atom,
    Attribute,
    Call,
    Comparison,
    Conjunction,
    Disjunction,
    Equivalence,
    Expression,
    GroupAttribute,
    Maybe,
    Name,
    Negation,
    Negative,
    Not,
    Or,
    Pattern,
    Plus,
    Query,
    Repeat,
    ReturnValue,
    Semantics,
    Seq,
    Star,
    TrendAggregate,
    ValuePart,
)
from greta.lang.printer import print_expression
from greta.plan.nodes import Place, Window

PLACE_MEANING: dict[Place, str] = {
    Place.BETWEEN: "no match may lie between the two events of a guarded transition",
    Place.LEADING: "the first match to end closes the window: no later event joins a trend",
    Place.TRAILING: "the last match to start opens the window: no earlier event is in a trend",
}

SEMANTICS_MEANING: dict[Semantics, str] = {
    Semantics.ANY: "any event may be skipped",
    Semantics.NEXT: "no event that starts or extends a trend may be skipped",
    Semantics.CONTIGUOUS: "no event of the partition may be skipped",
}

_UNITS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"), (1, "millisecond"))

_COMPARED = {
    "=": "equals",
    "!=": "differs from",
    "<": "is less than",
    "<=": "is at most",
    ">": "is greater than",
    ">=": "is at least",
}

_AGGREGATED = {"MIN": "the smallest", "MAX": "the largest", "SUM": "the sum of", "AVG": "the average of"}


_OF_TREND = {"SUM": "total", "MIN": "lowest", "MAX": "highest", "FIRST": "first", "LAST": "last"}


def sentence(query: Query) -> str:
    """The whole query in a sentence or two."""
    counted = "pairs" if isinstance(query.pattern, Conjunction) else "trends"
    asked = [returned(item, counted) for item in query.returns if isinstance(item, ReturnValue)]
    conditions = [words for conjunct in query.where for words in _conjunct(conjunct)]
    if query.semantics is not Semantics.ANY:
        conditions.append(SEMANTICS_MEANING[query.semantics])
    where = f", where {listed(conditions)}" if conditions else ""
    kept = f" Only rows where {condition(query.having)} are kept." if query.having is not None else ""
    return f"{_scope(query)} {listed(asked)}. {_trends(query)}{where}.{kept}"


def listed(items: Sequence[str], last: str = "and") -> str:
    """Items as people list them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return f" {last} ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def duration(milliseconds: int, *, every: bool = False) -> str:
    """A length of time in its largest whole unit.

    >>> duration(600_000), duration(1_500), duration(60_000, every=True)
    ('10 minutes', '1500 milliseconds', 'minute')
    """
    size, unit = next((size, unit) for size, unit in _UNITS if milliseconds % size == 0)
    count = milliseconds // size
    return unit if every and count == 1 else f"{count} {unit}{'s' * (count != 1)}"


def windows(window: Window | None) -> str:
    """How windows follow each other."""
    if window is None:
        return "one window over all events"
    if window.within == window.slide:
        return f"{duration(window.within)} each, one after another"
    return f"{duration(window.within)} each, a new one every {duration(window.slide, every=True)}"


def pattern(node: Pattern) -> str:
    """A pattern as a noun phrase: "one or more A events, then a B event"."""
    match node:
        case Atom():
            return f"{_article(node.event_type)} {_event(node)}"
        case Plus(body=body):
            return _times("one or more", body)
        case Star(body=body):
            return _times("any number of", body)
        case Maybe(body=body):
            return f"optionally {_inner(body)}"
        case Repeat(body=body, at_least=least, at_most=most):
            return _times(_bounds(least, most), body)
        case Disjunction(parts=parts):
            return f"either {listed([_inner(part) for part in parts], 'or')}"
        case Conjunction(left=left, right=right):
            return f"{_inner(left)}, paired with {_inner(right)}"
        case Negation(body=body):
            return f"no {_match(body)}"
        case Seq(parts=parts):
            return _sequence(parts)
        case _:
            assert_never(node)


def condition(expression: Expression) -> str:
    """An expression with its comparisons in words: "S.price is greater than the next S.price"."""
    match expression:
        case Comparison(operator=operator, left=left, right=right):
            return f"{condition(left)} {_COMPARED[operator]} {condition(right)}"
        case Attribute(variable=variable, name=name, next=True):
            return f"the next {variable}.{name}"
        case And(parts=parts):
            return f"({listed([condition(part) for part in parts])})"
        case Or(parts=parts):
            return f"({listed([condition(part) for part in parts], 'or')})"
        case Not(operand=operand):
            return f"not ({condition(operand)})"
        case Aggregate():
            return aggregate(expression)
        case TrendAggregate():
            return trend_aggregate(expression)
        case Arithmetic() | Negative() | Call():
            return print_expression(expression)
        case Name(name=name):
            return name
        case _:
            return print_expression(expression)


def aggregate(node: Aggregate, counted: str = "trends") -> str:
    """What an aggregate computes."""
    match node:
        case Aggregate(variable=None):
            return f"the number of {counted}"
        case Aggregate(function="COUNT", variable=variable):
            return f"the number of {variable} events in them"
        case Aggregate(function=function, variable=variable, attribute=attribute):
            return f"{_AGGREGATED[function]} {variable}.{attribute}"


def trend_aggregate(node: TrendAggregate) -> str:
    """What an aggregate of a value of trends computes.

    >>> trend_aggregate(TrendAggregate("MAX", (ValuePart("COUNT"),)))
    'the largest number of events in a trend'
    """
    first, *others = node.parts
    value = f"{'minus ' * first.negative}{_value_part(first)}"
    value += "".join(f" {'minus' if part.negative else 'plus'} {_value_part(part)}" for part in others)
    return f"{TREND_WORDS[node.function]} {value} in a trend"


def returned(item: ReturnValue, counted: str = "trends") -> str:
    """What a column holds."""
    match item.expression:
        case Aggregate() as node:
            return aggregate(node, counted)
        case TrendAggregate() as node:
            return trend_aggregate(node)
        case expression:
            return f"{item.name} = {print_expression(expression)}"


def _value_part(part: ValuePart) -> str:
    match part.function:
        case "COUNT" if part.variable is None:
            return "number of events"
        case "COUNT":
            return f"number of {part.variable} events"
        case "DURATION":
            return "duration in seconds"
        case "SUM" | "MIN" | "MAX" | "FIRST" | "LAST":
            return f"{_OF_TREND[part.function]} {part.variable}.{part.attribute}"
        case _:
            assert_never(part.function)


def _scope(query: Query) -> str:
    group = f"each {listed([_grouped(attribute) for attribute in query.group_by])}" if query.group_by else ""
    if query.window is None:
        return f"For {group}:" if group else "Over all events:"
    within, slide = query.window.within.milliseconds, query.window.slide.milliseconds
    window = f"each window of {duration(within)}"
    if slide != within:
        window += f", a new one every {duration(slide, every=True)}" + "," * bool(group)
    return f"For {window} and {group}:" if group else f"For {window}:"


def _grouped(attribute: GroupAttribute) -> str:
    return attribute.name if attribute.variable is None else f"{attribute.variable}.{attribute.name}"


def _trends(query: Query) -> str:
    least = f" of at least {query.min_length} events" if query.min_length > 1 else ""
    if query.maximal:
        least += ", contained in no other,"
    match query.pattern:
        case Conjunction(left=left, right=right):
            return f"A pair is two different trends{least}: one is {_inner(left)}, the other is {_inner(right)}"
        case positive:
            return f"A trend{least} is {pattern(positive)}"


def _conjunct(conjunct: Equivalence | Expression) -> list[str]:
    match conjunct:
        case Equivalence(attributes=attributes):
            common = [a.name for a in attributes if a.variable is None]
            agreed = [f"all events agree on {listed(common)}"] * bool(common)
            return agreed + [f"all {a.variable} events agree on {a.name}" for a in attributes if a.variable is not None]
        case expression:
            return [condition(expression)]


def _sequence(parts: Sequence[Pattern]) -> str:
    """Parts joined by "then"; a NOT says what it forbids, in its place or, at the edges, at the end."""
    words = ""
    waiting: list[Pattern] = []
    leading: list[Pattern] = []
    for part in parts:
        match part:
            case Negation(body=body):
                (waiting if words else leading).append(body)
            case _ if not words:
                words = _inner(part, comma=False)
            case _:
                between = f" (with no {listed([_match(n) for n in waiting], 'or')} in between)" if waiting else ""
                words += f", then{between} {_inner(part, comma=False)}"
                waiting = []
    forbidden = [f"after {_occurrence(body, 'end')}" for body in leading]
    forbidden += [f"before {_occurrence(body, 'start')}" for body in waiting]
    return f"{words}, none of them {listed(forbidden, 'or')}" if forbidden else words


def _match(body: Pattern) -> str:
    return _event(body) if isinstance(body, Atom) else f"match of ({pattern(body)})"


def _occurrence(body: Pattern, edge: str) -> str:
    return pattern(body) if isinstance(body, Atom) else f"the {edge} of a match of ({pattern(body)})"


def _times(count: str, body: Pattern) -> str:
    match body:
        case Atom() if count == "exactly 1":
            return f"exactly 1 {_event(body)}"
        case Atom():
            return f"{count} {_event(body, plural=True)}"
        case _:
            return f"{count} rounds of ({pattern(body)})"


def _bounds(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least}"
    return f"exactly {least}" if least == most else f"{least} to {most}"


def _event(atom: Atom, *, plural: bool = False) -> str:
    name = f" {atom.variable}" if atom.variable != atom.event_type else ""
    return f"{atom.event_type} event{'s' * plural}{name}"


def _inner(part: Pattern, *, comma: bool = True) -> str:
    """A part inside a larger phrase, in parentheses where its own commas and words could be misread."""
    unclear = isinstance(part, Disjunction | Conjunction | Seq if comma else Disjunction | Conjunction)
    return f"({pattern(part)})" if unclear else pattern(part)


def _article(word: str) -> str:
    return "an" if word[:1].upper() in "AEIO" and word else "a"
