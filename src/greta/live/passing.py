"""The graph of a stream under next and contiguous selection: only the last vertices of each partition are linked to.

The few events that something may still follow are carried from push to push in front of the new ones, so that
conditions between two events are read of one table, as in a batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.blobs import from_bytes, to_bytes
from greta.engine.frames import Stream
from greta.engine.partitions import Frame
from greta.engine.program import Compiler, Gap
from greta.kernels.layout import EQUALS, Automaton, Input
from greta.kernels.live import Stretch
from greta.kernels.nearest import CONTIGUOUS, NEXT, Rule
from greta.kernels.numbers import Rows
from greta.kernels.passing import COUNT, SHORT, UNUSED, Slices, Vertices, end_maximal, let_go_of, pass_on
from greta.lang.nodes import Semantics
from greta.live.edges import NEVER, Latest
from greta.live.graphs import Graph, Reading
from greta.live.news import LiveArrays, graph_frame, match_all
from greta.live.orders import Surprise
from greta.live.partitions import Partitions
from greta.live.program import ENDLESS

Int = NDArray[np.int64]

Number = TypeVar("Number", np.int64, np.uint8)

_FEW = 64


class _Compiler(LiveArrays, Compiler):
    """Compiles a template over the events of a push, with lengths of time as in all others."""


@dataclass(frozen=True, slots=True)
class _Push:
    """The events of a push behind those that were carried to it."""

    table: pa.Table
    rows: Int
    """Per place in the kernels' arrays: its row in the table."""
    automaton: Automaton
    input: Input
    slices: Slices


