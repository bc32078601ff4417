"""The seam between a stream and what computes its windows: events in order of time in, partial rows out.

A stream (``greta.live.stream``) puts events in order and knows the watermark. What keeps the open windows of one query
is whatever offers ``Windows``; ``windows_for`` chooses it, and ``load`` makes it again from its dump.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from greta.engine.stream_jobs import StreamJob
from greta.errors import StateError
from greta.live.packing import unpack


@dataclass(frozen=True, slots=True)
class Figures:
    """The size of one query's open windows, and how they are computed."""

    events: int
    """Events that are kept."""
    bytes: int
    """Size of all that is kept, events and totals."""
    open: range
    """Windows that have not ended, from the first to the last that holds an event which matters to the query."""
    online: bool
    """Whether each event is computed once, as it comes; otherwise a window is computed when it ends."""
    why: str | None = None
    """Why it is not online; None where it is."""


class Windows(Protocol):
    """Open windows of one query, brought forward by events in order of time.

    Times are whole numbers in the units of the job's clock. A call that raises leaves everything as it was.
    """

    def advance(self, events: pa.Table, until: int) -> pa.Table:
        """Take in events, and give back the partial rows of the windows that end at or before ``until``, each once.

        Events are in the columns of ``job.schema`` (text that partitions are made of may be in dictionary form) and
        sorted by time. They are whole ticks: all are before ``until``, and none before the ``until`` of an earlier
        call. ``until`` never goes back; there may be no events. A query without WITHIN has one window, which does not
        end. The rows are in the columns of ``job.partial_schema``.
        """
        ...

    def open(self) -> pa.Table:
        """Partial rows of the windows that have not ended, of all events so far."""
        ...

    def changes(self) -> pa.Table:
        """Partial rows of the windows that have not ended, where they are not as the last call gave them.

        The first call gives all.
        """
        ...

    def close(self) -> pa.Table:
        """Partial rows of the windows that have not ended; nothing is kept."""
        ...

    def dump(self) -> bytes:
        """All that is kept; ``load`` goes on from it. Packed by ``greta.live.packing``, with an ``engine``."""
        ...

    def figures(self) -> Figures:
        """What is kept now."""
        ...


def windows_for(job: StreamJob) -> Windows:
    """The open windows of a query at the start of a stream, computed in the best way there is for it."""
    from greta.live.at_close import AtClose
    from greta.live.choice import why_not
    from greta.live.online import Online

    why = why_not(job)
    return Online(job) if why is None else AtClose(job, why)


def load(job: StreamJob, dump: bytes) -> Windows:
    """The open windows as they were dumped; ``StateError`` where this version of greta cannot read them."""
    from greta.live import at_close, online

    header, blobs = unpack(dump)
    match header["engine"]:
        case at_close.ENGINE:
            return at_close.AtClose.load(job, header, blobs)
        case online.ENGINE:
            return online.Online.load(job, header, blobs)
        case engine:
            raise StateError(
                f"the snapshot's windows were kept by {engine!r}, which this version of greta does not know",
                hint="go on with the version of greta that wrote it",
            )
