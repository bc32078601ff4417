"""Clauses → ``Query``: what must hold between the clauses of one query, whatever its pattern means."""

from __future__ import annotations

from typing import Any

from greta.errors import NOWHERE, QuerySyntaxError
from greta.lang.builder import Clause, Clauses
from greta.lang.lexer import MAX_DEPTH, too_deep
from greta.lang.nodes import (
    Aggregate,
    Arithmetic,
    Atom,
    Attribute,
    Call,
    Comparison,
    Equivalence,
    Expression,
    Name,
    Number,
    Pattern,
    Query,
    ReturnAttribute,
    ReturnValue,
    Semantics,
    TrendAggregate,
    Within,
)
from greta.lang.walk import Node, walk
from greta.lang.words import quoted


def assemble(clauses: Clauses, text: str) -> Query:
    """Put the clauses together, in any order; the first rule that they break is the error raised."""
    _check_depth(clauses.pattern)
    _check_output_names(clauses.returns)
    for returned in clauses.returns:
        if isinstance(returned, ReturnValue):
            _check_computed(returned.expression)
    said: dict[str, Clause] = {}
    for clause in clauses.optional:
        if clause.keyword in said:
            raise QuerySyntaxError(
                f"a query has only one {clause.keyword} clause",
                span=clause.span,
                hint=_joining(clause.keyword),
            )
        said[clause.keyword] = clause

    def value(keyword: str, default: Any) -> Any:
        return said[keyword].value if keyword in said else default

    where: tuple[Equivalence | Expression, ...] = value("WHERE", ())
    for conjunct in where:
        _check_where(conjunct, clauses.pattern, text)
    having: Expression | None = value("HAVING", None)
    if having is not None:
        _check_having(having, text)
    return Query(
        returns=clauses.returns,
        pattern=clauses.pattern,
        semantics=value("SEMANTICS", Semantics.ANY),
        maximal=value("MAXIMAL", False),
        min_length=value("MIN LENGTH", 1),
        where=where,
        group_by=value("GROUP-BY", ()),
        having=having,
        window=_window(said.get("WITHIN"), said.get("SLIDE")),
        maximal_span=said["MAXIMAL"].span if "MAXIMAL" in said else NOWHERE,
        min_length_span=said["MIN LENGTH"].span if "MIN LENGTH" in said else NOWHERE,
        text=text,
    )


def _joining(keyword: str) -> str:
    match keyword:
        case "WHERE" | "HAVING":
            return f"join the conditions with AND: {keyword} ... AND ..."
        case "GROUP-BY":
            return "list the attributes after one GROUP-BY: GROUP-BY sector, company"
        case _:
            return "leave one of them out"


def _window(within: Clause | None, slide: Clause | None) -> Within | None:
    if within is None:
        if slide is not None:
            raise QuerySyntaxError(
                "SLIDE needs WITHIN: without it there is one window over everything",
                span=slide.span,
                hint="say how long a window is: WITHIN 10 minutes SLIDE 10 seconds",
            )
        return None
    if slide is None:
        return Within(within.value, within.value, within.span)
    if slide.value.milliseconds > within.value.milliseconds:
        raise QuerySyntaxError(
            "SLIDE is larger than WITHIN: events between two windows would be in none",
            span=slide.span,
            hint="let SLIDE be at most WITHIN, or leave it out for windows side by side",
        )
    return Within(within.value, slide.value, within.span | slide.span)


def _check_output_names(returns: tuple[ReturnAttribute | ReturnValue, ...]) -> None:
    seen: set[str] = set()
    for returned in returns:
        if returned.name in seen:
            hint = "name one of them with AS: COUNT(*) AS trends"
            if isinstance(returned, ReturnAttribute):
                hint = "leave one of them out"
            raise QuerySyntaxError(f"two columns are named {returned.name}", span=returned.span, hint=hint)
        seen.add(returned.name)


def _check_depth(root: Node) -> None:
    for node, depth in walk(root):
        if depth > MAX_DEPTH:
            raise too_deep(node.span)


