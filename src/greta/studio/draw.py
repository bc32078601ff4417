"""Vertices and edges → an SVG whose vertices can be pointed at and reached with the Tab key.

Time runs to the right, one column per time stamp. Each state of the template has a lane of its own; or, where an
attribute is asked for, a vertex stands as high as its value, and shows it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from greta.drawing import svg

_COLUMN, _LANE, _RADIUS = 66.0, 74.0, 23.0
_TOP, _LEFT = 30.0, 70.0
_RISE = 230.0
"""Pixels between the smallest and the largest value, where height is a value."""
_APART = 2 * _RADIUS + 16
_OWN_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


def bare(picture: str) -> str:
    """An SVG without its style sheet: the page's own sheet colours it, and inline styles are forbidden there."""
    return _OWN_STYLE.sub("", picture)


@dataclass(frozen=True, slots=True)
class Dot:
    """A vertex as it is drawn; ``about`` is what a screen reader says after its texts, and a pointer shows."""

    name: str
    when: str
    instant: Any
    lane: int
    variable: str
    count: int
    start: bool
    end: bool
    faded: bool
    about: str
    value: float | None = None
    """Of the attribute that is drawn as height, if one is and the event has it."""


Edges = Sequence[tuple[int, int]]
Negative = tuple[str, Sequence[Dot], Edges]


def draw(
    pattern: str, dots: Sequence[Dot], edges: Edges, negatives: Sequence[Negative] = (), height: str | None = None
) -> str:
    """A whole picture: the positive graph, and below it those of its negatives, over the same time.

    ``height`` names the attribute that the dots' values are of; without it, or without any value, there are lanes.
    """
    instants = {dot.instant for dot in dots} | {dot.instant for _, more, _ in negatives for dot in more}
    columns = {instant: at for at, instant in enumerate(sorted(instants))}
    if height is not None and any(dot.value is not None for dot in dots):
        drawings = [_relief(f"{pattern}, {height} as height", dots, edges, columns)]
    else:
        drawings = [_layer(pattern, dots, edges, columns, live=True)]
    drawings += [_layer(name, more, links, columns, live=False) for name, more, links in negatives]
    whole = svg.stack(drawings, gap=12)
    picture = whole.document(f"Graph of {pattern}", margin=8)
    # A group of buttons, not one image: its vertices are to be reached one by one.
    return bare(picture).replace('role="img"', 'role="group"', 1)


def _layer(title: str, dots: Sequence[Dot], edges: Edges, columns: dict[Any, int], *, live: bool) -> svg.Drawing:
    places, lanes, rows = _places(dots, columns)
    width = _LEFT + len(columns) * _COLUMN
    height = _TOP + rows * _LANE
    body = svg.text(0, 14, title, anchor="start", bold=True, role="ink" if live else "negative")
    for name, y in lanes:
        body += svg.text(0, y + 4, name, anchor="start", role="muted")
    body += "".join(_edge(places[a], places[b], f"{a}-{b}", live) for a, b in edges)
    body += "".join(_vertex(dot, places[at], at, live) for at, dot in enumerate(dots))
    return svg.Drawing(body, width, height)


def _relief(title: str, dots: Sequence[Dot], edges: Edges, columns: dict[Any, int]) -> svg.Drawing:
    """Vertices as high as their values, over an axis that says which height is which value."""
    centres, ticks, bottom = _elevations(dots, columns)
    width = _LEFT + len(columns) * _COLUMN
    body = svg.text(0, 14, title, anchor="start", bold=True)
    for name, y in ticks:
        body += svg.text(0, y + 4, name, anchor="start", role="muted")
        body += svg.element(
            "line", x1=_LEFT - 14, x2=width, y1=y, y2=y, stroke=svg.LIGHT["muted"], class_="gs-muted", opacity=0.2
        )
    several = len({dot.variable for dot in dots}) > 1
    body += "".join(_edge(centres[a], centres[b], f"{a}-{b}", True) for a, b in edges)
    for at, dot in enumerate(dots):
        face = dot if dot.value is None else replace(dot, name=f"{dot.value:.5g}")
        caption = f"{dot.variable} {dot.when}".strip() if several else dot.when
        body += _vertex(replace(face, when=caption), centres[at], at, live=True)
    return svg.Drawing(body, width, bottom)


