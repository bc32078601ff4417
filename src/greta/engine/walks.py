"""A job, its events and a row of its answer → some of the row's trends.

One pass against time finds out what goes on from each vertex of the window: how many trends, or the largest value of
one. Walks forward from where trends start then meet only vertices that lead to what was asked for, so nothing is built
but the trends that are returned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.barriers import middle_gaps
from greta.engine.frames import Cut, Stream
from greta.engine.interrupts import heed
from greta.engine.job import Job
from greta.engine.mirror import Mirrored, mirrored, mirrored_measure
from greta.engine.results import group_partitions
from greta.engine.row_choice import Row, matching
from greta.engine.run import Execution
from greta.kernels import nearest as near
from greta.kernels.broad import scaled
from greta.kernels.draw import draw
from greta.kernels.layers import find_layers, settle
from greta.kernels.layout import END, START
from greta.kernels.numbers import Trace, new_trace
from greta.kernels.onward import has_sums, look_onward
from greta.kernels.propagate import Results, propagate
from greta.kernels.stores import doubles
from greta.kernels.walk import Walkable, enumerate_trends
from greta.lang.nodes import Semantics
from greta.plan.measures import Measure, build_flow

Int = NDArray[np.int64]

_FEW = 256
"""Up to so many trends are listed, and the sample is taken from the list."""
_ROUNDING = 1e-12
"""Values of trends that differ by less than this part of the largest are equal."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A trend: rows of the table, and the variables that they take."""

    rows: tuple[int, ...]
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The vertices of one partition in the window, ready for walks."""

    mirrored: Mirrored
    graph: Walkable
    total: NDArray[np.float64]
    """Number of trends: mantissa and exponent, where they were counted."""
    best: float
    """The largest value of a trend, with the sign of its measure; -∞: none has one."""
    variables: tuple[str, ...]
    """Per state."""

    @property
    def count(self) -> int:
        """Number of trends, as exact as a double is."""
        return int(Fraction(float(self.total[0])) * 2 ** (512 * int(self.total[1])))

    def trend(self, path: Int) -> Trend:
        """A path of vertices as rows and variables."""
        rows = self.mirrored.rows[self.graph.event[path]].tolist()
        return Trend(tuple(rows), tuple(self.variables[state] for state in self.graph.state[path].tolist()))


class Walks:
    """The trends of one row of the answer."""

    def __init__(self, job: Job, table: pa.Table, row: Row, counted: bool) -> None:
        """``job`` asks for the number of trends, and for one value of them at most; ``counted``: numbers matter."""
        self.row, self.counted = row, counted
        self.stream = Stream.of(job, table, None if row.window is None else Cut(row.window, row.window + 1))
        self.time = self.stream.time
        self.measures: tuple[Measure, ...] = tuple(map(mirrored_measure, self.stream.plan.measures))
        self.slot = -1
        self.parts = [part for part in self._parts() if len(part.graph.event)]

    def first(self, n: int) -> list[Trend]:
        """The first trends, by the times of their events."""
        trends = [trend for part in self.parts for trend in self._level(part, n, -math.inf, math.inf, 0.0)[0]]
        return sorted(trends, key=self._order)[:n]

    def best(self, n: int) -> list[Trend]:
        """The trends of the largest values, of equal ones the first."""
        ranked: list[tuple[float, Trend]] = []
        for part in sorted(self.parts, key=lambda part: -part.best):
            slack = self._slack(part)
            if len(ranked) >= n and sorted(-value for value, _ in ranked)[n - 1] < -part.best - slack:
                break
            ranked += self._best_of(part, n, slack)
        # Partitions have their own rounding: values that are equal up to it are one.
        slack = max((self._slack(part) for part in self.parts), default=0.0)
        ranked.sort(key=lambda pair: -pair[0])
        levels: list[float] = []
        for value, _ in ranked:
            levels.append(levels[-1] if levels and value >= levels[-1] - slack else value)
        order = sorted(
            zip(levels, (trend for _, trend in ranked), strict=True), key=lambda p: (-p[0], self._order(p[1]))
        )
        return [trend for _, trend in order[:n]]

    def sample(self, n: int, seed: int) -> list[Trend]:
        """Different trends, every set of them as likely as any other."""
        random = Random(seed)
        counts = [part.count for part in self.parts]
        if sum(counts) <= max(2 * n, _FEW):
            trends = self.first(sum(counts))
            return trends if len(trends) <= n else random.sample(trends, n)
        state = np.array([random.getrandbits(64)], dtype=np.uint64)
        drawn: dict[Trend, None] = {}
        while len(drawn) < n:
            part = self.parts[_drawn(counts, random)]
            path = np.empty(len(part.graph.event), dtype=np.int64)
            one = part.mirrored
            length = draw(part.graph, one.automaton, one.input, part.total, state, path)
            heed()
            drawn[part.trend(path[:length])] = None
        return list(drawn)

    def _order(self, trend: Trend) -> tuple[object, ...]:
        """Position by position: time, then row, then the variable's place in the pattern, as walks come upon them."""
        times = self.time[list(trend.rows)].tolist()
        places = (self.stream.bits[name] for name in trend.variables)
        return tuple(zip(times, trend.rows, places, strict=True))

    def _slack(self, part: Part) -> float:
        maxima = part.graph.maxima
        ends = np.array([maxima.min(initial=0.0), maxima.max(initial=0.0)])
        if not np.isfinite(ends).all():
            ends = maxima[np.isfinite(maxima)]
        return _ROUNDING * float(np.abs(ends).max(initial=0.0))

    def _best_of(self, part: Part, n: int, slack: float) -> Iterator[tuple[float, Trend]]:
        """Level by level of values."""
        level, below, missing = part.best, math.inf, n
        while missing and level > -math.inf:
            trends, lower = self._level(part, missing, level, below, slack)
            yield from ((level, trend) for trend in trends)
            missing -= len(trends)
            level, below = lower, level - slack

    def _level(self, part: Part, n: int, level: float, below: float, slack: float) -> tuple[list[Trend], float]:
        one, time = part.mirrored, part.mirrored.input.events.time
        ticks = 1 + int(np.count_nonzero(np.diff(time)))
        slot = self.slot if level > -math.inf else -1
        found = enumerate_trends(part.graph, one.automaton, one.input, slot, level, below, slack, ticks, n)
        heed()
        offsets = found.offsets.tolist()
        paths = (found.vertices[a:b] for a, b in pairwise(offsets))
        return [part.trend(path) for path in paths], float(found.next_level)

    def _parts(self) -> Iterator[Part]:
        """The partitions of the group, each with its pass against time."""
        stream = self.stream
        execution = Execution(stream, "double")
        frame = execution.frame
        groups = group_partitions(stream, frame, execution.scopes)
        (template,), (barriers,) = stream.plan.templates, execution.barriers
        gaps = middle_gaps(stream, template, frame, barriers)
        attributes = {name for measure in self.measures for name in measure.attributes}
        complete = frozenset(name for name in attributes if stream.columns.valid(name) is None)
        flow = build_flow(self.measures, template.variables, complete)
        self.slot = flow.results[1] if len(self.measures) > 1 else -1
        of_group = np.isin(groups.of_partition, matching(groups.attributes, self.row.group))
        variables = tuple(state.variable for state in template.states)
        for partition in np.flatnonzero(of_group & (np.diff(frame.offsets) > 0)):
            runs = execution.runs(np.array([partition], dtype=np.int64), merge=False)
            if not len(runs.first_window):
                continue
            one = mirrored(stream, frame, int(partition), template, gaps, runs.lanes[0], flow)
            if len(one.rows):
                yield self._part(one, variables)

    def _part(self, one: Mirrored, variables: tuple[str, ...]) -> Part:
        """A partition → its vertices with what goes on from each, ready to be walked along."""
        plan, states = self.stream.plan, one.automaton.states
        words, slots = (2 if self.counted else 1), one.automaton.slots.maxes
        blank, kind = (scaled(), np.int64) if self.counted else (doubles(), np.float64)
        room = _most_vertices(one)
        variable_of = np.array([self.stream.bits[name] for name in variables], dtype=np.int64)
        trace = new_trace(room + 1, words, slots)
        if plan.semantics is Semantics.ANY:
            results = Results(np.zeros((1, words)), np.empty((1, slots), dtype=kind), np.zeros(1, dtype=np.uint8))
            if has_sums(one.automaton):
                whole_window = results.words if self.counted else results.maxima
                whole_window[0] = look_onward(one.automaton, one.input, one.lanes, self.counted, trace)
            else:
                whole = np.zeros(1, dtype=np.int64)
                propagate(
                    one.automaton, one.input, one.lanes, whole, 1, blank, results, np.empty(0), np.empty((0, 0)), trace
                )
            event, state, counts, maxima = _in_order(trace, variable_of)
            graph = Walkable(
                event,
                state,
                np.empty(0, dtype=np.int64),
                states.state[state, END].astype(np.uint8),
                states.state[state, START].astype(np.uint8),
                counts,
                maxima,
                one.link,
                variable_of,
            )
            total, best = results.words[0], results.maxima[0]
        else:
            ends = near.NEXT if plan.semantics is Semantics.NEXT else near.CONTIGUOUS
            rule = near.Rule(ends, int(plan.maximal))
            graph = find_layers(one.automaton, one.input, one.lanes, rule, one.link, variable_of, room)
            settle(graph, one.automaton, one.input, blank, np.empty((0, slots), dtype=kind), trace)
            graph, total, best = _alive(graph, trace)
        heed()
        return Part(one, graph, total, float(best[self.slot]) if self.slot >= 0 else -math.inf, variables)


