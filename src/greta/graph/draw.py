"""A graph as SVG, as the paper's figures draw it: columns of time, a frame per state, a count on every vertex.

End states have a double frame. Invalid vertices are darker, pruned ones dashed; negative graphs stand in a
dashed box below the graph that depends on them, on the same scale of time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from greta.drawing import svg
from greta.drawing.svg import Drawing
from greta.errors import GretaError
from greta.graph.text import counts_text, note, total_text
from greta.plan.show.words import PLACE_MEANING

if TYPE_CHECKING:
    from greta.graph.picture import Graph, Partition, SubGraph, Vertex

MOST_VERTICES = 200
"""Beyond this a picture shows a carpet."""
MOST_EDGES = 2000

_LINE = 15.0
_GAP_X = 44.0
_GAP_Y = 18.0
_FRAME = 12.0
_PAD = 14.0


def draw(graph: Graph) -> str:
    """All partitions below each other in one SVG."""
    if len(graph.vertices) > MOST_VERTICES:
        raise GretaError(
            f"the graph has {len(graph.vertices)} vertices, and a picture shows at most {MOST_VERTICES}",
            hint="pick one window, or fewer events; the text table has no limit",
        )
    parts = [_draw_partition(partition, len(graph.windows) > 1) for partition in graph.partitions]
    drawing = svg.stack(parts) if parts else _caption("no event became a vertex", svg.Drawing("", 0, 0))
    return drawing.document(f"Graph of {graph.pattern}")


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where each time stamp stands, the same for all graphs of a partition."""

    left: dict[Any, float]
    box_width: float
    several: bool
    """Whether counts are of several windows."""

    @property
    def width(self) -> float:
        return max(self.left.values(), default=0) + self.box_width


def _draw_partition(partition: Partition, several: bool) -> Drawing:
    graphs = [graph for top in partition.graphs for graph in top.walk()]
    vertices = [vertex for graph in graphs for vertex in graph.vertices]
    times = sorted({vertex.time for vertex in vertices})
    lines = [line for vertex in vertices for line in _lines(vertex, several)]
    box_width = max((svg.text_width(line) for line in lines), default=30) + 16
    names = [f"{vertex.variable} {vertex.mark}" for vertex in vertices]
    margin = max((svg.text_width(name, 10) for name in names), default=0) + 2 * _FRAME
    step = box_width + _GAP_X
    columns = _Columns({time: margin + at * step for at, time in enumerate(times)}, box_width, several)
    drawing = svg.stack([_draw_graph(graph, columns) for graph in partition.graphs])
    if not partition.values:
        return drawing
    return _caption(", ".join(f"{name} = {value}" for name, value in partition.values.items()), drawing)


def _draw_graph(graph: SubGraph, columns: _Columns) -> Drawing:
    """One graph, and below it, each in a box, those that it depends on."""
    head = f"{graph.pattern}: {total_text(graph, columns.several)}"
    own = _caption(head, _draw_vertices(graph, columns))
    below = [_boxed(negative, columns) for negative in graph.negatives if any(g.vertices for g in negative.walk())]
    return svg.stack([own, *below], gap=16)


def _boxed(negative: SubGraph, columns: _Columns) -> Drawing:
    """A negative graph in a dashed box, shifted so that its times stay below those of its parent."""
    assert negative.place is not None
    inner = _draw_graph(negative, columns)
    words = svg.text(0, 11, f"NOT, {negative.place.value}", role="negative", anchor="start", size=11)
    body = svg.element("g", svg.title(PLACE_MEANING[negative.place]) + words) + svg.group(inner.body, y=20)
    # Boxes around boxes are wider, so that no two frames coincide.
    side = 5.0 * _depth(negative)
    frame = svg.box(-side, -6, inner.width + 2 * side, inner.height + 34, radius=8, stroke="negative", dashed=True)
    return Drawing(frame + body, inner.width, inner.height + 32)


def _depth(graph: SubGraph) -> int:
    return 1 + max((_depth(negative) for negative in graph.negatives), default=0)


