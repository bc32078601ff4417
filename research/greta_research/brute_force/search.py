"""The search for trends: a pattern, the events of one window and partition, every trend once.

Time grows with the number of partial trends, 2ⁿ and more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, product

from greta.lang.nodes import Atom, Negation, Pattern, Semantics
from greta_research.brute_force.patterns import Rest, atoms, branches, is_done, misplaced, steps
from greta_research.brute_force.rules import Rules, Scope, Taken
from greta_research.brute_force.times import Event

Trend = tuple[Taken, ...]

NO_VALUE = object()
"""The value, in a scope, of a trend that has no event of the scope."""

_FOREVER = float("inf")


@dataclass(frozen=True, slots=True)
class _Clip:
    """The time in which the events of a branch must lie, both ends included."""

    first: float
    last: float


_Open = frozenset[tuple[_Clip, Rest]]
"""What may still follow a partial trend: each way to read it leaves another rest."""


def value_of(scope: Scope, trend: Trend) -> object:
    """A trend's value in a scope: that of its first event there, with which the others agree."""
    return next((event.get(scope.attribute) for event, variable in trend if variable in scope.variables), NO_VALUE)


class Space:
    """Where trends of one pattern are looked for: the events of a window and partition, by time.

    ``bound`` holds the values that the trend around this pattern has in scopes: empty for a whole pattern,
    and for a NOT's sub-pattern those of the trend it counts against.
    """

    def __init__(self, rules: Rules, pattern: Pattern, events: list[Event], bound: dict[Scope, object]) -> None:
        self.rules = rules
        self.pattern = pattern
        self.events = events
        self.bound = bound
        self.atoms = tuple(atoms(pattern))
        self.memory: dict[Negation, list[tuple[int, int]]] = {}

    def trends(self, semantics: Semantics) -> Iterator[Trend]:
        """Every trend once, one combination of scope values after another."""
        positive = list(atoms(self.pattern, negative=False))
        free: dict[Scope, frozenset[str]] = {}
        for scope in self.rules.scopes:
            types = frozenset(atom.event_type for atom in positive if atom.variable in scope.variables)
            if types and scope not in self.bound:
                free[scope] = types
        choices = [[NO_VALUE, *self._values(scope, types)] for scope, types in free.items()]
        for values in product(*choices):
            cell = Space(self.rules, self.pattern, self.events, self.bound | dict(zip(free, values, strict=True)))
            for trend in cell.select(semantics):
                # A trend without an event of a scope belongs to the cell of no value there, and to no other.
                if all(value_of(scope, trend) == value for scope, value in zip(free, values, strict=True)):
                    yield trend

    def _values(self, scope: Scope, types: frozenset[str]) -> list[object]:
        values = (event.get(scope.attribute) for event in self.events if event.event_type in types)
        return [value for value in dict.fromkeys(values) if value is not None]

    def select(self, semantics: Semantics) -> Iterator[Trend]:
        """Every trend under the event selection semantics, all scopes of the pattern being bound."""
        start = frozenset(self._begin())
        if semantics is Semantics.NEXT:
            return self._tick_by_tick(start)
        return self._longer((), start, contiguous=semantics is Semantics.CONTIGUOUS)

    def _begin(self) -> Iterator[tuple[_Clip, Rest]]:
        for branch in branches(self.pattern):
            for step in steps(branch.body):
                if step.gaps:
                    raise misplaced(step.gaps[0])
            closes = [end for negation in branch.leading for _, end in self.matches(negation)]
            opens = [begin for negation in branch.trailing for begin, _ in self.matches(negation)]
            yield _Clip(max(opens, default=-_FOREVER), min(closes, default=_FOREVER)), branch.body

    def _longer(self, trend: Trend, following: _Open, *, contiguous: bool) -> Iterator[Trend]:
        """All trends that begin with this one and are longer (any-match and contiguous)."""
        for event in self.events:
            if trend and (event.time <= trend[-1][0].time or (contiguous and self._is_blocked(trend[-1][0], event))):
                continue
            for taken, rests in self._ways(trend, following, event):
                if any(is_done(rest) for _, rest in rests):
                    yield (*trend, taken)
                yield from self._longer((*trend, taken), rests, contiguous=contiguous)

    def _tick_by_tick(self, start: _Open) -> Iterator[Trend]:
        """Next-match: matched is what starts a trend, or extends one that ends at the last matched tick.

        Partial trends count here, so neither MIN LENGTH nor what comes later has a say in what is matched.
        """
        last: list[tuple[Trend, _Open]] = []
        for _, tick in groupby(self.events, key=lambda event: event.time):
            matched = [
                ((*trend, taken), rests)
                for event in tick
                for trend, following in [((), start), *last]
                for taken, rests in self._ways(trend, following, event)
            ]
            last = matched or last
            yield from (trend for trend, rests in matched if any(is_done(rest) for _, rest in rests))

    def _ways(self, trend: Trend, following: _Open, event: Event) -> Iterator[tuple[Taken, _Open]]:
        """Each variable under which the event may be next, with all that may follow then."""
        ways: dict[str, set[tuple[_Clip, Rest]]] = {}
        for clip, rest in following:
            if not clip.first <= event.time <= clip.last:
                continue
            for step in steps(rest):
                taken = (event, step.atom.variable)
                if not self._may_take(event, step.atom):
                    continue
                if trend and not self.rules.holds_between(trend[-1], taken):
                    continue
                if trend and any(self._is_crossed(gap, trend[-1][0], event) for gap in step.gaps):
                    continue
                ways.setdefault(step.atom.variable, set()).add((clip, step.rest))
        for variable, rests in ways.items():
            yield (event, variable), frozenset(rests)

    def _may_take(self, event: Event, atom: Atom) -> bool:
        return (
            event.event_type == atom.event_type
            and all(
                event.get(scope.attribute) == value and event.get(scope.attribute) is not None
                for scope, value in self.bound.items()
                if atom.variable in scope.variables
            )
            and self.rules.holds_for(event, atom.variable)
        )

    def _is_crossed(self, negation: Negation, p: Event, q: Event) -> bool:
        return any(p.time < begin and end < q.time for begin, end in self.matches(negation))

    def matches(self, negation: Negation) -> list[tuple[int, int]]:
        """(start, end) of all matches of a NOT's sub-pattern: always skip-till-any-match, of any length."""
        if negation not in self.memory:
            inner = Space(self.rules, negation.body, self.events, self.bound)
            self.memory[negation] = [(m[0][0].time, m[-1][0].time) for m in inner.trends(Semantics.ANY)]
        return self.memory[negation]

    def _is_blocked(self, p: Event, q: Event) -> bool:
        return any(p.time < event.time < q.time and self._is_inside(event) for event in self.events)

    def _is_inside(self, event: Event) -> bool:
        """Whether an event of the common partition is also in this one."""
        variables = {atom.variable for atom in self.atoms if atom.event_type == event.event_type}
        return not variables or all(
            event.get(scope.attribute) == value for scope, value in self.bound.items() if variables <= scope.variables
        )
