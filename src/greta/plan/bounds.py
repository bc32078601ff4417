"""Flow → the same flow with bounds: slots beside those of whole numbers, from which follows that doubles held them.

A whole number up to 2^53 is a double. A sum may go beyond that and come back, rounded, where it has summands of both
signs, so a slot that may be negative gets a *bound*: a slot with the same steps, in which every weight is positive.

    slot     Σ w · n       3 · 5 - 4 · 2 - 7 · 1  =  0
    bound    Σ |w| · n     3 · 5 + 4 · 2 + 7 · 1  = 30

Bounds only grow on their way to a result. Where that of a result is below 2^53, those of all numbers that it was made
of are, too, in whatever order these were added; so none of them was rounded, and neither was the result. What is set
to zero on the way, or lost against a larger extreme in a trend that ends nowhere, is not part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from greta.plan.flows import Code, Flow, Op, Position, Step, Weight

StepWeight: TypeAlias = Weight | Code | Position | None

_MOVING = (Op.ADD, Op.COPY, Op.PUT, Op.JOIN)
"""Steps that bring what one slot holds to another."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A flow with bounds, and where to look: all of these slots below 2^53 means that no result was rounded."""

    flow: Flow
    adds: tuple[int, ...]
    maxes: tuple[int, ...]


def bounded(flow: Flow, extreme: Sequence[bool], whole: Iterable[int]) -> Bounded:
    """The flow with bounds of the measures that are ``whole`` numbers and have steps that add something.

    ``extreme`` says of each measure whether its slot is among the extreme ones.
    """
    whole = list(whole)
    sums = _Family(flow, [flow.results[at] for at in whole if not extreme[at]], additive=True)
    peaks = _Family(flow, [flow.results[at] for at in whole if extreme[at]], additive=False)

    def with_bounds(steps: Sequence[Step]) -> Iterator[Step]:
        for step in steps:
            family = sums if step.op.additive else peaks
            source = family.moved.get(step.source, 0)
            yield replace(step, target=family.moved[step.target], source=source)
            if step.target in family.bound:
                target, source = family.bound[step.target], family.bound.get(step.source, source)
                yield replace(step, target=target, source=source, weight=_absolute(step.weight))

    return Bounded(
        Flow(
            adds=flow.adds + len(sums.bound),
            maxes=flow.maxes + len(peaks.bound),
            carried_adds=sums.carried,
            carried_maxes=peaks.carried,
            start_adds=sums.started(flow.start_adds),
            start_maxes=peaks.started(flow.start_maxes),
            starting={variable: tuple(with_bounds(steps)) for variable, steps in flow.starting.items()},
            taking_part={variable: tuple(with_bounds(steps)) for variable, steps in flow.taking_part.items()},
            results=tuple((peaks if extreme[at] else sums).moved[slot] for at, slot in enumerate(flow.results)),
        ),
        tuple(dict.fromkeys(sums.bound.get(slot, sums.moved[slot]) for slot in sums.results)),
        tuple(dict.fromkeys(peaks.bound[slot] for slot in peaks.results if slot in peaks.bound)),
    )


class _Family:
    """The additive or the extreme slots of a flow: which of them have bounds, and where all lie then.

    Carried slots stay in front: the bounds of carried ones come right behind them, those of others at the end.
    """

    def __init__(self, flow: Flow, results: Sequence[int], *, additive: bool) -> None:
        self.results = results
        count, carried = (flow.adds, flow.carried_adds) if additive else (flow.maxes, flow.carried_maxes)
        every = [step for by in (flow.starting, flow.taking_part) for own in by.values() for step in own]
        steps = [step for step in every if step.op in _MOVING and step.op.additive is additive]
        signed = _reached({step.target for step in steps if _may_be_negative(step)}, _downstream(steps))
        if not additive and not any(_varies(step.weight) for step in steps):
            # They are numbers of events, and no trend has 2^53 of them.
            signed = set()
        having = sorted(signed & _reached(set(results), _upstream(steps)))
        front = [slot for slot in having if slot < carried]
        rest = [slot for slot in having if slot >= carried]
        self.carried = carried + len(front)
        self.moved = {slot: slot if slot < carried else slot + len(front) for slot in range(count)}
        self.bound = {slot: carried + at for at, slot in enumerate(front)}
        self.bound |= {slot: count + len(front) + at for at, slot in enumerate(rest)}

    def started(self, slots: frozenset[int]) -> frozenset[int]:
        """The slots that starting a trend sets: bounds as what they bound."""
        return frozenset(place[slot] for place in (self.moved, self.bound) for slot in slots if slot in place)


def _downstream(steps: Iterable[Step]) -> list[tuple[int, int]]:
    return [(step.source, step.target) for step in steps]


def _upstream(steps: Iterable[Step]) -> list[tuple[int, int]]:
    return [(step.target, step.source) for step in steps]


def _reached(slots: set[int], ways: Sequence[tuple[int, int]]) -> set[int]:
    """The slots, and all that ways lead to from there."""
    reached, before = set(slots), -1
    while len(reached) > before:
        before = len(reached)
        reached |= {there for here, there in ways if here in reached}
    return reached


def _varies(weight: object) -> bool:
    """Whether a weight differs from event to event."""
    return isinstance(weight, Weight) and bool(weight.attributes or weight.seconds)


def _may_be_negative(step: Step) -> bool:
    return _varies(step.weight) or (isinstance(step.weight, Weight) and step.weight.constant < 0)


def _absolute(weight: StepWeight) -> StepWeight:
    if not isinstance(weight, Weight):
        return weight
    return replace(weight, absolute=True) if _varies(weight) else replace(weight, constant=abs(weight.constant))
