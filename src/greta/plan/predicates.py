"""WHERE → local predicates (one event) and edge predicates (an event and the next)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from greta.errors import QueryMeaningError
from greta.lang.nodes import Attribute, Equivalence, Expression
from greta.lang.printer import print_expression
from greta.plan.conditions import attributes, conjuncts, constant, rebuilt
from greta.plan.draft import Automaton, Draft, listing
from greta.plan.nodes import EdgePredicate, LocalPredicate

Names = dict[frozenset[str], str]
"""The sets of variables that a condition speaks of, each with the name it uses for them."""


def classify_predicates(draft: Draft) -> None:
    """Sort the conjuncts; a condition that stands twice is kept once.

    A conjunct over constants alone is dropped where it is true; otherwise it bears on every variable.
    """
    local: dict[LocalPredicate, None] = {}
    edge: dict[EdgePredicate, None] = {}
    for item in draft.query.where:
        if isinstance(item, Equivalence):
            continue
        for condition in conjuncts(item):
            predicate = _classify(condition, draft)
            if isinstance(predicate, LocalPredicate):
                local[predicate] = None
            elif predicate is not None:
                edge[predicate] = None
    draft.local_predicates, draft.edge_predicates = tuple(local), tuple(edge)


def _classify(condition: Expression, draft: Draft) -> LocalPredicate | EdgePredicate | None:
    this: Names = {}
    following: Names = {}
    for attribute in attributes(condition):
        variables = draft.variables(attribute.variable, attribute.span)
        (following if attribute.next else this).setdefault(variables, attribute.variable)
    match list(this.items()), list(following.items()):
        case [], []:
            if constant(condition) is True:
                return None
            return LocalPredicate(frozenset(draft.types), condition)
        case [(variables, _)], []:
            return LocalPredicate(variables, condition)
        case [(sources, one)], [(targets, other)]:
            predicate = EdgePredicate(sources, targets, condition)
            _check_adjacent(predicate, one, other, draft)
            return predicate
        case [], _:
            alone = _with(condition, lambda leaf: replace(leaf, next=False))
            raise QueryMeaningError(
                "NEXT compares with the event before it, and this condition speaks of none",
                span=condition.span,
                hint=f"leave NEXT out for a condition on single events: {alone}",
            )
        case [(sources, one), (targets, other)], []:
            raise QueryMeaningError(
                f"a predicate over two variables, {one} and {other}, without NEXT",
                span=condition.span,
                hint=_ordered_hint(condition, (sources, one), (targets, other), draft),
            )
        case _:
            names = [*this.values(), *(f"NEXT({name})" for name in following.values())]
            raise QueryMeaningError(
                f"a predicate may speak of an event and the next; this one speaks of {listing(names)}",
                span=condition.span,
                hint="split it into conditions with one variable and one NEXT each, joined by AND",
            )


def _check_adjacent(predicate: EdgePredicate, one: str, other: str, draft: Draft) -> None:
    pairs = _adjacent(draft.automata)
    if _meet(pairs, predicate.sources, predicate.targets):
        return
    after = sorted({q for p, q in pairs if p in predicate.sources})
    if _meet(pairs, predicate.targets, predicate.sources):
        swapped = _with(predicate.condition, lambda leaf: replace(leaf, next=not leaf.next))
        hint = f"{one} comes right after {other} here: {swapped}"
    elif after:
        hint = f"right after {one} comes {' or '.join(after)}: {_to(predicate.condition, one, after[0])}"
    else:
        hint = f"no event comes after {one} in this pattern; speak of {one} alone, without NEXT"
    raise QueryMeaningError(
        f"{one} and {other} are never adjacent: no event of {other} comes right after one of {one}",
        span=predicate.condition.span,
        hint=hint,
    )


Named = tuple[frozenset[str], str]


def _ordered_hint(condition: Expression, one: Named, other: Named, draft: Draft) -> str:
    pairs = _adjacent(draft.automata)
    for (sources, earlier), (targets, later) in ((one, other), (other, one)):
        if _meet(pairs, sources, targets):
            marked = _to(condition, earlier, later)
            return f"to compare an event of {earlier} with the {later} right after it, write {marked}"
    for variables, name in (one, other):
        after = sorted({q for p, q in pairs if p in variables})
        if after:
            return f"only neighbours can be compared: {_to(condition, name, after[0])}"
    return "events of this pattern have no neighbours; use conditions on one variable each"


def _with(condition: Expression, change: Callable[[Attribute], Attribute]) -> str:
    """The condition in words, with other attributes."""
    return print_expression(rebuilt(condition, lambda leaf: change(leaf) if isinstance(leaf, Attribute) else leaf))


def _to(condition: Expression, name: str, after: str) -> str:
    """The condition in words, comparing ``name`` with ``NEXT(after)``."""
    return _with(condition, lambda leaf: leaf if leaf.variable == name else replace(leaf, variable=after, next=True))


def _meet(pairs: set[tuple[str, str]], sources: frozenset[str], targets: frozenset[str]) -> bool:
    return any((p, q) in pairs for p in sources for q in targets)


def _adjacent(automata: Iterable[Automaton]) -> set[tuple[str, str]]:
    pairs: set[tuple[str, str]] = set()
    for automaton in automata:
        pairs |= automaton.machine.adjacent | _adjacent(negative for negative, _ in automaton.negatives)
    return pairs
