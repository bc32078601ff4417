"""RETURN and HAVING → outputs and computed columns, and the measures they need (paper, aggregation theorem)."""

from __future__ import annotations

from itertools import count
from typing import assert_never

from greta.errors import QueryMeaningError, Span, did_you_mean
from greta.lang.nodes import Aggregate, Attribute, Expression, Name, ReturnValue, TrendAggregate, ValuePart
from greta.plan.conditions import rebuilt
from greta.plan.draft import Draft, listing
from greta.plan.measures import (
    Bound,
    Events,
    Extreme,
    Measure,
    Moment,
    Peak,
    Total,
    Trends,
    Values,
)
from greta.plan.nodes import Computed, Finish, Output
from greta.plan.parts import Part, TrendValue

WINDOW_COLUMNS = ("window_start", "window_end")

_MOST_ATTRIBUTES = 4
"""Different attributes in one value of trends: trends are told apart by which of them they have met."""


def set_outputs(draft: Draft) -> None:
    """One output per returned aggregate, one computed column per expression; equal measures are there once."""
    taken = {*draft.returned}
    returned = [item for item in draft.query.returns if isinstance(item, ReturnValue)]
    for value in returned:
        _check_name(value, taken, draft)
        taken.add(value.name)
        draft.columns.append(value.name)
        if isinstance(value.expression, Aggregate | TrendAggregate):
            draft.outputs.append(_output(value.expression, value.name, draft))
    # Aggregates inside expressions may be those of other columns, so these come first.
    for value in returned:
        if not isinstance(value.expression, Aggregate | TrendAggregate):
            expression = rebuilt(value.expression, lambda leaf: _leaf_over_outputs(leaf, draft, "RETURN"))
            draft.computed.append(Computed(value.name, expression))


def set_having(draft: Draft) -> None:
    """Let HAVING speak of outputs alone; aggregates that RETURN lacks become hidden outputs."""
    if draft.query.having is not None:
        draft.having = rebuilt(draft.query.having, lambda leaf: _leaf_over_outputs(leaf, draft, "HAVING"))


def _check_name(returned: ReturnValue, taken: set[str], draft: Draft) -> None:
    name = returned.name
    if name in WINDOW_COLUMNS:
        problem = f"{name} is the name of a column that every result has"
    elif name in taken:
        problem = f"two columns are named {name}"
    elif name in draft.group:
        problem = f"{name} is the name of a grouped attribute"
    else:
        return
    expression = returned.expression
    short = expression.default_name if isinstance(expression, Aggregate | TrendAggregate) else name
    free = next(other for n in count(2) if (other := f"{short}_{n}") not in taken)
    raise QueryMeaningError(
        problem,
        span=returned.span,
        hint=f"give the column another name: {draft.quote(expression.span, 'COUNT(*)')} AS {free}",
    )


def _output(aggregate: Aggregate | TrendAggregate, name: str, draft: Draft, *, hidden: bool = False) -> Output:
    if isinstance(aggregate, Aggregate):
        finish, measures = _events_measures(aggregate, draft)
    else:
        finish, measures = _trend_measures(aggregate, draft)
    return Output(name, finish, tuple(_measure(measure, draft) for measure in measures), aggregate, hidden)


def _events_measures(aggregate: Aggregate, draft: Draft) -> tuple[Finish, tuple[Measure, ...]]:
    """What an aggregate over the events of all trends is made of."""
    if aggregate.variable is None:
        return Finish.COUNT, (Trends(),)
    variables = _positive_variables(aggregate.variable, aggregate.span, draft)
    attribute = aggregate.attribute
    if attribute is None:
        return Finish.COUNT, (Events(variables),)
    match aggregate.function:
        case "COUNT":
            return Finish.COUNT, (Values(variables, attribute),)
        case "MIN" | "MAX":
            return Finish.EXTREME, (Extreme(variables, attribute, smallest=aggregate.function == "MIN"),)
        case "SUM":
            return Finish.SUM, (Total(variables, attribute), Values(variables, attribute))
        case "AVG":
            return Finish.MEAN, (Total(variables, attribute), Values(variables, attribute))
        case _:
            assert_never(aggregate.function)