def _check_where(conjunct: Equivalence | Expression, pattern: Pattern, text: str) -> None:
    variable = next(node.variable for node, _ in walk(pattern) if isinstance(node, Atom))
    _check_depth(conjunct)
    for node, depth in walk(conjunct):
        match node:
            case Equivalence() if depth > 1:
                raise _misplaced_equivalence(node, text)
            case Name():
                raise _bare_name(node, variable, text)
            case Aggregate() | TrendAggregate():
                raise QuerySyntaxError(
                    "WHERE judges events, before anything is aggregated",
                    span=node.span,
                    hint="conditions on aggregates belong in HAVING: HAVING COUNT(*) > 1000",
                )
            case Comparison(left=Call() as call):
                raise _call_in_where(call, node)
            case Call():
                raise _call_in_where(node, None)
            case _:
                pass


def _call_in_where(call: Call, around: Comparison | None) -> QuerySyntaxError:
    """The error for a function in WHERE; ``around`` is the comparison that has it on its left, if one does."""
    hint = f"add the computed attribute to the events; over aggregates, {call.function} stands in RETURN and HAVING"
    if call.function == "ABS":
        shown = str(call.operand)
        if len(shown) > 40 or "\n" in shown:
            shown = "S.x"
        asked: tuple[str, str] = ("<", "2")
        if around is not None and isinstance(around.right, Number) and around.operator in _TURNED:
            asked = around.operator, str(around.right)
        sign, limit = asked
        both = f"{shown} {sign} {limit}", f"{shown} {_TURNED[sign]} -{limit}"
        joined = " AND ".join(both) if sign.startswith("<") else f"({' OR '.join(both)})"
        hint = f"write both comparisons: {joined} instead of ABS({shown}) {sign} {limit}"
    return QuerySyntaxError(f"{call.function} is no part of conditions on events", span=call.span, hint=hint)


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _check_computed(expression: Expression) -> None:
    """A returned value is computed from at least one aggregate, with + - * / and functions of one number."""
    _check_depth(expression)
    nodes = [node for node, _ in walk(expression)]
    for node in nodes:
        if isinstance(node, Arithmetic) and node.operator == "%":
            raise QuerySyntaxError(
                "% has no meaning between aggregates",
                span=node.span,
                hint="RETURN computes with + - * / and LOG2, LOG10, LN, SQRT, ABS",
            )
    if not any(isinstance(node, Aggregate | TrendAggregate) for node in nodes):
        raise QuerySyntaxError(
            "a column without an aggregate is the same in every row",
            span=expression.span,
            hint="compute it from aggregates: COUNT(S) / COUNT(*) AS mean_length",
        )


def _check_having(having: Expression, text: str) -> None:
    _check_depth(having)
    for node, _ in walk(having):
        match node:
            case Equivalence():
                raise _misplaced_equivalence(node, text)
            case Attribute(variable=variable, name=name):
                shown = f"{quoted(variable)}.{quoted(name)}"
                raise QuerySyntaxError(
                    "HAVING judges rows, which have aggregates and grouped attributes but no events",
                    span=node.span,
                    hint=f"use an aggregate, such as MAX({shown}), or move the condition to WHERE",
                )
            case _:
                pass


def _misplaced_equivalence(node: Equivalence, text: str) -> QuerySyntaxError:
    listed = text[node.span.start : node.span.stop].strip("()")
    return QuerySyntaxError(
        "[...] may only stand by itself among the conditions that WHERE joins with AND",
        span=node.span,
        hint=f"write WHERE {listed} AND ...",
    )


def _bare_name(node: Name, variable: str, text: str) -> QuerySyntaxError:
    if text[node.span.start : node.span.stop].lstrip("( \t\r\n").startswith('"'):
        escaped = node.name.replace("'", "''")
        return QuerySyntaxError(
            f"{node.name} is between double quotes, which make it a name, but no variable stands before it",
            span=node.span,
            hint=f"text goes between single quotes: '{escaped}'",
        )
    return QuerySyntaxError(
        f"{node.name} does not say whose attribute it is",
        span=node.span,
        hint=f"put a variable before it: {quoted(variable)}.{quoted(node.name)}; text goes in single quotes",
    )
