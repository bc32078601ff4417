"""A stream's job in arrays: all of an online graph that stays the same from push to push."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from greta.engine.frames import Stream
from greta.engine.program import Compiler
from greta.engine.stream_jobs import StreamJob
from greta.kernels.layout import IN_FIRST, IN_LAST, OUT_FIRST, OUT_LAST, Automaton, Slots, States, Steps
from greta.kernels.lists import LISTED, PROGRAM, Orders
from greta.lang.nodes import Semantics
from greta.live.edges import Edges, whole_template
from greta.live.listed import Listing, list_links, no_gaps
from greta.live.orders import Order, orders_of
from greta.plan.bounds import bounded
from greta.plan.flows import Code, Flow, Guard, Position, Weight, latest_start
from greta.plan.measures import Combine, Events, Trends, build_flow
from greta.plan.nodes import AccessPath, Scope, Template, Transition

Int = NDArray[np.int64]

_FAR = 256
"""Windows: of a variance of lengths of time, eleven digits are left."""
FURTHEST = 2**53
"""Instants since the origin that doubles tell apart."""
ENDLESS = 2**62
"""The length of a window that does not end."""


@dataclass(frozen=True)
class Program:
    """What stays the same from push to push, of a query or of a NOT within it."""

    job: StreamJob
    template: Template
    """The plan's; of an outermost AND all three as one."""
    edges: Edges
    flow: Flow
    orders: list[Order]
    states: States
    steps: Steps
    slots: Slots
    ways: Orders
    """The orders in arrays."""
    listing: Listing
    """What orders without a sum read of events."""
    weights: tuple[Weight | Code | Position, ...]
    guards: tuple[Guard, ...]
    within: int
    slide: int
    width: int
    """Lanes: as many windows as an instant is in, and some more, so that a push may run on past a window's end."""
    checked: tuple[int, ...]
    """Slots of results: where all of them are below 2^53, exact numbers have all their digits."""
    lowest: int
    """The first window there is."""
    inner: tuple[Program | None, ...]
    """Per NOT: how the latest starts of its matches are found, where they may have several events."""
    scope: Scope | None = None
    """What some variables alone agree on: a common partition has a part for each of its values, and one without."""

    @staticmethod
    def of(job: StreamJob) -> Program:
        """The job's template in arrays."""
        plan, template = job.plan, whole_template(job.plan)
        flow = build_flow(plan.measures, template.variables, frozenset())
        checked: list[int] = []
        if job.numbers == "exact":
            found = bounded(flow, [measure.combine is Combine.MAX for measure in plan.measures], whole_numbers(job))
            flow, checked = found.flow, [*found.adds, *(found.flow.adds + slot for slot in found.maxes)]
        sides = [len(one.states) for one in plan.templates]
        windows, lowest = (ENDLESS, ENDLESS), 0
        if plan.window is not None:
            windows, lowest = job.windows, job.clock.lowest_window
        scope = plan.partitioning.scopes[0] if plan.partitioning.scopes else None
        program = _program(job, template, flow, windows, lowest, sides)
        return replace(program, checked=tuple(checked), scope=scope)

    @cached_property
    def agreed(self) -> tuple[str, ...]:
        """The attributes that keys of partitions have values of, at last that of a scope: None for the part without."""
        return self.job.common if self.scope is None else (*self.job.common, self.scope.attribute)

    @cached_property
    def grouping(self) -> tuple[int, ...]:
        """The places of GROUP-BY attributes in keys; of a NOT, those that its events agree on."""
        return tuple(self.agreed.index(name) for name in self.job.plan.group if name in self.agreed)

    @cached_property
    def keeps_events(self) -> bool:
        """Whether windows may have to be computed from their events after all."""
        counts = all(isinstance(measure, Trends | Events) for measure in self.job.plan.measures)
        totals = all(link.path is AccessPath.FREE for link in self.template.links)
        totals = totals and self.job.plan.semantics is Semantics.ANY and not self.job.plan.conjunction
        # The graph of a NOT of several events is no totals: it is made again from events.
        totals = totals and not self.lasting
        # There may be any number of parts, and their memory may not do.
        totals = totals and self.scope is None
        return not (counts and totals and self.job.numbers == "double" and not self.job.plan.needs_magnitudes)

    @cached_property
    def timed(self) -> bool:
        """Whether lengths of time are added up, or starts of matches compared, as doubles."""
        return any(isinstance(weight, Weight) and weight.seconds for weight in self.weights) or self.lasting

    @cached_property
    def lasting(self) -> bool:
        """Whether a NOT's matches may have several events."""
        return any(inner is not None for inner in self.inner)

    @cached_property
    def overlap(self) -> int:
        """How many windows an instant is in."""
        return 1 if self.slide == ENDLESS else -(-self.within // self.slide)

    @cached_property
    def may_have_bands(self) -> bool:
        """Whether graphs of some windows can be made from kept events while others are brought forward.

        Not where lengths of time are counted from an origin, which every graph would have to move with the events.
        """
        bounded = self.slide < ENDLESS and self.job.plan.semantics is Semantics.ANY
        return bounded and self.keeps_events and not self.timed

    @cached_property
    def has_trees(self) -> bool:
        """Whether a batch has trees for all that is kept vertex by vertex here."""
        listed = [order for order in self.ways.order if order[LISTED]]
        return bool(listed) and all(order[PROGRAM] < 0 for order in listed)

    def is_far(self, origin: int | None, instant: int) -> bool:
        """Whether lengths of time that are counted from the origin would lose digits at an instant."""
        return self.timed and origin is not None and instant > self.furthest(origin)

    def furthest(self, origin: int) -> int:
        """The last instant at which the time since the origin, or its square, keeps enough digits."""
        if self.slide == ENDLESS:
            return 2**62
        far = _FAR * self.within
        return origin + (min(far, FURTHEST // 2) if self.lasting else far)

    def first_window(self, instant: int) -> int:
        """The first window that ends after an instant."""
        return max((instant - self.within) // self.slide + 1, self.lowest)


def _program(
    job: StreamJob,
    template: Template,
    flow: Flow,
    windows: tuple[int, int],
    lowest: int,
    sides: Sequence[int],
) -> Program:
    """A template in arrays; ``sides``: how many of its states each side of an outermost AND has."""
    stream = Stream.of(job, job.schema.empty_table())
    frame = stream.frame_of(template.variables, (), False)
    compiler = Compiler(stream.columns, stream.bits, frame, stream.time, stream.clock, double=True)
    gaps = no_gaps(template)
    automaton = compiler.compile(template, gaps, flow)
    orders, serving = orders_of(template)
    if job.plan.semantics is not Semantics.ANY:
        # Conditions are read of pairs then, and nothing is indexed.
        orders, serving = [], {place: [] for place in serving}
    ways, listing = list_links(template, orders, automaton, compiler, gaps)
    within, slide = windows
    per_event = -(-within // slide)
    keys = {id(array): key for key, array in compiler._gathered.items()}
    return Program(
        job,
        template,
        Edges.of(template, [one.source for one in orders], sides),
        flow,
        orders,
        _served(automaton, serving, template.transitions),
        automaton.steps,
        automaton.slots,
        ways,
        listing,
        tuple(keys[id(array)] for array in compiler.weights.arrays),
        tuple(keys[id(array)] for array in compiler.guards.arrays),
        within,
        slide,
        1 if slide == ENDLESS else per_event + max(4, per_event // 8),
        (),
        lowest,
        tuple(_of_negative(job, negative.template, within) for negative in template.negatives),
    )


def _of_negative(job: StreamJob, template: Template, within: int) -> Program | None:
    """How the latest starts of a NOT's matches are found; None for matches of one event.

    A match that starts before all open windows forbids nothing that they have. In windows of twice WITHIN, one per
    WITHIN, there is always one that holds all that open windows do.
    """
    if not template.transitions:
        return None
    windows = (ENDLESS, ENDLESS) if within == ENDLESS else (2 * within, within)
    return _program(job, template, latest_start(template.variables), windows, -(2**62), [len(template.states)])


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
