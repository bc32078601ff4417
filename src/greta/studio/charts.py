"""Rows, or events, → lines over time, few enough points to be drawn. Gaps in time stay gaps in the lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from greta.studio.limits import LIMITS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def chart(table: pa.Table, column: str, groups: Sequence[str], slide: float | None = None) -> dict[str, Any]:
    """One aggregate over window time: aligned lines, one per group, the groups with the largest values first.

    ``times`` are seconds, ascending. A line has ``values``, None where it has no row, and ``rows``: the positions in
    the table of what is drawn. Where windows are missing (``slide`` seconds is how far they lie apart), a time without
    values breaks the lines. At most ``Limits.series`` groups and ``Limits.points`` points are drawn; beyond that
    neighbouring windows share a point, their largest value. The answer says what was left out.
    """
    place = np.flatnonzero(np.asarray(pc.is_valid(table.column("window_start"))))
    table = table.take(place)
    values = floats(table.column(column))
    times = seconds(table.column("window_start"))
    finite = np.isfinite(values)
    names, of_row = _coded(labels(table, groups))
    tops = np.full(len(names), -math.inf)
    np.maximum.at(tops, of_row, np.where(finite, values, -math.inf))
    instants, window_of = _coded(times)
    step = -(-len(instants) // LIMITS.points) or 1
    ticks, slot_of_bucket = _broken(instants, step, slide)
    slot = slot_of_bucket[window_of // step] if len(instants) else window_of
    lines = []
    for group in np.argsort(-tops, kind="stable")[: LIMITS.series]:
        mine = np.flatnonzero((of_row == group) & finite)
        # The last of a slot in this order is its largest value.
        mine = mine[np.lexsort((values[mine], slot[mine]))]
        line: list[float | None] = [None] * len(ticks)
        rows: list[int | None] = [None] * len(ticks)
        for at in mine:
            line[slot[at]], rows[slot[at]] = float(values[at]), int(place[at])
        lines.append({"name": str(names[group]), "values": line, "rows": rows})
    return {
        "column": column,
        "times": ticks,
        "clock": pa.types.is_timestamp(table.schema.field("window_start").type),
        "lines": lines,
        "groups": len(names),
        "windows": len(instants),
        "windows_per_point": step,
        "beyond": int((~finite & ~np.isnan(values)).sum()),
    }


def _broken(instants: Floats, step: int, slide: float | None) -> tuple[list[float], Ints]:
    """Times to draw at, ``step`` windows each, with an empty one in every gap; and the place of each bucket in them.

    >>> _broken(np.array([0.0, 10, 20, 50, 60]), 1, 10)
    ([0.0, 10.0, 20.0, 30.0, 50.0, 60.0], array([0, 1, 2, 4, 5]))
    """
    firsts = instants[::step]
    if len(firsts) < 2:
        return firsts.tolist(), np.arange(len(firsts))
    lasts = instants[np.minimum(np.arange(step, len(instants) + step, step), len(instants)) - 1]
    apart = slide or float(np.diff(instants).min())
    gap = (firsts[1:] - lasts[:-1]) > 1.5 * apart * step
    places = np.arange(len(firsts)) + np.concatenate([[0], np.cumsum(gap)])
    ticks = np.empty(len(firsts) + int(gap.sum()))
    ticks[places] = firsts
    ticks[places[:-1][gap] + 1] = lasts[:-1][gap] + apart
    return ticks.tolist(), places


def attribute_lines(events: pa.Table, attribute: str, by: Sequence[str], groups: Sequence[str] = ()) -> dict[str, Any]:
    """A numeric attribute over event time: aligned lines, one per value of ``by``; those with most events, if many.

    Of a line with more than ``Limits.points`` events, stretches are drawn by their smallest and largest value.
    ``groups`` are columns of ``by`` that rows of the result go by: a line says which group it is of.
    """
    values = floats(events.column(attribute))
    there = np.isfinite(values)
    events, values = events.filter(pa.array(there)), values[there]
    times = seconds(events.column("time"))
    names, of_event = _coded(labels(events, by))
    sizes = np.bincount(of_event, minlength=len(names))
    chosen = np.argsort(-sizes, kind="stable")[: LIMITS.series]
    drawn = []
    for line in chosen:
        mine = np.flatnonzero(of_event == line)
        mine = mine[np.argsort(times[mine], kind="stable")]
        drawn.append(mine[_extremes(values[mine], LIMITS.points)])
    ticks, slot = np.unique(times[np.concatenate(drawn)], return_inverse=True) if drawn else (times[:0], None)
    lines, at = [], 0
    for line, mine in zip(chosen, drawn, strict=True):
        aligned: list[float | None] = [None] * len(ticks)
        assert slot is not None
        for position, event in zip(slot[at : at + len(mine)], mine, strict=True):
            aligned[position] = float(values[event])
        at += len(mine)
        drawn_line: dict[str, Any] = {"name": str(names[line]), "values": aligned, "events": int(sizes[line])}
        if groups:
            drawn_line["group"] = str(labels(events.slice(int(mine[0]), 1), groups)[0])
        lines.append(drawn_line)
    return {
        "attribute": attribute,
        "times": ticks.tolist(),
        "clock": pa.types.is_timestamp(events.schema.field("time").type),
        "lines": sorted(lines, key=lambda line: str(line["name"])),
        "groups": len(names),
        "events": len(values),
    }


def _extremes(values: Floats, points: int) -> Ints:
    """Positions of the smallest and largest value of each of ``points / 2`` stretches; all where there are few."""
    if len(values) <= points:
        return np.arange(len(values))
    cuts = np.linspace(0, len(values), points // 2 + 1).astype(np.int64)
    kept = set()
    for low, high in pairwise(cuts.tolist()):
        kept |= {low + int(values[low:high].argmin()), low + int(values[low:high].argmax())}
    return np.array(sorted(kept), dtype=np.int64)


def is_number(kind: pa.DataType) -> bool:
    """Whether a column holds numbers as numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def floats(column: pa.ChunkedArray) -> Floats:
    """Numbers as doubles; exact digits too large for one become infinite, NULL and text NaN."""
    kind = column.type
    if pa.types.is_string(kind):
        return np.array([_number(text) for text in column.to_pylist()], dtype=np.float64)
    if pa.types.is_timestamp(kind):
        return seconds(column)
    if not (is_number(kind) or pa.types.is_boolean(kind)):
        return np.full(len(column), math.nan)
    return np.asarray(pc.fill_null(column.cast(pa.float64()), math.nan).to_numpy(), dtype=np.float64)


def seconds(column: pa.ChunkedArray) -> Floats:
    """Times as seconds; NULL is NaN."""
    if pa.types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        return np.asarray(pc.fill_null(micros.cast(pa.float64()), math.nan).to_numpy(), dtype=np.float64) / 1e6
    return np.asarray(pc.fill_null(column.cast(pa.float64()), math.nan).to_numpy(), dtype=np.float64)


def labels(table: pa.Table, columns: Sequence[str]) -> npt.NDArray[Any]:
    """Per row the values of some columns as one text."""
    if not columns:
        return np.full(len(table), "all events", dtype=object)
    texts = [pc.fill_null(table.column(name).cast(pa.string()), "NULL") for name in columns]
    joined = texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, " · ")
    return np.asarray(joined.to_numpy(zero_copy_only=False), dtype=object)


def _coded(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Ints]:
    """Distinct values in order, and for each value its place among them."""
    if len(values) == 0:
        return values, np.empty(0, np.int64)
    distinct, codes = np.unique(values, return_inverse=True)
    return distinct, codes


def _number(text: str | None) -> float:
    try:
        return math.nan if text is None else float(text)
    except ValueError:
        return math.nan
