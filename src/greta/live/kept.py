"""The events of open windows, as they came, in Arrow: what windows are computed from when they end.

first open window                ▼
W0  [-----------)                computed, and returned
W1            [-----------)      open
kept          ●  ●  ● ●●
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Protocol, overload

import numpy as np
import pyarrow as pa

from greta.engine.frames import Cut
from greta.engine.stream_jobs import StreamJob
from greta.live.keys import keys_of


class Piece(Protocol):
    """Events that came together, from the instant ``low`` to ``high``; they may have to be read first."""

    @property
    def events(self) -> pa.Table:
        """The events."""
        ...

    @property
    def low(self) -> int:
        """The first instant."""
        ...

    @property
    def high(self) -> int:
        """The last instant."""
        ...


@dataclass(frozen=True, slots=True)
class Held:
    """Events in memory, sorted by time."""

    events: pa.Table
    low: int
    high: int


class Pieces(Sequence[Piece]):
    """Pieces in order of time. One more makes a new sequence in O(1): both share a list, and count their own part."""

    __slots__ = ("_count", "_list")

    def __init__(self, pieces: Iterable[Piece] = ()) -> None:
        self._list = list(pieces)
        self._count = len(self._list)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Piece: ...
    @overload
    def __getitem__(self, at: slice) -> list[Piece]: ...
    def __getitem__(self, at: int | slice) -> Piece | list[Piece]:
        if isinstance(at, slice):
            return [self._list[place] for place in range(*at.indices(self._count))]
        return self._list[range(self._count)[at]]

    def with_(self, piece: Piece) -> Pieces:
        """These and one more."""
        # Where a step failed, the list goes on with a piece that was never kept.
        more = Pieces(self) if len(self._list) > self._count else copy(self)
        more._list.append(piece)
        more._count += 1
        return more


@dataclass(frozen=True, slots=True)
class Kept:
    """Events of one query; changing them makes a new one, so that a failed step leaves the old one as it was."""

    job: StreamJob
    first: int = -(2**62)
    """Windows below this one have been returned."""
    pieces: Pieces = field(default_factory=Pieces)

    @property
    def rows(self) -> int:
        """How many events there are."""
        return sum(piece.events.num_rows for piece in self.pieces)

    @property
    def bytes(self) -> int:
        """Their size."""
        return sum(piece.events.nbytes for piece in self.pieces)

    @property
    def table(self) -> pa.Table | None:
        """All events, sorted by time; None where there are none."""
        return pa.concat_tables([piece.events for piece in self.pieces]) if self.pieces else None

    @property
    def open_windows(self) -> range:
        """The open windows that have an event."""
        return self.job.windows_of(self.pieces[0].low, self.pieces[-1].high, self.first) if self.pieces else range(0)

    @property
    def part_of_window(self) -> float:
        """How much of a window the events span, at most 1; 1 where there are none."""
        if not self.pieces or self.job.plan.window is None:
            return 1.0
        return min(1.0, max(1, self.pieces[-1].high - self.pieces[0].low) / self.job.windows[0])

    def with_(self, events: pa.Table) -> Kept:
        """These events and more, all of them later, as ``keyed`` gives them."""
        if not events.num_rows:
            return self
        times = self.job.clock.read(events.column(self.job.time), self.job.time)
        return Kept(self.job, self.first, self.pieces.with_(Held(events, int(times[0]), int(times[-1]))))

    def between(self, since: int, until: int) -> pa.Table:
        """The events from an instant on and before another, sorted by time."""
        tables = []
        for at in range(bisect_left(self.pieces, since, key=lambda piece: piece.high), len(self.pieces)):
            piece = self.pieces[at]
            if piece.low >= until:
                break
            events = piece.events
            if piece.low < since or piece.high >= until:
                times = self.job.clock.read(events.column(self.job.time), self.job.time)
                low, high = np.searchsorted(times, (since, until)).tolist()
                events = events.slice(low, high - low)
            tables.append(events)
        return pa.concat_tables(tables) if tables else self.job.schema.empty_table()

    def next_instant(self, since: int) -> int | None:
        """The time of the first event from an instant on; None where there is none."""
        at = bisect_left(self.pieces, since, key=lambda piece: piece.high)
        if at == len(self.pieces):
            return None
        piece = self.pieces[at]
        if piece.low >= since:
            return piece.low
        times = self.job.clock.read(piece.events.column(self.job.time), self.job.time)
        return int(times[np.searchsorted(times, since)])

    def due(self, until: int) -> int:
        """The first window that is open at an instant."""
        if self.job.plan.window is None:
            # Its one window does not end: nothing is due.
            return self.first
        within, slide = self.job.windows
        return max(self.first, (until - within) // slide + 1)

    def since(self, window: int) -> Kept:
        """Only what windows from this one on need."""
        if self.job.plan.window is None or window <= self.first:
            return self
        start = window * self.job.windows[1]
        # Later pieces have later events, so that only those in front are looked at: there is one per push.
        whole = next((at for at, piece in enumerate(self.pieces) if piece.low >= start), len(self.pieces))
        front = (self._trimmed(piece, start) for piece in self.pieces[:whole] if piece.high >= start)
        return Kept(self.job, window, Pieces([*front, *self.pieces[whole:]]))

    def _trimmed(self, piece: Piece, start: int) -> Piece:
        """The piece without the events before an instant where they are most of it: a slice would hold on to them."""
        if piece.low >= start or not isinstance(piece, Held):
            return piece
        times = self.job.clock.read(piece.events.column(self.job.time), self.job.time)
        gone = int(np.searchsorted(times, start))
        if 2 * gone < len(times):
            return piece
        return Held(piece.events.take(pa.array(np.arange(gone, len(times)))), int(times[gone]), piece.high)

    def partials(self, first: int, last: int, only: Sequence[tuple[Any, ...]] | None = None) -> pa.Table:
        """Partial rows of the windows ``[first, last)``, of all partitions or of those with some keys."""
        job = self.job
        pieces: Sequence[Piece] = self.pieces
        cut = None
        if job.plan.window is not None:
            within, slide = job.windows
            cut = Cut(first, last)
            pieces = [p for p in pieces if p.high >= first * slide and p.low < (last - 1) * slide + within]
        if first >= last or not pieces:
            return job.partial_schema.empty_table()
        table = pa.concat_tables([piece.events for piece in pieces])
        if only is not None:
            wanted = set(only)
            table = table.filter(pa.array([key in wanted for key in keys_of(job, table)], type=pa.bool_()))
        return job.partials(table, cut)
