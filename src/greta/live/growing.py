"""The graph of a stream, which goes on: events that come are linked to those before them, results are there (§4.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.columns import Columns
from greta.engine.frames import Stream
from greta.engine.partitions import Frame
from greta.engine.program import Compiler
from greta.engine.stream_jobs import StreamJob
from greta.engine.tables import without_nulls
from greta.kernels.layout import IN_FIRST, IN_LAST, OUT_FIRST, OUT_LAST, Automaton, Slots, States, Steps, Weights
from greta.kernels.live import NEXT, PREVIOUS, News, Stretch, Totals, go_on
from greta.kernels.runs import ABOUT, BASE, FULL, PLACE, SCRATCH, TOP, Heap, move_lanes, release
from greta.live.keys import keys_of
from greta.live.orders import Order, Surprise, Words, compared_codes, orders_of
from greta.live.partitions import Partitions
from greta.plan.flows import Code, Flow, Guard, Position, Weight
from greta.plan.measures import Events, Trends, build_flow
from greta.plan.nodes import AccessPath

Int = NDArray[np.int64]

_EXACT = 2.0**53
_ENDLESS = 2**62
_PAGE = 256
_ROWS_PER_PAGE = 8
_NEVER = -(2**62)


class _Columns(Compiler):
    """The weights and guards of new events: in doubles, with lengths of time counted from the stream's first event."""

    origin: int = 0

    def _seconds(self) -> NDArray[Any]:
        return (self.time - self.origin) / (1_000 * self.clock.per_millisecond)

    def _weight(self, weight: Weight | Code | Position) -> NDArray[Any]:
        if isinstance(weight, Code):
            return weight.sign * _extremes(self.columns, weight)[self.frame.rows]
        return super()._weight(weight)


def _extremes(columns: Columns, code: Code) -> NDArray[np.float64]:
    """An attribute's values as doubles that compare as the values do; with its sign, NULL is -∞."""
    array = columns.attribute(code.attribute)
    null = -code.sign * np.inf
    if pa.types.is_integer(array.type):
        whole = without_nulls(array, 0)
        if np.abs(whole.astype(np.float64)).max(initial=0) > _EXACT:
            raise Surprise(f"integers of {code.attribute} are beyond 2^53")
        return np.where(without_nulls(array.is_null(), False), null, whole)
    values = without_nulls(array.cast(pa.float64()), null)
    if not np.isfinite(values[without_nulls(array.is_valid(), False)]).all():
        raise Surprise(f"{code.attribute} is infinite somewhere")
    return values


