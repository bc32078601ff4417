"""New events of a push → what the kernels read of them, by partition and time: codes, index instances, weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.columns import Columns
from greta.engine.frames import Stream
from greta.engine.operands import EventArrays
from greta.engine.partitions import Frame
from greta.engine.tables import without_nulls
from greta.kernels.layout import NOTHING, Weights
from greta.kernels.live import News
from greta.kernels.runs import SORTED_RUNS
from greta.live.keys import keys_of
from greta.live.orders import Order, Surprise, Words, compared_codes
from greta.live.partitions import Partitions
from greta.live.program import ENDLESS, Program
from greta.plan.flows import Code, Position, Weight

Int = NDArray[np.int64]

_EXACT = 2**53
"""Integers up to this are doubles without a loss."""
_NEVER = -(2**62)


class LiveArrays(EventArrays):
    """The weights and guards of new events: in doubles, with lengths of time counted from the stream's first event."""

    origin: int = 0

    def _seconds(self) -> NDArray[Any]:
        return (self.time - self.origin) / (1_000 * self.clock.per_millisecond)

    def _weight(self, weight: Weight | Code | Position) -> NDArray[Any]:
        if isinstance(weight, Code):
            return weight.sign * _extremes(self.columns, weight)[self.frame.rows]
        if isinstance(weight, Position):
            # Earlier from later is all that is asked for; places in a push say nothing in the next one.
            return (self.time - self.origin).astype(np.float64)
        return super()._weight(weight)


def _extremes(columns: Columns, code: Code) -> NDArray[np.float64]:
    """An attribute's values as doubles that compare as the values do; with its sign, NULL is -∞."""
    array = columns.attribute(code.attribute)
    null = -code.sign * np.inf
    if pa.types.is_integer(array.type):
        whole = without_nulls(array, 0)
        if int(whole.max(initial=0)) > _EXACT or int(whole.min(initial=0)) < -_EXACT:
            raise Surprise(f"integers of {code.attribute} are beyond 2^53")
        return np.where(without_nulls(array.is_null(), False), null, whole)
    values = without_nulls(array.cast(pa.float64()), null)
    if not np.isfinite(values[without_nulls(array.is_valid(), False)]).all():
        raise Surprise(f"{code.attribute} is infinite somewhere")
    return values


@dataclass(frozen=True, slots=True)
class CutOffs:
    """Events of a push that a NOT may have, and which matches end at them."""

    matches: Frame
    latest: NDArray[np.float64]
    """Per event: the latest start of a match that ends there, since the origin; -∞: none does."""


