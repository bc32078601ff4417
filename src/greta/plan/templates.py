"""Automata → templates: MIN LENGTH and scopes unrolled, links on the transitions (paper, §4.1)."""

from __future__ import annotations

from greta.errors import QueryError
from greta.lang.nodes import Semantics
from greta.plan.draft import Automaton, Draft
from greta.plan.links import Links
from greta.plan.machine import Machine, trim
from greta.plan.nodes import (
    EdgePredicate,
    Equal,
    NegativeTemplate,
    Ordered,
    State,
    Template,
    Transition,
)
from greta.plan.unroll import Mark, unroll

Compared = dict[EdgePredicate, Equal | Ordered | None]


def build_templates(draft: Draft) -> None:
    """One template for each automaton.

    States that reach no end are dropped, except under skip-till-next-match: events in them are matched all
    the same, and shut others out. The template of both sides of an AND is trimmed always: which events are
    matched is for the templates of the two sides to say.
    """
    scopes: dict[str, int] = {}
    for bit, scope in enumerate(draft.partitioning.scopes):
        for variable in scope.variables:
            scopes[variable] = scopes.get(variable, 0) | 1 << bit
    compared: Compared = {}
    templates = []
    for side, automaton in enumerate(draft.automata):
        keep_dead = draft.query.semantics is Semantics.NEXT and side < 2
        try:
            machine, marks = unroll(automaton.machine, draft.query.min_length, scopes)
        except QueryError as error:
            error.span = automaton.pattern.span
            raise
        if not keep_dead:
            machine, kept = trim(machine)
            marks = [marks[p] for p in kept]
        templates.append(_template(automaton, machine, marks, draft, compared))
    draft.templates = tuple(templates)


def _template(automaton: Automaton, machine: Machine, marks: list[Mark], draft: Draft, compared: Compared) -> Template:
    starts = set(machine.starts)
    states = tuple(
        State(p, variable, draft.types[variable], p in starts, p in machine.ends, machine.clips[p], seen, length)
        for p, (variable, (length, seen)) in enumerate(zip(machine.variables, marks, strict=True))
    )
    lasting = frozenset(at for at, (negative, _) in enumerate(automaton.negatives) if any(negative.machine.follow))
    links = Links(draft, compared, lasting)
    transitions = tuple(
        Transition(p, q, links.between(machine.variables[p], machine.variables[q], arc.negations), arc.operator)
        for p, arcs in enumerate(machine.follow)
        for q, arc in sorted(arcs.items())
    )
    negatives = tuple(
        NegativeTemplate(
            _template(negative, negative.machine, [(1, 0)] * len(negative.machine.variables), draft, compared),
            place,
        )
        for negative, place in automaton.negatives
    )
    return Template(automaton.pattern, states, transitions, links.all, negatives)
