"""Which variables there are, of which types, and what every name in the query stands for."""

from __future__ import annotations

from greta.errors import QueryMeaningError
from greta.lang.nodes import Atom, Negation, Pattern
from greta.lang.walk import walk
from greta.plan.draft import Draft

MAX_VARIABLES = 64


def resolve_names(draft: Draft) -> None:
    """Collect the variables; a type's name stands for all its variables, even where one is named so."""
    atoms = _atoms(draft.query.pattern)
    for atom in atoms:
        known = draft.types.setdefault(atom.variable, atom.event_type)
        if known != atom.event_type:
            raise QueryMeaningError(
                f"the variable {atom.variable} is used for two event types, {known} and {atom.event_type}",
                span=atom.span,
                hint=f"give each type its own variable: {atom.event_type} {_unused(atom.variable, draft)}",
            )
        if len(draft.types) > MAX_VARIABLES:
            raise QueryMeaningError(
                f"the pattern has more than {MAX_VARIABLES} variables",
                span=atom.span,
                hint="let one variable stand for several places of the same type, or split the query",
            )
    event_types = dict.fromkeys(draft.types.values())
    for atom in atoms:
        if atom.variable != atom.event_type and atom.variable in event_types:
            raise QueryMeaningError(
                f"{atom.variable} is both a variable for {atom.event_type} and an event type of the pattern",
                span=atom.span,
                hint=f"name the variable differently: {atom.event_type} {_unused(atom.variable, draft)}",
            )
    draft.variables_of = {variable: frozenset({variable}) for variable in draft.types}
    for event_type in event_types:
        draft.variables_of[event_type] = frozenset(v for v, t in draft.types.items() if t == event_type)
    draft.positive = _positive(draft.query.pattern)


def _atoms(pattern: Pattern) -> list[Atom]:
    return [node for node, _ in walk(pattern) if isinstance(node, Atom)]


def _positive(pattern: Pattern) -> frozenset[str]:
    found: set[str] = set()
    inside: int | None = None
    for node, depth in walk(pattern):
        if inside is not None and depth > inside:
            continue
        inside = depth if isinstance(node, Negation) else None
        if isinstance(node, Atom):
            found.add(node.variable)
    return frozenset(found)


def _unused(variable: str, draft: Draft) -> str:
    taken = {*draft.types, *draft.types.values()}
    return next(name for n in range(2, MAX_VARIABLES + 3) if (name := f"{variable}{n}") not in taken)
