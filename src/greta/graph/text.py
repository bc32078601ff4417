"""A graph as a table of text: one line per vertex."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from greta.graph.picture import Graph, SubGraph, Vertex


def table(graph: Graph) -> str:
    """All partitions, each graph with its vertices and the graphs that it depends on below it."""
    if not graph.partitions:
        return f"{graph.pattern}: no event became a vertex"
    return "\n\n".join(
        "\n".join(_partition_lines(partition.values, partition.graphs, len(graph.windows) > 1))
        for partition in graph.partitions
    )


def _partition_lines(values: dict[str, Any], graphs: tuple[SubGraph, ...], several: bool) -> Iterator[str]:
    if values:
        yield ", ".join(f"{name} = {value}" for name, value in values.items())
    for graph in graphs:
        yield from _graph_lines(graph, several, "")


def _graph_lines(graph: SubGraph, several: bool, indent: str) -> Iterator[str]:
    head = graph.pattern if graph.place is None else f"NOT {graph.pattern} ({graph.place.value})"
    yield f"{indent}{head}: {total_text(graph, several)}"
    rows = [("vertex", "variable", "role", "count", "from", "note")]
    for at, vertex in enumerate(graph.vertices):
        before = [graph.vertices[p].label for p, q in graph.edges if q == at]
        counts = counts_text(vertex.counts, several) if vertex.counts else "-"
        rows.append((vertex.label, vertex.variable, vertex.mark, counts, " ".join(before), note(vertex)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"{indent}  {cells}".rstrip()
    for negative in graph.negatives:
        yield from _graph_lines(negative, several, indent + "  ")


def counts_text(counts: dict[Any, int], several: bool) -> str:
    """``43``, or ``0: 43, 3: 13`` where several windows are shown."""
    if not several:
        return str(next(iter(counts.values()), 0))
    return ", ".join(f"{start}: {count}" for start, count in counts.items())


def total_text(graph: SubGraph, several: bool) -> str:
    """``43 trends``, ``1 match``."""
    counts = counts_text(graph.counts, several) or "0"
    one, many = ("trend", "trends") if graph.place is None else ("match", "matches")
    return f"{counts} {one if counts == '1' else many}"


def note(vertex: Vertex) -> str:
    """What negation did to a vertex."""
    return ", ".join(word for word, holds in (("invalid", vertex.invalid), ("pruned", vertex.pruned)) if holds)
