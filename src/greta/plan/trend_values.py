"""Values of trends and MAXIMAL: what can be computed without building the trends, and what cannot.

Reads the query alone and writes nothing: a query that passes has only values that flow along edges.
"""

from __future__ import annotations

from collections.abc import Iterator

from greta.errors import QueryMeaningError
from greta.lang.nodes import Atom, Conjunction, Plus, Query, ReturnValue, Semantics, TrendAggregate, ValuePart
from greta.lang.walk import walk
from greta.plan.draft import Draft


def check_trend_values(draft: Draft) -> None:
    """Raise for combinations that would need the trends one by one, and for MAXIMAL where it has no meaning."""
    for aggregate in trend_aggregates(draft.query):
        _check_parts(aggregate)
        if isinstance(draft.query.pattern, Conjunction):
            raise QueryMeaningError(
                "an outermost AND has pairs of trends, and a pair has no value of a trend",
                span=aggregate.span,
                hint="ask for each side in a query of its own, or aggregate over the events of the pairs: COUNT(S)",
            )
    if draft.query.maximal:
        _check_maximal(draft.query)


def trend_aggregates(query: Query) -> Iterator[TrendAggregate]:
    """All aggregates of values of trends in RETURN and HAVING, as often as they stand there."""
    expressions = [returned.expression for returned in query.returns if isinstance(returned, ReturnValue)]
    if query.having is not None:
        expressions.append(query.having)
    for expression in expressions:
        for node, _ in walk(expression):
            if isinstance(node, TrendAggregate):
                yield node


def _check_parts(aggregate: TrendAggregate) -> None:
    """MIN and MAX of a trend stand alone, and only under MIN and MAX."""
    extreme = next((part for part in aggregate.parts if part.function in ("MIN", "MAX")), None)
    if extreme is None:
        return
    instead = f"take FIRST, LAST or SUM of {_attribute(extreme)}"
    if aggregate.function not in ("MIN", "MAX"):
        raise QueryMeaningError(
            f"{aggregate.function} of the {extreme.function} of each trend needs the trends one by one, "
            "and they are never built",
            span=aggregate.span,
            hint=f"ask for the extremes, MAX({extreme}) or MIN({extreme}), or {instead}: "
            f"{aggregate.function}(LAST({_attribute(extreme)}))",
        )
    if len(aggregate.parts) > 1:
        raise QueryMeaningError(
            f"the {extreme.function} of each trend in a sum or difference needs the trends one by one, "
            "and they are never built",
            span=extreme.span,
            hint=f"let it stand alone, {aggregate.function}({extreme}), or {instead}",
        )
    if extreme.negative:
        turned = "MAX" if aggregate.function == "MIN" else "MIN"
        raise QueryMeaningError(
            f"the {extreme.function} of a trend stands alone, without a minus",
            span=aggregate.span,
            hint=f"turn the aggregate round: -{turned}({extreme}) AS name",
        )


def _attribute(part: ValuePart) -> str:
    return str(ValuePart("SUM", part.variable, part.attribute))[len("SUM(") : -1]


def _check_maximal(query: Query) -> None:
    if query.semantics is Semantics.ANY:
        raise QueryMeaningError(
            "MAXIMAL stands with skip-till-next-match and contiguous, which say where a trend must go on",
            span=query.maximal_span,
            hint="add SEMANTICS contiguous for unbroken runs, or SEMANTICS skip-till-next-match",
        )
    match query.pattern:
        case Plus(body=Atom()):
            return
        case pattern:
            first = next(node for node, _ in walk(pattern) if isinstance(node, Atom))
            raise QueryMeaningError(
                "MAXIMAL stands with a pattern of one variable, E+",
                span=query.maximal_span,
                hint=f"ask for runs of one variable, such as PATTERN {first}+, or leave MAXIMAL out",
            )
