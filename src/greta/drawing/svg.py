"""Small SVG building blocks: escaped text, shapes, arrows, a document that is light or dark with its reader.

Everything is a string, so drawings nest by joining. Colours are roles (``ink``, ``muted``, …), never values:
each element carries its light colour, and the document's style sheet gives the dark one. Arrow heads are
drawn, not referenced by id, so any number of pictures can share one page. Text is measured as monospaced.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from typing import Literal

Role = Literal["ink", "muted", "accent", "negative", "node", "paper"]
Point = tuple[float, float]

LIGHT: dict[Role, str] = {
    "ink": "#1b1f24",
    "muted": "#59636e",
    "accent": "#0072b2",
    "negative": "#b34700",
    "node": "#eaf3fa",
    "paper": "#ffffff",
}
"""Blue and vermilion stay apart in every common kind of colour blindness, and dashes need no colour."""

DARK: dict[Role, str] = {
    "ink": "#e6edf3",
    "muted": "#9aa4af",
    "accent": "#56b4e9",
    "negative": "#ff9f5a",
    "node": "#17293a",
    "paper": "#0f1419",
}

FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
FONT_SIZE = 12.0
LINE_HEIGHT = 1.3
_ADVANCE = 0.602

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape(text: str) -> str:
    """Text that may stand anywhere in XML or HTML, attributes included; what XML forbids becomes U+FFFD.

    >>> escape('<b a="1">')
    '&lt;b a=&quot;1&quot;&gt;'
    """
    return html.escape(_NOT_XML.sub("\ufffd", text), quote=True)


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """Width in pixels of one line of monospaced text."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return (len(text) + wide) * size * _ADVANCE


