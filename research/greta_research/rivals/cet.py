"""CET: the graph of events with all partial trends stored and reused, each an event and a shorter trend (§10.1).

Every sub-trend is built once, so it is faster than depth-first construction, at the price of keeping as many
partial trends in memory as there are. Aggregates are carried along: a longer trend reuses those of the shorter.
"""

from __future__ import annotations

from typing import Any

from greta_research.rivals import POINTER_BYTES, VERTEX_BYTES, CellByCell, Meter
from greta_research.rivals.cells import Cell, Vertex
from greta_research.rivals.totals import Join, Totals

_PAIR_BYTES = 64
"""A tuple of two, and its place in a list."""
_CHUNK = 4096

Partial = tuple[Any, ...]
"""(vertex, shorter trend or None[, values of the measures])"""


class Cet(CellByCell):
    """Two steps: construct by extending stored trends, then aggregate."""

    name = "cet"

    def answer(self, cell: Cell, totals: Totals, meter: Meter) -> None:
        """Store with every vertex the trends that end there."""
        stored: dict[Vertex, list[Partial]] = {}
        size = _PAIR_BYTES if totals.only_counts else _PAIR_BYTES + 64 + 40 * len(totals.joins)
        for vertex in cell.vertices():
            meter.store(VERTEX_BYTES + POINTER_BYTES * len(vertex.previous))
            found: list[Partial] = []
            stored[vertex] = found
            if vertex.start:
                found.append((vertex, None) if totals.only_counts else (vertex, None, vertex.values))
                meter.store(size)
            for previous in vertex.previous:
                shorter = stored[previous]
                for at in range(0, len(shorter), _CHUNK):
                    chunk = shorter[at : at + _CHUNK]
                    if totals.only_counts:
                        found += [(vertex, trend) for trend in chunk]
                    else:
                        found += [(vertex, trend, _longer(totals.joins, trend[2], vertex)) for trend in chunk]
                    meter.store(size * len(chunk))
        for vertex, trends in stored.items():
            if not vertex.end:
                continue
            totals.trends += len(trends)
            if not totals.only_counts:
                for trend in trends:
                    totals.add_values(trend[2])


def _longer(joins: tuple[Join, ...], values: tuple[Any, ...], vertex: Vertex) -> tuple[Any, ...]:
    """The values of a trend with one more event."""
    return tuple(join(value, more) for join, value, more in zip(joins, values, vertex.values, strict=True))
