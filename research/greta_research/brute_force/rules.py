"""The rules of a query: its names resolved, its conjuncts sorted by what they speak of."""

from __future__ import annotations

from dataclasses import dataclass

from greta.lang.nodes import And, Attribute, Equivalence, Expression, Query
from greta_research.brute_force.expressions import Leaf, evaluate, names_in
from greta_research.brute_force.patterns import atoms
from greta_research.brute_force.times import Event

Taken = tuple[Event, str]
"""An event and the variable it takes."""


@dataclass(frozen=True, slots=True)
class Scope:
    """``[E.b]``, with the name E resolved to variables."""

    name: str
    variables: frozenset[str]
    attribute: str


@dataclass(frozen=True, slots=True)
class _Conjunct:
    """A predicate with the variables that it gives the earlier and the later event; None for any."""

    condition: Expression
    earlier: frozenset[str] | None
    later: frozenset[str] | None


class Rules:
    """A query, with its names resolved and its conjuncts sorted by what they speak of."""

    def __init__(self, query: Query) -> None:
        self.atoms = tuple(atoms(query.pattern))
        wholes = [part for part in query.where if not isinstance(part, Equivalence)]
        conjuncts = [part for whole in wholes for part in (whole.parts if isinstance(whole, And) else (whole,))]
        read = [_Conjunct(c, self._speaks_of(c, later=False), self._speaks_of(c, later=True)) for c in conjuncts]
        self.edge = [conjunct for conjunct in read if conjunct.later is not None]
        self.local = [conjunct for conjunct in read if conjunct.later is None]

        agreed = [part for whole in query.where if isinstance(whole, Equivalence) for part in whole.attributes]
        named = [(part.variable, part.name) for part in agreed]
        named += [(part.variable, part.name) for part in query.group_by]
        scopes = [
            Scope(f"{variable}.{name}", self.resolve(variable), name)
            for variable, name in named
            if variable is not None
        ]
        unscoped = [part.name for part in agreed if part.variable is None]
        positive = {atom.variable for atom in atoms(query.pattern, negative=False)}
        scoped = {scope.attribute for scope in scopes if scope.variables & positive}
        grouped = [part.name for part in query.group_by if part.name not in scoped]
        self.common = tuple(dict.fromkeys(unscoped + grouped))
        # Where all events agree on an attribute, those of some variables have nothing more to agree on.
        self.scopes = list(dict.fromkeys(scope for scope in scopes if scope.attribute not in self.common))

    def resolve(self, name: str) -> frozenset[str]:
        """The variables that a name stands for: the one of this name, else all of the type of this name."""
        if any(atom.variable == name for atom in self.atoms):
            return frozenset({name})
        return frozenset(atom.variable for atom in self.atoms if atom.event_type == name)

    def _speaks_of(self, conjunct: Expression, *, later: bool) -> frozenset[str] | None:
        leaves = [leaf for leaf in names_in(conjunct) if isinstance(leaf, Attribute) and leaf.next == later]
        return frozenset.intersection(*(self.resolve(leaf.variable) for leaf in leaves)) if leaves else None

    def holds_for(self, event: Event, variable: str) -> bool:
        """Local predicates: whether the event may take the variable."""
        return self._all_hold(self.local, (event, variable), (event, variable))

    def holds_between(self, p: Taken, q: Taken) -> bool:
        """Edge predicates between adjacent events."""
        return self._all_hold(self.edge, p, q)

    def _all_hold(self, conjuncts: list[_Conjunct], p: Taken, q: Taken) -> bool:
        def lookup(leaf: Leaf) -> object:
            assert isinstance(leaf, Attribute)
            return (q if leaf.next else p)[0].get(leaf.name)

        return all(
            evaluate(conjunct.condition, lookup) is True
            for conjunct in conjuncts
            if (conjunct.earlier is None or p[1] in conjunct.earlier)
            and (conjunct.later is None or q[1] in conjunct.later)
        )
