"""Measures: the numbers per group and window that results are made of, as an algebra (paper, aggregation theorem).

A measure says three things, and nothing else in the house knows more about it:

* how its values in different partitions **combine**: they are added up, or the largest counts;
* how it **flows**: which slots of a vertex it needs, and what an event does to them (``greta.plan.flows``);
* what kind of **number** it is, which decides its type in results and between processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import combinations
from typing import Literal, TypeVar

from greta.plan.flows import ONE, Code, Flow, FlowBuilder, Guard, Op, Step, Weight

Item = TypeVar("Item")

PartFunction = Literal["COUNT", "SUM", "FIRST", "LAST", "DURATION"]


class Combine(Enum):
    """How values of partitions become the value of their group."""

    ADD = "add"
    MAX = "max"


class Measure:
    """Base of all measures."""

    __slots__ = ()

    @property
    def combine(self) -> Combine:
        """How values of partitions combine."""
        return Combine.ADD

    @property
    def summed(self) -> tuple[str, ...]:
        """The attributes whose type decides whether the measure is a whole number."""
        return ()

    @property
    def timed(self) -> bool:
        """Whether the measure is made of lengths of time: whole only where the clock counts whole seconds."""
        return False

    @property
    def compared(self) -> str | None:
        """The attribute whose values the measure is one of, for extremes; None: it is a number."""
        return None

    @property
    def sign(self) -> int:
        """-1 where the measure is kept negated, so that the smallest is the largest."""
        return 1

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns it reads."""
        return self.summed if self.compared is None else (self.compared,)

    @property
    def words(self) -> str:
        """The measure in words."""
        raise AssertionError("every measure has words")

    def weave(self, builder: FlowBuilder) -> int:  # noqa: ARG002 - measures have their own
        """Add slots and steps; the slot that holds the measure at the end."""
        raise AssertionError("every measure weaves")


@dataclass(frozen=True, slots=True)
class Trends(Measure):
    """Number of trends. Always the first measure of a plan."""

    @property
    def words(self) -> str:
        """The measure in words."""
        return "number of trends"

    def weave(self, builder: FlowBuilder) -> int:  # noqa: ARG002 - slot 0 is there from the start
        """Slot 0."""
        return 0


@dataclass(frozen=True, slots=True)
class Events(Measure):
    """Number of events of some variables in all trends: ``COUNT(E)``."""

    variables: frozenset[str]

    @property
    def words(self) -> str:
        """The measure in words."""
        return f"number of {_listed(self.variables)} events"

    def weave(self, builder: FlowBuilder) -> int:
        """An event is in as many trends as reach it."""
        slot = builder.add_slot(self)
        for variable in sorted(self.variables & builder.variables):
            builder.at_part(variable, Step(Op.ADD, slot, 0, ONE))
        return slot


@dataclass(frozen=True, slots=True)
class Values(Measure):
    """Number of values of an attribute, NULLs left out, in all trends."""

    variables: frozenset[str]
    attribute: str

    @property
    def attributes(self) -> tuple[str, ...]:
        """Whether it is NULL matters."""
        return (self.attribute,)

    @property
    def words(self) -> str:
        """The measure in words."""
        return f"number of {_of(self.variables, self.attribute)} values"

    def weave(self, builder: FlowBuilder) -> int:
        """As ``Events``, for events that have a value."""
        slot = builder.add_slot(self)
        for variable in sorted(self.variables & builder.variables):
            builder.at_part(variable, Step(Op.ADD, slot, 0, ONE, builder.guard([self.attribute])))
        return slot


@dataclass(frozen=True, slots=True)
class Total(Measure):
    """Sum of an attribute over all events of all trends: ``SUM(E.a)``."""

    variables: frozenset[str]
    attribute: str

    @property
    def summed(self) -> tuple[str, ...]:
        """The attribute."""
        return (self.attribute,)

    @property
    def words(self) -> str:
        """The measure in words."""
        return f"sum of {_of(self.variables, self.attribute)}"

    def weave(self, builder: FlowBuilder) -> int:
        """A value counts once for every trend that reaches the event."""
        slot = builder.add_slot(self)
        weight = Weight(attributes=((self.attribute, 1),))
        for variable in sorted(self.variables & builder.variables):
            builder.at_part(variable, Step(Op.ADD, slot, 0, weight))
        return slot


