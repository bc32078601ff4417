"""Plan × events → intermediate values per partition and window, on the kernels.

Partitions are taken in blocks of bounded size, so memory beyond the input does not depend on the number of windows.
Numbers start narrow: where one does not fit, only the partitions concerned are computed again in a wider form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from greta.engine.barriers import Barriers, all_barriers, middle_gaps, window_breaks
from greta.engine.frames import Stream
from greta.engine.job import Numbers
from greta.engine.partitions import Frame
from greta.engine.program import Compiler, clip_sets
from greta.kernels import nearest as near
from greta.kernels.broad import SCALED, Broad, scaled, wide
from greta.kernels.counts import count_trends
from greta.kernels.layout import FREE, Automaton, Events, Lanes
from greta.kernels.numbers import LARGEST_INTEGER, Store, doubles, integers
from greta.kernels.propagate import propagate
from greta.kernels.windows import clip_leading, clip_trailing, window_runs
from greta.lang.nodes import Semantics
from greta.plan.nodes import Place, Plan, Slot, SlotKind, Template

Int = NDArray[np.int64]

_LEAST_LANES = 8
_MOST_LANES = 64
_MOST_FREE_LANES = 4096
_MOST_COUNTED = 4
"""Indexes of a pattern that is counted in one pass: it keeps a total of each for every window."""
_WORTH_SHARING = 1.5
_CACHE = 768 * 1024
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
    """Per run: additive slots by index in the plan (float64, int64 or objects), and codes of extremes."""

    adds: dict[int, NDArray[Any]]
    maxes: dict[int, Int]


@dataclass(frozen=True, slots=True)
class Block:
    """Results of one block: runs and, per template, their values."""

    runs: Runs
    values: list[Values]


@dataclass(frozen=True, slots=True)
class _Pass:
    """Slots that are computed together in one family of numbers."""

    adds: list[int]
    maxes: list[int]
    double: bool


class Execution:
    """One plan over one stream."""

    def __init__(self, stream: Stream, numbers: Numbers) -> None:
        self.stream = stream
        self.plan: Plan = stream.plan
        self.passes = _passes(stream, "exact" if self.plan.conjunction else numbers)
        positive = frozenset[str]().union(*(t.variables for t in self.plan.templates))
        scopes = self.plan.partitioning.scopes
        self.scopes = tuple(at for at, s in enumerate(scopes) if not s.variables.isdisjoint(positive))
        keep_all = self.plan.semantics is Semantics.CONTIGUOUS
        self.frame: Frame = stream.frame_of(positive, self.scopes, keep_all)
        self.time = stream.time[self.frame.rows]
        self.barriers = [all_barriers(stream, t, self.frame, self.scopes) for t in self.plan.templates]
        window = self.plan.window
        self.within, self.slide = stream.clock.units(window) if window is not None else (0, 0)
        self.breaks = window_breaks(self.plan.templates, self.barriers, self.within, self.slide)
        self.owned = stream.owned if stream.owned.shape[1] == 1 else stream.owned[:, self.frame.common]
        self._prepared = [self._prepare(number) for number in self.passes]

    def _prepare(self, number: _Pass) -> tuple[list[Automaton], Events]:
        compiler = Compiler(self.stream.columns, self.stream.bits, self.frame.rows, self.time)
        slots = self.plan.slots
        automata = []
        for template, barriers in zip(self.plan.templates, self.barriers, strict=True):
            gaps = middle_gaps(self.stream, template, self.frame, barriers)
            adds = [slots[at] for at in number.adds]
            automata.append(compiler.compile(template, gaps, adds, [slots[at] for at in number.maxes], number.double))
        length = len(self.time)
        events = Events(
            offsets=self.frame.offsets,
            time=self.time,
            mask=self.frame.mask,
            codes=compiler.codes.stack(length, np.int64),
            values=compiler.values.stack(length, np.float64),
            doubles=compiler.doubles.stack(length, np.float64),
            integers=compiler.integers.stack(length, np.int64),
            ranks=compiler.ranks.stack(length, np.int64),
            required=self.frame.required,
        )
        return automata, events

    def blocks(self) -> Iterator[Block]:
        """Compute block after block of partitions."""
        for partitions in self._blocks():
            runs = self._runs(partitions)
            yield Block(runs, [self._values(at, runs) for at in range(len(self.plan.templates))])

    def separate_runs(self) -> Runs:
        """All windows of all partitions, each by itself even where neighbours hold the same events."""
        return self._runs(np.flatnonzero(np.diff(self.frame.offsets)), merge=False)

    @property
    def totals(self) -> int:
        """How many numbers a window's running totals are, in a plan without edge predicates and extremes."""
        (automaton,), _ = self._prepared[0]
        return len(automaton.adds) * (1 + len(automaton.index_kind))

    def go_on(self, runs: Runs, carried: NDArray[np.float64]) -> None:
        """Bring the running totals of windows, a row each with the additive slots in front, past these events."""
        (automaton,), events = self._prepared[0]
        (lanes,) = runs.lanes
        count, adds = len(runs.first_window), len(automaton.adds)
        words, maxes = np.zeros((count, adds)), np.empty((count, 0), dtype=np.int64)
        failed = np.zeros(len(runs.partitions), dtype=np.uint8)
        at_once = _lanes_at_once(automaton, lanes, len(self.time), 8 * adds)
        none = np.empty(0, dtype=np.int64)
        propagate(automaton, events, lanes, runs.partitions, at_once, doubles(), words, maxes, none, carried, failed)

    def _blocks(self) -> Iterator[Int]:
        counts = np.diff(self.frame.offsets)
        used = np.flatnonzero(counts)
        if not len(used):
            return
        cost = counts[used].astype(np.float64) / _BLOCK_EVENTS
        if self.plan.window is not None:
            first = self.time[self.frame.offsets[used]]
            last = self.time[self.frame.offsets[used + 1] - 1]
            span = np.minimum((last - first) / self.slide, counts[used] * self.plan.window.per_event)
            cost += (span + self.plan.window.per_event) / _BLOCK_WINDOWS
        number = np.floor(np.cumsum(cost)).astype(np.int64)
        cuts = np.flatnonzero(np.diff(number)) + 1
        yield from np.split(used, cuts)

    def _runs(self, partitions: Int, merge: bool = True) -> Runs:
        empty = np.empty(0, dtype=np.int64)
        common = (self.frame.offsets, self.time, self.within, self.slide, self.owned, merge, self.breaks, partitions)
        count = window_runs(*common, False, empty, empty, empty, empty, empty)
        offsets = np.empty(len(partitions) + 1, dtype=np.int64)
        first_window, last_window, first, last = (np.empty(count, dtype=np.int64) for _ in range(4))
        window_runs(*common, True, offsets, first_window, last_window, first, last)
        lanes = [
            self._clip(template, barriers, partitions, offsets, first_window, first, last)
            for template, barriers in zip(self.plan.templates, self.barriers, strict=True)
        ]
        return Runs(partitions, lanes, offsets, first_window, last_window)

    def _clip(
        self,
        template: Template,
        barriers: list[Barriers],
        partitions: Int,
        offsets: Int,
        first_window: Int,
        first: Int,
        last: Int,
    ) -> Lanes:
        """Leading and trailing negatives narrow the windows of the states that they clip."""
        sets = clip_sets(template)
        firsts, lasts = np.tile(first, (len(sets), 1)), np.tile(last, (len(sets), 1))
        for row, clips in enumerate(sets):
            for at in clips:
                barrier = barriers[at]
                slices = (barrier.of_partition, barrier.offsets, barrier.ends, barrier.starts)
                runs = (partitions, offsets, first_window, self.slide)
                if template.negatives[at].place is Place.LEADING:
                    clip_leading(*runs, self.time, *slices, firsts[row], lasts[row])
                else:
                    clip_trailing(*runs, self.within, self.time, *slices, firsts[row], lasts[row])
        return Lanes(offsets, firsts, lasts)

    def _values(self, template: int, runs: Runs) -> Values:
        result = Values({}, {})
        for number, prepared in zip(self.passes, self._prepared, strict=True):
            blank = doubles() if number.double else integers()
            adds, maxes, failed = self._compute(template, runs, number, prepared, blank)
            if number.double and any(self.plan.slots[at].kind in (SlotKind.SUM, SlotKind.VALUES) for at in number.adds):
                # An infinite count still has a finite average: compute again with an exponent of its own.
                infinite = ~np.isfinite(np.stack(adds)).all(axis=0)
                failed[np.unique(np.searchsorted(runs.offsets, np.flatnonzero(infinite), side="right") - 1)] = 1
            if failed.any():
                adds = self._widen(template, runs, number, prepared, np.flatnonzero(failed), adds, maxes)
            for at, column in zip(number.adds, adds, strict=True):
                result.adds.setdefault(at, column)
            result.maxes.update({at: maxes[:, column] for column, at in enumerate(number.maxes)})
        return result

    def _widen(
        self,
        template: int,
        runs: Runs,
        number: _Pass,
        prepared: tuple[list[Automaton], Events],
        failed: Int,
        adds: list[NDArray[Any]],
        maxes: Int,
    ) -> list[NDArray[Any]]:
        """Compute some partitions of a block again, in doubles with exponents or in ever wider integers."""
        adds = [column.astype(object) for column in adds]
        limbs = 1
        while len(failed):
            limbs *= 2
            if limbs > _MOST_LIMBS:
                raise OverflowError("a count has more than 64 million bits")
            again = self._runs(runs.partitions[failed])
            blank = scaled() if number.double else wide(limbs)
            found, found_maxes, still = self._compute(template, again, number, prepared, blank)
            good = np.flatnonzero(still == 0)
            rows = _positions(runs.offsets, failed[good])
            take = _positions(again.offsets, good)
            for column, better in zip(adds, found, strict=True):
                column[rows] = better[take]
            maxes[rows] = found_maxes[take]
            failed = failed[still != 0]
        return adds

    def _compute(
        self,
        template: int,
        runs: Runs,
        number: _Pass,
        prepared: tuple[list[Automaton], Events],
        blank: Store,
    ) -> tuple[list[NDArray[Any]], Int, NDArray[np.uint8]]:
        automata, events = prepared
        automaton, lanes = automata[template], runs.lanes[template]
        count = len(runs.first_window)
        width = blank.width if isinstance(blank, Broad) else 1
        words = np.zeros(
            (count, width * len(number.adds)), dtype=np.float64 if isinstance(blank, Broad) else blank.dtype
        )
        maxes = np.empty((count, len(number.maxes)), dtype=np.int64)
        failed = np.zeros(len(runs.partitions), dtype=np.uint8)
        if self._only_counts(automaton, lanes, number, blank):
            largest = 0 if number.double else LARGEST_INTEGER
            count_trends(automaton, events, lanes, runs.partitions, largest, words[:, 0], failed)
        elif self.plan.semantics is Semantics.ANY:
            nothing = np.empty(0, dtype=np.int64)
            held = int(np.diff(events.offsets)[runs.partitions].sum())
            at_once = _lanes_at_once(automaton, lanes, held, 8 * width * len(number.adds))
            none = np.empty((0, 0), dtype=words.dtype)
            propagate(automaton, events, lanes, runs.partitions, at_once, blank, words, maxes, nothing, none, failed)
        elif self.plan.semantics is Semantics.NEXT and template == 2:
            (left, right, both), (left_lanes, right_lanes, both_lanes) = automata, runs.lanes
            near.nearest_of_both(
                left,
                right,
                both,
                events,
                left_lanes,
                right_lanes,
                both_lanes,
                runs.partitions,
                blank,
                words,
                maxes,
                failed,
            )
        else:
            rule = near.NEXT if self.plan.semantics is Semantics.NEXT else near.CONTIGUOUS
            near.nearest_all(automaton, events, lanes, runs.partitions, rule, blank, words, maxes, failed)
        return _numbers(words, len(number.adds), blank), maxes, failed

    def _only_counts(self, automaton: Automaton, lanes: Lanes, number: _Pass, blank: Store) -> bool:
        return (
            self.plan.semantics is Semantics.ANY
            and not isinstance(blank, Broad)
            and len(number.adds) == 1
            and not number.maxes
            and len(lanes.first) == 1
            and len(automaton.index_kind) <= _MOST_COUNTED
            and bool((automaton.index_kind == FREE).all())
        )


