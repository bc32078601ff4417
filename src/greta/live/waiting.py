"""Events that no window has taken in yet: any order in, order of time out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Int = NDArray[np.int64]

_MOST_PIECES = 64
"""Pieces are put together beyond this many: small pushes under a long lateness make many."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Pieces of events with their times, each sorted by time. Never changes: a push that fails leaves it as it is."""

    pieces: tuple[tuple[pa.Table, Int], ...] = ()

    @property
    def rows(self) -> int:
        """How many events wait."""
        return sum(len(times) for _, times in self.pieces)

    @property
    def bytes(self) -> int:
        """Size of the events and their times."""
        return sum(table.nbytes + times.nbytes for table, times in self.pieces)

    def extended(self, table: pa.Table, times: Int) -> Waiting:
        """With more events, in any order of time."""
        if not len(times):
            return self
        pieces = (*self.pieces, _in_order(table, times))
        if len(pieces) > _MOST_PIECES:
            # A piece that is longer than twice all that follow stays as it is, so that no event is copied often.
            first, following = len(pieces) - 1, len(times)
            while first > 0 and len(pieces[first - 1][1]) <= 2 * following:
                first -= 1
                following += len(pieces[first][1])
            pieces = (*pieces[:first], _joined(pieces[first:]))
        return Waiting(pieces)

    def before(self, instant: int) -> int:
        """How many events are before an instant."""
        return sum(int(np.searchsorted(times, instant)) for _, times in self.pieces)

    def split(self, until: int) -> tuple[tuple[pa.Table, Int] | None, Waiting]:
        """(the events before an instant in order of time, or None where there are none; the others)"""
        ready, left = [], []
        for table, times in self.pieces:
            cut = int(np.searchsorted(times, until))
            if cut:
                ready.append((table.slice(0, cut), times[:cut]))
            if cut < len(times):
                left.append((table.slice(cut), times[cut:]))
        return (_joined(tuple(ready)) if ready else None), Waiting(tuple(left))

    def everything(self) -> tuple[pa.Table, Int] | None:
        """All events in order of time."""
        return _joined(self.pieces) if self.pieces else None


def _joined(pieces: tuple[tuple[pa.Table, Int], ...]) -> tuple[pa.Table, Int]:
    if len(pieces) == 1:
        return pieces[0]
    tables, times = zip(*pieces, strict=True)
    # In one piece: all that follows would put each column together for itself.
    return _in_order(pa.concat_tables(tables).combine_chunks(), np.concatenate(times))


def _in_order(table: pa.Table, times: Int) -> tuple[pa.Table, Int]:
    if (times[1:] >= times[:-1]).all():
        return table, times
    order = np.argsort(times, kind="stable")
    return table.take(pa.array(order)), times[order]
