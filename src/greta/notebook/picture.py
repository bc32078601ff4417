"""Lines over time → an SVG picture: axes with labels at every magnitude, a colour and a name for each line."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from greta.drawing import svg

_WIDTH, _HEIGHT = 760.0, 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 70.0, 16.0, 26.0, 46.0
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8f8400", "#7f7f7f")
"""Okabe and Ito's, which stay apart in every common kind of colour blindness."""
_DECADES = 2.0
"""A logarithm fits positive values that span so many powers of ten."""


def lines_over_time(chart: dict[str, Any]) -> str:
    """What ``greta.studio.charts.chart`` gives, drawn. Times without a value are gaps."""
    lines: list[dict[str, Any]] = chart["lines"]
    times: list[float] = chart["times"]
    values = [value for line in lines for value in line["values"] if value is not None]
    if not values or len(times) < 2:
        return ""
    log = min(values) > 0 and math.log10(max(values)) - math.log10(min(values)) >= _DECADES
    level = math.log10 if log else float
    low, high = level(min(values)), level(max(values))
    if low == high:
        pad = abs(low) / 10 or 1.0
        low, high = low - pad, min(high + pad, sys.float_info.max)

    def x(time: float) -> float:
        return _LEFT + (time - times[0]) / (times[-1] - times[0]) * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        # Halves first: the difference of two doubles may be none.
        return _TOP + (high / 2 - value / 2) / (high / 2 - low / 2) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [svg.text(_LEFT, 16, chart["column"] + (" (log scale)" if log else ""), anchor="start", bold=True)]
    for mark in _ticks(low, high, log):
        parts.append(svg.element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y(mark), y2=y(mark), stroke="#d9dfe5"))
        parts.append(svg.text(_LEFT - 8, y(mark) + 4, _label(mark, log), anchor="end", role="muted", size=11))
    for time, anchor in ((times[0], "start"), (times[-1], "end")):
        said = _moment(time) if chart["clock"] else f"{time:g}"
        parts.append(svg.text(x(time), _HEIGHT - 28, said, anchor=anchor, role="muted", size=11))  # type: ignore[arg-type]
    at = _LEFT
    for line, colour in zip(lines, _COLOURS, strict=False):
        points = [
            (x(time), y(level(v))) if v is not None else None for time, v in zip(times, line["values"], strict=True)
        ]
        parts.append(_path(points, colour))
        if len(lines) > 1:
            parts.append(svg.element("rect", x=at, y=_HEIGHT - 16, width=10, height=10, fill=colour))
            parts.append(svg.text(at + 14, _HEIGHT - 7, line["name"], anchor="start", size=11))
            at += 30 + svg.text_width(line["name"], 11)
    content = svg.title(f"{chart['column']} over time") + "".join(parts)
    return svg.element(
        "svg",
        content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        role="img",
        font_family=svg.FONT,
        style=f"max-width:{_WIDTH:g}px;width:100%;background:#ffffff",
    )


def _path(points: Sequence[tuple[float, float] | None], colour: str) -> str:
    """A line through points, broken where there is none; a point by itself is a dot."""
    strokes, dots = "", ""
    before = None
    for at, point in enumerate(points):
        if point is not None:
            strokes += f"{'L' if before is not None else 'M'}{point[0]:.1f} {point[1]:.1f}"
            after = points[at + 1] if at + 1 < len(points) else None
            if before is None and after is None:
                dots += svg.element("circle", cx=round(point[0], 1), cy=round(point[1], 1), r=2, fill=colour)
        before = point
    return svg.element("path", d=strokes, fill="none", stroke=colour, stroke_width=1.5) + dots


def _ticks(low: float, high: float, log: bool) -> list[float]:
    """Four to six marks; whole powers of ten on a logarithmic axis."""
    rough = high / 5 - low / 5
    power = 10 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough * (1 - 1e-9))
    if log:
        step = max(1.0, math.ceil(step))
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, first + 12) if number * step <= high]


def _label(mark: float, log: bool) -> str:
    if log:
        return f"{10**mark:g}" if 0 <= mark < 4 else f"1e{mark:.0f}"
    return f"{mark:.6g}"


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
