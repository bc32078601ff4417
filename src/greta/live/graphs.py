"""Graphs of a stream, whatever links their events: partitions with results of open windows, read as these end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.kernels.live import Totals
from greta.kernels.numbering import number_rows
from greta.live.numbering import NewTable, Values
from greta.live.partitions import Partitions
from greta.live.program import ENDLESS, Program

Int = NDArray[np.int64]

NEVER = -(2**62)
_NONE = np.empty(0, dtype=np.int64)
_MOST_AT_ONCE = 2**18
"""Results that are looked at at once, of some windows in all partitions."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Results of some windows: a row per partition and window with a trend."""

    partition: Int
    window: Int
    values: NDArray[np.float64]
    """[row, side of an outermost AND (otherwise one), slot]: additive slots, then extreme ones."""

    key: NDArray[np.object_]
    """Per row: what the events of its partition agree on, which may be forgotten by now."""
    group: Int
    """Per row: the place of its group among these."""
    groups: list[tuple[Any, ...]]
    """What the events of each group agree on."""

    def only(self, rows: NDArray[np.bool_]) -> Reading:
        """Some of the rows."""
        return Reading(
            self.partition[rows], self.window[rows], self.values[rows], self.key[rows], self.group[rows], self.groups
        )


@dataclass(slots=True)
class Graph(ABC):
    """Partitions with the results of their open windows, brought forward by events."""

    program: Program
    most_bytes: int
    partitions: Partitions = field(init=False)
    first: int = field(init=False, default=NEVER)
    """The first window that has not been returned."""
    beyond: int = field(init=False, default=ENDLESS)
    """The first window after those that this graph is for."""
    until: int = field(init=False, default=NEVER)
    """The instant before which all events have been taken in."""
    values: Values = field(init=False, default_factory=Values)
    """Numbers of the values that partitions agree on."""
    origin: int | None = field(init=False, default=None)
    """The first event's time, which lengths of time are counted from."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """Size of all that is kept, about."""

    @property
    def heap(self) -> NDArray[np.float64]:
        """The part of its memory that is in use, where a graph has memory that may lie in a file."""
        return np.empty(0)

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is kept besides partitions and heap."""

    @abstractmethod
    def restore_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what ``arrays`` gave."""

    @abstractmethod
    def _take_in(self, events: pa.Table) -> Int:
        """Make new events ready; their times, ascending, in the units of ``_run``."""

    @abstractmethod
    def _run(self, stop: int) -> None:
        """Link the events before ``stop`` that have not been linked yet."""

    @abstractmethod
    def _forget(self, partitions: Int, instances: Int) -> None:
        """Let go of what no open window needs."""

    def _results(self) -> NDArray[np.float64]:
        """What there is to begin with: no trend, and no extreme."""
        slots, width = self.program.slots, self.program.width
        block = np.concatenate((np.zeros(slots.adds * width), np.full(slots.maxes * width, -np.inf)))
        return np.tile(block, len(self.program.edges.side))

    @property
    def base(self) -> int:
        """The window of the first lane."""
        return max(self.first, self.program.lowest)

    def _prepared(self, events: pa.Table) -> NewTable:
        """The events of a push, with the codes that partitions are found by."""
        self.values.forget_some(len(self.program.agreed) * len(self.partitions.key))
        return NewTable(self.program.job, events, self.values)

    def _totals(self) -> Totals:
        parts = self.partitions
        return Totals(parts.rows, parts.base, parts.last, parts.required, self.program.edges.blocks)

    @property
    def open_windows(self) -> range:
        """Windows that have a trend, or may get one."""
        parts = self.partitions
        numbers = parts.all_numbers()
        last = np.minimum(parts.last[numbers], parts.base[numbers] + self.program.width - 1).max(initial=NEVER)
        return range(self.base, int(last) + 1)

    def advance(self, events: pa.Table, until: int) -> list[Reading]:
        """Take in events in order of time, all before ``until``; the results of windows that end up to it."""
        readings: list[Reading] = []
        if events.num_rows:
            self._go_through(self._take_in(events), until, readings)
        if self.program.slide < ENDLESS:
            self._open_from(self.program.first_window(until), readings)
        self.until = max(self.until, until)
        return readings

    def _go_through(self, times: Int, until: int, readings: list[Reading]) -> None:
        """Link events of these times; windows that end meanwhile are read."""
        at = 0
        while at < len(times):
            self._open_from(self.program.first_window(int(times[at])), readings)
            stop = ENDLESS
            if self.program.slide < ENDLESS:
                # Beyond its own windows a graph needs no lanes, and goes through all events at once.
                lanes_end = (self.first + self.program.width) * self.program.slide
                stop = until if self.beyond < ENDLESS else min(until, lanes_end)
            self._run(stop)
            at = int(np.searchsorted(times, stop))

    def _open_from(self, window: int, readings: list[Reading]) -> None:
        """Read and forget the windows before this one."""
        if window <= self.first:
            return
        if self.first > NEVER:
            readings.append(self.read(self.first, window, self.partitions.all_numbers()))
        self.first = window
        done, instances = self.partitions.over(window)
        if len(done) or len(instances):
            self._forget(done, instances)
            self.partitions.forget(done, instances)

    def read_open(self) -> Reading:
        """The results of all open windows, so far."""
        numbers = self.partitions.all_numbers()
        return self.read(*self.open_range(numbers), numbers)

    def open_range(self, numbers: Int) -> tuple[int, int]:
        """From the first open window to one after the last that some partitions may have results in."""
        return self.base, int(self.partitions.last[numbers].max(initial=NEVER)) + 1

    def start(self, window: int) -> None:
        """Return no window before this one."""
        self.first = max(self.first, window)

    def read(self, first: int, last: int, numbers: Int) -> Reading:
        """The results of the windows ``[first, last)``, as far as it is for them, in partitions of these numbers."""
        parts, slots, width = self.partitions, self.program.slots, self.program.width
        # Only lanes have results: a stream may be silent for as many windows as it likes.
        first = max(first, int(parts.base[numbers].min(initial=ENDLESS)))
        last = min(last, int(parts.base[numbers].max(initial=NEVER)) + width, self.beyond)
        partition, window, lanes = [_NONE], [_NONE], [_NONE]
        blocks, size = len(self.program.edges.side), slots.adds + slots.maxes
        first_slot = width * size * np.arange(blocks)
        many = max(1, _MOST_AT_ONCE // max(1, len(numbers)))
        for start in range(first, last, many):
            windows = np.arange(start, min(start + many, last))
            lane = windows[:, None] - parts.base[numbers]
            inside = (lane >= 0) & (lane < width)
            counts = parts.rows[numbers[:, None], np.where(inside, lane, 0)[:, :, None] + first_slot]
            of_window, of_partition = np.nonzero(inside & (counts != 0).any(axis=2))
            partition.append(numbers[of_partition])
            lanes.append(lane[of_window, of_partition])
            window.append(windows[of_window])
        rows, lane = np.concatenate(partition), np.concatenate(lanes)
        values = parts.rows[rows[:, None], lane[:, None] + width * np.arange(blocks * size)]
        group, example = number_rows(parts.group[rows][None, :], np.zeros(len(rows), dtype=bool))
        groups = [parts.groups.names[at] for at in parts.group[rows[example]].tolist()]
        sides = self._by_side(values.reshape(len(rows), blocks, size))
        return Reading(rows, np.concatenate(window), sides, parts.names[rows], group.astype(np.int64), groups)

    def _by_side(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """[row, block, slot] → [row, side, slot]: branches that end with different NOTs add up, sides may have none."""
        side, adds = np.array(self.program.edges.side), self.program.slots.adds
        sides = self.program.edges.sides
        if len(side) == sides == 1:
            return values
        result = np.empty((len(values), sides, values.shape[2]))
        for at in range(sides):
            result[:, at, :adds] = values[:, side == at, :adds].sum(axis=1)
            result[:, at, adds:] = values[:, side == at, adds:].max(axis=1, initial=-np.inf)
        return result
