"""Windows that are computed when they end, from the events that are kept for them.

An event is computed as often as there are windows over it, and a window's rows cost all of its events at once. It
serves every query, and is what other ways of keeping windows are compared with.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from greta.engine.blobs import from_bytes, to_bytes
from greta.engine.stream_jobs import StreamJob, keyed
from greta.live.changes import cell_of, changed
from greta.live.kept import Kept
from greta.live.packing import pack
from greta.live.windows import Figures

ENGINE = "at the close, 1"
"""The name and version of what is dumped."""

_WHY = "windows are computed when they end"


class AtClose:
    """Open windows of one query, as the events that are in them."""

    def __init__(self, job: StreamJob, why: str = _WHY, kept: Kept | None = None) -> None:
        self._kept = Kept(job) if kept is None else kept
        self._why = why
        self._told: pa.Table | None = None
        """The partial rows that changes are compared with."""

    @staticmethod
    def load(job: StreamJob, header: dict[str, Any], blobs: list[bytes]) -> AtClose:
        """The windows from a dump."""
        kept = Kept(job, header["first"])
        return AtClose(job, header["why"], kept.with_(from_bytes(blobs[0])) if blobs else kept)

    def advance(self, events: pa.Table, until: int) -> pa.Table:
        """Keep the events; compute the windows that have ended."""
        kept = self._kept.with_(keyed(self._kept.job, events))
        due = kept.due(until)
        closed = kept.partials(kept.first, due)
        self._kept = kept.since(due)
        return closed

    def open(self) -> pa.Table:
        """Compute all open windows, from all their events."""
        return self._kept.partials(self._kept.first, 2**62)

    def changes(self) -> pa.Table:
        """Compute all open windows, from all their events; those that were the same the last time are left out."""
        before, self._told = self._told, self.open()
        return changed(before, self._told, cell_of(self._kept.job))

    def close(self) -> pa.Table:
        """Compute all open windows, and let go of their events."""
        rows = self.open()
        self._kept = Kept(self._kept.job, self._kept.first)
        return rows

    def dump(self) -> bytes:
        """The events, compressed."""
        table = self._kept.table
        header = {"engine": ENGINE, "first": self._kept.first, "why": self._why}
        return pack(header, [] if table is None else [to_bytes(table)])

    def figures(self) -> Figures:
        """What is kept now."""
        kept = self._kept
        return Figures(kept.rows, kept.bytes, kept.open_windows, online=False, why=self._why)
