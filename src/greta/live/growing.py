"""The graph of a stream, which goes on: events that come are linked to those before them, results are there (§4.2)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.kernels.heap import ABOUT, FULL, LEISURE, TOP, Heap
from greta.kernels.instances import move_lanes, release
from greta.kernels.layout import Weights
from greta.kernels.live import News, Stretch, go_on
from greta.kernels.runs import BASE, LARGEST_RUN, LEISURELY, PLACE, SCRATCH
from greta.live.graphs import NEVER, Graph
from greta.live.news import NewEvents
from greta.live.orders import Surprise, Words
from greta.live.partitions import Partitions

Int = NDArray[np.int64]

_PAGE = 256
_ROWS_PER_PAGE = 8


@dataclass(slots=True)
class LiveGraph(Graph):
    """A graph with the indexes that new events are linked by."""

    memory: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """Where indexes lie; whoever gives it may keep it, e.g. in a file. Otherwise there is room for ``most_bytes``."""
    words: Words = field(default_factory=Words)
    about: Int = field(init=False)
    _new: tuple[News, Weights] | None = field(init=False, default=None)
    """The events of the push."""

    def __post_init__(self) -> None:
        empty, orders = self._results(), self.program.orders
        self.partitions = Partitions(
            len(empty),
            empty,
            tuple(order.compared is not None for order in orders),
            tuple(order.keyed for order in orders),
            len(self.program.template.negatives),
        )
        if not len(self.memory):
            # Pages that are never written to are never there, so room for the most costs nothing.
            self.memory = np.empty(max(self.most_bytes // 8, 1024))
        self.about = np.full(ABOUT, -1, dtype=np.int64)
        self.about[[TOP, FULL, LEISURE]] = 0

    @property
    def bytes(self) -> int:
        """Size of all that is kept, about."""
        parts = self.partitions
        return 8 * int(self.about[TOP]) + parts.rows.nbytes + parts.instance.nbytes + self.words.bytes

    @property
    def heap(self) -> NDArray[np.float64]:
        """The part of the memory that is in use."""
        return self.memory[: int(self.about[TOP])]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is kept besides partitions and heap."""
        words = json.dumps([self.words.following, self.words.numbers]).encode()
        return {"about": self.about, "words": np.frombuffer(words, dtype=np.uint8)}

    def restore_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what ``arrays`` gave."""
        self.about = arrays["about"]
        following, numbers = json.loads(arrays["words"].tobytes())
        self.words = Words(numbers, following)

    def totals(self) -> dict[str, NDArray[Any]]:
        """Results and totals of all partitions, for plans without comparisons and equalities; windows count from first.

        [partition, slot and lane], and per order [partition, slot and lane].
        """
        parts, slots, width = self.partitions, self.program.slots, self.program.width
        numbers = parts.all_numbers()
        base = self.base
        results = parts.rows[numbers]
        for row, at in zip(results, numbers, strict=True):
            for block in range(0, len(row), (slots.adds + slots.maxes) * width):
                move_lanes(row, block, slots.adds, slots.maxes, width, base - parts.base[at])
        arrays = {"results": results, "last": parts.last[numbers], "barriers": parts.barriers[numbers]}
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
        base = self.base
        numbers = parts.numbers(keys, base, NEVER)
        parts.rows[numbers], parts.last[numbers] = totals["results"], totals["last"]
        if parts.negatives:
            parts.barriers[numbers] = totals["barriers"]
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

    def _take_in(self, events: pa.Table) -> Int:
        self.words.forget_unused(self.partitions.of_place)
        new = NewEvents.of(self.program, self.partitions, self.words, events, self.first, self.origin)
        self.origin = new.origin
        self._new = new.news(), new.weights()
        if self.words.bytes > self.most_bytes:
            raise self._no_room()
        self.about[LEISURE] = min(self.about[LEISURE] + LEISURELY * len(new.times), 2 * LARGEST_RUN)
        return new.times

    def _run(self, stop: int) -> None:
        program = self.program
        assert self._new is not None
        stretch = Stretch(stop, self.base, program.lowest, program.within, program.slide)
        automaton = (program.states, program.steps, program.slots, program.order)
        go_on(*automaton, *self._new, self._heap(), self._totals(), stretch)
        if self.about[FULL]:
            raise self._no_room()

    def _no_room(self) -> Surprise:
        return Surprise(f"more than {self.most_bytes:,} bytes would be needed")

    def _forget(self, partitions: Int, instances: Int) -> None:  # noqa: ARG002 - what partitions hold is in instances
        release(self._heap(), instances)
