"""Lays a small automaton out on one line and draws it: the picture of a template (paper, template figures).

States stand in their order from left to right. A transition to the next state is a straight arrow, a self
loop sits on its state, a jump ahead runs on a rail above, and a step back on a rail below. Rails get levels
such that no two share a stretch, gaps widen until every label fits, and labels are drawn last on a blank
ground, so nothing ever runs through one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

from greta.drawing import svg
from greta.drawing.svg import Point

_SMALL = 11.0
_MIN_NODE = 54.0
_MIN_GAP = 56.0
_PORT = 13.0
"""Distance between two rails that leave the same side of a state."""
_CLEAR = 18.0
"""Room beside a label where an arrow may land on its transition."""
_LOOP_HEIGHT = 24.0
_LOOP_HALF = 12.0


@dataclass(frozen=True, slots=True)
class Node:
    """A state: its lines of text, the first in bold; ``hint`` is shown on hovering."""

    lines: tuple[str, ...]
    start: bool = False
    end: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A transition between two nodes, given by their positions."""

    source: int
    target: int
    operator: str
    conditions: tuple[str, ...] = ()
    hint: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The whole label."""
        return (self.operator, *self.conditions)

    @property
    def low(self) -> int:
        """The left end."""
        return min(self.source, self.target)

    @property
    def high(self) -> int:
        """The right end."""
        return max(self.source, self.target)


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawn automaton; arrows from below may land on ``on_edge[i]`` and ``on_node[i]``.

    Such arrows belong between ``lines`` and ``labels``, the two layers of the picture.
    """

    lines: str
    labels: str
    width: float
    height: float
    on_edge: tuple[Point, ...]
    on_node: tuple[Point, ...]


def draw_automaton(nodes: Sequence[Node], edges: Sequence[Edge]) -> Picture:
    """Draw all nodes and edges; O(|edges|²) for the levels of the rails."""
    layout = _Layout(tuple(nodes), tuple(edges))
    drawn = [_edge(layout, i) for i in range(len(edges))]
    return Picture(
        "".join(line for line, _ in drawn),
        "".join(label for _, label in drawn) + "".join(_node(layout, i) for i in range(len(nodes))),
        layout.width,
        layout.height,
        tuple(_landing(layout, edge, i) for i, edge in enumerate(edges)),
        tuple(_landing_below(layout, i) for i in range(len(nodes))),
    )


@dataclass(slots=True)
class _Side:
    """The rails above (``sign`` −1) or below (+1) the line, with the loops that share the side."""

    sign: int
    rails: list[int]
    loops: dict[int, int] = field(default_factory=dict)
    level: dict[int, int] = field(default_factory=dict)
    offset: list[float] = field(default_factory=list)
    """Distance of each level from the states' rim."""
    depth: float = 0.0


