"""Values of trends → slots and steps: their sums, the sums of their squares, and the largest."""

from __future__ import annotations

from greta.plan.flows import ONE, FlowBuilder, Guard, Op, Step, Weight
from greta.plan.layers import Layers, Place, Presence
from greta.plan.parts import Part, TrendValue


class Moments:
    """Sums of a value and of its square per place: adding w to every value gives Σv + w·n and Σv² + 2w·Σv + w²·n."""

    def __init__(self, builder: FlowBuilder, value: TrendValue) -> None:
        self.builder = builder
        self.value = value
        self.layers = Layers(builder, value)

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


class Peaks:
    """The largest value per place, kept with its sign."""

    def __init__(self, builder: FlowBuilder, value: TrendValue, sign: int) -> None:
        self.builder = builder
        self.sign = sign
        self.value = value
        signed = TrendValue(tuple(Part(p.function, p.variables, p.attribute, p.sign * sign) for p in value.parts))
        self.layers = Layers(builder, signed)

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
