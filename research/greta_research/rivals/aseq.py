"""A-Seq: prefix counters per window for sequences of fixed length (§11).

Counts without building, in O(1) per event and state, but knows neither Kleene closure nor nested patterns nor
edge predicates. A negated event resets the counter of the prefix before it.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from greta.lang.nodes import Atom, Negation, Pattern, Seq
from greta.plan.measures import Combine
from greta.plan.nodes import Place, Plan, Template
from greta_research.rivals import CellByCell, Meter
from greta_research.rivals.cells import Cell
from greta_research.rivals.totals import Totals

_EVENTS = 4096


class ASeq(CellByCell):
    """Online aggregation of fixed-length sequences."""

    name = "aseq"

    def supports(self, plan: Plan) -> str | None:
        """Sequences of single events, negated ones between them."""
        if not _is_plain(plan.query.pattern):
            return "only sequences of single events, without Kleene closure or nesting"
        if any(link.predicates for link in plan.templates[0].links):
            return "no edge predicates"
        if any(negative.place is not Place.BETWEEN for negative in plan.templates[0].negatives):
            return "no NOT at the edge of a pattern"
        return super().supports(plan)

    def answer(self, cell: Cell, totals: Totals, meter: Meter) -> None:
        """Read the window tick by tick; a tick's own events never extend each other."""
        template = cell.stream.plan.templates[0]
        prefixes = _Prefixes(template, totals)
        for steps, (_, tick) in enumerate(groupby(cell.events, key=lambda event: event.time)):
            if not steps % _EVENTS:
                meter.check()
            events = list(tick)
            fresh = []
            for event in events:
                for state in template.states:
                    if cell.may_take(event, state.variable):
                        values = cell.stream.linker(template).gives(state.variable, event)
                        fresh.append((state.index, prefixes.extended(state.index, values)))
            for at, negative in enumerate(template.negatives):
                variable = negative.template.states[0].variable
                if any(cell.may_take(event, variable) for event in events):
                    prefixes.reset(at)
            for state_index, prefix in fresh:
                prefixes.add(state_index, prefix)


Prefix = tuple[int, list[Any]]
"""(number of sequences, values of the measures over all their events)"""


class _Prefixes:
    """A counter in front of every state: the prefixes that its next event would extend."""

    def __init__(self, template: Template, totals: Totals) -> None:
        self.template = template
        self.totals = totals
        self.joins = totals.joins
        self.adds = [measure.combine is Combine.ADD for measure in totals.measures]
        self.empty = totals.nothing
        self.before: list[Prefix] = [(0, self.empty) for _ in template.states]
        self.source = {transition.target: transition for transition in template.transitions}
        self.target = {transition.source: transition.target for transition in template.transitions}

    def extended(self, state: int, values: tuple[Any, ...]) -> Prefix:
        """What an event with these values makes of the prefixes in front of its state."""
        count, before = (1, self.empty) if self.template.states[state].start else self.before[state]
        if not count:
            return 0, self.empty
        return count, [
            join(old, value * count if adds else value)
            for join, adds, old, value in zip(self.joins, self.adds, before, values, strict=True)
        ]

    def add(self, state: int, prefix: Prefix) -> None:
        """Count new prefixes in front of the next state, or in the totals where there is none."""
        count, values = prefix
        if not count:
            return
        if self.template.states[state].end:
            self.totals.trends += count
            self.totals.add_values(values)
        if (target := self.target.get(state)) is not None:
            had, before = self.before[target]
            joined = [join(old, value) for join, old, value in zip(self.joins, before, values, strict=True)]
            self.before[target] = (had + count, joined)

    def reset(self, negative: int) -> None:
        """A match of NOT: what came before it connects to nothing after it."""
        for state, transition in self.source.items():
            if negative in self.template.links[transition.link].negations:
                self.before[state] = (0, self.empty)


def _is_plain(pattern: Pattern) -> bool:
    match pattern:
        case Atom():
            return True
        case Seq(parts=parts):
            bodies = (part.body if isinstance(part, Negation) else part for part in parts)
            return all(isinstance(body, Atom) for body in bodies)
        case _:
            return False