@dataclass(slots=True)
class NewEvents:
    """The events of one push, cut into partitions that have their numbers."""

    program: Program
    partitions: Partitions
    words: Words
    stream: Stream
    frame: Frame
    used: Int
    """The common partitions that have events of a trend."""
    partition: Int
    """Their numbers."""
    origin: int
    """The first event's time, which lengths of time are counted from."""

    @staticmethod
    def of(
        program: Program, partitions: Partitions, words: Words, stream: Stream, first: int, origin: int
    ) -> NewEvents:
        """Sort events into partitions; ``first`` is the first open window."""
        frame = stream.frame_of(program.template.variables, (), False)
        used = np.flatnonzero(np.diff(frame.offsets))
        window = max(first, program.first_window(int(stream.time[0])))
        examples = stream.columns.table.take(pa.array(stream.keys.example[frame.common[used]]))
        numbers = partitions.numbers(keys_of(program.job, examples), window, _last_window(program, stream))
        return NewEvents(program, partitions, words, stream, frame, used, numbers, origin)

    @property
    def times(self) -> Int:
        """Of all events, in the order in which they came; counted from the origin where windows have no bounds."""
        endless = self.program.slide == ENDLESS
        return self.stream.time - self.origin if endless else self.stream.time

    def news(self, cuts: Sequence[CutOffs | None], latest: NDArray[np.float64]) -> News:
        """The events in arrays; ``cuts``, per NOT whose matches last, says when these end and have started."""
        offsets = np.append(self.frame.offsets[self.used], self.frame.offsets[-1])
        each = np.repeat(self.partition, np.diff(offsets))
        orders = self.program.orders
        stretches = [self._stretches(at) if cut is None else self._cut(at, cut) for at, cut in enumerate(cuts)]
        codes = [side for order in orders if order.kind == SORTED_RUNS for side in self._codes(order, stretches)]
        instances = [side for at, order in enumerate(orders) for side in self._instances(at, order, each, stretches)]
        length = len(self.frame.rows)
        return News(
            offsets,
            self.partition,
            self.times[self.frame.rows],
            self.frame.mask,
            np.stack(codes) if codes else np.empty((0, length), dtype=np.int64),
            np.stack(instances) if instances else np.empty((0, length), dtype=np.int64),
            offsets[:-1].copy(),
            self.program.listing.pairs(self.stream.columns, self.words, self.frame.rows, stretches),
            latest,
        )

    def weights(self) -> Weights:
        """What steps read of the events."""
        stream, length = self.stream, len(self.frame.rows)
        time = stream.time[self.frame.rows]
        arrays = LiveArrays(stream.columns, stream.bits, self.frame, time, stream.clock, double=True)
        arrays.origin = self.origin
        for weight in self.program.weights:
            arrays.weight(weight)
        for guard in self.program.guards:
            arrays.guard(guard)
        return Weights(
            arrays.weights.stack(length, np.float64),
            np.empty((0, length), dtype=np.int64),
            arrays.guards.stack(length, np.uint8),
        )

    def _codes(self, order: Order, stretches: list[tuple[Int, Int]]) -> list[Int]:
        """Per event: the code that it is put into an index by, and the one that bounds what it is linked to."""
        if order.cut is not None:
            sides = list(stretches[order.cut])
        else:
            assert order.compared is not None
            sides = [side[self.frame.rows] for side in compared_codes(self.stream.columns, *order.compared)]
        return [np.where(side == NOTHING, side, -side) for side in sides] if order.mirrored else sides

    def _instances(self, at: int, order: Order, partition: Int, stretches: list[tuple[Int, Int]]) -> list[Int]:
        """Per event: the instance of an order that it is put into, and the one that it is linked by."""
        pairs = [self.words.codes(self.stream.columns, equal) for equal in order.keys]
        earlier, later = (
            [*(pair[side][self.frame.rows] for pair in pairs), *(stretches[at][side] for at in order.negations)]
            for side in (0, 1)
        )
        return [
            self.partitions.instances_of(at, partition, earlier, _last_window(self.program, self.stream)),
            self.partitions.instances_of(at, partition, later, None),
        ]

    def _stretches(self, negative: int) -> tuple[Int, Int]:
        """Matches of a NOT of one event cut time into stretches, named by the match that they begin with.

        Per event: the stretch that it leaves (a match at its own time has begun the next one), and the one it enters.
        """
        stream = self.stream
        template = self.program.template.negatives[negative].template
        matches = stream.frame_of(template.variables, (), False)
        instants = stream.time[matches.rows]
        leaves = self._latest(negative, matches, instants, "right")
        enters = self._latest(negative, matches, instants, "left")
        self._remember(negative, matches, instants)
        return leaves, enters

    def _cut(self, negative: int, cut: CutOffs) -> tuple[Int, Int]:
        """Per event: its time, and the latest start of a NOT's matches that ended before it."""
        matches, hit = cut.matches, np.isfinite(cut.latest)
        starts = np.full(len(hit), _NEVER, dtype=np.int64)
        starts[hit] = cut.latest[hit].astype(np.int64) + self.origin
        # The latest so far: with its partition in front, a place among all starts never goes back.
        distinct, rank = np.unique(starts, return_inverse=True)
        first = np.repeat(np.arange(len(matches.offsets) - 1), np.diff(matches.offsets)) * len(distinct)
        starts = distinct[np.maximum.accumulate(first + rank.reshape(-1)) - first]
        earlier = self.partitions.barriers[:, negative].copy()
        lengths = np.diff(self.frame.offsets)[self.used]
        before = np.maximum(
            self._latest(negative, matches, starts, "left"), np.repeat(earlier[self.partition], lengths)
        )
        self._remember(negative, matches, starts)
        self.partitions.barriers[:, negative] = np.maximum(self.partitions.barriers[:, negative], earlier)
        return self.stream.time[self.frame.rows], before

    def _latest(self, negative: int, matches: Frame, values: Int, side: Literal["left", "right"]) -> Int:
        """Per event: the value of the last match before it in its partition, or up to it where ``side`` is right."""
        stream, frame = self.stream, self.frame
        count = len(frame.offsets) - 1
        latest = np.full(count, _NEVER, dtype=np.int64)
        latest[self.used] = self.partitions.barriers[self.partition, negative]
        # Both are sorted by (partition, time): a place among all times makes that one number.
        times = np.unique(stream.time)

        def places(one: Frame) -> Int:
            partition = np.repeat(np.arange(count), np.diff(one.offsets))
            return partition * len(times) + np.searchsorted(times, stream.time[one.rows])

        own = np.repeat(np.arange(count), np.diff(frame.offsets))
        before = np.searchsorted(places(matches), places(frame), side=side)
        return np.where(before > matches.offsets[own], np.append(values, _NEVER)[before - 1], latest[own])

    def _remember(self, negative: int, matches: Frame, values: Int) -> None:
        """Note the value of the last match in each partition that there is."""
        having = np.flatnonzero(np.diff(matches.offsets))
        stream, partitions = self.stream, self.partitions
        keys = keys_of(self.program.job, stream.columns.table.take(pa.array(stream.keys.example[having])))
        last = values[matches.offsets[having + 1] - 1]
        for key, value in zip(keys, last.tolist(), strict=True):
            if key in partitions.of_key:
                partitions.barriers[partitions.of_key[key], negative] = value


def _last_window(program: Program, stream: Stream) -> int:
    """The last window that one of the events is in."""
    return 0 if program.slide == ENDLESS else int(stream.time[-1]) // program.slide