@dataclass(frozen=True, slots=True)
class Program:
    """What stays the same from push to push."""

    job: StreamJob
    flow: Flow
    orders: list[Order]
    states: States
    steps: Steps
    slots: Slots
    order: Int
    weights: tuple[Weight | Code | Position, ...]
    guards: tuple[Guard, ...]
    within: int
    slide: int
    width: int
    """Lanes: as many windows as an instant is in, and some more, so that a push may run on past a window's end."""

    @staticmethod
    def of(job: StreamJob) -> Program:
        """The job's template in arrays."""
        plan = job.plan
        (template,) = plan.templates
        stream = Stream.of(job, job.schema.empty_table())
        frame = stream.frame_of(template.variables, (), False)
        flow = build_flow(plan.measures, template.variables, frozenset())
        compiler = Compiler(stream.columns, stream.bits, frame, stream.time, stream.clock, double=True)
        automaton = compiler.compile(template, [], flow)
        orders, serving = orders_of(template)
        order = np.array([one.columns for one in orders], dtype=np.int64).reshape(len(orders), 3)
        code = 0
        for at, one in enumerate(orders):
            if one.compared is not None:
                order[at, PREVIOUS], order[at, NEXT] = code, code + 1
                code += 2
        within, slide = job.windows if plan.window is not None else (_ENDLESS, _ENDLESS)
        per_event = -(-within // slide)
        keys = {id(array): key for key, array in compiler._gathered.items()}
        return Program(
            job,
            flow,
            orders,
            _served(automaton, serving, template.transitions),
            automaton.steps,
            automaton.slots,
            order,
            tuple(keys[id(array)] for array in compiler.weights.arrays),
            tuple(keys[id(array)] for array in compiler.guards.arrays),
            within,
            slide,
            1 if plan.window is None else per_event + max(4, per_event // 8),
        )

    @property
    def keeps_events(self) -> bool:
        """Whether windows may have to be computed from their events after all."""
        counts = all(isinstance(measure, Trends | Events) for measure in self.job.plan.measures)
        totals = all(link.path is AccessPath.FREE for link in self.job.plan.templates[0].links)
        return not (counts and totals and self.job.numbers == "double" and not self.job.plan.needs_magnitudes)

    def first_window(self, instant: int) -> int:
        """The first window that ends after an instant."""
        return max((instant - self.within) // self.slide + 1, self.lowest)

    @property
    def lowest(self) -> int:
        """The first window there is."""
        return 0 if self.job.plan.window is None else self.job.clock.lowest_window


def _served(automaton: Automaton, serving: dict[tuple[int, int], list[int]], transitions: Any) -> States:
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
        incoming=np.array([order for own in incoming for order in own], dtype=np.int32),
        outgoing=np.array([order for own in outgoing for order in own], dtype=np.int32),
    )


@dataclass(slots=True)
class LiveGraph:
    """Partitions with the results of their open windows, and the indexes that new events are linked by."""

    program: Program
    most_bytes: int
    partitions: Partitions = field(init=False)
    words: Words = field(default_factory=lambda: Words({}))
    memory: NDArray[np.float64] = field(init=False)
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
            tuple(bool(order.keys) for order in orders),
        )
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
        last = int(self.partitions.last.max(initial=_NEVER))
        return max(0, last - max(self.first, self.program.lowest) + 1) if last > _NEVER else 0

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
            news, weights, times = self._news(events)
            at = 0
            while at < len(times):
                self._open_from(self.program.first_window(int(times[at])), readings)
                stop = _ENDLESS
                if self.program.slide < _ENDLESS:
                    stop = min(until, (self.first + self.program.width) * self.program.slide)
                self._run(news, weights, stop)
                at = int(np.searchsorted(times, stop))
        if self.program.slide < _ENDLESS:
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
        last = min(last, int(parts.last[numbers].max(initial=_NEVER)) + 1)
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

    def _news(self, events: pa.Table) -> tuple[News, Weights, Int]:
        """New events by partition and time, with all that the kernels read of them."""
        program, parts, job = self.program, self.partitions, self.program.job
        stream = Stream.of(job, events)
        times = stream.time
        if self.origin is None:
            self.origin = int(times[0])
        frame = stream.frame_of(job.plan.templates[0].variables, (), False)
        used = np.flatnonzero(np.diff(frame.offsets))
        offsets = np.append(frame.offsets[used], frame.offsets[-1])
        window = max(self.first, program.first_window(int(times[0])))
        last = 0 if program.slide == _ENDLESS else int(times[-1]) // program.slide
        partition = parts.numbers(
            keys_of(job, events.take(pa.array(stream.keys.example[frame.common[used]]))), window, last
        )
        each = np.repeat(partition, np.diff(offsets))
        codes = [
            side
            for order in program.orders
            if order.compared is not None
            for side in self._compared(stream.columns, order, frame)
        ]
        instances = [
            side
            for at, order in enumerate(program.orders)
            for side in self._instances(stream, at, order, frame, each, last)
        ]
        time = times[frame.rows]
        if program.slide == _ENDLESS:
            time, times = time - self.origin, times - self.origin
        compiler = _Columns(stream.columns, stream.bits, frame, stream.time[frame.rows], stream.clock, double=True)
        compiler.origin = self.origin
        for weight in program.weights:
            compiler.weight(weight)
        for guard in program.guards:
            compiler.guard(guard)
        length = len(frame.rows)
        news = News(
            offsets,
            partition,
            time,
            frame.mask,
            np.stack(codes) if codes else np.empty((0, length), dtype=np.int64),
            np.stack(instances) if instances else np.empty((0, length), dtype=np.int64),
            offsets[:-1].copy(),
        )
        weights = Weights(
            compiler.weights.stack(length, np.float64),
            np.empty((0, length), dtype=np.int64),
            compiler.guards.stack(length, np.uint8),
        )
        return news, weights, times

    def _compared(self, columns: Columns, order: Order, frame: Frame) -> list[Int]:
        assert order.compared is not None
        sides = [side[frame.rows] for side in compared_codes(columns, *order.compared)]
        return [np.where(side == _NULL, side, -side) for side in sides] if order.mirrored else sides

    def _instances(self, stream: Stream, at: int, order: Order, frame: Frame, partition: Int, last: int) -> list[Int]:
        pairs = [self.words.codes(stream.columns, equal) for equal in order.keys]
        earlier, later = ([pair[side][frame.rows] for pair in pairs] for side in (0, 1))
        parts = self.partitions
        return [
            parts.instances_of(at, partition, earlier, last),
            parts.instances_of(at, partition, later, None),
        ]


_NONE = np.empty(0, dtype=np.int64)
_NULL = np.int64(-(2**63))


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