class _Layout:
    """Where everything goes. Attributes are final after construction."""

    def __init__(self, nodes: tuple[Node, ...], edges: tuple[Edge, ...]) -> None:
        self.nodes, self.edges = nodes, edges
        self.straight = {i for i, e in enumerate(edges) if e.target == e.source + 1}
        above = [i for i, e in enumerate(edges) if e.target > e.source + 1]
        below = [i for i, e in enumerate(edges) if e.target < e.source]
        self.sides = (_Side(-1, above), _Side(+1, below))
        for i, edge in enumerate(edges):
            if edge.source == edge.target:
                self._loop_side(edge.source).loops[edge.source] = i
        self.node_height = max(
            [_MIN_NODE, *(svg.block_height(node.lines) + 18 for node in nodes)],
        )
        self.radius = min(self.node_height / 2, 27.0)
        self.widths = [self._width(i) for i in range(len(nodes))]
        for side in self.sides:
            self._assign_levels(side)
        self.x = self._columns()
        self.ports = {key: x for side in self.sides for key, x in self._ports(side).items()}
        self.y = self.sides[0].depth + self.node_height / 2
        self.height = self.sides[0].depth + self.node_height + self.sides[1].depth
        self.width = max(
            [
                *(x + w / 2 + 2 for x, w in zip(self.x, self.widths, strict=True)),
                *(self.x[n] + _label_width(edges[i]) / 2 for side in self.sides for n, i in side.loops.items()),
            ]
        )

    def _loop_side(self, node: int) -> _Side:
        """Above, unless rails leave there and none below."""
        busy = [any(node in (self.edges[i].source, self.edges[i].target) for i in side.rails) for side in self.sides]
        return self.sides[1] if busy[0] and not busy[1] else self.sides[0]

    def _width(self, node: int) -> float:
        """Wide enough for the text, and for rails that must pass a loop's label."""
        need = max(svg.text_width(line) for line in self.nodes[node].lines) + 30
        for side in self.sides:
            ends = [i for i in side.rails if node in (self.edges[i].source, self.edges[i].target)]
            if node in side.loops and ends:
                need = max(need, 2 * (self._loop_reach(side, node) + len(ends) * _PORT) + 24)
            need = max(need, (len(ends) + 1) * _PORT + 24)
        return max(_MIN_NODE, need)

    def _loop_reach(self, side: _Side, node: int) -> float:
        """How far from a state's middle its loop and the loop's label extend."""
        if node not in side.loops:
            return 0.0
        return max(_label_width(self.edges[side.loops[node]]) / 2, _LOOP_HALF) + 4

    def _assign_levels(self, side: _Side) -> None:
        for i in sorted(side.rails, key=lambda i: (self.edges[i].high - self.edges[i].low, self.edges[i].low)):
            taken = {
                side.level[j]
                for j in side.level
                if self.edges[i].low < self.edges[j].high and self.edges[j].low < self.edges[i].high
            }
            side.level[i] = next(level for level in range(len(side.rails)) if level not in taken)
        loops = [_LOOP_HEIGHT + _label_height(self.edges[i]) + 4 for i in side.loops.values()]
        # Conditions of straight transitions hang below the line and may reach past the states.
        hanging = [svg.block_height(self.edges[i].conditions, _SMALL) + 8 - self.node_height / 2 for i in self.straight]
        side.depth = max([6.0, *loops, *(hanging if side.sign > 0 else [])])
        for level in range(max(side.level.values(), default=-1) + 1):
            labels = [_label_height(self.edges[i]) for i, own in side.level.items() if own == level]
            side.offset.append(side.depth + (12 if level == 0 else 8))
            side.depth = side.offset[-1] + max(labels) + 4

    def _columns(self) -> list[float]:
        """Centres of the nodes; gaps grow until straight labels, loop labels and rail labels all fit."""
        gaps = [_MIN_GAP] * (len(self.nodes) - 1)
        for i in self.straight:
            edge = self.edges[i]
            gaps[edge.source] = max(gaps[edge.source], _label_width(edge) + 2 * _CLEAR + 12)
        for side in self.sides:
            for node in range(len(self.nodes) - 1):
                pair = [_label_width(self.edges[side.loops[n]]) for n in (node, node + 1) if n in side.loops]
                reach = sum(pair) / 2 + 14 - (self.widths[node] + self.widths[node + 1]) / 2
                gaps[node] = max(gaps[node], reach if len(pair) == 2 else 0)
            for i in sorted(side.rails, key=lambda i: self.edges[i].high - self.edges[i].low):
                edge = self.edges[i]
                span = sum(gaps[edge.low : edge.high]) + sum(self.widths[edge.low + 1 : edge.high])
                lack = (_label_width(edge) + 2 * _CLEAR - span) / (edge.high - edge.low)
                if lack > 0:
                    gaps[edge.low : edge.high] = [gap + lack for gap in gaps[edge.low : edge.high]]
        loop_reach = [_label_width(self.edges[side.loops[0]]) / 2 for side in self.sides if 0 in side.loops]
        centre = max([self.widths[0] / 2 + 34, *loop_reach])
        columns = [centre]
        for node, gap in enumerate(gaps):
            columns.append(columns[-1] + self.widths[node] / 2 + gap + self.widths[node + 1] / 2)
        return columns

    def _ports(self, side: _Side) -> dict[tuple[int, int], float]:
        """Both ends of every rail, by (edge, node); low rails leave furthest out and cross none there."""
        ports: dict[tuple[int, int], float] = {}
        for node in range(len(self.nodes)):
            clear = self._loop_reach(side, node)
            for direction in (-1, +1):
                own = [
                    i
                    for i in side.rails
                    if (self.edges[i].low == node and direction > 0) or (self.edges[i].high == node and direction < 0)
                ]
                own.sort(key=lambda i: -side.level[i])
                for rank, i in enumerate(own):
                    ports[i, node] = self.x[node] + direction * (clear + _PORT * (rank + 0.5))
        return ports

    def side_of(self, i: int) -> _Side:
        return next(side for side in self.sides if i in side.level or i in side.loops.values())

    def rail_y(self, i: int) -> float:
        side = self.side_of(i)
        return self.y + side.sign * (self.node_height / 2 + side.offset[side.level[i]])

    def rim(self, side: _Side, node: int, x: float) -> float:
        """Where the outline of a node is met from one side at ``x``; its corners are round."""
        into_corner = abs(x - self.x[node]) - (self.widths[node] / 2 - self.radius)
        sunk = self.radius - sqrt(max(0.0, self.radius**2 - into_corner**2)) if into_corner > 0 else 0.0
        return self.y + side.sign * (self.node_height / 2 - sunk)


def _label_width(edge: Edge) -> float:
    return max(svg.text_width(line, _SMALL) for line in edge.lines)


def _label_height(edge: Edge) -> float:
    return svg.block_height(edge.lines, _SMALL)


def _edge(layout: _Layout, i: int) -> tuple[str, str]:
    """The line of a transition, and its label."""
    edge = layout.edges[i]
    if edge.source == edge.target:
        line, label = _loop(layout, edge, i)
    elif i in layout.straight:
        line, label = _straight(layout, edge)
    else:
        line, label = _rail(layout, edge, i)
    hint = svg.title(edge.hint) if edge.hint else ""
    return svg.element("g", hint + line), svg.element("g", hint + label)