def _in_order(trace: Trace, variable_of: Int) -> tuple[Int, Int, NDArray[np.float64], NDArray[np.float64]]:
    """Events, states, counts and extremes of all vertices, so that walks meet an event's variables in their order."""
    size = int(trace.size[0])
    event, state, counts, maxima = trace.event[:size], trace.state[:size], trace.counts[:size], trace.maxima[:size]
    if len(variable_of) == 1:
        return event, state, counts, maxima
    order = np.lexsort((-variable_of[state], event))
    return event[order], state[order], counts[order], maxima[order]


def _alive(graph: Walkable, trace: Trace) -> tuple[Walkable, NDArray[np.float64], NDArray[np.float64]]:
    """The vertices from which a trend goes on, the number of all trends, and the extremes of their values."""
    vertices = len(graph.event)
    alive = np.flatnonzero(trace.counts[:vertices, 0])
    layered = Walkable(
        graph.event[alive],
        graph.state[alive],
        graph.layer[alive],
        graph.starts[alive],
        graph.ends[alive],
        trace.counts[alive],
        trace.maxima[alive],
        graph.link,
        graph.variable,
    )
    return layered, trace.counts[vertices], trace.maxima[vertices]


def _most_vertices(one: Mirrored) -> int:
    """At most so many vertices: per event the states that its variables enter."""
    entered = np.diff(one.automaton.states.ptr)
    mask = one.input.events.mask
    return sum(
        int(entered[bit]) * int(np.count_nonzero(mask & np.uint64(1 << bit)))
        for bit in np.flatnonzero(entered).tolist()
    )


def _drawn(counts: list[int], random: Random) -> int:
    """An index, as likely as its count is large."""
    rest = random.randrange(sum(counts))
    for at, count in enumerate(counts):
        rest -= count
        if rest < 0:
            return at
    raise AssertionError("counts add up to their sum")
