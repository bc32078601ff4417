"""New events of a push → what the kernels read of them, by partition and time: codes, index instances, weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

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
from greta.live.edges import NEVER, CutOffs, Latest, cut_offs, latest_matches
from greta.live.orders import Order, Surprise, Words, compared_codes
from greta.live.partitions import Partitions
from greta.live.parts import Parts
from greta.live.program import ENDLESS, Program
from greta.plan.flows import Code, Position, Weight

Int = NDArray[np.int64]

_EXACT = 2**53
"""Integers up to this are doubles without a loss."""


class LiveArrays(EventArrays):
    """The weights and guards of new events: in doubles, with lengths of time counted from the stream's first event."""

    origin: int = 0

    def _seconds(self) -> NDArray[Any]:
        since, per_second = self.time - self.origin, 1_000 * self.clock.per_millisecond
        # Whole seconds stay whole, however many there are.
        return since // per_second if self.clock.kind == "whole seconds" else since / per_second

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
    copies: list[tuple[int, int]]
    """(part, new one that is to begin as it is): values of a scope that are new here."""

    @staticmethod
    def of(
        program: Program, partitions: Partitions, words: Words, stream: Stream, first: int, origin: int
    ) -> NewEvents:
        """Sort events into partitions; ``first`` is the first open window."""
        window = max(first, program.first_window(int(stream.time[0])))
        last = _last_window(program, stream)
        if program.scope is not None:
            variables = program.template.variables | program.edges.variables
            free = stream.frame_of(variables, (), False)
            parts = Parts.of(program.job, program.scope, partitions, stream, free)
            frame, used = _of_trends(program, stream, parts.frame), parts.used
            numbers, copies = parts.numbers(partitions, window, last)
        else:
            frame, copies = graph_frame(program, stream, False), []
            used = np.flatnonzero(np.diff(frame.offsets))
            numbers = partitions.numbers_of(program.job, stream, stream.keys.example[frame.common[used]], window, last)
        return NewEvents(program, partitions, words, stream, frame, used, numbers, origin, copies)

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
        matches = self._matches(cuts) if cuts else []
        codes = [side for order in orders if order.kind == SORTED_RUNS for side in self._codes(order, matches)]
        instances = [side for at, order in enumerate(orders) for side in self._instances(at, order, each, matches)]
        length = len(self.frame.rows)
        return News(
            offsets,
            self.partition,
            self.times[self.frame.rows],
            self.frame.mask,
            np.stack(codes) if codes else np.empty((0, length), dtype=np.int64),
            np.stack(instances) if instances else np.empty((0, length), dtype=np.int64),
            offsets[:-1].copy(),
            self.program.edges.arrays(matches, self.program.slide, self.program.slide == ENDLESS),
            self.partitions.instances[self.partition],
            self.program.listing.pairs(
                self.stream.columns, self.words, self.frame.rows, [(one.until, one.before) for one in matches]
            ),
            latest,
        )

    def _matches(self, cuts: Sequence[CutOffs | None]) -> list[Latest]:
        """Per NOT: its latest matches as seen from the events."""
        known = np.full((len(self.frame.offsets) - 1, self.partitions.negatives), NEVER)
        known[self.used] = self.partitions.barriers[self.partition]
        return match_all(self.program, self.partitions, self.stream, self.frame, known, cuts)

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

    def _codes(self, order: Order, matches: list[Latest]) -> list[Int]:
        """Per event: the code that it is put into an index by, and the one that bounds what it is linked to."""
        if order.cut is not None:
            sides = [matches[order.cut].until, matches[order.cut].before]
        else:
            assert order.compared is not None
            earlier, later = compared_codes(self.stream.columns, *order.compared)
            sides = [side[self.frame.rows] for side in ((earlier,) if later is earlier else (earlier, later))]
        if order.mirrored:
            sides = [np.where(side == NOTHING, side, -side) for side in sides]
        return [sides[0], sides[-1]]

    def _instances(self, at: int, order: Order, partition: Int, matches: list[Latest]) -> list[Int]:
        """Per event: the instance of an order that it is put into, and the one that it is linked by.

        Matches of a NOT cut time into stretches, named by the match that they begin with. In the middle, a match at an
        event's own time has begun the stretch that it leaves, not the one that it enters.
        """
        pairs = [self.words.codes(self.stream.columns, equal) for equal in order.keys]
        earlier, later = ([pair[side][self.frame.rows] for pair in pairs] for side in (0, 1))
        earlier += [matches[one].until for one in order.negations]
        later += [matches[one].before for one in order.negations]
        if order.keyed:
            since = self.program.edges.stretch(self.program.edges.blocks.of_order[at], matches)
            earlier, later = earlier + since, later + since
        return [
            self.partitions.instances_of(at, partition, earlier, _last_window(self.program, self.stream)),
            self.partitions.instances_of(at, partition, later, None),
        ]


def graph_frame(program: Program, stream: Stream, keep_all: bool) -> Frame:
    """The events of trends, and those of NOTs at the edges, which take no variable."""
    variables = program.template.variables | program.edges.variables
    frame = stream.frame_of(variables, (), keep_all)
    return _of_trends(program, stream, frame) if program.edges.variables else frame


def _of_trends(program: Program, stream: Stream, frame: Frame) -> Frame:
    """The frame with the variables of trends alone."""
    return replace(frame, mask=frame.mask & np.uint64(stream.mask_of(program.template.variables)))


def match_all(
    program: Program, partitions: Partitions, stream: Stream, frame: Frame, known: Int, cuts: Sequence[CutOffs | None]
) -> list[Latest]:
    """Per NOT: its latest matches as seen from the events of a frame. They are noted in each partition that there is.

    ``known``: [partition of the frame, NOT], the latest match of earlier pushes, or the latest start of one; ``cuts``:
    per NOT of several events, its matches.
    """
    found = []
    for at, (negative, cut) in enumerate(zip(program.template.negatives, cuts, strict=True)):
        if cut is None:
            latest, matches = latest_matches(stream, frame, negative.template.variables, known[:, at])
            values = stream.time[matches.rows]
        else:
            latest, matches, values = *cut_offs(stream, frame, cut, known[:, at]), cut.starts
        found.append(latest)
        having = np.flatnonzero(np.diff(matches.offsets))
        each, numbers = partitions.alike(program.job, stream, stream.keys.example[having])
        last = values[matches.offsets[having + 1] - 1][each]
        # Events that were carried from earlier pushes may be matches, too.
        partitions.barriers[numbers, at] = np.maximum(partitions.barriers[numbers, at], last)
    return found


def _last_window(program: Program, stream: Stream) -> int:
    """The last window that one of the events is in."""
    return 0 if program.slide == ENDLESS else int(stream.time[-1]) // program.slide
