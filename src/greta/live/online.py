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

from greta.engine.blobs import from_bytes, to_bytes
from greta.engine.stream_jobs import StreamJob
from greta.errors import GretaError
from greta.live.at_close import AtClose
from greta.live.growing import LiveGraph
from greta.live.kept import Kept
from greta.live.keys import keys_of
from greta.live.orders import Surprise
from greta.live.packing import pack
from greta.live.program import Program
from greta.live.rows import partial_rows
from greta.live.windows import Figures, Windows

ENGINE = "online, 1"
"""The name and version of what is dumped."""

MEMORY = "GRETA_LIVE_MEMORY"
"""Environment variable: how many bytes the indexes of one query may take."""


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
        self._kept = Kept(job) if self._program.keeps_events else None
        self._until = -(2**62)
        self._instead: AtClose | None = None
        """Computes the windows from now on, where values or memory were not as expected."""

    def advance(self, events: pa.Table, until: int) -> pa.Table:
        """Link the events to those before them; read the windows that have ended."""
        if self._instead is not None:
            return self._instead.advance(events, until)
        kept = None if self._kept is None else self._kept.with_(events)
        try:
            rows = partial_rows(self._program, self._graph.advance(events, until), kept)
        except Surprise as surprise:
            if kept is None:
                raise GretaError(
                    f"the open windows of the query do not fit: {surprise}",
                    hint=f"set {MEMORY} to more bytes, or let fewer windows overlap",
                ) from surprise
            self._instead = AtClose(self._job, str(surprise), kept)
            self._kept = None
            self._graph = LiveGraph(self._program, 0)
            return self._instead.advance(events.slice(0, 0), until)
        self._kept = None if kept is None else kept.since(kept.due(until))
        self._until = until
        return rows

    def open(self) -> pa.Table:
        """The results so far."""
        if self._instead is not None:
            return self._instead.open()
        return partial_rows(self._program, [self._graph.read_open()], self._kept)

    def close(self) -> pa.Table:
        """The results so far; nothing is kept."""
        rows = self.open()
        first = self._graph.first
        self._graph = LiveGraph(self._program, self._most)
        self._graph.start(first)
        self._kept = None if self._kept is None else Kept(self._job, self._kept.first)
        self._instead = None
        return rows

    def figures(self) -> Figures:
        """What is kept now."""
        if self._instead is not None:
            return self._instead.figures()
        events, size = (0, 0) if self._kept is None else (self._kept.rows, self._kept.bytes)
        return Figures(events, size + self._graph.bytes, self._graph.open_windows, online=True)

    def dump(self) -> bytes:
        """The kept events, which the graph is made from again; or its totals, where none are kept."""
        if self._instead is not None:
            return self._instead.dump()
        header: dict[str, Any] = {"engine": ENGINE, "first": self._graph.first, "until": self._until}
        if self._kept is None:
            arrays = io.BytesIO()
            np.savez(arrays, **self._graph.totals())  # type: ignore[arg-type]
            keys = to_bytes(self._graph.partitions.keys(self._job))
            return pack({**header, "origin": self._graph.origin}, [keys, arrays.getvalue()])
        table = self._kept.table
        return pack(header, [] if table is None else [to_bytes(table)])

    @staticmethod
    def load(job: StreamJob, header: dict[str, Any], blobs: list[bytes]) -> Windows:
        """The windows from a dump."""
        online = Online(job)
        online._until = header["until"]
        online._graph.start(header["first"])
        if online._kept is None:
            keys, arrays = blobs
            with np.load(io.BytesIO(arrays), allow_pickle=False) as totals:
                online._graph.restore(keys_of(job, from_bytes(keys)), dict(totals), header["origin"])
            return online
        kept = Kept(job, header["first"])
        if blobs:
            events = from_bytes(blobs[0])
            kept = kept.with_(events)
            try:
                online._graph.advance(events, header["until"])
            except Surprise as surprise:
                return AtClose(job, str(surprise), kept)
        online._kept = kept
        return online