def _trend_measures(aggregate: TrendAggregate, draft: Draft) -> tuple[Finish, tuple[Measure, ...]]:
    """What an aggregate of a value of each trend is made of."""
    first = aggregate.parts[0]
    if first.function in ("MIN", "MAX"):
        assert first.variable is not None
        assert first.attribute is not None
        variables = _positive_variables(first.variable, first.span, draft)
        if first.function == aggregate.function:
            # The largest of the largest is the largest of all.
            return Finish.EXTREME, (Extreme(variables, first.attribute, smallest=first.function == "MIN"),)
        return Finish.EXTREME, (Bound(variables, first.attribute, lowest_high=aggregate.function == "MIN"),)
    value = _value(aggregate, draft)
    summands = Moment(value, 0) if value.summed else Trends()
    match aggregate.function:
        case "MIN" | "MAX":
            return Finish.EXTREME, (Peak(value, smallest=aggregate.function == "MIN"),)
        case "SUM":
            return Finish.SUM, (_sum(value), summands)
        case "AVG":
            return Finish.MEAN, (_sum(value), summands)
        case "STDDEV":
            return Finish.DEVIATION, (Moment(value, 2), Moment(value, 1), summands)
        case _:
            assert_never(aggregate.function)


def _sum(value: TrendValue) -> Measure:
    """The sum of a value over all trends; some are aggregates over events under another name."""
    match value.parts:
        case (Part("COUNT", variables, None, 1),):
            return Events(variables)
        case (Part("SUM", variables, str(attribute), 1),):
            return Total(variables, attribute)
        case _:
            return Moment(value, 1)


def _value(aggregate: TrendAggregate, draft: Draft) -> TrendValue:
    value = TrendValue(tuple(_part(part, draft) for part in aggregate.parts))
    if len(value.summed) > _MOST_ATTRIBUTES:
        raise QueryMeaningError(
            f"a value of a trend may speak of {_MOST_ATTRIBUTES} attributes at most, "
            f"and this one of {len(value.summed)}",
            span=aggregate.span,
            hint="ask for parts of it in columns of their own",
        )
    return value


def _part(part: ValuePart, draft: Draft) -> Part:
    if part.function == "MIN" or part.function == "MAX":
        raise AssertionError("a MIN or MAX of a trend stands alone")
    variables = draft.positive if part.variable is None else _positive_variables(part.variable, part.span, draft)
    return Part(part.function, variables, part.attribute, -1 if part.negative else 1)


def _measure(measure: Measure, draft: Draft) -> int:
    if measure not in draft.measures:
        draft.measures.append(measure)
    return draft.measures.index(measure)


def _positive_variables(name: str, span: Span, draft: Draft) -> frozenset[str]:
    variables = draft.variables(name, span) & draft.positive
    if not variables:
        raise QueryMeaningError(
            f"{name} stands only inside NOT, so no trend has events of it",
            span=span,
            hint=f"aggregate over {listing(sorted(draft.positive))}",
        )
    return variables


def _leaf_over_outputs(leaf: Expression, draft: Draft, clause: str) -> Expression:
    match leaf:
        case Aggregate() | TrendAggregate():
            return Name(_output_for(leaf, draft), leaf.span)
        case Name(name=name):
            _check_known(name, leaf.span, draft)
            return leaf
        case Attribute(variable=variable, name=name):
            raise QueryMeaningError(
                f"{clause} speaks of rows, which have aggregates and grouped attributes but no events",
                span=leaf.span,
                hint=f"use an aggregate, such as MAX({variable}.{name}), or move the condition to WHERE",
            )
        case _:
            return leaf


def _output_for(aggregate: Aggregate | TrendAggregate, draft: Draft) -> str:
    """The name of an output that is this aggregate, a hidden one if RETURN has none."""
    asked = _output(aggregate, "", draft)
    for output in draft.outputs:
        if (output.finish, output.measures) == (asked.finish, asked.measures):
            return output.name
    taken = {*draft.group, *draft.columns, *(output.name for output in draft.outputs)}
    names = (f"{aggregate.default_name}{suffix}" for suffix in ("", *map("_{}".format, range(2, len(taken) + 3))))
    name = next(name for name in names if name not in taken)
    draft.outputs.append(_output(aggregate, name, draft, hidden=True))
    return name


def _check_known(name: str, span: Span, draft: Draft) -> None:
    known = [*draft.group, *draft.columns]
    if name not in known:
        has = f"HAVING may use {listing(known)}" if known else "use an aggregate: HAVING COUNT(*) > 1000"
        guess = did_you_mean(name, known)
        raise QueryMeaningError(
            f"{name} is neither a returned aggregate nor a grouped attribute",
            span=span,
            hint=f"{guess} {has}" if guess else has,
        )
