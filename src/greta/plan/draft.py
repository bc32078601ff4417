"""The plan in the making: what the passes have found so far, and how they look up names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from greta.errors import QueryMeaningError, Span, did_you_mean
from greta.lang.nodes import Expression, Pattern, Query
from greta.plan.machine import Machine
from greta.plan.measures import Measure, Trends
from greta.plan.nodes import (
    AttributeType,
    Computed,
    EdgePredicate,
    LocalPredicate,
    Output,
    Partitioning,
    Place,
    Template,
    Window,
)


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of an outermost OR without the NOTs at its edges. Sequences in it are checked and flat."""

    body: Pattern
    leading: Pattern | None = None
    trailing: Pattern | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """A whole pattern, or one side of an outermost AND."""

    pattern: Pattern
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class Automaton:
    """A pattern's machine with one run per trend, and the automata of its NOTs with their places."""

    pattern: Pattern
    machine: Machine
    negatives: tuple[tuple[Automaton, Place], ...] = ()


@dataclass(slots=True)
class Draft:
    """Filled in by the passes in their order; each reads what earlier ones have written."""

    query: Query
    schema: Mapping[str, AttributeType | None] | None = None
    types: dict[str, str] = field(default_factory=dict)
    """Event type of each variable, in the order of the pattern."""
    variables_of: dict[str, frozenset[str]] = field(default_factory=dict)
    """The variables that a name stands for."""
    positive: frozenset[str] = frozenset()
    """The variables that trends have events of."""
    sides: tuple[Side, ...] = ()
    automata: tuple[Automaton, ...] = ()
    window: Window | None = None
    local_predicates: tuple[LocalPredicate, ...] = ()
    edge_predicates: tuple[EdgePredicate, ...] = ()
    partitioning: Partitioning = field(default_factory=Partitioning)
    group: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    measures: list[Measure] = field(default_factory=lambda: [Trends()])
    outputs: list[Output] = field(default_factory=list)
    computed: list[Computed] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    having: Expression | None = None
    attributes: tuple[str, ...] = ()
    templates: tuple[Template, ...] = ()

    def variables(self, name: str, span: Span) -> frozenset[str]:
        """The variables that ``name``, a variable or an event type, stands for."""
        found = self.variables_of.get(name)
        if found is None:
            known = list(self.variables_of)
            listed = f"the pattern has {listing(known)}"
            guess = did_you_mean(name, known)
            raise QueryMeaningError(
                f"{name} is neither a variable nor an event type of the pattern",
                span=span,
                hint=f"{guess} {listed}" if guess else listed,
            )
        return found

    def quote(self, span: Span, otherwise: str) -> str:
        """The query's own words at ``span``, for hints; ``otherwise`` where they are unknown or long."""
        text = self.query.text
        words = "" if text is None else " ".join(text[span.start : span.stop].split())
        return words if 0 < len(words) <= 60 and "--" not in words else otherwise


def listing(words: list[str], limit: int = 8) -> str:
    """``A, B and C``; long lists are cut.

    >>> listing(["A", "B", "C"])
    'A, B and C'
    """
    if len(words) > limit:
        return ", ".join(words[:limit]) + ", …"
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
