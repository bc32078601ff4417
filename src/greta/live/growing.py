"""The graph of a stream, which goes on: events that come are linked to those before them, results are there (§4.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.kernels.heap import ABOUT, FULL, TOP, Heap
from greta.kernels.instances import move_lanes, release
from greta.kernels.layout import Weights
from greta.kernels.live import News, Stretch, Totals, go_on
from greta.kernels.runs import BASE, PLACE, SCRATCH
from greta.live.news import NewEvents
from greta.live.orders import Surprise, Words
from greta.live.partitions import Partitions
from greta.live.program import ENDLESS, Program

Int = NDArray[np.int64]

_NEVER = -(2**62)
_NONE = np.empty(0, dtype=np.int64)
_PAGE = 256
_ROWS_PER_PAGE = 8


@dataclass(frozen=True, slots=True)
class Reading:
    """Results of some windows: a row per partition and window with a trend."""

    partition: Int
    window: Int
    values: NDArray[np.float64]
    """[row, slot]: additive slots, then extreme ones."""

    keys: dict[int, tuple[Any, ...]]
    """What the events of each partition agree on: it may be forgotten by now."""

    def without(self, partitions: Int) -> Reading:
        """The rows of other partitions."""
        kept = ~np.isin(self.partition, partitions)
        return Reading(self.partition[kept], self.window[kept], self.values[kept], self.keys)

    def groups(self, attributes: list[int]) -> tuple[Int, list[tuple[Any, ...]]]:
        """(the group of each row, what each group agrees on); attributes are places in keys."""
        distinct, back = np.unique(self.partition, return_inverse=True)
        groups: dict[tuple[Any, ...], int] = {}
        shared = [tuple(self.keys[at][place] for place in attributes) for at in distinct.tolist()]
        of_partition = [groups.setdefault(key, len(groups)) for key in shared]
        return np.array(of_partition, dtype=np.int64)[back.reshape(-1)], list(groups)


@dataclass(slots=True)
class LiveGraph:
    """Partitions with the results of their open windows, and the indexes that new events are linked by."""

    program: Program
    most_bytes: int
    memory: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """Where indexes lie; whoever gives it may keep it, e.g. in a file. Otherwise there is room for ``most_bytes``."""
    partitions: Partitions = field(init=False)
    words: Words = field(default_factory=lambda: Words({}))
    about: Int = field(init=False)
    first: int = _NEVER
    """The first window that has not been returned."""
    origin: int | None = None

    def __post_init__(self) -> None:
        slots, width = self.program.slots, self.program.width
        empty = np.concatenate((np.zeros(slots.adds * width), np.full(slots.maxes * width, -np.inf)))
        orders = self.program.orders
        self.partitions = Partitions(
            len(empty),
            empty,
            tuple(order.compared is not None for order in orders),
            tuple(order.keyed for order in orders),
            len(self.program.job.plan.templates[0].negatives),
        )
        if not len(self.memory):
            # Pages that are never written to are never there, so room for the most costs nothing.
            self.memory = np.empty(max(self.most_bytes // 8, 1024))
        self.about = np.full(ABOUT, -1, dtype=np.int64)
        self.about[TOP] = self.about[FULL] = 0

    @property
    def bytes(self) -> int:
        """Size of all that is kept, about."""
        parts = self.partitions
        return 8 * int(self.about[TOP]) + parts.rows.nbytes + parts.instance.nbytes

    @property
    def open_windows(self) -> int:
        """Windows that have a trend, or may get one."""
        parts = self.partitions
        numbers = parts.all_numbers()
        last = np.minimum(parts.last[numbers], parts.base[numbers] + self.program.width - 1).max(initial=_NEVER)
        return max(0, int(last) - max(self.first, self.program.lowest) + 1)

    def totals(self) -> dict[str, NDArray[Any]]:
        """Results and totals of all partitions, for plans without comparisons and equalities; windows count from first.

        [partition, slot and lane], and per order [partition, slot and lane].
        """
        parts, slots, width = self.partitions, self.program.slots, self.program.width
        numbers = parts.all_numbers()
        base = max(self.first, self.program.lowest)
        results = parts.rows[numbers]
        for row, at in zip(results, numbers, strict=True):
            move_lanes(row, 0, slots.adds, slots.maxes, width, base - parts.base[at])
        arrays = {"results": results, "last": parts.last[numbers]}
        carried = (slots.carried_adds, slots.carried_maxes)
        for order in range(len(self.program.orders)):
            sums = np.zeros((len(numbers), sum(carried) * width))
            sums[:, slots.carried_adds * width :] = -np.inf
            for row, at in zip(sums, parts.instances[numbers, order], strict=True):
                place = parts.instance[at, PLACE]
                if place >= 0:
                    row[:] = self.memory[place : place + len(row)]
                    move_lanes(row, 0, *carried, width, base - parts.instance[at, BASE])
            arrays[f"order_{order}"] = sums
        return arrays

    def restore(self, keys: list[tuple[Any, ...]], totals: dict[str, NDArray[Any]], origin: int | None) -> None:
        """Go on from what ``totals`` gave."""
        self.origin = origin
        parts = self.partitions
        base = max(self.first, self.program.lowest)
        numbers = parts.numbers(keys, base, _NEVER)
        parts.rows[numbers], parts.last[numbers] = totals["results"], totals["last"]
        for order in range(len(self.program.orders)):
            sums = totals[f"order_{order}"]
            for row, at in zip(sums, parts.instances[numbers, order], strict=True):
                place = int(self.about[TOP])
                self.about[TOP] += len(row)
                self.memory[place : place + len(row)] = row
                parts.instance[at, [PLACE, BASE]] = place, base

    def _heap(self) -> Heap:
        slots = self.program.slots
        return Heap(
            self.memory,
            self.memory.view(np.int64),
            self.about,
            self.partitions.instance,
            np.empty(SCRATCH, dtype=np.int64),
            max(_PAGE, _ROWS_PER_PAGE * (slots.carried_adds + slots.carried_maxes) * self.program.width),
            self.program.width,
            slots.carried_adds,
            slots.carried_maxes,
        )

    def advance(self, events: pa.Table, until: int) -> list[Reading]:
        """Take in events in order of time, all before ``until``; the results of windows that end up to it."""
        readings: list[Reading] = []
        if events.num_rows:
            new = NewEvents.of(self.program, self.partitions, self.words, events, self.first, self.origin)
            self.origin = new.origin
            news, weights, times = new.news(), new.weights(), new.times
            at = 0
            while at < len(times):
                self._open_from(self.program.first_window(int(times[at])), readings)
                stop = ENDLESS
                if self.program.slide < ENDLESS:
                    stop = min(until, (self.first + self.program.width) * self.program.slide)
                self._run(news, weights, stop)
                at = int(np.searchsorted(times, stop))
        if self.program.slide < ENDLESS:
            self._open_from(self.program.first_window(until), readings)
        return readings

    def _run(self, news: News, weights: Weights, stop: int) -> None:
        program, parts = self.program, self.partitions
        totals = Totals(parts.rows, parts.base, parts.last)
        base = max(self.first, program.lowest)
        stretch = Stretch(stop, base, program.lowest, program.within, program.slide)
        go_on(program.states, program.steps, program.slots, program.order, news, weights, self._heap(), totals, stretch)
        if self.about[FULL]:
            raise Surprise(f"more than {self.most_bytes:,} bytes would be needed")

    def _open_from(self, window: int, readings: list[Reading]) -> None:
        """Read and forget the windows before this one."""
        if window <= self.first:
            return
        if self.first > _NEVER:
            readings.append(self.read(self.first, window))
        self.first = window
        done, instances = self.partitions.over(window)
        if len(done) or len(instances):
            release(self._heap(), instances)
            self.partitions.forget(done, instances)

    def read_open(self) -> Reading:
        """The results of all open windows, so far."""
        last = int(self.partitions.last.max(initial=_NEVER))
        return self.read(max(self.first, self.program.lowest), last + 1)

    def start(self, window: int) -> None:
        """Return no window before this one."""
        self.first = max(self.first, window)

    def read(self, first: int, last: int) -> Reading:
        """The results of the windows ``[first, last)``."""
        parts, slots, width = self.partitions, self.program.slots, self.program.width
        numbers = parts.all_numbers()
        # Only lanes have results: a stream may be silent for as many windows as it likes.
        first = max(first, int(parts.base[numbers].min(initial=ENDLESS)))
        last = min(last, int(parts.base[numbers].max(initial=_NEVER)) + width)
        partition, window, lanes = [_NONE], [_NONE], [_NONE]
        for w in range(first, last):
            lane = w - parts.base[numbers]
            inside = np.flatnonzero((lane >= 0) & (lane < width))
            alive = inside[parts.rows[numbers[inside], lane[inside]] != 0]
            partition.append(numbers[alive])
            lanes.append(lane[alive])
            window.append(np.full(len(alive), w))
        rows, lane = np.concatenate(partition), np.concatenate(lanes)
        values = parts.rows[rows[:, None], lane[:, None] + width * np.arange(slots.adds + slots.maxes)]
        keys = {at: parts.key[at] for at in np.unique(rows).tolist()}
        return Reading(rows, np.concatenate(window), values, keys)
