"""Windows that are computed when they end: events are kept as they came, in Arrow, until no open window needs them.

    until                          ▼
    W0  [-----------)              ended: computed from the events in it, and returned
    W1       [-----------)         ended
    W2            [-----------)    open
    kept          ●  ●  ● ●●

An event is computed as often as there are windows over it, and a window's rows cost all of its events at once. It
serves every query, and is what other ways of keeping windows are compared with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from greta.engine.frames import Cut
from greta.engine.snapshots import from_bytes, keyed, to_bytes
from greta.engine.stream_jobs import StreamJob
from greta.live.packing import pack
from greta.live.windows import Figures

ENGINE = "at the close, 1"
"""The name and version of what is dumped."""

_WHY = "windows are computed when they end"


@dataclass(frozen=True, slots=True)
class _Piece:
    """Events that came together, sorted by time; ``low`` and ``high`` are the first and the last."""

    events: pa.Table
    low: int
    high: int


class AtClose:
    """Open windows of one query, as the events that are in them."""

    def __init__(self, job: StreamJob, why: str = _WHY) -> None:
        self._job = job
        self._why = why
        self._first = -(2**62)
        """Windows below this one have been returned."""
        self._pieces: tuple[_Piece, ...] = ()

    @staticmethod
    def load(job: StreamJob, header: dict[str, Any], blobs: list[bytes]) -> AtClose:
        """The windows from a dump."""
        loaded = AtClose(job, header["why"])
        loaded._first = header["first"]
        if blobs:
            loaded._pieces = (loaded._piece(from_bytes(blobs[0])),)
        return loaded

    def advance(self, events: pa.Table, until: int) -> pa.Table:
        """Keep the events; compute the windows that have ended."""
        pieces = (*self._pieces, self._piece(keyed(self._job, events))) if events.num_rows else self._pieces
        if self._job.plan.window is None:
            self._pieces = pieces
            return self._job.partial_schema.empty_table()
        within, slide = self._job.windows
        due = max(self._first, (until - within) // slide + 1)
        closed = self._compute(pieces, self._first, due)
        self._first = due
        self._pieces = tuple(self._trimmed(piece, due * slide) for piece in pieces if piece.high >= due * slide)
        return closed

    def open(self) -> pa.Table:
        """Compute all open windows, from all their events."""
        return self._compute(self._pieces, self._first, 2**62)

    def close(self) -> pa.Table:
        """Compute all open windows, and let go of their events."""
        rows, self._pieces = self.open(), ()
        return rows

    def dump(self) -> bytes:
        """The events, compressed."""
        blobs = [to_bytes(pa.concat_tables([piece.events for piece in self._pieces]))] if self._pieces else []
        return pack({"engine": ENGINE, "first": self._first, "why": self._why}, blobs)

    def figures(self) -> Figures:
        """What is kept now."""
        events = sum(piece.events.num_rows for piece in self._pieces)
        size = sum(piece.events.nbytes for piece in self._pieces)
        return Figures(events, size, self._open_windows(), online=False, why=self._why)

    def _open_windows(self) -> int:
        if not self._pieces:
            return 0
        if self._job.plan.window is None:
            return 1
        within, slide = self._job.windows
        oldest = (self._pieces[0].low - within) // slide + 1
        latest = self._job.last_window(self._pieces[-1].high)
        return latest - max(oldest, self._first, self._job.clock.lowest_window) + 1

    def _compute(self, pieces: tuple[_Piece, ...], first: int, last: int) -> pa.Table:
        """Partial rows of the windows ``[first, last)``."""
        job = self._job
        if job.plan.window is None:
            cut = None
        else:
            within, slide = job.windows
            cut = Cut(first, last)
            pieces = tuple(p for p in pieces if p.high >= first * slide and p.low < (last - 1) * slide + within)
        if first >= last or not pieces:
            return job.partial_schema.empty_table()
        return job.partials(pa.concat_tables([piece.events for piece in pieces]), cut)

    def _piece(self, events: pa.Table) -> _Piece:
        times = self._job.clock.read(events.column(self._job.time), self._job.time)
        return _Piece(events, int(times[0]), int(times[-1]))

    def _trimmed(self, piece: _Piece, since: int) -> _Piece:
        """The piece, without the events before an instant where they are most of it: a slice would hold on to them."""
        if piece.low >= since:
            return piece
        times = self._job.clock.read(piece.events.column(self._job.time), self._job.time)
        gone = int(np.searchsorted(times, since))
        if 2 * gone < len(times):
            return piece
        return _Piece(piece.events.take(pa.array(np.arange(gone, len(times)))), int(times[gone]), piece.high)
