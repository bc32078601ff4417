"""Which variables there are, of which types, and what every name in the query stands for."""

from __future__ import annotations

from itertools import count

from greta.errors import QueryMeaningError
from greta.lang.nodes import Atom, Negation, Pattern
from greta.lang.walk import walk
from greta.lang.words import quoted
from greta.plan.draft import Draft

MAX_VARIABLES = 64


def resolve_names(draft: Draft) -> None:
    """Collect the variables; a name that is no variable but an event type stands for all its variables."""
    atoms = _atoms(draft.query.pattern)
    event_types = dict.fromkeys(atom.event_type for atom in atoms)
    taken = {*event_types, *(atom.variable for atom in atoms)}
    for atom in atoms:
        if atom.variable != atom.event_type and atom.variable in event_types:
            raise QueryMeaningError(
                f"{atom.variable} is both a variable for {atom.event_type} and an event type of the pattern",
                span=atom.span,
                hint=f"name the variable differently: {_renamed(atom, taken)}",
            )
        known = draft.types.setdefault(atom.variable, atom.event_type)
        if known != atom.event_type:
            raise QueryMeaningError(
                f"the variable {atom.variable} is used for two event types, {known} and {atom.event_type}",
                span=atom.span,
                hint=f"give each type its own variable: {_renamed(atom, taken)}",
            )
        if len(draft.types) > MAX_VARIABLES:
            raise QueryMeaningError(
                f"the pattern has more than {MAX_VARIABLES} variables",
                span=atom.span,
                hint="let one variable stand for several places of the same type, or split the query",
            )
    draft.variables_of = {variable: frozenset({variable}) for variable in draft.types}
    for event_type in event_types:
        of_type = frozenset(v for v, t in draft.types.items() if t == event_type)
        draft.variables_of.setdefault(event_type, of_type)
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


def _renamed(atom: Atom, taken: set[str]) -> str:
    unused = next(name for n in count(2) if (name := f"{atom.variable}{n}") not in taken)
    return f"{quoted(atom.event_type)} {quoted(unused)}"
