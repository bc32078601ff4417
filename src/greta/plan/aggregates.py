"""RETURN's aggregates → outputs and the slots they need; HAVING over them (paper, aggregation theorem)."""

from __future__ import annotations

from itertools import count
from typing import assert_never

from greta.errors import QueryMeaningError, Span, did_you_mean
from greta.lang.nodes import Aggregate, Attribute, Expression, Name, ReturnAggregate
from greta.plan.conditions import rebuilt
from greta.plan.draft import Draft, listing
from greta.plan.nodes import Output, Slot, SlotKind

WINDOW_COLUMNS = ("window_start", "window_end")


def set_outputs(draft: Draft) -> None:
    """One output per returned aggregate; equal intermediate values share a slot."""
    taken = {*draft.returned}
    for returned in draft.query.returns:
        if not isinstance(returned, ReturnAggregate):
            continue
        _check_name(returned, taken, draft)
        taken.add(returned.name)
        draft.outputs.append(_output(returned.aggregate, returned.name, draft))


def set_having(draft: Draft) -> None:
    """Let HAVING speak of outputs alone; aggregates that RETURN lacks become hidden outputs."""
    if draft.query.having is not None:
        draft.having = rebuilt(draft.query.having, lambda leaf: _leaf_over_outputs(leaf, draft))


def _check_name(returned: ReturnAggregate, taken: set[str], draft: Draft) -> None:
    name = returned.name
    if name in WINDOW_COLUMNS:
        problem = f"{name} is the name of a column that every result has"
    elif name in taken:
        problem = f"two columns are named {name}"
    elif name in draft.group:
        problem = f"{name} is the name of a grouped attribute"
    else:
        return
    free = next(other for n in count(2) if (other := f"{returned.aggregate.default_name}_{n}") not in taken)
    raise QueryMeaningError(
        problem,
        span=returned.span,
        hint=f"give the column another name: {draft.quote(returned.aggregate.span, 'COUNT(*)')} AS {free}",
    )


def _output(aggregate: Aggregate, name: str, draft: Draft, *, hidden: bool = False) -> Output:
    function, attribute = aggregate.function, aggregate.attribute
    slots: tuple[Slot, ...]
    if aggregate.variable is None:
        slots = (Slot(SlotKind.TRENDS),)
    else:
        variables = _positive_variables(aggregate.variable, aggregate.span, draft)
        match function:
            case "COUNT":
                slots = (Slot(SlotKind.EVENTS, variables),)
            case "MIN" | "MAX":
                slots = (Slot(SlotKind[function], variables, attribute),)
            case "SUM" | "AVG":
                slots = (
                    Slot(SlotKind.SUM, variables, attribute),
                    Slot(SlotKind.VALUES, variables, attribute),
                )
            case _:
                assert_never(function)
    return Output(name, function, tuple(_slot(slot, draft) for slot in slots), attribute, hidden)


def _slot(slot: Slot, draft: Draft) -> int:
    if slot not in draft.slots:
        draft.slots.append(slot)
    return draft.slots.index(slot)


def _positive_variables(name: str, span: Span, draft: Draft) -> frozenset[str]:
    variables = draft.variables(name, span) & draft.positive
    if not variables:
        raise QueryMeaningError(
            f"{name} stands only inside NOT, so no trend has events of it",
            span=span,
            hint=f"aggregate over {listing(sorted(draft.positive))}",
        )
    return variables


def _leaf_over_outputs(leaf: Expression, draft: Draft) -> Expression:
    match leaf:
        case Aggregate():
            return Name(_output_for(leaf, draft), leaf.span)
        case Name(name=name):
            _check_known(name, leaf.span, draft)
            return leaf
        case Attribute(variable=variable, name=name):
            raise QueryMeaningError(
                "HAVING judges rows, which have aggregates and grouped attributes but no events",
                span=leaf.span,
                hint=f"use an aggregate, such as MAX({variable}.{name}), or move the condition to WHERE",
            )
        case _:
            return leaf


def _output_for(aggregate: Aggregate, draft: Draft) -> str:
    wanted = _output(aggregate, "", draft)
    for output in draft.outputs:
        if (output.function, output.slots) == (wanted.function, wanted.slots):
            return output.name
    taken = {*draft.group, *(output.name for output in draft.outputs)}
    names = (f"{aggregate.default_name}{suffix}" for suffix in ("", *map("_{}".format, range(2, len(taken) + 3))))
    name = next(name for name in names if name not in taken)
    draft.outputs.append(_output(aggregate, name, draft, hidden=True))
    return name


def _check_known(name: str, span: Span, draft: Draft) -> None:
    known = [*draft.group, *(output.name for output in draft.outputs if not output.hidden)]
    if name not in known:
        has = f"HAVING may use {listing(known)}" if known else "use an aggregate: HAVING COUNT(*) > 1000"
        guess = did_you_mean(name, known)
        raise QueryMeaningError(
            f"{name} is neither a returned aggregate nor a grouped attribute",
            span=span,
            hint=f"{guess} {has}" if guess else has,
        )
