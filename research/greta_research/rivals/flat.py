"""Flattening: one query of fixed length for each length up to that of the longest trend (§10.1, Flink).

This is how systems without Kleene closure answer. Each length starts anew, partial sequences are kept as a
stream processor keeps them, and NOT is judged on whole sequences, so it saves nothing.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from greta_research.rivals import POINTER_BYTES, VERTEX_BYTES, CellByCell, Meter
from greta_research.rivals.cells import Cell, Vertex
from greta_research.rivals.totals import Totals

_SEQUENCE_BYTES = 56
_CHUNK = 1024

Sequence = tuple[Vertex, ...]


class Flat(CellByCell):
    """Two steps: construct all sequences, length by length, then aggregate."""

    name = "flat"

    def answer(self, cell: Cell, totals: Totals, meter: Meter) -> None:
        """Run one sequence query per length."""
        starts: list[Sequence] = []
        following: dict[Vertex, list[Vertex]] = defaultdict(list)
        longest: dict[Vertex, int] = {}
        limit = 0
        for vertex in cell.vertices(late_negation=True):
            meter.store(VERTEX_BYTES + POINTER_BYTES * len(vertex.previous))
            longest[vertex] = 1 + max((longest[p] for p in vertex.previous), default=0)
            if vertex.end:
                limit = max(limit, longest[vertex])
            if vertex.start:
                starts.append((vertex,))
            for previous in vertex.previous:
                following[previous].append(vertex)
        for length in range(1, limit + 1):
            _query(length, starts, following, totals, meter)


def _query(
    length: int, starts: list[Sequence], following: dict[Vertex, list[Vertex]], totals: Totals, meter: Meter
) -> None:
    """Construct and aggregate the sequences of one length."""
    partial, held = starts, 0
    for taken in range(2, length + 1):
        longer: list[Sequence] = []
        size = _SEQUENCE_BYTES + POINTER_BYTES * (taken + 1)
        for at in range(0, len(partial), _CHUNK):
            before = len(longer)
            longer += [
                (*sequence, vertex)
                for sequence in partial[at : at + _CHUNK]
                for vertex in following.get(sequence[-1], ())
            ]
            meter.store(size * (len(longer) - before))
        meter.store(-held)
        partial, held = longer, size * len(longer)
    for sequence in partial:
        if sequence[-1].end and _survives(sequence):
            totals.add(sequence)
    meter.store(-held)


def _survives(sequence: Sequence) -> bool:
    """Whether no NOT speaks against a sequence."""
    return all(vertex.inside for vertex in sequence) and all(
        later.kept is None or earlier in later.kept for earlier, later in pairwise(sequence)
    )