@dataclass(frozen=True, slots=True)
class Extreme(Measure):
    """Largest (or smallest) value of an attribute in any trend: ``MAX(E.a)``."""

    variables: frozenset[str]
    attribute: str
    smallest: bool = False

    @property
    def combine(self) -> Combine:
        """The largest counts."""
        return Combine.MAX

    @property
    def compared(self) -> str | None:
        """The attribute."""
        return self.attribute

    @property
    def sign(self) -> int:
        """The smallest is the largest of the negated."""
        return -1 if self.smallest else 1

    @property
    def words(self) -> str:
        """The measure in words."""
        return f"{'min' if self.smallest else 'max'} of {_of(self.variables, self.attribute)}"

    def weave(self, builder: FlowBuilder) -> int:
        """A value counts as soon as one trend reaches the event."""
        slot = builder.max_slot(self)
        for variable in sorted(self.variables & builder.variables):
            builder.at_part(variable, Step(Op.RAISE, slot, 0, Code(self.attribute, self.sign)))
        return slot


@dataclass(frozen=True, slots=True)
class Bound(Measure):
    """The highest low, ``MAX(MIN(E.a))``; with ``lowest_high`` its mirror image, ``MIN(MAX(E.a))``.

    Two slots: the highest low among trends that have a value, and whether there are trends without one.
    """

    variables: frozenset[str]
    attribute: str
    lowest_high: bool = False

    @property
    def combine(self) -> Combine:
        """The largest counts."""
        return Combine.MAX

    @property
    def compared(self) -> str | None:
        """The attribute."""
        return self.attribute

    @property
    def sign(self) -> int:
        """The mirror image is the same with all values negated."""
        return -1 if self.lowest_high else 1

    @property
    def words(self) -> str:
        """The measure in words."""
        return f"{'lowest high' if self.lowest_high else 'highest low'} of {_of(self.variables, self.attribute)}"

    def weave(self, builder: FlowBuilder) -> int:
        """A value lowers the lows of trends that have one, and is the low of those that had none."""
        slot, without = builder.max_slot(self), builder.max_slot((self, "without"))
        builder.start_maxes.add(without)
        code = Code(self.attribute, self.sign)
        for variable in sorted(self.variables & builder.variables):
            guard = builder.guard([self.attribute])
            builder.at_part(variable, Step(Op.LOWER, slot, slot, code, guard))
            builder.at_part(variable, Step(Op.RAISE_IF, slot, without, code, guard))
            builder.at_part(variable, Step(Op.CLEAR, without, 0, None, guard))
        return slot


@dataclass(frozen=True, slots=True)
class Part:
    """A summand of a value of a trend: ``sign`` · COUNT, SUM, FIRST, LAST or DURATION.

    ``variables`` are those it speaks of, all of the pattern's for ``COUNT(*)`` and ``DURATION(*)``.
    """

    function: PartFunction
    variables: frozenset[str]
    attribute: str | None = None
    sign: int = 1

    @property
    def words(self) -> str:
        """The part in words."""
        if self.function == "DURATION":
            return "duration"
        if self.attribute is None:
            return f"number of {_listed(self.variables)} events"
        return f"{self.function.lower()} {_of(self.variables, self.attribute)}"


@dataclass(frozen=True, slots=True)
class TrendValue:
    """A number that each trend has, or has not: a sum of parts, e.g. ``LAST(S.price) - FIRST(S.price)``."""

    parts: tuple[Part, ...]

    @property
    def summed(self) -> tuple[str, ...]:
        """The attributes it is made of."""
        return tuple(dict.fromkeys(part.attribute for part in self.parts if part.attribute is not None))

    @property
    def timed(self) -> bool:
        """Whether a length of time is in it."""
        return any(part.function == "DURATION" for part in self.parts)

    @property
    def words(self) -> str:
        """The value in words."""
        signed = [(" - " if part.sign < 0 else " + ") + part.words for part in self.parts]
        return "".join(signed).removeprefix(" + ").strip()


@dataclass(frozen=True, slots=True)
class Moment(Measure):
    """Sum over all trends that have a value of its ``power``: 0 counts them, 1 adds them up, 2 their squares."""

    value: TrendValue
    power: int

    @property
    def summed(self) -> tuple[str, ...]:
        """None for the number of trends."""
        return self.value.summed if self.power else ()

    @property
    def timed(self) -> bool:
        """Not for the number of trends."""
        return self.value.timed and self.power > 0

    @property
    def attributes(self) -> tuple[str, ...]:
        """Whether they are NULL matters even for the number of trends."""
        return self.value.summed

    @property
    def words(self) -> str:
        """The measure in words."""
        return ("number of trends with {}", "sum of {}", "sum of squares of {}")[self.power].format(self.value.words)

    def weave(self, builder: FlowBuilder) -> int:
        """See ``_Moments``."""
        return _Moments(builder, self.value).weave(self.power)


