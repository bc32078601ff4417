"""Syntax tree → text, in one canonical form: a clause a line, defaults left out, no needless parentheses.

``parse`` of the text gives the tree back. Recursion is safe: no tree is deeper than the parser allows.
"""

from __future__ import annotations

from types import UnionType
from typing import assert_never

from greta.lang.nodes import (
    Aggregate,
    And,
    Arithmetic,
    Atom,
    Attribute,
    Boolean,
    Call,
    Comparison,
    Conjunction,
    Disjunction,
    Duration,
    Equivalence,
    EquivalenceAttribute,
    Expression,
    Maybe,
    Name,
    Negation,
    Negative,
    Not,
    Number,
    Or,
    Pattern,
    Plus,
    Query,
    Repeat,
    ReturnAttribute,
    ReturnValue,
    Semantics,
    Seq,
    Star,
    Text,
    TrendAggregate,
    ValuePart,
    Within,
)
from greta.lang.words import MILLISECONDS, quoted

# Keywords that the grammar could go on with where a name of each kind stands.
_BEFORE_TYPE = frozenset({"SEQ", "NOT"})
_BEFORE_VARIABLE = frozenset({"AND", "OR", "PATTERN", "SEMANTICS", "MAXIMAL", "WHERE", "HAVING", "WITHIN", "SLIDE"})
_BEFORE_VALUE = frozenset({"NOT", "TRUE", "FALSE"})


def print_query(query: Query) -> str:
    """The canonical text of a query.

    >>> from greta.lang.parser import parse
    >>> print(print_query(parse("return count(*) pattern (Stock S)+ within 60 s slide 60 s")))
    RETURN COUNT(*)
    PATTERN Stock S+
    WITHIN 1 minute
    """
    lines = [f"RETURN {', '.join(map(_returned, query.returns))}", f"PATTERN {print_pattern(query.pattern)}"]
    if query.semantics is not Semantics.ANY:
        lines.append(f"SEMANTICS {query.semantics.value}")
    if query.maximal:
        lines.append("MAXIMAL")
    if query.min_length != 1:
        lines.append(f"MIN LENGTH {query.min_length}")
    if query.where:
        lines.append(f"WHERE {_conjuncts(query.where)}")
    if query.group_by:
        lines.append(f"GROUP-BY {', '.join(_path(attribute.variable, attribute.name) for attribute in query.group_by)}")
    if query.having is not None:
        lines.append(f"HAVING {print_expression(query.having)}")
    if query.window is not None:
        lines.append(_window(query.window))
    return "\n".join(lines)


def print_pattern(pattern: Pattern) -> str:
    """The pattern as PATTERN takes it.

    >>> print_pattern(Plus(Disjunction((Atom("A", "A"), Atom("B", "x")))))
    '(A OR B x)+'
    """
    match pattern:
        case Atom(event_type=event_type, variable=variable):
            shown = quoted(event_type, reserved=_BEFORE_TYPE)
            return shown if variable == event_type else f"{shown} {quoted(variable, reserved=_BEFORE_VARIABLE)}"
        case Seq(parts=parts):
            return f"SEQ({', '.join(map(print_pattern, parts))})"
        case Plus(body=body):
            return _repeated(body, "+")
        case Star(body=body):
            return _repeated(body, "*")
        case Maybe(body=body):
            return _repeated(body, "?")
        case Repeat(body=body, at_least=least, at_most=most):
            return _repeated(body, _bounds(least, most))
        case Negation(body=body):
            return f"NOT {_within_pattern(body, Disjunction | Conjunction)}"
        case Disjunction(parts=parts):
            return " OR ".join(_within_pattern(part, Disjunction | Conjunction) for part in parts)
        case Conjunction(left=left, right=right):
            return f"{print_pattern(left)} AND {_within_pattern(right, Conjunction)}"
        case _:
            assert_never(pattern)


