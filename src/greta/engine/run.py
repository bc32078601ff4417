"""Plan × events → intermediate values per partition and window, on the kernels.

Partitions are taken in blocks of bounded size, so memory beyond the input does not depend on the number of windows.
Numbers start narrow: where one does not fit, only the partitions concerned are computed again in a wider form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from greta.engine.barriers import all_barriers, middle_gaps, window_breaks
from greta.engine.columns import LIMB
from greta.engine.frames import Stream
from greta.engine.interrupts import heed
from greta.engine.job import Numbers
from greta.engine.partitions import Frame
from greta.engine.program import Compiler, clip_sets
from greta.kernels import nearest as near
from greta.kernels.broad import SCALED, Broad, scaled, wide
from greta.kernels.layout import FREE, KIND, Automaton, Input, Lanes
from greta.kernels.propagate import Results, propagate, propagate_singly
from greta.kernels.stores import Store, doubles, integers
from greta.kernels.stretches import propagate_stretches
from greta.kernels.windows import (
    Barriers,
    Sliding,
    WindowRuns,
    clip_leading,
    clip_trailing,
    window_runs,
)
from greta.lang.nodes import Semantics
from greta.plan.flows import Flow
from greta.plan.measures import Combine, Measure, Total, build_flow
from greta.plan.nodes import Place, Plan, Template
from greta.plan.stretches import by_stretches

Int = NDArray[np.int64]

_LEAST_LANES = 8
_MOST_LANES = 64
_MOST_FREE_LANES = 4096
_TICK_BYTES = 256 * 1024 * 1024
"""What the vertices of one time may take."""
_WORTH_SHARING = 1.5
_CACHE = 6 * 1024 * 1024
"""What the numbers of windows that are computed together may take."""
_LONG_WINDOW = 150
"""Events of a window that take about as long by themselves as a stretch takes to become part of others."""
_BLOCK_EVENTS = 2_000_000
_BLOCK_WINDOWS = 500_000
_MOST_LIMBS = 1 << 20


@dataclass(frozen=True, slots=True)
class Runs:
    """Windows of some partitions: ``[first_window, last_window]`` all hold the same events."""

    partitions: Int
    lanes: list[Lanes]
    """Per template."""
    offsets: Int
    first_window: Int
    last_window: Int

    @property
    def partition(self) -> Int:
        """Per run: its partition."""
        return np.repeat(self.partitions, np.diff(self.offsets))


@dataclass(frozen=True, slots=True)
class Values:
    """Per run, by index of the measure in the plan: what adds up (float64, int64 or objects), and extremes."""

    adds: dict[int, NDArray[Any]]
    maxes: dict[int, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Block:
    """Results of one block: runs and, per template, their values."""

    runs: Runs
    values: list[Values]


@dataclass(frozen=True, slots=True)
class _Pass:
    """Measures that are computed together in one family of numbers."""

    measures: tuple[int, ...]
    double: bool
    split: bool = False
    """For sums of integers that are too large to be weights: each of their parts has a pass."""
    limb: int = 0


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A pass ready to run: per template its flow and automaton, and the events of all."""

    measures: tuple[int, ...]
    double: bool
    limb: int
    flows: list[Flow]
    automata: list[Automaton]
    input: Input


