"""A stream's job in arrays: all of an online graph that stays the same from push to push."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from greta.engine.frames import Stream
from greta.engine.program import Compiler, Gap
from greta.engine.stream_jobs import StreamJob
from greta.kernels.layout import EQUALS, IN_FIRST, IN_LAST, OUT_FIRST, OUT_LAST, Automaton, Slots, States, Steps
from greta.kernels.live import NEXT, PREVIOUS
from greta.lang.nodes import Semantics
from greta.live.edges import Edges, whole_template
from greta.live.orders import Order, orders_of
from greta.plan.bounds import bounded
from greta.plan.flows import Code, Flow, Guard, Position, Weight
from greta.plan.measures import Combine, Events, Trends, build_flow
from greta.plan.nodes import AccessPath, Template, Transition

Int = NDArray[np.int64]

_FAR = 256
"""Windows: of a variance of lengths of time, eleven digits are left."""
ENDLESS = 2**62
"""The length of a window that does not end."""


@dataclass(frozen=True, slots=True)
class Program:
    """What stays the same from push to push."""

    job: StreamJob
    template: Template
    """The plan's; of an outermost AND all three as one."""
    edges: Edges
    flow: Flow
    orders: list[Order]
    states: States
    steps: Steps
    slots: Slots
    order: Int
    weights: tuple[Weight | Code | Position, ...]
    guards: tuple[Guard, ...]
    within: int
    slide: int
    width: int
    """Lanes: as many windows as an instant is in, and some more, so that a push may run on past a window's end."""
    checked: tuple[int, ...]
    """Slots of results: where all of them are below 2^53, exact numbers have all their digits."""

    @staticmethod
    def of(job: StreamJob) -> Program:
        """The job's template in arrays."""
        plan = job.plan
        template = whole_template(plan)
        stream = Stream.of(job, job.schema.empty_table())
        frame = stream.frame_of(template.variables, (), False)
        flow = build_flow(plan.measures, template.variables, frozenset())
        checked: list[int] = []
        if job.numbers == "exact":
            found = bounded(flow, [measure.combine is Combine.MAX for measure in plan.measures], whole_numbers(job))
            flow, checked = found.flow, [*found.adds, *(found.flow.adds + slot for slot in found.maxes)]
        compiler = Compiler(stream.columns, stream.bits, frame, stream.time, stream.clock, double=True)
        gaps: list[Gap | None] = [Gap(stream.time, stream.time, EQUALS) for _ in template.negatives]
        automaton = compiler.compile(template, gaps, flow)
        orders, serving = orders_of(template)
        order = np.array([one.columns for one in orders], dtype=np.int64).reshape(len(orders), 3)
        code = 0
        for at, one in enumerate(orders):
            if one.compared is not None:
                order[at, PREVIOUS], order[at, NEXT] = code, code + 1
                code += 2
        within, slide = job.windows if plan.window is not None else (ENDLESS, ENDLESS)
        per_event = -(-within // slide)
        keys = {id(array): key for key, array in compiler._gathered.items()}
        return Program(
            job,
            template,
            Edges.of(plan, template, [one.source for one in orders]),
            flow,
            orders,
            _served(automaton, serving, template.transitions),
            automaton.steps,
            automaton.slots,
            order,
            tuple(keys[id(array)] for array in compiler.weights.arrays),
            tuple(keys[id(array)] for array in compiler.guards.arrays),
            within,
            slide,
            1 if plan.window is None else per_event + max(4, per_event // 8),
            tuple(checked),
        )

    @property
    def keeps_events(self) -> bool:
        """Whether windows may have to be computed from their events after all."""
        counts = all(isinstance(measure, Trends | Events) for measure in self.job.plan.measures)
        totals = all(link.path is AccessPath.FREE for link in self.template.links)
        totals = totals and self.job.plan.semantics is Semantics.ANY and not self.job.plan.conjunction
        return not (counts and totals and self.job.numbers == "double" and not self.job.plan.needs_magnitudes)

    @property
    def timed(self) -> bool:
        """Whether lengths of time are added up."""
        return any(isinstance(weight, Weight) and weight.seconds for weight in self.weights)

    def is_far(self, origin: int | None, instant: int) -> bool:
        """Whether lengths of time that are counted from the origin would lose digits at an instant."""
        return self.timed and origin is not None and instant > self.furthest(origin)

    def furthest(self, origin: int) -> int:
        """The last instant at which squares of the time since the origin keep enough digits."""
        return 2**62 if self.slide == ENDLESS else origin + _FAR * self.within

    def first_window(self, instant: int) -> int:
        """The first window that ends after an instant."""
        return max((instant - self.within) // self.slide + 1, self.lowest)

    @property
    def lowest(self) -> int:
        """The first window there is."""
        return 0 if self.job.plan.window is None else self.job.clock.lowest_window


def whole_numbers(job: StreamJob) -> list[int]:
    """The measures that are returned with all their digits; extremes of attributes are values as they came."""
    measures = enumerate(job.plan.measures)
    return [at for at, measure in measures if at not in job.floating and measure.compared is None]


def _served(
    automaton: Automaton, serving: dict[tuple[int, int], list[int]], transitions: Sequence[Transition]
) -> States:
    """The automaton's states with orders in place of indexes."""
    states = automaton.states
    count = len(states.state)
    incoming: list[list[int]] = [[] for _ in range(count)]
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for transition in transitions:
        orders = serving[transition.source, transition.link]
        incoming[transition.target] += orders
        outgoing[transition.source] += [order for order in orders if order not in outgoing[transition.source]]
    state = states.state.copy()
    for lists, first, last in ((incoming, IN_FIRST, IN_LAST), (outgoing, OUT_FIRST, OUT_LAST)):
        ends = np.cumsum([0, *map(len, lists)])
        state[:, first], state[:, last] = ends[:-1], ends[1:]
    return states._replace(
        state=state,
        incoming=np.array([order for own in incoming for order in own], dtype=np.int64),
        outgoing=np.array([order for own in outgoing for order in own], dtype=np.int64),
    )