def print_expression(expression: Expression) -> str:
    """The expression as WHERE and HAVING take it.

    >>> print_expression(Comparison(">", Attribute("S", "price"), Attribute("S", "price", next=True)))
    'S.price > NEXT(S).price'
    """
    match expression:
        case Number(value=value):
            return repr(value)
        case Text(value=value):
            return "'" + value.replace("'", "''") + "'"
        case Boolean(value=value):
            return "TRUE" if value else "FALSE"
        case Attribute(variable=variable, name=name, next=True):
            return f"NEXT({quoted(variable)}).{quoted(name)}"
        case Attribute(variable=variable, name=name):
            return f"{quoted(variable, reserved=_BEFORE_VALUE)}.{quoted(name)}"
        case Name(name=name):
            return quoted(name, reserved=_BEFORE_VALUE)
        case Aggregate() | TrendAggregate() | Call():
            return f"{expression.function}({_argument(expression)})"
        case Or(parts=parts):
            return " OR ".join(_operand(part, 1) for part in parts)
        case And(parts=parts):
            return " AND ".join(_operand(part, 2) for part in parts)
        case Not(operand=operand):
            return f"NOT {_operand(operand, 3)}"
        case Comparison(operator=operator, left=left, right=right):
            return f"{_operand(left, 5)} {operator} {_operand(right, 5)}"
        case Arithmetic(operator=operator, left=left, right=right):
            own = _binding(expression)
            return f"{_operand(left, own)} {operator} {_operand(right, own + 1)}"
        case Negative(operand=operand):
            shown = _operand(operand, 7)
            # Two minus signs in a row would start a comment.
            return f"-({shown})" if shown.startswith("-") else f"-{shown}"
        case _:
            assert_never(expression)


def _binding(expression: Expression) -> int:
    """How tightly an expression holds together; a looser one needs parentheses inside a tighter one."""
    match expression:
        case Or():
            return 1
        case And():
            return 2
        case Not():
            return 3
        case Comparison():
            return 4
        case Arithmetic(operator="+" | "-"):
            return 5
        case Arithmetic():
            return 6
        case Negative():
            return 7
        case _:
            return 8


def _operand(expression: Expression, at_least: int) -> str:
    shown = print_expression(expression)
    return shown if _binding(expression) >= at_least else f"({shown})"


def _repeated(body: Pattern, sign: str) -> str:
    bare = isinstance(body, Atom | Seq)
    return f"{print_pattern(body)}{sign}" if bare else f"({print_pattern(body)}){sign}"


def _bounds(least: int, most: int | None) -> str:
    if most is None:
        return f"{{{least},}}"
    return f"{{{least}}}" if least == most else f"{{{least},{most}}}"


def _within_pattern(pattern: Pattern, looser: type | UnionType) -> str:
    shown = print_pattern(pattern)
    return f"({shown})" if isinstance(pattern, looser) else shown


def _conjuncts(conjuncts: tuple[Equivalence | Expression, ...]) -> str:
    loosest = 1 if len(conjuncts) == 1 else 2
    return " AND ".join(
        f"[{', '.join(map(_agreed, conjunct.attributes))}]"
        if isinstance(conjunct, Equivalence)
        else _operand(conjunct, loosest)
        for conjunct in conjuncts
    )


def _agreed(attribute: EquivalenceAttribute) -> str:
    return _path(attribute.variable, attribute.name)


def _path(*parts: str | None) -> str:
    return ".".join(quoted(part) for part in parts if part is not None)


def print_part(part: ValuePart) -> str:
    """A part of a value without its sign.

    >>> print_part(ValuePart("LAST", "S", "price", negative=True)), print_part(ValuePart("DURATION"))
    ('LAST(S.price)', 'DURATION(*)')
    """
    return f"{part.function}({_path(part.variable, part.attribute) or '*'})"


def _argument(expression: Aggregate | TrendAggregate | Call) -> str:
    match expression:
        case Aggregate(variable=variable, attribute=attribute):
            return _path(variable, attribute) or "*"
        case TrendAggregate(parts=parts):
            return _value(parts)
        case Call(operand=operand):
            return _operand(operand, 5)
        case _:
            assert_never(expression)


def _value(parts: tuple[ValuePart, ...]) -> str:
    first, *others = parts
    shown = f"{'-' * first.negative}{print_part(first)}"
    return shown + "".join(f" {'-' if part.negative else '+'} {print_part(part)}" for part in others)


def _returned(returned: ReturnAttribute | ReturnValue) -> str:
    if isinstance(returned, ReturnAttribute):
        return _path(returned.variable, returned.name)
    expression = returned.expression
    shown = print_expression(expression)
    if isinstance(expression, Aggregate | TrendAggregate) and returned.name == expression.default_name:
        return shown
    return f"{shown} AS {quoted(returned.name)}"


def _window(window: Within) -> str:
    within = f"WITHIN {_duration(window.within)}"
    return within if window.slide == window.within else f"{within} SLIDE {_duration(window.slide)}"


def _duration(duration: Duration) -> str:
    """The largest unit that needs no fraction: 90 seconds, but 2 minutes."""
    for unit, milliseconds in MILLISECONDS.items():
        count, rest = divmod(duration.milliseconds, milliseconds)
        if count and not rest:
            return f"{count} {unit}{'s' if count > 1 and unit != 'ms' else ''}"
    raise ValueError(f"a duration must be longer than zero, not {duration.milliseconds} ms")
