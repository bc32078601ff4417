"""The graph of a stream, which goes on: events that come are linked to those before them, results are there (§4.2)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.frames import Stream
from greta.kernels.heap import ABOUT, FULL, LEISURE, LISTED_THERE, LOOKED_AT, SCANS, TOP, Heap, move_lanes
from greta.kernels.instances import copy_all, release
from greta.kernels.layout import Weights
from greta.kernels.live import News, Stretch, go_on
from greta.kernels.merges import LARGEST_RUN, LEISURELY, SCRATCH
from greta.kernels.runs import BASE, PLACE
from greta.live.edges import CutOffs
from greta.live.graphs import NEVER, Graph
from greta.live.news import NewEvents
from greta.live.orders import NoRoom, Surprise, Words
from greta.live.partitions import Partitions
from greta.live.program import FURTHEST

Int = NDArray[np.int64]

_PAGE = 256
_ROWS_PER_PAGE = 8

_ENOUGH_SCANS = 5_000
"""Lists that are gone through before their cost is judged."""
_LOOK, _ADD, _TREE = 6.0, 0.2, 40.0
"""Nanoseconds: to look at a vertex, to add its numbers in a window, and per root of a tree's vertices (measured)."""


@dataclass(slots=True)
class LiveGraph(Graph):
    """A graph with the indexes that new events are linked by."""

    memory: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """Where indexes lie; whoever gives it may keep it, e.g. in a file. Otherwise there is room for ``most_bytes``."""
    words: Words = field(default_factory=Words)
    about: Int = field(init=False)
    _new: tuple[News, Weights] | None = field(init=False, default=None)
    """The events of the push."""
    _inner: tuple[LiveGraph | None, ...] = field(init=False)
    """Per NOT: the graph that finds the latest starts of its matches, in the same memory; None: they are instants."""

    def __post_init__(self) -> None:
        empty, orders = self._results(), self.program.orders
        self.partitions = Partitions(
            len(empty),
            empty,
            tuple(order.kind for order in orders),
            tuple(order.keyed for order in orders),
            len(self.program.template.negatives),
            self.program.agreed,
            self.program.scope is not None,
            grouping=self.program.grouping,
        )
        if not len(self.memory):
            # Pages that are never written to are never there, so room for the most costs nothing.
            self.memory = np.empty(max(self.most_bytes // 8, 1024))
        self.about = np.full(ABOUT, -1, dtype=np.int64)
        self.about[[TOP, FULL, LEISURE, SCANS, LISTED_THERE, LOOKED_AT]] = 0
        self._inner = tuple(
            None if inner is None else LiveGraph(inner, self.most_bytes, self.memory) for inner in self.program.inner
        )
        self._share_memory()

    def _share_memory(self) -> None:
        """Let the graphs of NOTs take blocks and pages from the same memory."""
        for inner in self._inner:
            if inner is not None:
                inner.about = self.about
                inner._share_memory()

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
        arrays: dict[str, NDArray[Any]] = {"about": self.about, "words": np.frombuffer(words, dtype=np.uint8)}
        for at, inner in enumerate(self._inner):
            if inner is not None:
                own = inner.partitions.arrays(inner.program.job) | inner.arrays()
                own["first"] = np.array([inner.first], dtype=np.int64)
                arrays |= {f"{at}.{name}": array for name, array in own.items()}
        return arrays

    def restore_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what ``arrays`` gave."""
        self.about = arrays["about"]
        following, numbers = json.loads(arrays["words"].tobytes())
        self.words = Words(numbers, following)
        for at, inner in enumerate(self._inner):
            if inner is not None:
                begin = f"{at}."
                own = {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}
                inner.first = int(own["first"][0])
                inner.restore_arrays(own)
                inner.partitions.restore(own)
        self._share_memory()

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
        stream = Stream.of(self.program.job, self._prepared(events))
        if self.origin is None:
            self.origin = int(stream.time[0])
        self.about[LEISURE] = min(self.about[LEISURE] + LEISURELY * events.num_rows, 2 * LARGEST_RUN)
        return self._take(stream, self.origin, np.empty(0))

    def _take(self, stream: Stream, origin: int, latest: NDArray[np.float64]) -> Int:
        """Make the events of a stream ready; ``latest``, if it is not empty, will say what ended at each of them."""
        self.origin = origin
        if not any(order.listed for order in self.program.orders):
            # Vertices of lists may hold numbers of words that no index is named by.
            self.words.forget_unused(self.partitions.of_place)
        if self.program.scope is not None:
            self._let_parts_go()
        new = NewEvents.of(self.program, self.partitions, self.words, stream, self.first, origin)
        if new.copies:
            self._copy_parts(new.copies)
        cuts = [None if inner is None else inner.cut_offs(stream, origin) for inner in self._inner]
        self._new = new.news(cuts, latest), new.weights()
        if self.words.bytes > self.most_bytes:
            raise self._no_room()
        return new.times

    def _let_parts_go(self) -> None:
        """Forget parts whose value is in no open window: were they kept, free events would never let them go."""
        gone, instances = self.partitions.stale(self.first)
        if len(gone):
            self._forget(gone, instances)
            self.partitions.forget(gone, instances)

    def _copy_parts(self, copies: list[tuple[int, int]]) -> None:
        """Let new parts begin as the part is that no value has been met in."""
        # Opening instances may move the array that the heap has them in, so the heap comes after it.
        sources, targets = self.partitions.begin_as(copies)
        copy_all(self._heap(), sources, targets)
        if self.about[FULL]:
            raise self._no_room()

    def cut_offs(self, stream: Stream, origin: int) -> CutOffs:
        """Of the graph of a NOT: when its matches among new events and those before end, and their latest starts."""
        frame = stream.frame_of(self.program.template.variables, (), False)
        latest = np.full(len(frame.rows), -np.inf)
        times = self._take(stream, origin, latest)
        if int(stream.time[-1]) - origin > FURTHEST:
            raise Surprise("a NOT of several events is asked for over more time than doubles count")
        self._go_through(times, int(times[-1]) + 1, [])
        return CutOffs.of(frame, latest, origin)

    def _run(self, stop: int) -> None:
        program = self.program
        assert self._new is not None
        stretch = Stretch(stop, self.base, program.lowest, self.beyond, program.within, program.slide)
        automaton = (program.states, program.steps, program.slots, program.ways)
        go_on(*automaton, *self._new, self._heap(), self._totals(), stretch)
        if self.about[FULL]:
            raise self._no_room()
        if self.program.has_trees:
            self._require_short_scans()

    def _no_room(self) -> NoRoom:
        return NoRoom(f"more than {self.most_bytes:,} bytes would be needed")

    def _require_short_scans(self) -> None:
        """Raise Surprise where looking at vertices costs more than computing windows, when they end, with trees.

        Both are measured per event: a vertex that is looked at costs some time, and more with each window that its
        numbers are added in; a tree costs the root of the number of vertices in it, for every window.
        """
        scans, there, looked = (int(self.about[at]) for at in (SCANS, LISTED_THERE, LOOKED_AT))
        if scans < _ENOUGH_SCANS:
            return
        self.about[[SCANS, LISTED_THERE, LOOKED_AT]] = 0
        windows = -(-self.program.within // self.program.slide)
        if looked / scans * (_LOOK + windows * _ADD) > windows * _TREE * (there / scans) ** 0.5:
            raise Surprise("so many events are looked at for each new one that windows cost less when they end")

    def _forget(self, partitions: Int, instances: Int) -> None:  # noqa: ARG002 - what partitions hold is in instances
        release(self._heap(), instances)