def _straight(layout: _Layout, edge: Edge) -> tuple[str, str]:
    begin = layout.x[edge.source] + layout.widths[edge.source] / 2
    stop = layout.x[edge.target] - layout.widths[edge.target] / 2
    middle = (begin + stop - 6) / 2
    above = layout.y - svg.block_height((edge.operator,), _SMALL) - 3
    return (
        svg.arrow([(begin, layout.y), (stop, layout.y)]),
        _operator(edge, middle, above) + _conditions(edge, middle, layout.y + 4),
    )


def _rail(layout: _Layout, edge: Edge, i: int) -> tuple[str, str]:
    side, y = layout.side_of(i), layout.rail_y(i)
    out, into = layout.ports[i, edge.source], layout.ports[i, edge.target]
    leave, arrive = layout.rim(side, edge.source, out), layout.rim(side, edge.target, into)
    line = svg.arrow([(out, leave), (out, y), (into, y), (into, arrive)])
    return line, _label(edge, _free_spot(layout, side, i), y, side)


def _loop(layout: _Layout, edge: Edge, i: int) -> tuple[str, str]:
    side, x = layout.side_of(i), layout.x[edge.source]
    left, right = x - _LOOP_HALF, x + _LOOP_HALF
    rim = layout.rim(side, edge.source, right)
    y = layout.rim(side, edge.source, x) + side.sign * (_LOOP_HEIGHT - 2)
    return svg.arrow([(left, rim), (left, y), (right, y), (right, rim)]), _label(edge, x, y, side)


def _free_spot(layout: _Layout, side: _Side, i: int) -> float:
    """Where on its rail a label stands clear of the rails that climb past it; else the middle."""
    edge = layout.edges[i]
    low, high = layout.ports[i, edge.low], layout.ports[i, edge.high]
    reach = _label_width(edge) / 2 + 5
    climbing = [x for (j, _), x in layout.ports.items() if j in side.level and side.level[j] > side.level[i]]
    middle = (low + high) / 2
    steps = int((high - low) / 2 // 5)
    spots = [middle, *(middle + sign * 5.0 * step for step in range(1, steps + 1) for sign in (-1, 1))]
    inside = [spot for spot in spots if low + reach <= spot <= high - reach]
    return next((spot for spot in inside if all(abs(spot - x) > reach for x in climbing)), middle)


def _label(edge: Edge, x: float, y: float, side: _Side) -> str:
    """The label on the far side of a horizontal stretch."""
    top = y + 2 if side.sign > 0 else y - 3 - _label_height(edge)
    return _operator(edge, x, top) + _conditions(edge, x, top + svg.block_height((edge.operator,), _SMALL))


def _operator(edge: Edge, x: float, top: float) -> str:
    return svg.text_block(x, top, (edge.operator,), size=_SMALL, bold_first=True, backed=True)


def _conditions(edge: Edge, x: float, top: float) -> str:
    return svg.text_block(x, top, edge.conditions, size=_SMALL, role="muted", backed=True)


def _node(layout: _Layout, i: int) -> str:
    node, x, width, height = layout.nodes[i], layout.x[i], layout.widths[i], layout.node_height
    left, top, radius = x - width / 2, layout.y - height / 2, layout.radius
    shape = svg.box(left, top, width, height, radius=radius, fill="node")
    if node.end:
        shape += svg.box(left + 4, top + 4, width - 8, height - 8, radius=radius - 4)
    if node.start:
        # Left of any but the first state another transition may arrive, so the start arrow comes from below.
        tip = (left, layout.y) if i == 0 else (left + 9, top + height - 9)
        tail = (left - 32, layout.y) if i == 0 else (left - 11, top + height + 11)
        shape += svg.arrow([tail, tip], role="accent")
    words = svg.text_block(x, layout.y - svg.block_height(node.lines) / 2, node.lines, bold_first=True)
    return svg.element("g", (svg.title(node.hint) if node.hint else "") + shape + words)


def _landing(layout: _Layout, edge: Edge, i: int) -> Point:
    if edge.source == edge.target:
        side = layout.side_of(i)
        x = layout.x[edge.source] + _LOOP_HALF
        return x, layout.rim(side, edge.source, x) + side.sign * 10
    side_of_target = -1 if edge.target > edge.source else +1
    x = layout.x[edge.target] + side_of_target * (layout.widths[edge.target] / 2 + _CLEAR)
    return x, layout.y if i in layout.straight else layout.rail_y(i)


def _landing_below(layout: _Layout, node: int) -> Point:
    """A spot at the lower right of a state, outside its loop."""
    below = layout.sides[1]
    inset = 8 if node in below.loops else 14
    x = layout.x[node] + layout.widths[node] / 2 - inset
    return x, layout.rim(below, node, x)