class Execution:
    """One plan over one stream."""

    def __init__(self, stream: Stream, numbers: Numbers) -> None:
        self.stream = stream
        self.plan: Plan = stream.plan
        self.numbers: Numbers = "exact" if self.plan.conjunction else numbers
        positive = frozenset[str]().union(*(t.variables for t in self.plan.templates))
        scopes = self.plan.partitioning.scopes
        self.scopes = tuple(at for at, s in enumerate(scopes) if not s.variables.isdisjoint(positive))
        keep_all = self.plan.semantics is Semantics.CONTIGUOUS
        self.frame: Frame = stream.frame_of(positive, self.scopes, keep_all, self.plan.met_scopes)
        self.time = stream.time[self.frame.rows]
        self.barriers = [all_barriers(stream, t, self.frame, self.scopes) for t in self.plan.templates]
        window = self.plan.window
        self.within, self.slide = stream.clock.units(window) if window is not None else (0, 0)
        self.breaks = window_breaks(self.plan.templates, self.barriers, self.within, self.slide)
        owned = stream.owned if stream.owned.shape[1] == 1 else stream.owned[:, self.frame.common]
        self.sliding = Sliding(self.within, self.slide, np.ascontiguousarray(owned))
        self.stretches = by_stretches(self.plan)

    @cached_property
    def _prepared(self) -> list[_Prepared]:
        return [self._prepare(one) for one in _passes(self.stream, self.numbers)]

    def _prepare(self, one: _Pass) -> _Prepared:
        stream = self.stream
        compiler = Compiler(
            stream.columns, stream.bits, self.frame, self.time, stream.clock, one.double, one.split, one.limb
        )
        measures = tuple(self.plan.measures[at] for at in one.measures)
        attributes = {name for measure in measures for name in measure.attributes}
        complete = frozenset(name for name in attributes if stream.columns.valid(name) is None)
        flows, automata = [], []
        for template, barriers in zip(self.plan.templates, self.barriers, strict=True):
            gaps = middle_gaps(stream, template, self.frame, barriers)
            flows.append(build_flow(measures, template.variables, complete))
            automata.append(compiler.compile(template, gaps, flows[-1]))
        return _Prepared(one.measures, one.double, one.limb, flows, automata, compiler.input())

    def most_ties(self) -> int:
        """The most events of one partition and one time."""
        if not len(self.time):
            return 1
        starts = np.concatenate(([True], self.time[1:] != self.time[:-1]))
        starts[self.frame.offsets[:-1][np.diff(self.frame.offsets) > 0]] = True
        return int(np.diff(np.append(np.flatnonzero(starts), len(self.time))).max())

    def blocks(self) -> Iterator[Block]:
        """Compute block after block of partitions."""
        for partitions in self.cut():
            runs = self.runs(partitions)
            yield Block(runs, [self._values(at, runs) for at in range(len(self.plan.templates))])

    def separate_runs(self) -> Runs:
        """All windows of all partitions, each by itself even where neighbours hold the same events."""
        return self.runs(np.flatnonzero(np.diff(self.frame.offsets)), merge=False)

    @property
    def totals(self) -> int:
        """How many numbers a window's running totals are, in a plan without edge predicates and extremes."""
        (prepared,) = self._prepared
        return prepared.flows[0].adds * (1 + len(prepared.automata[0].states.indexes))

    def go_on(self, runs: Runs, carried: NDArray[np.float64]) -> None:
        """Bring the running totals of windows, a row each with the additive slots in front, past these events."""
        (prepared,) = self._prepared
        (automaton,), (lanes,), adds = prepared.automata, runs.lanes, prepared.flows[0].adds
        count = len(runs.first_window)
        results = Results(np.zeros((count, adds)), np.empty((count, 0)), np.zeros(len(runs.partitions), dtype=np.uint8))
        at_once = _lanes_at_once(automaton, lanes, len(self.time), 8 * adds, self.most_ties)
        none = np.empty(0)
        propagate(automaton, prepared.input, lanes, runs.partitions, at_once, doubles(), results, none, carried)

    def cut(self, templates: int = 1) -> Iterator[Int]:
        """The partitions in blocks of bounded size, for results of so many templates."""
        counts = np.diff(self.frame.offsets)
        used = np.flatnonzero(counts)
        if not len(used):
            return
        per_event = 0 if self.plan.window is None else self.plan.window.per_event
        # A block's cost below is never more than this.
        most_windows = (len(self.time) + len(used)) * per_event * templates
        if len(self.time) / _BLOCK_EVENTS + most_windows / _BLOCK_WINDOWS < 1:
            yield used
            return
        cost = counts[used].astype(np.float64) / _BLOCK_EVENTS
        if self.plan.window is not None:
            first = self.time[self.frame.offsets[used]]
            last = self.time[self.frame.offsets[used + 1] - 1]
            span = np.minimum((last - first) / self.slide, counts[used] * self.plan.window.per_event)
            cost += (span + self.plan.window.per_event) * templates / _BLOCK_WINDOWS
        number = np.floor(np.cumsum(cost)).astype(np.int64)
        cuts = np.flatnonzero(np.diff(number)) + 1
        yield from np.split(used, cuts)

    def runs(self, partitions: Int, merge: bool = True) -> Runs:
        """The windows of some partitions; with ``merge``, those that hold the same events are one run."""
        runs = window_runs(self.frame.offsets, self.time, self.sliding, merge, self.breaks, partitions)
        lanes = [
            self._clip(template, barriers, partitions, runs)
            for template, barriers in zip(self.plan.templates, self.barriers, strict=True)
        ]
        return Runs(partitions, lanes, runs.offsets, runs.first_window, runs.last_window)

    def _clip(self, template: Template, barriers: list[Barriers], partitions: Int, runs: WindowRuns) -> Lanes:
        """Leading and trailing negatives narrow the windows of the states that they clip."""
        sets = clip_sets(template)
        if sets == [()]:
            return Lanes(runs.offsets, runs.first.reshape(1, -1), runs.last.reshape(1, -1))
        firsts, lasts = np.tile(runs.first, (len(sets), 1)), np.tile(runs.last, (len(sets), 1))
        for row, clips in enumerate(sets):
            for at in clips:
                clipped = (self.time, barriers[at], firsts[row], lasts[row])
                if template.negatives[at].place is Place.LEADING:
                    clip_leading(partitions, runs, self.slide, *clipped)
                else:
                    clip_trailing(partitions, runs, self.sliding, *clipped)
        return Lanes(runs.offsets, firsts, lasts)

    def _values(self, template: int, runs: Runs) -> Values:
        values = Values({}, {})
        for prepared in self._prepared:
            blank = doubles() if prepared.double else integers()
            flow = prepared.flows[template]
            results = self._compute(template, runs, prepared, blank)
            adds = _numbers(results.words, flow.adds, blank)
            if prepared.double and not np.isfinite(results.words).all():
                # An infinite count still has a finite average, and ∞ - ∞ some value: compute again with exponents.
                infinite = ~np.isfinite(results.words) if self.plan.needs_magnitudes else np.isnan(results.words)
                infinite = infinite.any(axis=1)
                results.failed[np.unique(np.searchsorted(runs.offsets, np.flatnonzero(infinite), side="right") - 1)] = 1
            if results.failed.any():
                adds = self._widen(template, runs, prepared, results, adds)
            for at, slot in zip(prepared.measures, flow.results, strict=True):
                if self.plan.measures[at].combine is Combine.MAX:
                    values.maxes[at] = results.maxima[:, slot]
                elif at and prepared.limb:
                    values.adds[at] = values.adds[at] + (adds[slot].astype(object) << (LIMB * prepared.limb))
                else:
                    values.adds.setdefault(at, adds[slot])
        return values

    def _widen(
        self, template: int, runs: Runs, prepared: _Prepared, results: Results, adds: list[NDArray[Any]]
    ) -> list[NDArray[Any]]:
        """Compute some partitions of a block again, in doubles with exponents or in ever wider integers.

        Extremes of doubles do not overflow: they are right already.
        """
        adds = [column.astype(object) for column in adds]
        failed = np.flatnonzero(results.failed)
        limbs = 1
        while len(failed):
            limbs *= 2
            if limbs > _MOST_LIMBS:
                raise OverflowError("a count has more than 64 million bits")
            again = self.runs(runs.partitions[failed])
            blank = scaled() if prepared.double else wide(limbs)
            wider = self._compute(template, again, prepared, blank)
            good = np.flatnonzero(wider.failed == 0)
            rows = _positions(runs.offsets, failed[good])
            take = _positions(again.offsets, good)
            for column, better in zip(adds, _numbers(wider.words, len(adds), blank), strict=True):
                column[rows] = better[take]
            if not prepared.double:
                results.maxima[rows] = wider.maxima[take]
            failed = failed[wider.failed != 0]
        return adds

    def _compute(self, template: int, runs: Runs, prepared: _Prepared, blank: Store) -> Results:
        """Run the kernel that the plan asks for."""
        automata, events, flow = prepared.automata, prepared.input, prepared.flows[template]
        automaton, lanes, partitions = automata[template], runs.lanes[template], runs.partitions
        count = len(runs.first_window)
        broad = isinstance(blank, Broad)
        width = blank.width if isinstance(blank, Broad) else 1
        words = np.zeros((count, width * flow.adds), dtype=np.float64 if isinstance(blank, Broad) else blank.dtype)
        extremes = np.float64 if prepared.double and not broad else np.int64
        maxima = np.empty((count, flow.maxes), dtype=extremes)
        results = Results(words, maxima, np.zeros(len(partitions), dtype=np.uint8))
        if self.plan.semantics is Semantics.ANY:
            self._link_any(automaton, events, runs, template, blank, results)
        elif self.plan.semantics is Semantics.NEXT and template == 2:
            (left, right, both), (left_lanes, right_lanes, both_lanes) = automata, runs.lanes
            pair = (left_lanes, right_lanes, both_lanes)
            near.nearest_of_both((left, right, both), events, pair, partitions, blank, results)
        else:
            ends = near.NEXT if self.plan.semantics is Semantics.NEXT else near.CONTIGUOUS
            rule = near.Rule(ends, int(self.plan.maximal))
            near.nearest_all(automaton, events, lanes, partitions, rule, blank, results)
        heed()
        return results

    def _link_any(
        self, automaton: Automaton, events: Input, runs: Runs, template: int, blank: Store, results: Results
    ) -> None:
        """Under skip-till-any-match: windows of stretches, one by one, or several at once."""
        lanes, partitions = runs.lanes[template], runs.partitions
        double = not isinstance(blank, Broad) and results.words.dtype == np.float64
        pays = double and self.stretches and _are_long(lanes)
        if pays and propagate_stretches(automaton, events, lanes, partitions, _TICK_BYTES, results):
            return
        at_once = 1
        if self.plan.window is not None and self.plan.window.per_event > 1:
            held = int(np.diff(self.frame.offsets)[partitions].sum())
            width = blank.width if isinstance(blank, Broad) else 1
            number_bytes = 8 * width * (automaton.slots.carried_adds + automaton.slots.carried_maxes)
            at_once = _lanes_at_once(automaton, lanes, held, number_bytes, self.most_ties)
        if at_once == 1 and double:
            propagate_singly(automaton, events, lanes, partitions, results)
        else:
            none = np.empty((0, 0), dtype=results.words.dtype)
            propagate(automaton, events, lanes, partitions, at_once, blank, results, np.empty(0), none)


