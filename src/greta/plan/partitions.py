"""Equivalence and GROUP-BY → what the stream is cut by; RETURN's attributes."""

from __future__ import annotations

from greta.errors import QueryMeaningError, did_you_mean
from greta.lang.nodes import Equivalence, EquivalenceAttribute, ReturnAttribute, Semantics
from greta.lang.words import quoted
from greta.plan.draft import Draft, listing
from greta.plan.nodes import Partitioning, Scope


def set_partitioning(draft: Draft) -> None:
    """Attributes that all events agree on are common; those of some variables are scoped to them.

    A grouped attribute is common, unless the query has it in scoped form only (``[P.vehicle]`` in WHERE, or
    ``GROUP-BY P.vehicle``): then trends are grouped by what the scope's events agree on.
    """
    agreed = [attribute for item in draft.query.where if isinstance(item, Equivalence) for attribute in item.attributes]
    # GROUP-BY P.vehicle means the scope [P.vehicle] too.
    agreed += [
        EquivalenceAttribute(grouped.variable, grouped.name, grouped.span)
        for grouped in draft.query.group_by
        if grouped.variable is not None
    ]
    common = dict.fromkeys(attribute.name for attribute in agreed if attribute.variable is None)
    scopes: dict[Scope, EquivalenceAttribute] = {}
    for attribute in agreed:
        if attribute.variable is None:
            continue
        variables = draft.variables(attribute.variable, attribute.span)
        # Under contiguous, events outside the pattern count too, and a scope leaves them in every partition.
        if variables == frozenset(draft.types) and draft.query.semantics is not Semantics.CONTIGUOUS:
            common[attribute.name] = None
        else:
            scopes.setdefault(Scope(attribute.name, variables), attribute)
    draft.group = tuple(dict.fromkeys(attribute.name for attribute in draft.query.group_by))
    for grouped in draft.query.group_by:
        if grouped.variable is not None and not draft.variables(grouped.variable, grouped.span) & draft.positive:
            raise QueryMeaningError(
                f"{grouped.variable} stands only inside NOT, so no trend has events of it",
                span=grouped.span,
                hint=f"group by an attribute of {listing(sorted(draft.positive))}",
            )
        if grouped.name in common:
            continue
        bearing = [s for s in scopes if s.attribute == grouped.name and s.variables & draft.positive]
        if not bearing:
            common[grouped.name] = None
        elif len(bearing) > 1:
            names = [f"{scopes[scope].variable}.{grouped.name}" for scope in bearing]
            raise QueryMeaningError(
                f"GROUP-BY {grouped.name} could mean {' or '.join(names)}, which may differ in a trend",
                span=grouped.span,
                hint=f"let all events agree on it: WHERE [{grouped.name}]",
            )
    draft.partitioning = Partitioning(tuple(common), tuple(scope for scope in scopes if scope.attribute not in common))
    _return_grouped(draft)


def _return_grouped(draft: Draft) -> None:
    returned = [item for item in draft.query.returns if isinstance(item, ReturnAttribute)]
    for attribute in returned:
        if attribute.name in draft.group:
            _check_scope(attribute, draft)
            continue
        guess = did_you_mean(attribute.name, draft.group)
        path = (
            quoted(attribute.name)
            if attribute.variable is None
            else f"{quoted(attribute.variable)}.{quoted(attribute.name)}"
        )
        clause = ", ".join((*map(quoted, draft.group), path))
        variable = attribute.variable or next(variable for variable in draft.types if variable in draft.positive)
        raise QueryMeaningError(
            f"RETURN has the attribute {attribute.name}, which is not grouped",
            span=attribute.span,
            hint=guess or f"add GROUP-BY {clause}, or aggregate it: MAX({quoted(variable)}.{quoted(attribute.name)})",
        )
    draft.returned = tuple(attribute.name for attribute in returned)


def _check_scope(attribute: ReturnAttribute, draft: Draft) -> None:
    """``P.vehicle`` is what the row is grouped by: all events agree on it, or those of P do."""
    if attribute.variable is None or attribute.name in draft.partitioning.common:
        return
    variables = draft.variables(attribute.variable, attribute.span)
    if Scope(attribute.name, variables) not in draft.partitioning.scopes:
        raise QueryMeaningError(
            f"rows are grouped by another {attribute.name} than that of {attribute.variable}",
            span=attribute.span,
            hint=f"group by it: GROUP-BY {quoted(attribute.variable)}.{quoted(attribute.name)}",
        )
