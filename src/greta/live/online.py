"""Windows that are brought forward by each event: closing one reads its results, and costs no more than that (§4.2).

Events are kept where windows may have to be computed from them after all: averages beyond the range of doubles, exact
counts beyond 2^53, and indexes that might outgrow their memory. Then ``AtClose`` goes on from the kept events. A plan
that only counts, without conditions between events, keeps none.
"""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.partials import write_partials
from greta.engine.results import Merged, merge
from greta.engine.stream_jobs import StreamJob
from greta.engine.tables import as_type, extreme_type, plain_type
from greta.live.at_close import AtClose
from greta.live.growing import LiveGraph, Program, Reading
from greta.live.orders import Surprise
from greta.live.packing import pack
from greta.live.windows import Figures, Windows
from greta.plan.measures import Combine

ENGINE = "online, 1"
"""The name and version of what is dumped."""

MEMORY = "GRETA_LIVE_MEMORY"
"""Environment variable: how many bytes the indexes of one query may take."""

_EXACT = 2.0**53


def most_bytes() -> int:
    """How many bytes the indexes of one query may take: a quarter of the machine's memory, if nobody says otherwise."""
    told = os.environ.get(MEMORY)
    if told:
        return int(told)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4


class Online:
    """Open windows of one query, as results that grow."""

    def __init__(self, job: StreamJob, most: int | None = None) -> None:
        self._job = job
        self._most = most_bytes() if most is None else most
        self._program = Program.of(job)
        self._graph = LiveGraph(self._program, self._most)
        self._events = AtClose(job) if self._program.keeps_events else None
        self._instead: AtClose | None = None
        """Computes the windows from now on, where values or memory were not as expected."""

    def advance(self, events: pa.Table, until: int) -> pa.Table:
        """Link the events to those before them; read the windows that have ended."""
        if self._instead is not None:
            return self._instead.advance(events, until)
        if self._events is None:
            return self._rows(self._graph.advance(events, until), None)
        before = self._events
        self._events = before.kept(events)
        try:
            readings = self._graph.advance(events, until)
        except Surprise as surprise:
            self._instead = self._events.told(str(surprise))
            self._events = None
            self._graph = LiveGraph(self._program, 0)
            return self._instead.advance(events.slice(0, 0), until)
        except BaseException:
            self._events = before
            raise
        rows = self._rows(readings, self._events)
        self._events = self._events.trimmed(until)
        return rows

    def open(self) -> pa.Table:
        """The results so far."""
        if self._instead is not None:
            return self._instead.open()
        return self._rows([self._graph.read_open()], self._events)

    def close(self) -> pa.Table:
        """The results so far; nothing is kept."""
        rows = self.open()
        self._graph = LiveGraph(self._program, self._most)
        self._events = None if self._events is None else AtClose(self._job)
        self._instead = None
        return rows

    def figures(self) -> Figures:
        """What is kept now."""
        if self._instead is not None:
            return self._instead.figures()
        kept = None if self._events is None else self._events.figures()
        events, size = (0, 0) if kept is None else (kept.events, kept.bytes)
        return Figures(events, size + self._graph.bytes, self._graph.open_windows, online=True)

    def dump(self) -> bytes:
        """The kept events, which the graph is made from again; or its totals, where none are kept."""
        if self._instead is not None:
            return self._instead.dump()
        header: dict[str, Any] = {"engine": ENGINE}
        if self._events is not None:
            return pack(header, [self._events.dump()])
        totals = io.BytesIO()
        np.savez(totals, allow_pickle=False, **self._graph.arrays())
        return pack({**header, "keys": self._graph.partitions.shown_keys()}, [totals.getvalue()])

    @staticmethod
    def load(job: StreamJob, header: dict[str, Any], blobs: list[bytes], restored: Windows | None) -> Online:
        """The windows from a dump; ``restored`` are the kept events, if there are any."""
        online = Online(job)
        if isinstance(restored, AtClose):
            events, until = restored.all_events(), restored.until
            online._events = restored
            online._graph.start(restored.first)
            if events is not None:
                online._graph.advance(events, until)
        else:
            with np.load(io.BytesIO(blobs[0]), allow_pickle=False) as arrays:
                online._graph.restore(dict(arrays), header["keys"])
        return online

    def _rows(self, readings: list[Reading], events: AtClose | None) -> pa.Table:
        """Partial rows of what was read; windows whose numbers did not fit are computed from their events."""
        tables = []
        for reading in readings:
            beyond = self._beyond(reading.values[:, : self._program.slots.adds])
            if beyond.any():
                assert events is not None
                again = np.unique(reading.partition[beyond])
                keys = [self._graph.partitions.key[at] for at in again.tolist()]
                first, last = int(reading.window.min()), int(reading.window.max()) + 1
                tables.append(events.partials_of(keys, first, last))
                reading = reading.without(again)
            tables.append(self._partials(reading))
        return pa.concat_tables(tables) if tables else self._job.partial_schema.empty_table()

    def _beyond(self, adds: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Where numbers must be computed in a wider form."""
        if self._job.numbers == "exact":
            return (np.abs(adds) >= _EXACT).any(axis=1)
        odd = ~np.isfinite(adds) if self._job.plan.needs_magnitudes else np.isnan(adds)
        return odd.any(axis=1)

    def _partials(self, reading: Reading) -> pa.Table:
        job, plan = self._job, self._job.plan
        adds: dict[int, NDArray[Any]] = {}
        maxes: dict[int, NDArray[Any]] = {}
        for at, (measure, slot) in enumerate(zip(plan.measures, self._program.flow.results, strict=True)):
            if measure.combine is Combine.MAX:
                maxes[at] = reading.values[:, self._program.slots.adds + slot]
            else:
                adds[at] = reading.values[:, slot]
        group, groups = self._graph.partitions.groups_of(reading.partition, [job.common.index(n) for n in plan.group])
        merged = merge([Merged(group, reading.window, adds, maxes)])
        attributes = {
            name: _column([values[at] for values in groups], job.schema.field(name).type)
            for at, name in enumerate(plan.group)
        }
        ways = {
            at: _decoder(job.schema.field(measure.compared).type)
            for at, measure in enumerate(plan.measures)
            if measure.compared is not None
        }
        return write_partials(job, merged, attributes, ways)


def _column(values: list[Any], type_: pa.DataType) -> pa.Array:
    """Values of a key as they came."""
    type_ = plain_type(type_)
    if pa.types.is_timestamp(type_):
        return pa.array(values, type=pa.int64()).view(type_)
    return pa.array(values, type=type_)


def _decoder(type_: pa.DataType) -> Any:
    def decode(numbers: NDArray[np.float64]) -> pa.Array:
        array = pa.array(numbers.astype(np.int64) if pa.types.is_integer(plain_type(type_)) else numbers)
        return as_type(array, extreme_type(type_))

    return decode
