"""What flows along edges: the slots of a vertex, and the steps that starting a trend and taking part do to them.

A vertex holds, for all trends that end at it, *additive* slots (sums over the trends) and *extreme* slots (maxima
over them). Slot 0 is the number of trends. A new vertex comes about in four phases, whatever is aggregated::

    1. a trend starts here?   slots of ``start_adds`` become 1, of ``start_maxes`` 0; then the steps of ``starting``
    2. predecessors           additive slots are summed, extreme slots are maximised over all linked vertices
    3. the event takes part   the steps of ``taking_part`` of its variable, in their order
    4. a trend may end here?  all slots join the result of the window, the same way as in 2

Measures (``greta.plan.measures``) say what they need as slots and steps; kernels run the steps and know no aggregate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum


class Op(IntEnum):
    """What a step does; ``w`` is its weight. NOTHING is the extreme of no trend at all."""

    ADD = 0
    """additive: target += w · source"""
    COPY = 1
    """additive: target = source"""
    ZERO = 2
    """additive: target = 0"""
    RAISE = 3
    """extreme: target = max(target, w), where at least one trend reaches the vertex"""
    PUT = 4
    """extreme: target = source + w"""
    JOIN = 5
    """extreme: target = max(target, source + w)"""
    LOWER = 6
    """extreme: target = min(target, w), unless it is NOTHING"""
    RAISE_IF = 7
    """extreme: target = max(target, w), unless source is NOTHING"""
    CLEAR = 8
    """extreme: target = NOTHING"""

    @property
    def additive(self) -> bool:
        """Whether the step works on additive slots."""
        return self <= Op.ZERO

    @property
    def sets_anew(self) -> bool:
        """Whether what the target was before does not matter, provided the source is another slot."""
        return self in (Op.COPY, Op.ZERO, Op.PUT, Op.CLEAR)


@dataclass(frozen=True, slots=True)
class Weight:
    """A number of an event: ``constant + Σ coefficient · attribute + seconds · time``; NULL counts as 0."""

    constant: int = 0
    attributes: tuple[tuple[str, int], ...] = ()
    seconds: int = 0
    absolute: bool = field(default=False, repr=False)
    """Whether each summand counts without its sign, for bounds (``greta.plan.bounds``)."""

    def __bool__(self) -> bool:
        return bool(self.constant or self.attributes or self.seconds)

    @staticmethod
    def sum_of(parts: Iterable[Weight]) -> Weight:
        """The sum; attributes that cancel out vanish.

        >>> Weight.sum_of([Weight(attributes=(("x", 1),)), Weight(attributes=(("x", -1),), constant=2)])
        Weight(constant=2, attributes=(), seconds=0)
        """
        constant, seconds = 0, 0
        coefficients: dict[str, int] = {}
        for part in parts:
            constant += part.constant
            seconds += part.seconds
            for name, coefficient in part.attributes:
                coefficients[name] = coefficients.get(name, 0) + coefficient
        return Weight(constant, tuple((name, c) for name, c in coefficients.items() if c), seconds)


ONE = Weight(constant=1)


@dataclass(frozen=True, slots=True)
class Code:
    """An attribute of an event as something that can be compared, of any type; ``sign`` -1 turns the order around."""

    attribute: str
    sign: int = 1


@dataclass(frozen=True, slots=True)
class Position:
    """The number of an event in the order of its partition: tells events apart, and earlier from later."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A step is taken only for events that have values in ``valid`` and NULL in ``missing``."""

    valid: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Step:
    """One step; slots are positions among the additive or among the extreme ones."""

    op: Op
    target: int
    source: int = 0
    weight: Weight | Code | Position | None = None
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """Slots and steps of some measures over one template.

    Slots from ``carried_adds`` and ``carried_maxes`` on are set anew at every vertex before they are read: results have
    them, indexes need not.
    """

    adds: int
    maxes: int
    carried_adds: int
    carried_maxes: int
    start_adds: frozenset[int]
    start_maxes: frozenset[int]
    starting: dict[str, tuple[Step, ...]]
    """Per variable."""
    taking_part: dict[str, tuple[Step, ...]]
    """Per variable."""
    results: tuple[int, ...]
    """Per measure: its slot."""