@dataclass(frozen=True, slots=True)
class Peak(Measure):
    """The largest (or smallest) value of a trend: ``MAX(COUNT(*))``."""

    value: TrendValue
    smallest: bool = False

    @property
    def combine(self) -> Combine:
        """The largest counts."""
        return Combine.MAX

    @property
    def summed(self) -> tuple[str, ...]:
        """The attributes of the value."""
        return self.value.summed

    @property
    def timed(self) -> bool:
        """Whether a length of time is in it."""
        return self.value.timed

    @property
    def sign(self) -> int:
        """The smallest is the largest of the negated."""
        return -1 if self.smallest else 1

    @property
    def words(self) -> str:
        """The measure in words."""
        return f"{'smallest' if self.smallest else 'largest'} {self.value.words}"

    def weave(self, builder: FlowBuilder) -> int:
        """See ``_Peaks``."""
        return _Peaks(builder, self.value, self.sign).weave()


@lru_cache(maxsize=1024)
def build_flow(measures: tuple[Measure, ...], variables: frozenset[str], complete: frozenset[str]) -> Flow:
    """Slots and steps of some measures over a template with these variables."""
    builder = FlowBuilder(variables, complete)
    # Higher powers first: they bring the lower ones along.
    order = sorted(range(len(measures)), key=lambda at: -getattr(measures[at], "power", 0))
    results: list[tuple[bool, int]] = [(False, 0)] * len(measures)
    for at in order:
        results[at] = (measures[at].combine is Combine.MAX, measures[at].weave(builder))
    return builder.finish(results)


Presence = tuple[frozenset[str], str]
"""``(variables, attribute)``: a trend may have a value of them or not (yet)."""

Place = tuple[frozenset[Presence], frozenset[Presence]]
"""Which values trends have met, and which LAST values are already part of the slot."""

_TIME = ""
"""The attribute of DURATION's parts: the time of the event, in seconds."""


class _Layers:
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


class _Moments:
    """Sums of a value and of its square per place: adding w to every value gives Σv + w·n and Σv² + 2w·Σv + w²·n."""

    def __init__(self, builder: FlowBuilder, value: TrendValue) -> None:
        self.builder = builder
        self.value = value
        self.layers = _Layers(builder, value)

    def weave(self, power: int) -> int:
        """The slot of the moment."""
        builder, layers = self.builder, self.layers
        counts = layers.counts()
        if power == 0:
            return counts[layers.goal[0]]
        fresh = self._key(1, layers.goal) not in builder.add_slots
        if fresh:
            self.powers = range(1, power + 1)
            self._slots()
            for variable in sorted(builder.variables):
                self._start(variable, counts)
                for valid, missing in layers.meetings(variable):
                    for place in layers.places:
                        self._change(place, variable, valid, missing, counts)
        return builder.add_slot(self._key(power, layers.goal))

    def _key(self, power: int, place: Place) -> object:
        return ("moment", self.value, power, place)

    def _slots(self) -> None:
        for place in self.layers.places:
            for power in self.powers:
                self.builder.add_slot(self._key(power, place))

    def _slot(self, power: int, place: Place) -> int:
        return self.builder.add_slot(self._key(power, place))

    def _start(self, variable: str, counts: dict[frozenset[Presence], int]) -> None:
        nothing: Place = (frozenset(), frozenset())
        weight = self.layers.first(variable)
        slots = [self._slot(power, nothing) for power in self.powers]
        for step in _shift(slots, counts[frozenset()], weight, None):
            self.builder.at_start(variable, step)

    def _change(
        self,
        place: Place,
        variable: str,
        valid: frozenset[str],
        missing: frozenset[str],
        counts: dict[frozenset[Presence], int],
    ) -> None:
        """Steps of one place for one kind of event: gather what comes from its sources."""
        builder = self.builder
        guard = builder.guard(valid, missing)
        slots = [self._slot(power, place) for power in self.powers]
        sources = self.layers.sources(place, variable, valid)
        if not sources:
            for slot in slots:
                builder.at_part(variable, Step(Op.ZERO, slot, 0, None, guard))
            return
        for at, (source, weight) in enumerate(sources):
            origin = [self._slot(power, source) for power in self.powers]
            count = counts[source[0]]
            steps: list[Step] = []
            if at == 0:
                if source != place:
                    steps += [
                        Step(Op.COPY, slot, other, None, guard) for slot, other in zip(slots, origin, strict=True)
                    ]
                steps += _shift(slots, count, weight, guard)
            elif len(slots) == 1:
                steps.append(Step(Op.ADD, slots[0], origin[0], ONE, guard))
                if weight:
                    steps.append(Step(Op.ADD, slots[0], count, weight, guard))
            else:
                # Shifted apart from what is there already, in slots that hold nothing otherwise.
                aside = [builder.add_slot(("aside", power)) for power in self.powers]
                steps += [Step(Op.COPY, slot, other, None, guard) for slot, other in zip(aside, origin, strict=True)]
                steps += _shift(aside, count, weight, guard)
                steps += [Step(Op.ADD, slot, other, ONE, guard) for slot, other in zip(slots, aside, strict=True)]
                steps += [Step(Op.ZERO, slot, 0, None, guard) for slot in aside]
            for step in steps:
                builder.at_part(variable, step)


