"""A template and its events, turned against time: what goes on from a vertex is then what leads to it.

In: a template, and the events of one partition and window. Out: the same in the kernels' arrays, last event first.
Every trend is a trend backwards, so whatever flows forward in ``greta.plan.flows`` flows back from the ends of trends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from greta.engine.frames import Stream
from greta.engine.partitions import Frame
from greta.engine.program import Compiler, Gap
from greta.kernels.layout import (
    EQUALS,
    GREATER_EQUAL,
    IN_FIRST,
    IN_LAST,
    LESS_EQUAL,
    LINK,
    SOURCE,
    Automaton,
    Input,
    Lanes,
)
from greta.lang.nodes import Attribute, ComparisonOperator, Expression
from greta.plan.conditions import rebuilt
from greta.plan.flows import Flow
from greta.plan.measures import Measure, Peak
from greta.plan.nodes import Equal, Link, Ordered, State, Template, Transition
from greta.plan.parts import Part, TrendValue

Int = NDArray[np.int64]

_MIRRORED: dict[ComparisonOperator, ComparisonOperator] = {
    "<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!=",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mirrored:
    """A window of a partition in arrays, last event first."""

    rows: Int
    """Per event: its row in the table."""
    automaton: Automaton
    input: Input
    lanes: Lanes
    """Of one window."""
    link: Int
    """[state, state that follows in time]: the link between them, or -1."""


def mirrored(
    stream: Stream, frame: Frame, partition: int, template: Template, gaps: list[Gap | None], lanes: Lanes, flow: Flow
) -> Mirrored:
    """Turn the events of a partition round; ``lanes`` has its one window, ``gaps`` are those of the whole frame."""
    some = lanes.first[:, 0] < lanes.last[:, 0]
    first = int(lanes.first[some, 0].min(initial=lanes.first.max(initial=0)))
    last = int(lanes.last[some, 0].max(initial=first))
    backwards = slice(last - 1, first - 1 if first else None, -1) if last > first else slice(0, 0)
    turned = Frame(
        np.array([0, last - first], dtype=np.int64),
        np.ascontiguousarray(frame.rows[backwards]),
        np.ascontiguousarray(frame.mask[backwards]),
        np.zeros(1, dtype=np.int64),
        np.empty((0, 1), dtype=np.int64),
        frame.required[partition : partition + 1],
    )
    time = -stream.time[turned.rows]
    compiler = Compiler(stream.columns, stream.bits, turned, time, stream.clock, double=True)
    turned_gaps = [None if gap is None else _turned_gap(gap, backwards) for gap in gaps]
    automaton = compiler.compile(mirrored_template(template, int(frame.required[partition])), turned_gaps, flow)
    window = Lanes(
        np.array([0, 1], dtype=np.int64),
        np.where(some, last - lanes.last[:, 0], 0).reshape(-1, 1),
        np.where(some, last - lanes.first[:, 0], 0).reshape(-1, 1),
    )
    return Mirrored(turned.rows, automaton, compiler.input(), window, _links(automaton))


def mirrored_template(template: Template, required: int) -> Template:
    """The template of the same trends backwards, for partitions whose trends must have met the scopes ``required``."""
    return replace(
        template,
        states=tuple(_turned_state(state, required) for state in template.states),
        transitions=tuple(Transition(t.target, t.source, t.link, t.operator) for t in template.transitions),
        links=tuple(_turned_link(link) for link in template.links),
    )


def mirrored_measure(measure: Measure) -> Measure:
    """The same number of a trend that is read backwards: FIRST is LAST, and LAST is FIRST."""
    match measure:
        case Peak(value=value, smallest=smallest):
            return Peak(TrendValue(tuple(map(_turned_part, value.parts))), smallest)
        case _:
            return measure


def _turned_part(part: Part) -> Part:
    match part.function:
        case "FIRST":
            return replace(part, function="LAST")
        case "LAST":
            return replace(part, function="FIRST")
        case _:
            return part


def _turned_state(state: State, required: int) -> State:
    return replace(state, start=state.end and state.seen == required, end=state.start, seen=required)


def _turned_link(link: Link) -> Link:
    return replace(
        link,
        equal=tuple(Equal(e.next, e.previous) for e in link.equal),
        ordered=tuple(Ordered(o.next, _MIRRORED[o.operator], o.previous) for o in link.ordered),
        residual=tuple(map(_turned_condition, link.residual)),
    )


def _turned_condition(condition: Expression) -> Expression:
    return rebuilt(condition, lambda leaf: replace(leaf, next=not leaf.next) if isinstance(leaf, Attribute) else leaf)


def _turned_gap(gap: Gap, backwards: slice) -> Gap:
    operator = {EQUALS: EQUALS, GREATER_EQUAL: LESS_EQUAL}[gap.operator]
    return Gap(np.ascontiguousarray(gap.next[backwards]), np.ascontiguousarray(gap.previous[backwards]), operator)


def _links(automaton: Automaton) -> Int:
    states = automaton.states
    result = np.full((len(states.state), len(states.state)), -1, dtype=np.int64)
    for at, state in enumerate(states.state):
        for index in states.incoming[state[IN_FIRST] : state[IN_LAST]]:
            result[at, states.indexes[index, SOURCE]] = states.indexes[index, LINK]
    return result