def _elevations(dots: Sequence[Dot], columns: dict[Any, int]) -> tuple[list[svg.Point], list[tuple[str, float]], float]:
    """Centres of vertices, ticks of the axis, and the height of it all.

    Simultaneous vertices keep their order and a distance, so that none hides another; those without a value lie below.
    """
    values = [dot.value for dot in dots if dot.value is not None]
    low, high = min(values), max(values)
    span = high - low or 1.0
    top = _TOP + _RADIUS + 6

    def level(value: float) -> float:
        return top + (high - value) / span * _RISE

    floor = top + _RISE + _APART
    wished = [floor if dot.value is None else level(dot.value) for dot in dots]
    heights = list(wished)
    lowest: dict[Any, float] = {}
    for at in sorted(range(len(dots)), key=lambda at: wished[at]):
        instant = dots[at].instant
        heights[at] = max(wished[at], lowest.get(instant, -_APART) + _APART)
        lowest[instant] = heights[at]
    centres = [
        (_LEFT + columns[dot.instant] * _COLUMN + _RADIUS, height) for dot, height in zip(dots, heights, strict=True)
    ]
    marks = [high, (high + low) / 2, low] if high > low else [high]
    ticks = [(f"{value:.6g}", level(value)) for value in marks]
    if len(values) < len(dots):
        ticks.append(("no value", floor))
    return centres, ticks, max(heights) + _RADIUS + 20


def _places(dots: Sequence[Dot], columns: dict[Any, int]) -> tuple[list[svg.Point], list[tuple[str, float]], int]:
    """Centres of vertices; lanes with their names; the number of rows. A lane has a row per simultaneous event."""
    stacks: dict[tuple[int, Any], int] = {}
    depth: dict[int, int] = {}
    level = []
    for dot in dots:
        at = stacks.get((dot.lane, dot.instant), 0)
        stacks[dot.lane, dot.instant] = at + 1
        depth[dot.lane] = max(depth.get(dot.lane, 0), at + 1)
        level.append(at)
    first: dict[int, int] = {}
    rows = 0
    for lane in sorted(depth):
        first[lane] = rows
        rows += depth[lane]
    centre = [
        (
            _LEFT + columns[dot.instant] * _COLUMN + _RADIUS,
            _TOP + (first[dot.lane] + at) * _LANE + _RADIUS + 4,
        )
        for dot, at in zip(dots, level, strict=True)
    ]
    variables = {dot.lane: dot.variable for dot in dots}
    names = [(variables[lane], _TOP + first[lane] * _LANE + _RADIUS + 4) for lane in sorted(first)]
    return centre, names, rows


def _edge(source: svg.Point, target: svg.Point, key: str, live: bool) -> str:
    """A curve that bends away from the vertices between its ends."""
    (x0, y0), (x1, y1) = source, target
    steps = max(1.0, (x1 - x0) / _COLUMN)
    lift = 0 if steps < 1.5 else min(30.0, 9 * steps)
    middle = ((x0 + x1) / 2, (y0 + y1) / 2 - lift)
    data = f"M{x0:g} {y0:g}Q{middle[0]:g} {middle[1]:g} {x1:g} {y1:g}"
    role: svg.Role = "muted" if live else "negative"
    return svg.element(
        "path",
        d=data,
        fill="none",
        stroke=svg.LIGHT[role],
        class_=f"gs-{role}",
        opacity=0.45,
        stroke_dasharray=None if live else "5 4",
        data_edge=key if live else None,
    )


def _vertex(dot: Dot, centre: svg.Point, at: int, live: bool) -> str:
    x, y = centre
    accent: svg.Role = "accent" if live else "negative"
    ring = ""
    if dot.end:
        ring = _circle(x, y, _RADIUS - 3.5, None, accent, dot.faded)
    # An opaque disc hides the edges that pass behind.
    content = (
        svg.title(f"{dot.name}: {dot.about}")
        + _circle(x, y, _RADIUS, "node", accent, dot.faded)
        + ring
        + svg.text(
            x, y - 3, dot.name, size=11 if len(dot.name) < 6 else 9, bold=True, role="muted" if dot.faded else "ink"
        )
        + " "  # without it, the texts would be read as one word
        + svg.text(x, y + 10, _count(dot.count), size=11, role="muted" if dot.faded else "ink")
    )
    if dot.when:
        content += " " + svg.text(x, y + _RADIUS + 13, dot.when, size=9.5, role="muted")
    if not live:
        return svg.element("g", content)
    # What is seen comes first: people who speak to their computer say it.
    seen = " ".join(text for text in (dot.name, _count(dot.count), dot.when) if text)
    label = svg.escape(f"{seen}: {dot.about}")
    return f'<g data-vertex="{at}" tabindex="0" role="button" aria-label="{label}">{content}</g>'


def _circle(x: float, y: float, radius: float, fill: svg.Role | None, stroke: svg.Role, dashed: bool) -> str:
    classes = " ".join([f"gf-{fill}"] * bool(fill) + [f"gs-{stroke}"])
    return svg.element(
        "circle",
        cx=x,
        cy=y,
        r=radius,
        fill=svg.LIGHT[fill] if fill else "none",
        stroke=svg.LIGHT[stroke],
        stroke_width=1.6,
        stroke_dasharray="4 3" if dashed else None,
        class_=classes,
    )


def _count(count: int) -> str:
    return str(count) if count < 100_000 else f"{count:.0e}".replace("e+0", "e").replace("e+", "e")