def latest_start(variables: frozenset[str]) -> Flow:
    """Of all trends that end at a vertex, the position of the latest start (negation asks for nothing else)."""
    put = Step(Op.PUT, 0, 0, Position())
    return Flow(1, 1, 1, 1, frozenset([0]), frozenset([0]), dict.fromkeys(variables, (put,)), {}, (0, 0))


@dataclass(slots=True)
class FlowBuilder:
    """Collects slots and steps; equal intermediate values share a slot.

    ``complete`` are the attributes that are nowhere NULL: what depends on them needs no guard.
    """

    variables: frozenset[str]
    complete: frozenset[str]
    add_slots: dict[object, int] = field(default_factory=lambda: {"trends": 0})
    max_slots: dict[object, int] = field(default_factory=dict)
    start_adds: set[int] = field(default_factory=lambda: {0})
    start_maxes: set[int] = field(default_factory=set)
    starting: dict[str, list[Step]] = field(default_factory=dict)
    taking_part: dict[str, list[Step]] = field(default_factory=dict)
    last_steps: dict[str, list[Step]] = field(default_factory=dict)
    """Steps that come after all others of their variable: they change what the others read."""

    def add_slot(self, key: object) -> int:
        """The additive slot of an intermediate value, a new one if there is none yet."""
        return self.add_slots.setdefault(key, len(self.add_slots))

    def max_slot(self, key: object) -> int:
        """The extreme slot of an intermediate value, a new one if there is none yet."""
        return self.max_slots.setdefault(key, len(self.max_slots))

    def at_start(self, variable: str, step: Step) -> None:
        """Take a step where a trend starts with an event of this variable."""
        self.starting.setdefault(variable, []).append(step)

    def at_part(self, variable: str, step: Step) -> None:
        """Take a step where an event of this variable takes part."""
        self.taking_part.setdefault(variable, []).append(step)

    def at_last(self, variable: str, step: Step) -> None:
        """Take a step after all others of an event of this variable."""
        self.last_steps.setdefault(variable, []).append(step)

    def guard(self, valid: Iterable[str] = (), missing: Iterable[str] = ()) -> Guard | None:
        """A guard, or none where the data cannot fail it."""
        guard = Guard(frozenset(valid) - self.complete, frozenset(missing))
        return guard if guard != Guard() else None

    def finish(self, results: list[tuple[bool, int]]) -> Flow:
        """The flow; ``results`` are (is extreme, slot) per measure. Slots that need not be carried come last."""
        steps = {v: [*self.taking_part.get(v, ()), *self.last_steps.get(v, ())] for v in self.variables}
        adds = self._order(len(self.add_slots), steps, additive=True)
        maxes = self._order(len(self.max_slots), steps, additive=False)
        place = {True: {slot: at for at, slot in enumerate(maxes[0])}, False: {s: at for at, s in enumerate(adds[0])}}

        def moved(step: Step) -> Step:
            where = place[not step.op.additive]
            return replace(step, target=where[step.target], source=where.get(step.source, 0))

        return Flow(
            adds=len(adds[0]),
            maxes=len(maxes[0]),
            carried_adds=adds[1],
            carried_maxes=maxes[1],
            start_adds=frozenset(place[False][slot] for slot in self.start_adds),
            start_maxes=frozenset(place[True][slot] for slot in self.start_maxes),
            starting={v: tuple(map(moved, own)) for v, own in self.starting.items()},
            taking_part={v: tuple(map(moved, own)) for v, own in steps.items()},
            results=tuple(place[extreme][slot] for extreme, slot in results),
        )

    def _order(self, count: int, steps: dict[str, list[Step]], *, additive: bool) -> tuple[list[int], int]:
        """(slots with the carried ones in front, how many are carried)"""
        carried = [s for s in range(count) if not all(_set_anew(s, own, additive) for own in steps.values())]
        if additive and 0 not in carried:
            carried = [0, *carried]
        return [*carried, *(s for s in range(count) if s not in carried)], len(carried)


def _set_anew(slot: int, steps: list[Step], additive: bool) -> bool:
    """Whether the steps set a slot, whatever the event is, before they read it."""
    for step in steps:
        if step.op.additive is not additive:
            continue
        if step.target == slot:
            fresh = step.op.sets_anew and (step.source != slot or step.op in (Op.ZERO, Op.CLEAR))
            return fresh and step.guard is None
        if step.source == slot and step.op not in (Op.ZERO, Op.CLEAR, Op.RAISE, Op.LOWER):
            return False
    return False