def _draw_vertices(graph: SubGraph, columns: _Columns) -> Drawing:
    """A row per state, in a frame; vertices of one state and time below each other."""
    body, y, place = "", 0.0, {}
    box_height = _LINE * max((len(_lines(vertex, columns.several)) for vertex in graph.vertices), default=1) + 8
    for state in sorted({vertex.state for vertex in graph.vertices}):
        members = [(at, vertex) for at, vertex in enumerate(graph.vertices) if vertex.state == state]
        stacked: Counter[Any] = Counter()
        deepest = max(Counter(vertex.time for _, vertex in members).values())
        height = deepest * (box_height + _GAP_Y) + 2 * _FRAME
        body += _frame(members[0][1], columns, y, height)
        for at, vertex in members:
            top = y + _FRAME + _GAP_Y + stacked[vertex.time] * (box_height + _GAP_Y)
            place[at] = (columns.left[vertex.time], top)
            stacked[vertex.time] += 1
        y += height + _GAP_Y
    edges = ""
    if len(graph.edges) <= MOST_EDGES:
        edges = "".join(_edge(place[p], place[q], columns.box_width, box_height) for p, q in graph.edges)
    boxes = "".join(_box(vertex, *place[at], columns, box_height) for at, vertex in enumerate(graph.vertices))
    drawing = Drawing(body + edges + boxes, columns.width + _PAD, max(0, y - _GAP_Y))
    if len(graph.edges) > MOST_EDGES:
        return _caption(f"{len(graph.edges)} edges are too many to draw", drawing)
    return drawing


def _frame(vertex: Vertex, columns: _Columns, top: float, height: float) -> str:
    """The frame of a state, double for an end state, with its variable and role at the left."""
    width = columns.width + _PAD
    frame = svg.box(0, top, width, height, radius=6, stroke="muted", stroke_width=1)
    if vertex.end:
        frame += svg.box(3, top + 3, width - 6, height - 6, radius=4, stroke="muted", stroke_width=1)
    name = svg.text(_FRAME, top + height / 2, vertex.variable, anchor="start", bold=True)
    return frame + name + svg.text(_FRAME, top + height / 2 + 13, vertex.mark, anchor="start", role="muted", size=9)


def _box(vertex: Vertex, x: float, y: float, columns: _Columns, height: float) -> str:
    lines = _lines(vertex, columns.several)
    words = [
        f"{vertex.event_type} at {vertex.time} as {vertex.variable}",
        vertex.mark,
        f"trends that end here: {counts_text(vertex.counts, columns.several)}" if vertex.counts else "in no trend",
        note(vertex),
    ]
    shape = svg.box(
        x, y, columns.box_width, height, radius=6, fill="muted" if vertex.invalid else "node", dashed=vertex.pruned
    )
    top = y + (height - svg.block_height(lines)) / 2
    text = svg.text_block(x + columns.box_width / 2, top, lines, role="paper" if vertex.invalid else "ink")
    return svg.element("g", svg.title("; ".join(word for word in words if word)) + shape + text)


def _edge(source: tuple[float, float], target: tuple[float, float], width: float, height: float) -> str:
    """From right side to left side; within a row an arc, since other vertices may stand between."""
    x0, y0 = source[0] + width, source[1] + height / 2
    x1, y1 = target[0], target[1] + height / 2
    if source[1] != target[1]:
        return svg.arrow([(x0, y0), (x1, y1)], role="accent")
    if x1 - x0 <= _GAP_X + 1:
        return svg.arrow([(x0, y0), (x1, y1)], role="accent")
    # Longer arcs are higher, so that those of different lengths stay apart.
    lift = source[1] - 4 - min(16, (x1 - x0) / 30)
    return svg.arrow(
        [(x0, y0 - height / 4), (x0 + 12, lift), (x1 - 12, lift), (x1, y1 - height / 4)], role="accent", radius=12
    )


def _lines(vertex: Vertex, several: bool) -> list[str]:
    """``a4: 6``; where windows share the vertex, a count for each."""
    if not vertex.counts:
        return [vertex.label]
    if not several:
        return [f"{vertex.label}: {next(iter(vertex.counts.values()))}"]
    return [vertex.label, *(f"{start}: {count}" for start, count in vertex.counts.items())]


def _caption(words: str, drawing: Drawing) -> Drawing:
    head = svg.text(0, 12, words, anchor="start", bold=True)
    width = max(drawing.width, svg.text_width(words))
    return Drawing(head + svg.group(drawing.body, y=24), width, drawing.height + 24)