def _lanes_at_once(automaton: Automaton, lanes: Lanes, events: int, number_bytes: int) -> int:
    """How many windows to compute in one pass over their events.

    Each pass reads the events of all its windows, so more windows mean fewer readings per event, up to a few times
    the windows that hold an event; but the numbers of all should stay in the processor's cache. Running totals
    are few numbers, so as good as all windows are computed in one pass.
    """
    longest = int(np.diff(lanes.offsets).max(initial=1))
    if (automaton.index_kind == FREE).all():
        return min(longest, _MOST_FREE_LANES)
    length = np.maximum(lanes.last - lanes.first, 0).max(axis=0)
    held = max(int(length.sum()), 1)
    overlap = held / max(events, 1)
    if overlap < _WORTH_SHARING:
        return 1
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
    slots = list(enumerate(stream.plan.slots))
    maxes = [at for at, slot in slots if slot.kind in (SlotKind.MIN, SlotKind.MAX)]
    adds = [at for at, _ in slots if at not in maxes]
    if numbers == "double":
        return [_Pass(adds, maxes, double=True)]
    floating = [at for at in adds if _is_floating(stream, slots[at][1])]
    passes = [_Pass([at for at in adds if at not in floating], maxes, double=False)]
    if floating:
        passes.append(_Pass([0, *floating], [], double=True))
    return passes


def _is_floating(stream: Stream, slot: Slot) -> bool:
    if slot.kind is not SlotKind.SUM:
        return False
    assert slot.attribute is not None
    return not stream.columns.is_integer(slot.attribute)


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
