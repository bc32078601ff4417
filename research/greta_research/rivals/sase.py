"""SASE: stacks of events with pointers, depth-first construction of all trends, then aggregation (§10.1).

Memory is stacks, pointers and the one trend under construction; time grows with the number of trends, and
sub-trends are built again for each longer trend that has them.
"""

from __future__ import annotations

from greta_research.rivals import POINTER_BYTES, VERTEX_BYTES, CellByCell, Meter
from greta_research.rivals.cells import Cell, Vertex
from greta_research.rivals.totals import Totals

_STEPS = 4096


class Sase(CellByCell):
    """Two steps: construct by walking pointers, then aggregate."""

    name = "sase"

    def answer(self, cell: Cell, totals: Totals, meter: Meter) -> None:
        """Fill the stacks, then walk back from every event that may end a trend."""
        ends = []
        for vertex in cell.vertices():
            meter.store(VERTEX_BYTES + POINTER_BYTES * len(vertex.previous))
            if vertex.end:
                ends.append(vertex)
        for end in ends:
            _construct(end, totals, meter)


def _construct(end: Vertex, totals: Totals, meter: Meter) -> None:
    """Every trend that ends in a vertex, depth first. O(1) per partial trend, besides its aggregation."""
    add = totals.add
    trend = [end]
    if end.start:
        add(trend)
    branches = [iter(end.previous)]
    steps = 0
    while branches:
        steps += 1
        if not steps % _STEPS:
            meter.check()
        vertex = next(branches[-1], None)
        if vertex is None:
            branches.pop()
            trend.pop()
            continue
        trend.append(vertex)
        if vertex.start:
            add(trend)
        if vertex.previous:
            branches.append(iter(vertex.previous))
        else:
            trend.pop()
