"""Sides → automata in which every trend has one run, with those of their NOTs (paper, Algorithms 1 and 3)."""

from __future__ import annotations

from collections import Counter

from greta.errors import QueryError, QueryMeaningError
from greta.lang.nodes import Atom, Conjunction, Negation, Pattern
from greta.lang.walk import walk
from greta.lang.words import quoted
from greta.plan.draft import Automaton, Branch, Draft, Side
from greta.plan.machine import MAX_PAIRS, Machine, determinise, exploded, intersect, is_ambiguous
from greta.plan.nodes import Place
from greta.plan.positions import Positions


def build_automata(draft: Draft) -> None:
    """One automaton, or three for an outermost AND: left, right, and the trends of both."""
    automata = [_automaton(side) for side in draft.sides]
    if isinstance(draft.query.pattern, Conjunction):
        left, right = automata
        try:
            both = intersect(left.machine, right.machine, shift=len(left.negatives))
        except QueryError as error:
            raise _placed(error, draft.query.pattern) from None
        automata.append(Automaton(draft.query.pattern, both, left.negatives + right.negatives))
    draft.automata = tuple(automata)


def _automaton(side: Side) -> Automaton:
    positions = Positions()
    places: dict[int, Place] = {}
    try:
        for branch in side.branches:
            clips: tuple[int, ...] = ()
            for body, place in ((branch.leading, Place.LEADING), (branch.trailing, Place.TRAILING)):
                if body is not None:
                    index = positions.new_negative(body)
                    places[index] = place
                    clips += (index,)
            positions.add(branch.body, clips)
        machine = _one_run_per_trend(positions.machine, side.pattern)
    except QueryError as error:
        raise _placed(error, side.pattern) from None
    negatives = tuple(
        (_automaton(Side(body, (Branch(body),))), places.get(index, Place.BETWEEN))
        for index, body in enumerate(positions.negatives)
    )
    return Automaton(side.pattern, machine, negatives)


def _one_run_per_trend(machine: Machine, pattern: Pattern) -> Machine:
    ambiguous = is_ambiguous(machine)
    if ambiguous is False:
        return machine
    if not machine.has_negations:
        return determinise(machine)
    if ambiguous is None:
        raise exploded("pairs of states to see whether trends match in one way only", MAX_PAIRS)
    raise _asks_for_variables(pattern)


def _asks_for_variables(pattern: Pattern) -> QueryMeaningError:
    """With NOT, it matters which way a trend matches, so there may be only one."""
    places: Counter[tuple[str, str]] = Counter()
    inside: int | None = None
    for node, depth in walk(pattern):
        if inside is None or depth <= inside:
            inside = depth if isinstance(node, Negation) else None
            if isinstance(node, Atom):
                places[node.event_type, node.variable] += 1
    (event_type, variable), count = places.most_common(1)[0]
    hint = "write the copies that {n,m} makes out as parts of a SEQ, each with a variable of its own"
    if count > 1:
        one, other = (f"{quoted(event_type)} {quoted(f'{variable}{n}')}" for n in (1, 2))
        hint = f"give each place its own variable: {one} and {other}"
    return QueryMeaningError(
        f"with NOT, a trend may match in one way only; here events of {variable} could take several places",
        span=pattern.span,
        hint=hint,
    )


def _placed(error: QueryError, pattern: Pattern) -> QueryError:
    if error.span.stop == 0:
        error.span = pattern.span
    return error