def element(tag: str, content: str = "", /, **attributes: str | float | None) -> str:
    """``<tag …>content</tag>``; ``content`` is markup already. An underscore in a name becomes a hyphen.

    >>> element("line", x1=0, stroke_width=1.5)
    '<line x1="0" stroke-width="1.5"/>'
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>"


def title(text: str) -> str:
    """What a reader sees on hovering, and hears from a screen reader."""
    return element("title", escape(text))


def group(content: str, *, x: float = 0, y: float = 0) -> str:
    """``content`` moved by (x, y)."""
    return element("g", content, transform=f"translate({_value(x)} {_value(y)})")


def text(
    x: float,
    y: float,
    content: str,
    *,
    size: float = FONT_SIZE,
    role: Role = "ink",
    anchor: Literal["start", "middle", "end"] = "middle",
    bold: bool = False,
) -> str:
    """One line of text with its baseline at ``y``."""
    return element(
        "text",
        escape(content),
        x=x,
        y=y,
        font_size=size,
        text_anchor=anchor,
        font_weight="600" if bold else None,
        fill=LIGHT[role],
        class_=f"gf-{role}",
    )


def text_block(
    x: float,
    top: float,
    lines: Sequence[str],
    *,
    size: float = FONT_SIZE,
    role: Role = "ink",
    bold_first: bool = False,
    backed: bool = False,
) -> str:
    """Centred lines whose box begins at ``top``; ``backed`` blots out what lies behind them."""
    back = ""
    if backed and lines:
        width = max(text_width(line, size) for line in lines) + 6
        back = box(x - width / 2, top, width, block_height(lines, size), fill="paper", stroke=None)
    return back + "".join(
        text(x, top + (i + 0.78) * size * LINE_HEIGHT, line, size=size, role=role, bold=bold_first and i == 0)
        for i, line in enumerate(lines)
    )


def block_height(lines: Sequence[str], size: float = FONT_SIZE) -> float:
    """Height of a ``text_block``."""
    return len(lines) * size * LINE_HEIGHT


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    radius: float = 0,
    fill: Role | None = None,
    stroke: Role | None = "ink",
    dashed: bool = False,
    stroke_width: float = 1.4,
) -> str:
    """A rectangle, or a circle where ``radius`` is half of both sides."""
    return element(
        "rect",
        x=x,
        y=y,
        width=width,
        height=height,
        rx=radius or None,
        stroke_width=stroke_width if stroke else None,
        stroke_dasharray="5 4" if dashed else None,
        **_paint(fill, stroke),
    )


def path(points: Sequence[Point], *, role: Role = "ink", dashed: bool = False, radius: float = 10) -> str:
    """A line through ``points`` with rounded corners."""
    return element(
        "path",
        d=rounded(points, radius),
        stroke_width=1.4,
        stroke_dasharray="5 4" if dashed else None,
        **_paint(None, role),
    )


def arrow(points: Sequence[Point], *, role: Role = "ink", dashed: bool = False, radius: float = 10) -> str:
    """A ``path`` with a head at its last point."""
    (x0, y0), (x1, y1) = points[-2], points[-1]
    length = hypot(x1 - x0, y1 - y0) or 1.0
    dx, dy = (x1 - x0) / length, (y1 - y0) / length
    neck = (x1 - dx * 8, y1 - dy * 8)
    corners = ((x1, y1), (neck[0] - dy * 4, neck[1] + dx * 4), (neck[0] + dy * 4, neck[1] - dx * 4))
    head = element(
        "polygon",
        points=" ".join(f"{_value(x)},{_value(y)}" for x, y in corners),
        fill=LIGHT[role],
        class_=f"gf-{role}",
    )
    return path([*points[:-1], neck], role=role, dashed=dashed, radius=radius) + head


def rounded(points: Sequence[Point], radius: float) -> str:
    """Path data through ``points``; every corner is rounded as far as its shorter side allows.

    >>> rounded([(0, 0), (10, 0), (10, 10)], 4)
    'M0 0L6 0Q10 0 10 4L10 10'
    """
    data = [f"M{_pair(points[0])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        reach = min(radius, _distance(before, corner) / 2, _distance(corner, after) / 2)
        enter, leave = _toward(corner, before, reach), _toward(corner, after, reach)
        data.append(f"L{_pair(enter)}Q{_pair(corner)} {_pair(leave)}")
    data.append(f"L{_pair(points[-1])}")
    return "".join(data)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Markup that fills the rectangle from (0, 0) to (width, height)."""

    body: str
    width: float
    height: float

    def document(self, name: str, margin: float = 16) -> str:
        """A whole SVG, called ``name``; brings its own background, so it is readable on any page."""
        width, height = self.width + 2 * margin, self.height + 2 * margin
        content = (
            title(name)
            + element("style", _STYLE)
            + box(0, 0, width, height, radius=8, fill="paper", stroke=None)
            + group(self.body, x=margin, y=margin)
        )
        return element(
            "svg",
            content,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {_value(width)} {_value(height)}",
            width=width,
            height=height,
            role="img",
            font_family=FONT,
        )


def stack(drawings: Sequence[Drawing], gap: float = 28) -> Drawing:
    """Drawings below each other, left-aligned."""
    body, y = "", 0.0
    for drawing in drawings:
        body += group(drawing.body, y=y)
        y += drawing.height + gap
    return Drawing(body, max((d.width for d in drawings), default=0), max(0, y - gap))


def _paint(fill: Role | None, stroke: Role | None) -> dict[str, str | None]:
    names = [f"gf-{fill}"] * bool(fill) + [f"gs-{stroke}"] * bool(stroke)
    return {
        "fill": LIGHT[fill] if fill else "none",
        "stroke": LIGHT[stroke] if stroke else None,
        "class_": " ".join(names) or None,
    }


def _dark_rules() -> str:
    return "".join(f".gf-{role}{{fill:{c}}}.gs-{role}{{stroke:{c}}}" for role, c in DARK.items())


_STYLE = f"@media (prefers-color-scheme: dark){{{_dark_rules()}}}"


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{round(value, 2):g}"


def _pair(point: Point) -> str:
    return f"{_value(point[0])} {_value(point[1])}"


def _distance(a: Point, b: Point) -> float:
    return hypot(b[0] - a[0], b[1] - a[1])


def _toward(start: Point, goal: Point, reach: float) -> Point:
    length = _distance(start, goal) or 1.0
    return start[0] + (goal[0] - start[0]) * reach / length, start[1] + (goal[1] - start[1]) * reach / length