@dataclass(slots=True)
class PassingGraph(Graph):
    """A graph of the vertices that something may still follow."""

    carried: pa.Table | None = field(init=False, default=None)
    """Events of these vertices, in order of time."""
    store: NDArray[np.float64] = field(init=False)
    maxima: NDArray[np.float64] = field(init=False)
    """The vertices' numbers."""
    vertices: Vertices = field(init=False)
    _push: _Push | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        empty = self._results()
        negatives = len(self.program.template.negatives)
        self.partitions = Partitions(
            len(empty), empty, (), (), negatives, self.program.agreed, grouping=self.program.grouping
        )
        self.store, self.maxima = self._arena(0)
        none, sides = np.empty(0, dtype=np.int64), self.program.edges.sides
        flags, lanes = np.empty(0, dtype=np.uint8), np.zeros((sides, self.program.width), dtype=np.uint8)
        self.vertices = Vertices(none, none, none, flags, flags, none, none, lanes, np.array([-1, 0, 0]))

    @property
    def bytes(self) -> int:
        """Size of all that is kept, about."""
        carried = 0 if self.carried is None else self.carried.nbytes
        parts: list[NDArray[Any]] = [self.store, self.maxima, self.partitions.rows, *self.vertices]
        return carried + sum(array.nbytes for array in parts)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is kept besides partitions: vertices, their rows, and their events."""
        carried = b"" if self.carried is None else to_bytes(self.carried)
        return {
            **{f"vertex_{name}": array for name, array in self.vertices._asdict().items()},
            "store": self.store,
            "maxima": self.maxima,
            "carried": np.frombuffer(carried, dtype=np.uint8),
        }

    def restore_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what ``arrays`` gave."""
        self.vertices = Vertices(*(arrays[f"vertex_{name}"] for name in Vertices._fields))
        self.store, self.maxima = arrays["store"], arrays["maxima"]
        carried = arrays["carried"].tobytes()
        self.carried = from_bytes(carried) if carried else None

    @property
    def _rule(self) -> Rule:
        plan = self.program.job.plan
        return Rule(CONTIGUOUS if plan.semantics is Semantics.CONTIGUOUS else NEXT, int(plan.maximal))

    def _take_in(self, events: pa.Table) -> Int:
        """Join new events to those that were carried, and number their partitions; the new ones' times."""
        program, carried = self.program, 0
        # Text that partitions are made of comes in dictionaries of each push.
        table = events.cast(program.job.schema)
        if self.carried is not None:
            carried = self.carried.num_rows
            table = pa.concat_tables([self.carried, table]).combine_chunks()
        stream = Stream.of(program.job, self._prepared(table))
        frame = graph_frame(program, stream, self._rule.ends == CONTIGUOUS)
        times = stream.time[carried:]
        if self.origin is None:
            self.origin = int(times[0])
        if program.slide == ENDLESS:
            times = times - self.origin
        # Carried events are in front of the new ones of their partition.
        before = np.concatenate(([0], np.cumsum(frame.rows < carried)))
        begin = frame.offsets[:-1] + np.diff(before[frame.offsets])
        used = np.flatnonzero(begin < frame.offsets[1:])
        window = max(self.first, program.first_window(int(times[0])))
        last = 0 if program.slide == ENDLESS else int(times[-1]) // program.slide
        examples = stream.keys.example[frame.common[used]]
        numbers = self.partitions.numbers_of(program.job, stream, examples, window, last)
        self._make_room(0)
        self._point_to(frame.rows, table.num_rows)
        known = np.full((len(frame.offsets) - 1, self.partitions.negatives), NEVER)
        known[used] = self.partitions.barriers[numbers]
        matches = match_all(program, self.partitions, stream, frame, known, [None] * self.partitions.negatives)
        edges = program.edges.arrays(matches, program.slide, program.slide == ENDLESS)
        slices = Slices(frame.offsets[used + 1], numbers, begin[used], edges)
        self._push = _Push(table, frame.rows, *self._compiled(stream, frame, self.origin, matches), slices)
        return times

    def _compiled(self, stream: Stream, frame: Frame, origin: int, matches: list[Latest]) -> tuple[Automaton, Input]:
        """The template over carried and new events: its conditions read both."""
        compiler = _Compiler(stream.columns, stream.bits, frame, stream.time[frame.rows], stream.clock, double=True)
        compiler.origin = origin
        # No match lies between two events where the latest one up to the earlier is the latest one before the later.
        gaps: list[Gap | None] = [Gap(latest.until, latest.before, EQUALS) for latest in matches]
        automaton = compiler.compile(self.program.template, gaps, self.program.flow)
        input_ = compiler.input()
        if self.program.slide == ENDLESS:
            input_ = input_._replace(events=input_.events._replace(time=input_.events.time - origin))
        return automaton, input_

    def _point_to(self, rows: Int, count: int) -> None:
        """Let vertices name their events by place in the kernels' arrays, whose rows of a table these are."""
        places = np.empty(count, dtype=np.int64)
        places[rows] = np.arange(len(rows))
        listed = np.flatnonzero(self.vertices.listed)
        self.vertices.event[listed] = places[self.vertices.event[listed]]

    def _run(self, stop: int) -> None:
        program, push = self.program, self._push
        assert push is not None
        stretch = Stretch(stop, self.base, program.lowest, self.beyond, program.within, program.slide)
        while True:
            pass_on(
                push.automaton,
                push.input,
                push.slices,
                self._rows,
                self.vertices,
                self._totals(),
                stretch,
                self._rule,
            )
            if not self.vertices.about[SHORT]:
                return
            self.vertices.about[SHORT] = 0
            self._make_room(2 * len(self.vertices.state) + _FEW)

    def advance(self, events: pa.Table, until: int) -> list[Reading]:
        """Take in events in order of time, all before ``until``; the results of windows that end up to it."""
        readings = Graph.advance(self, events, until)
        self._carry()
        return readings

    def _carry(self) -> None:
        """Keep the events of vertices that something may still follow."""
        if self._push is None:
            return
        listed = np.flatnonzero(self.vertices.listed)
        rows = self._push.rows[self.vertices.event[listed]]
        kept = np.unique(rows)
        self.vertices.event[listed] = np.searchsorted(kept, rows)
        self.carried = self._push.table.take(pa.array(kept))
        self._push = None

    def _forget(self, partitions: Int, instances: Int) -> None:  # noqa: ARG002 - there are none
        let_go_of(self.vertices, partitions)

    def read(self, first: int, last: int, numbers: Int) -> Reading:
        """The results of the windows ``[first, last)`` in partitions of these numbers."""
        if not self.program.job.plan.maximal:
            return Graph.read(self, first, last, numbers)
        # Trends that nothing has followed end with their windows, and may go on in others.
        parts = self.partitions
        before = parts.rows[numbers], parts.base[numbers]
        lanes = max(0, min(last - self.base, self.program.width))
        end_maximal(self.program.states.state, self._rows, self.vertices, self._totals(), numbers, self.base, lanes)
        reading = Graph.read(self, first, last, numbers)
        parts.rows[numbers], parts.base[numbers] = before
        return reading

    def _make_room(self, count: int) -> None:
        """Room for so many vertices, and for the vertices of all partitions."""
        vertices = self.vertices
        head = _longer(vertices.head, len(self.partitions.base), -1)
        base = _longer(vertices.base, len(self.partitions.base), 0)
        had = len(vertices.state)
        if count > had:
            store, maxima = self._arena(count)
            if store.nbytes + maxima.nbytes > self.most_bytes:
                raise Surprise(f"more than {self.most_bytes:,} bytes would be needed")
            store[: len(self.store)], maxima[: len(self.maxima)] = self.store, self.maxima
            self.store, self.maxima = store, maxima
            following = _longer(vertices.following, count, 0)
            following[had:] = np.arange(had + 1, count + 1)
            following[-1] = vertices.about[UNUSED]
            vertices.about[UNUSED] = had
            vertices.about[COUNT] += count - had
            vertices = vertices._replace(
                state=_longer(vertices.state, count, 0),
                event=_longer(vertices.event, count, 0),
                following=following,
                listed=_longer(vertices.listed, count, 0),
                extended=_longer(vertices.extended, count, 0),
            )
        self.vertices = vertices._replace(head=head, base=base)

    def _arena(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        slots, width = self.program.slots, self.program.width
        return np.empty(count * width * slots.adds), np.empty(count * width * slots.maxes)

    @property
    def _rows(self) -> Rows:
        slots, width = self.program.slots, self.program.width
        adds, maxes = slots.adds, slots.maxes
        # No index leaves slots out here: rows are added whole.
        return Rows(self.store, self.maxima, width, adds, maxes, adds, maxes, width * adds, width * maxes)


def _longer(array: NDArray[Number], size: int, rest: int) -> NDArray[Number]:
    longer = np.full(size, rest, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
