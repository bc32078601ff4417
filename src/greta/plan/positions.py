"""Pattern → position automaton: one state for each place of a variable (Glushkov; paper, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import assert_never

from greta.lang.nodes import (
    Atom,
    Conjunction,
    Disjunction,
    Maybe,
    Negation,
    Pattern,
    Plus,
    Repeat,
    Seq,
    Star,
)
from greta.plan.machine import MAX_POSITIONS, MAX_TRANSITIONS, Arc, Machine, exploded

_SEQ, _PLUS = Arc("SEQ"), Arc("+")


@dataclass(slots=True)
class Fragment:
    """A sub-pattern's positions: where it may begin and end, and whether it may be empty."""

    first: list[int]
    last: list[int]
    nullable: bool


class Positions:
    """Builds the machine of a pattern whose NOTs stand between parts that are never empty.

    ``negatives`` collects the bodies of these NOTs; the copies that bounds make share them. Where every
    variable occurs once, the machine is deterministic.
    """

    def __init__(self) -> None:
        self.machine = Machine()
        self.negatives: list[Pattern] = []
        self._index: dict[int, int] = {}
        self._transitions = 0

    def add(self, pattern: Pattern, clips: tuple[int, ...] = ()) -> None:
        """Let the machine also accept ``pattern``; ``clips`` bear on all its states."""
        size = count_positions(pattern) + len(self.machine.variables)
        if size > MAX_POSITIONS:
            raise exploded("places for events", MAX_POSITIONS)
        begin = len(self.machine.variables)
        fragment = self._build(pattern)
        self.machine.clips.extend([clips] * (len(self.machine.variables) - begin))
        self.machine.starts.extend(fragment.first)
        self.machine.ends.update(fragment.last)

    def new_negative(self, body: Pattern) -> int:
        """The index of one more NOT's body."""
        self.negatives.append(body)
        return len(self.negatives) - 1

    def _negative(self, negation: Negation) -> int:
        index = self._index.get(id(negation))
        if index is None:
            index = self._index[id(negation)] = self.new_negative(negation.body)
        return index

    def _build(self, pattern: Pattern) -> Fragment:
        match pattern:
            case Atom(variable=variable):
                position = len(self.machine.variables)
                self.machine.variables.append(variable)
                self.machine.follow.append({})
                return Fragment([position], [position], nullable=False)
            case Plus(body=body):
                return self._loop(self._build(body))
            case Star(body=body):
                fragment = self._loop(self._build(body))
                return Fragment(fragment.first, fragment.last, nullable=True)
            case Maybe(body=body):
                fragment = self._build(body)
                return Fragment(fragment.first, fragment.last, nullable=True)
            case Repeat(body=body, at_least=at_least, at_most=at_most):
                return self._repeat(body, at_least, at_most)
            case Seq(parts=parts):
                return self._sequence(parts)
            case Disjunction(parts=parts):
                fragments = [self._build(part) for part in parts]
                return Fragment(
                    [p for fragment in fragments for p in fragment.first],
                    [p for fragment in fragments for p in fragment.last],
                    any(fragment.nullable for fragment in fragments),
                )
            case Negation() | Conjunction():
                raise AssertionError("the shape pass lets none through")
            case _:
                assert_never(pattern)

    def _loop(self, fragment: Fragment) -> Fragment:
        self._connect(fragment.last, fragment.first, _PLUS)
        return fragment

    def _sequence(self, parts: Sequence[Pattern]) -> Fragment:
        whole = Fragment([], [], nullable=True)
        arc = _SEQ
        for part in parts:
            if isinstance(part, Negation):
                arc = Arc("SEQ", (self._negative(part),))
                continue
            whole = self._chain(whole, self._build(part), arc)
            arc = _SEQ
        return whole

    def _chain(self, one: Fragment, other: Fragment, arc: Arc) -> Fragment:
        self._connect(one.last, other.first, arc)
        return Fragment(
            one.first + other.first if one.nullable else one.first,
            one.last + other.last if other.nullable else other.last,
            one.nullable and other.nullable,
        )

    def _repeat(self, body: Pattern, at_least: int, at_most: int | None) -> Fragment:
        """Copies in a row, each without its empty match: what may be empty may as well be left out."""
        copies = [self._build(body) for _ in range(max(at_least, 1) if at_most is None else at_most)]
        if copies[0].nullable:
            at_least = 0
        for one, other in pairwise(copies):
            self._connect(one.last, other.first, _SEQ)
        if at_most is None:
            self._loop(copies[-1])
        enough = copies[max(at_least, 1) - 1 :]
        return Fragment(copies[0].first, [p for copy in enough for p in copy.last], at_least == 0)

    def _connect(self, sources: list[int], targets: list[int], arc: Arc) -> None:
        if len(sources) * len(targets) > MAX_TRANSITIONS:
            raise exploded("transitions", MAX_TRANSITIONS)
        for p in sources:
            arcs = self.machine.follow[p]
            before = len(arcs)
            for q in targets:
                arcs.setdefault(q, arc)
            self._transitions += len(arcs) - before
        if self._transitions > MAX_TRANSITIONS:
            raise exploded("transitions", MAX_TRANSITIONS)


def count_positions(pattern: Pattern) -> int:
    """How many states the pattern's position automaton has, without building it. O(size of the pattern).

    >>> count_positions(Repeat(Repeat(Atom("A", "A"), 1, 1000), 1, 1000))
    1000000
    """
    match pattern:
        case Atom():
            return 1
        case Plus(body=body) | Star(body=body) | Maybe(body=body):
            return count_positions(body)
        case Repeat(body=body, at_least=at_least, at_most=at_most):
            return count_positions(body) * (max(at_least, 1) if at_most is None else at_most)
        case Seq(parts=parts) | Disjunction(parts=parts):
            return sum(map(count_positions, parts))
        case Negation():
            return 0
        case Conjunction(left=left, right=right):
            return count_positions(left) + count_positions(right)
        case _:
            assert_never(pattern)