def _are_long(lanes: Lanes) -> bool:
    """Whether windows hold so many events that it pays to put them together of stretches."""
    return bool((lanes.last[0] - lanes.first[0]).sum() >= _LONG_WINDOW * lanes.first.shape[1])


def _lanes_at_once(automaton: Automaton, lanes: Lanes, events: int, number_bytes: int, ties: Callable[[], int]) -> int:
    """How many windows to compute in one pass over their events.

    Each pass reads the events of all its windows, so more windows mean fewer readings per event, up to a few times
    the windows that hold an event; but the numbers of all should stay in the processor's cache. Running totals
    are few numbers, so as good as all windows are computed in one pass; unless many events (``ties``) have one time,
    whose vertices are all kept until it ends, each with a number per window.
    """
    longest = int(np.diff(lanes.offsets).max(initial=1))
    length = np.maximum(lanes.last - lanes.first, 0).max(axis=0)
    held = max(int(length.sum()), 1)
    overlap = held / max(events, 1)
    if overlap < _WORTH_SHARING:
        return 1
    if (automaton.states.indexes[:, KIND] == FREE).all():
        tick_bytes = max(1, ties() * len(automaton.states.state)) * max(number_bytes, 8)
        return max(1, min(longest, _MOST_FREE_LANES, _TICK_BYTES // tick_bytes))
    content = float((length.astype(np.float64) ** 2).sum()) / held
    at_once = min(_LEAST_LANES, math.ceil(overlap))
    most = min(_MOST_LANES, math.ceil(4 * overlap), longest)
    while at_once < most:
        more = min(2 * at_once, most)
        if content * (1 + more / overlap) * more * number_bytes > _CACHE:
            break
        at_once = more
    return at_once


def _positions(offsets: Int, slices: Int) -> Int:
    """All positions of the given slices, one slice after another."""
    none = np.empty(0, dtype=np.int64)
    return np.concatenate([none, *(np.arange(offsets[k], offsets[k + 1]) for k in slices)])


def _passes(stream: Stream, numbers: Numbers) -> list[_Pass]:
    measures = tuple(range(len(stream.plan.measures)))
    if numbers == "double":
        return [_Pass(measures, double=True)]
    floating = stream.job.floating
    parts = {at: _parts(stream, measure) for at, measure in enumerate(stream.plan.measures) if at not in floating}
    large = tuple(at for at, count in parts.items() if count > 1)
    passes = [_Pass(tuple(at for at in measures if at not in floating and at not in large), double=False)]
    if floating:
        passes.append(_Pass((0, *sorted(floating)), double=True))
    passes += [_Pass((0, *large), False, True, limb) for limb in range(max(parts.values()))] if large else []
    return passes


def _parts(stream: Stream, measure: Measure) -> int:
    """How many parts the integers of a sum are taken apart into."""
    return len(stream.columns.limbs(measure.attribute)) if isinstance(measure, Total) else 1


def _numbers(words: NDArray[Any], slots: int, blank: Store) -> list[NDArray[Any]]:
    """Columns of numbers from the kernels' words."""
    if not isinstance(blank, Broad):
        return [words[:, at] for at in range(slots)]
    columns = [np.empty(len(words), dtype=object) for _ in range(slots)]
    for at in range(slots):
        own = words[:, [word * slots + at for word in range(blank.width)]]
        for row in range(len(words)):
            if blank.mode == SCALED:
                mantissa, exponent = own[row].tolist()
                finite = math.isfinite(mantissa)
                columns[at][row] = Fraction(mantissa) * Fraction(2) ** (512 * int(exponent)) if finite else mantissa
            else:
                columns[at][row] = int.from_bytes(own[row].tobytes(), "little", signed=True)
    return columns
