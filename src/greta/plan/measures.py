"""Measures: the numbers per group and window that results are made of, as an algebra (paper, aggregation theorem).

A measure says three things, and nothing else in the house knows more about it:

* how its values in different partitions **combine**: they are added up, or the largest counts;
* how it **flows**: which slots of a vertex it needs, and what an event does to them (``greta.plan.flows``);
* what kind of **number** it is, which decides its type in results and between processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from greta.plan.flows import ONE, Code, Flow, FlowBuilder, Op, Step, Weight
from greta.plan.parts import TrendValue, attribute_of, listed_variables
from greta.plan.weaving import Moments, Peaks


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
    def counts(self) -> bool:
        """Whether the measure is a number of things, which is never negative."""
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
    def counts(self) -> bool:
        """It is one."""
        return True

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
    def counts(self) -> bool:
        """It is one."""
        return True

    @property
    def words(self) -> str:
        """The measure in words."""
        return f"number of {listed_variables(self.variables)} events"

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
    def counts(self) -> bool:
        """It is one."""
        return True

    @property
    def attributes(self) -> tuple[str, ...]:
        """Whether it is NULL matters."""
        return (self.attribute,)

    @property
    def words(self) -> str:
        """The measure in words."""
        return f"number of {attribute_of(self.variables, self.attribute)} values"

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
        return f"sum of {attribute_of(self.variables, self.attribute)}"

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
        return f"{'min' if self.smallest else 'max'} of {attribute_of(self.variables, self.attribute)}"

    def weave(self, builder: FlowBuilder) -> int:
        """A value counts as soon as one trend reaches the event."""
        slot = builder.max_slot(self)
        for variable in sorted(self.variables & builder.variables):
            builder.at_part(variable, Step(Op.RAISE, slot, 0, Code(self.attribute, self.sign)))
        return slot


@dataclass(frozen=True, slots=True)
class Bound(Measure):
    """The highest low, ``MAX(MIN(E.a))``; with ``lowest_high`` its mirror image, ``MIN(MAX(E.a))``.

    Two slots: the highest low among trends that have a value, and whether there are trends without one; the first
    alone where every event has a value.
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
        return (
            f"{'lowest high' if self.lowest_high else 'highest low'} of {attribute_of(self.variables, self.attribute)}"
        )

    def weave(self, builder: FlowBuilder) -> int:
        """A value lowers the lows of trends that have one, and is the low of those that had none."""
        slot, code, guard = builder.max_slot(self), Code(self.attribute, self.sign), builder.guard([self.attribute])
        if guard is None and builder.variables <= self.variables:
            # Every trend has a value from its start, which no earlier low makes higher.
            for variable in sorted(builder.variables):
                builder.at_start(variable, Step(Op.RAISE, slot, 0, code))
                builder.at_part(variable, Step(Op.LOWER, slot, slot, code))
            return slot
        without = builder.max_slot((self, "without"))
        builder.start_maxes.add(without)
        for variable in sorted(self.variables & builder.variables):
            builder.at_part(variable, Step(Op.LOWER, slot, slot, code, guard))
            builder.at_part(variable, Step(Op.RAISE_IF, slot, without, code, guard))
            builder.at_part(variable, Step(Op.CLEAR, without, 0, None, guard))
        return slot


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
        """See ``Moments``."""
        return Moments(builder, self.value).weave(self.power)


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
        """See ``Peaks``."""
        return Peaks(builder, self.value, self.sign).weave()


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
