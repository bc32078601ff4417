"""How a value of trends is kept at a vertex: in layers, by what trends have met and which LAST values are in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TypeVar

from greta.plan.flows import ONE, FlowBuilder, Op, Step, Weight
from greta.plan.parts import Part, TrendValue

Item = TypeVar("Item")

Presence = tuple[frozenset[str], str]
"""``(variables, attribute)``: a trend may have a value of them or not (yet)."""

Place = tuple[frozenset[Presence], frozenset[Presence]]
"""Which values trends have met, and which LAST values are already part of the slot."""

_TIME = ""
"""The attribute of DURATION's parts: the time of the event, in seconds."""


class Layers:
    """How a value of trends is kept at a vertex.

    Trends are told apart by which values they have met (an average passes over trends without one). FIRST joins a
    trend's value when it is met; LAST is exchanged again and again, so a slot without it stays beside that with it::

        LAST(S.x) - FIRST(S.x)     slot ∅: Σ -first          slot {x}: Σ last - first = slot ∅ + x · trends

    What every event has is *certain*: no trend lacks it, so it needs no layer of its own.
    """

    def __init__(self, builder: FlowBuilder, value: TrendValue) -> None:
        self.builder = builder
        self.value = value
        self.parts = [part for whole in value.parts for part in _simple_parts(whole, builder.variables)]
        needed = {(p.variables, p.attribute) for p in self.parts if p.attribute is not None and not self._certain(p)}
        self.flags: tuple[Presence, ...] = tuple(sorted(needed, key=lambda flag: (flag[1], sorted(flag[0]))))
        self.lasts: dict[Presence, int] = {}
        for part in self.parts:
            if part.function == "LAST" and part.attribute is not None:
                key = (part.variables, part.attribute)
                self.lasts[key] = self.lasts.get(key, 0) + part.sign
        self.lasts = {key: sign for key, sign in self.lasts.items() if sign}
        self.goal: Place = (frozenset(self.flags), frozenset(self.lasts))
        self.places = self._reachable()

    def _certain(self, part: Part) -> bool:
        known = part.attribute == _TIME or part.attribute in self.builder.complete
        return known and part.variables >= self.builder.variables

    def meetings(self, variable: str) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
        """What an event of a variable may bring: (attributes with a value, attributes that are NULL)."""
        met = (*self.flags, *self.lasts)
        names = frozenset(name for variables, name in met if variable in variables and name != _TIME)
        sure = names & self.builder.complete
        for valid in _subsets(sorted(names - sure)):
            yield sure | valid, names - sure - valid

    def met(self, variable: str, valid: frozenset[str]) -> frozenset[Presence]:
        """The values that a trend has met after such an event."""
        return frozenset(flag for flag in self.flags if variable in flag[0] and flag[1] in valid)

    def exchanged(self, variable: str, valid: frozenset[str]) -> frozenset[Presence]:
        """The LAST values that such an event exchanges."""
        return frozenset(k for k in self.lasts if variable in k[0] and (k[1] in valid or k[1] == _TIME))

    def sources(self, place: Place, variable: str, valid: frozenset[str]) -> list[tuple[Place, Weight]]:
        """The places whose trends come to ``place`` by such an event, and what is added to their values."""
        phase, lasts = place
        met = self.met(variable, valid)
        if not met <= phase:
            return []
        exchanged = self.exchanged(variable, valid) & lasts
        gained = Weight.sum_of(_weight(key[1], self.lasts[key]) for key in exchanged)
        result = []
        for some in _subsets(sorted(met, key=repr)):
            before = (phase - met) | some
            result.append(((before, lasts - exchanged), Weight.sum_of([gained, self._added(variable, before)])))
        # The place itself first: its slot changes where it lies.
        return sorted(result, key=lambda item: item[0] != place)

    def _added(self, variable: str, phase: frozenset[Presence]) -> Weight:
        weights = []
        for part in self.parts:
            if variable not in part.variables or part.function == "LAST":
                continue
            if part.function == "COUNT":
                weights.append(Weight(constant=part.sign))
            elif part.attribute is not None:
                new = (part.variables, part.attribute) not in phase and not self._certain(part)
                if part.function == "SUM" or new:
                    weights.append(_weight(part.attribute, part.sign))
        return Weight.sum_of(weights)

    def first(self, variable: str) -> Weight:
        """What the first event of a trend adds by being the first, of what is certain."""
        firsts = [p for p in self.parts if p.function == "FIRST" and self._certain(p) and p.attribute is not None]
        return Weight.sum_of(_weight(p.attribute or "", p.sign) for p in firsts if variable in p.variables)

    def _reachable(self) -> list[Place]:
        """The places that flow into the goal, those with more in them first: none is changed before it is read."""
        seen, waiting = {self.goal}, [self.goal]
        while waiting:
            place = waiting.pop()
            for variable in self.builder.variables:
                for valid, _ in self.meetings(variable):
                    for source, _ in self.sources(place, variable, valid):
                        if source not in seen:
                            seen.add(source)
                            waiting.append(source)
        nothing: Place = (frozenset(), frozenset())
        seen.add(nothing)
        return sorted(seen, key=lambda place: (-len(place[0]), -len(place[1]), repr(place)))

    def counts(self) -> dict[frozenset[Presence], int]:
        """Per phase: the additive slot with the number of its trends, kept up to date after all other steps."""
        builder = self.builder
        if not self.flags:
            return {frozenset(): 0}
        phases = sorted({phase for phase, _ in self.places}, key=lambda phase: (-len(phase), repr(phase)))
        fresh = ("count", self.flags, phases[0]) not in builder.add_slots
        slots = {phase: builder.add_slot(("count", self.flags, phase)) for phase in phases}
        builder.start_adds.add(slots[frozenset()])
        if not fresh:
            return slots
        for variable in sorted(builder.variables):
            for valid, missing in self.meetings(variable):
                met = self.met(variable, valid)
                guard = builder.guard(valid, missing)
                for phase in phases:
                    if not met:
                        continue
                    if not met <= phase:
                        builder.at_last(variable, Step(Op.ZERO, slots[phase], 0, None, guard))
                        continue
                    for some in _subsets(sorted(met, key=repr)):
                        before = (phase - met) | some
                        if before != phase and before in slots:
                            builder.at_last(variable, Step(Op.ADD, slots[phase], slots[before], ONE, guard))
        return slots


def _simple_parts(part: Part, variables: frozenset[str]) -> tuple[Part, ...]:
    """The part over a template's own variables; DURATION is the last time minus the first."""
    if part.function != "DURATION":
        return (Part(part.function, part.variables & variables, part.attribute, part.sign),)
    return (Part("LAST", variables, _TIME, part.sign), Part("FIRST", variables, _TIME, -part.sign))


def _weight(attribute: str, coefficient: int) -> Weight:
    if attribute == _TIME:
        return Weight(seconds=coefficient)
    return Weight(attributes=((attribute, coefficient),))


def _subsets(items: list[Item]) -> Iterator[frozenset[Item]]:
    for size in range(len(items) + 1):
        yield from map(frozenset, combinations(items, size))