class _Peaks:
    """The largest value per place, kept with its sign."""

    def __init__(self, builder: FlowBuilder, value: TrendValue, sign: int) -> None:
        self.builder = builder
        self.sign = sign
        self.value = value
        signed = TrendValue(tuple(Part(p.function, p.variables, p.attribute, p.sign * sign) for p in value.parts))
        self.layers = _Layers(builder, signed)

    def weave(self) -> int:
        """The slot of the peak."""
        builder, layers = self.builder, self.layers
        if self._key(layers.goal) in builder.max_slots:
            return builder.max_slots[self._key(layers.goal)]
        slots = {place: builder.max_slot(self._key(place)) for place in layers.places}
        nothing: Place = (frozenset(), frozenset())
        builder.start_maxes.add(slots[nothing])
        for variable in sorted(builder.variables):
            first = layers.first(variable)
            if first:
                builder.at_start(variable, Step(Op.PUT, slots[nothing], slots[nothing], first))
            for valid, missing in layers.meetings(variable):
                guard = builder.guard(valid, missing)
                for place in layers.places:
                    sources = layers.sources(place, variable, valid)
                    if not sources:
                        builder.at_part(variable, Step(Op.CLEAR, slots[place], 0, None, guard))
                    for at, (source, weight) in enumerate(sources):
                        if at == 0 and source == place and not weight:
                            continue
                        op = Op.JOIN if at else Op.PUT
                        builder.at_part(variable, Step(op, slots[place], slots[source], weight, guard))
        return slots[layers.goal]

    def _key(self, place: Place) -> object:
        return ("peak", self.value, self.sign, place)


def _shift(slots: list[int], count: int, weight: Weight, guard: Guard | None) -> list[Step]:
    """Add a weight to every value of a place: Σv² + w·Σv, Σv + w·n, and again Σv² + w·(the new Σv)."""
    if not weight:
        return []
    first, *second = slots
    steps = [Step(Op.ADD, square, first, weight, guard) for square in second]
    steps.append(Step(Op.ADD, first, count, weight, guard))
    steps += [Step(Op.ADD, square, first, weight, guard) for square in second]
    return steps


def _simple_parts(part: Part, variables: frozenset[str]) -> tuple[Part, ...]:
    """The part over a template's own variables; DURATION is the last time minus the first."""
    if part.function != "DURATION":
        return (Part(part.function, part.variables & variables, part.attribute, part.sign),)
    return (Part("LAST", variables, _TIME, part.sign), Part("FIRST", variables, _TIME, -part.sign))


def _weight(attribute: str, coefficient: int) -> Weight:
    if attribute == _TIME:
        return Weight(seconds=coefficient)
    return Weight(attributes=((attribute, coefficient),))


def _listed(variables: frozenset[str]) -> str:
    return " or ".join(sorted(variables))


def _of(variables: frozenset[str], attribute: str) -> str:
    return f"{_listed(variables)}.{attribute}" if len(variables) < 2 else f"{attribute} of {_listed(variables)}"


def _subsets(items: list[Item]) -> Iterator[frozenset[Item]]:
    for size in range(len(items) + 1):
        yield from map(frozenset, combinations(items, size))
