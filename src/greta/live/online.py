"""Windows that are brought forward by each event: closing one reads its results, and costs no more than that (§4.2).

Events are kept where windows may have to be computed from them after all: averages beyond the range of doubles, exact
counts beyond 2^53, and indexes that might outgrow their memory. Then there are graphs of fewer windows at a time
(``bands``), and where not even these have room, ``AtClose`` goes on from the kept events. A plan that only counts,
without conditions between events, keeps none.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from greta.engine.blobs import from_bytes, to_bytes
from greta.engine.partials import merge_partials
from greta.engine.stream_jobs import StreamJob, keyed
from greta.errors import GretaError, StateError
from greta.live.at_close import AtClose
from greta.live.bands import Bands
from greta.live.changes import cell_of, changed
from greta.live.graphs import Reading
from greta.live.growing import LiveGraph
from greta.live.kept import Kept
from greta.live.keys import keys_of
from greta.live.orders import NoRoom, Surprise
from greta.live.packing import pack
from greta.live.program import Program
from greta.live.rows import are_beyond, partial_rows
from greta.live.told import Told
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

    def __init__(self, job: StreamJob, most: int | None = None, lanes: int | None = None) -> None:
        """``most``: bytes that indexes may take; ``lanes``: windows of a band, where there are to be bands anyway."""
        self._job = job
        self._most = most_bytes() if most is None else most
        self._program = Program.of(job)
        self._tells = False
        """Whether anybody asks for changes, which are read of all windows: one graph must be for them."""
        self._bands = self._new_bands(lanes)
        self._kept = Kept(job) if self._program.keeps_events else None
        self._until = -(2**62)
        self._instead: AtClose | None = None
        """Computes the windows from now on, where values or memory were not as expected."""
        self._beyond = False
        """Whether numbers of the windows that ended last were computed from their events."""
        self._torn = False
        """Whether a call ended half way: the graph has gone on, and nothing else has."""
        self._told: Told | None = None
        """What changes are compared with, where anybody asks for them."""
        self._pairs_told: pa.Table | None = None
        """The same for an outermost AND: all rows, since partitions are paired before they are added."""

    def advance(self, events: pa.Table, until: int) -> pa.Table:
        """Link the events to those before them; read the windows that have ended."""
        while self._instead is None:
            try:
                return self._advanced(events, until)
            except NoRoom:
                why, lanes = f"more than {self._most:,} bytes would be needed", self._fewer_lanes()
            except Surprise as surprise:
                why, lanes = str(surprise), None
            # Behind the exception nothing holds the graphs that failed: they must be gone before there are new ones.
            self._bands, self._torn = self._new_bands(lanes), True
            if lanes is None:
                self._give_up(why)
        return self._instead.advance(events, until)

    def _advanced(self, events: pa.Table, until: int) -> pa.Table:
        """Do what ``advance`` does; raises Surprise where the graphs cannot go on."""
        bands, kept, rows = self._whole_bands(), self._kept, []
        self._torn = True
        for piece, begin, end in self._pieces(bands.current.origin, events, until):
            readings: list[Reading] = []
            if kept is not None and self._program.is_far(bands.current.origin, begin):
                readings = bands.advance(piece.slice(0, 0), begin, kept)
                bands = self._made_again(kept.since(kept.due(begin)), begin)
            if kept is not None:
                piece = keyed(self._job, piece)
                kept = kept.with_(piece)
            readings += bands.advance(piece, end, kept)
            rows.append(partial_rows(self._program, readings, kept))
            if readings:
                self._beyond = any(are_beyond(self._program, reading).any() for reading in readings)
            kept = None if kept is None else kept.since(kept.due(end))
        self._bands, self._kept, self._until, self._torn = bands, kept, until, False
        bands.grows = True
        return rows[0] if len(rows) == 1 else pa.concat_tables(rows)

    def _fewer_lanes(self) -> int | None:
        """How many windows a band may have where graphs had no room; None: bands do not help."""
        return None if self._kept is None or self._tells else self._bands.fewer_lanes(self._kept)

    def _pieces(self, origin: int | None, events: pa.Table, until: int) -> Iterator[tuple[pa.Table, int, int]]:
        """(events, their first instant, one after their last), cut where lengths of time would lose digits.

        That is where an event is far from the origin; the next piece counts from its own first event.
        """
        if not events.num_rows or not self._program.timed:
            yield events, until, until
            return
        times = self._job.clock.read(events.column(self._job.time), self._job.time)
        at = 0
        while at < len(times):
            begin = int(times[at])
            if origin is None or self._program.is_far(origin, begin):
                origin = begin
            end = int(np.searchsorted(times, self._program.furthest(origin), side="right"))
            yield events.slice(at, end - at), begin, until if end == len(times) else int(times[end])
            at = end

    def _give_up(self, why: str) -> None:
        """Go on from the kept events; raises GretaError where none are kept."""
        if self._kept is None:
            raise GretaError(
                f"the open windows of the query do not fit: {why}",
                hint=f"set {MEMORY} to more bytes and go on from the last snapshot, or let fewer windows overlap",
            )
        self._instead = AtClose(self._job, why, self._kept)
        if self._told is not None or self._pairs_told is not None:
            self._instead.changes()
        self._kept = None

    def _new_bands(self, lanes: int | None) -> Bands:
        return Bands(self._program, self._most, lanes, together=self._tells)

    def _whole_bands(self) -> Bands:
        """The graphs, made again where a call ended half way."""
        if self._torn:
            if self._kept is None:
                raise StateError(
                    "the stream was interrupted in the middle of a push", hint="go on from the last snapshot"
                )
            self._bands, self._torn = self._made_again(self._kept, self._until), False
        return self._bands

    def _made_again(self, kept: Kept, until: int) -> Bands:
        """Graphs of kept events, all of which are before an instant."""
        bands = self._bands = self._new_bands(self._bands.lanes)
        bands.start(kept.first)
        table = kept.table
        if table is not None:
            bands.advance(table, until, kept)
        return bands

    def _mend(self) -> None:
        """Make the graphs again, or give them up, where a call ended half way."""
        if self._torn and self._kept is not None:
            self.advance(self._job.schema.empty_table(), self._until)

    def open(self) -> pa.Table:
        """The results so far; of windows after the current band, from their events."""
        self._mend()
        if self._instead is not None:
            return self._instead.open()
        bands = self._whole_bands()
        rows = partial_rows(self._program, [bands.current.read_open()], self._kept)
        if bands.lanes is None or self._kept is None:
            return rows
        return pa.concat_tables([rows, self._kept.partials(bands.current.beyond, 2**62)])

    def changes(self) -> pa.Table:
        """The results so far of groups and windows that have changed: those of partitions with new events are read."""
        if self._instead is None and not self._tells:
            self._put_together()
        self._mend()
        if self._instead is not None:
            return self._instead.changes()
        if self._job.plan.conjunction:
            before, self._pairs_told = self._pairs_told, merge_partials(self._job, self.open())
            return changed(before, self._pairs_told, cell_of(self._job))
        graph = self._whole_bands().current
        if self._told is None:
            self._told = Told(self._program)
        return partial_rows(self._program, self._told.changes(graph), self._kept)

    def _put_together(self) -> None:
        """Let one graph be for all windows from now on; where it has no room, they are computed when they end."""
        self._tells = self._bands.together = True
        if self._bands.lanes is not None:
            self._bands, self._torn = self._new_bands(None), True

    def close(self) -> pa.Table:
        """The results so far; nothing is kept."""
        rows = self.open()
        first = self._bands.current.first
        self._bands = self._new_bands(self._bands.lanes)
        self._bands.start(first)
        self._kept = None if self._kept is None else Kept(self._job, self._kept.first)
        self._instead = self._told = self._pairs_told = None
        return rows

    def figures(self) -> Figures:
        """What is kept now."""
        if self._instead is not None:
            return self._instead.figures()
        events, size = (0, 0) if self._kept is None else (self._kept.rows, self._kept.bytes)
        size += self._bands.bytes + (0 if self._told is None else self._told.bytes)
        windows = self._bands.current.open_windows
        if self._bands.lanes is not None and self._kept is not None:
            windows = self._kept.open_windows
        why = "numbers beyond those of doubles are computed from the events of a window when it ends"
        online = not self._beyond
        return Figures(events, size, windows, online, None if online else why)

    def dump(self) -> bytes:
        """The kept events, which the graph is made from again; or its totals, where none are kept."""
        if self._instead is not None:
            return self._instead.dump()
        header: dict[str, Any] = {"engine": ENGINE, "until": self._until}
        if self._kept is not None:
            table = self._kept.table
            return pack({**header, "first": self._kept.first}, [] if table is None else [to_bytes(table)])
        graph = self._whole_bands().current
        assert isinstance(graph, LiveGraph)
        arrays = io.BytesIO()
        np.savez(arrays, **graph.totals())  # type: ignore[arg-type]
        keys = to_bytes(graph.partitions.keys(self._job))
        return pack({**header, "first": graph.first, "origin": graph.origin}, [keys, arrays.getvalue()])

    @staticmethod
    def load(job: StreamJob, header: dict[str, Any], blobs: list[bytes]) -> Windows:
        """The windows from a dump."""
        online = Online(job)
        online._until = header["until"]
        online._bands.start(header["first"])
        if online._kept is None:
            graph = online._bands.current
            assert isinstance(graph, LiveGraph)
            keys, arrays = blobs
            with np.load(io.BytesIO(arrays), allow_pickle=False) as totals:
                graph.restore(keys_of(job, from_bytes(keys)), dict(totals), header["origin"])
            return online
        online._kept = Kept(job, header["first"])
        if blobs:
            online._kept = online._kept.with_(from_bytes(blobs[0]))
            # The graphs are not what the kept events say: they are made of these, in as much memory as there is.
            online._torn = True
            online._mend()
        return online
