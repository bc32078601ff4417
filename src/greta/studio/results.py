"""Rows of a finished run → pages of a table, lines of a chart, files to download. The file is mapped, not read."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from greta.studio.charts import chart, is_number, seconds
from greta.studio.limits import LIMITS
from greta.studio.selection import Selection

_FORMULA = r"^[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""How a cell begins that spreadsheets compute, the full-width signs of East Asian keyboards included."""
_PLAIN_NUMBER = r"^[+-]?\d+(\.\d+)?$"


def rows(
    result: str, offset: int, limit: int, selection: dict[str, Any] | None = None, around: int | None = None
) -> dict[str, Any]:
    """``limit`` rows from ``offset`` on, each value as the page shows it, and the position of each in the result.

    ``around`` is the position of a row: the page that holds it is shown, if it is among those selected.
    """
    table = _open(result)
    limit = max(1, min(limit, LIMITS.page_rows))
    chosen = Selection(**(selection or {})).positions(table)
    if around is not None and len(at := np.flatnonzero(chosen == around)):
        offset = int(at[0]) // limit * limit
    positions = chosen[max(0, offset) : max(0, offset) + limit]
    page = table.take(positions)
    columns = [[shown(value) for value in column.to_pylist()] for column in page.columns]
    return {
        "columns": table.column_names,
        "numeric": [is_number(field.type) for field in table.schema],
        "rows": [list(row) for row in zip(*columns, strict=True)],
        "positions": positions.tolist(),
        "bounds": [[_finite(edge) for edge in row] for row in zip(*_edges(page), strict=True)],
        "offset": max(0, offset),
        "selected": len(chosen),
        "total": len(table),
    }


def series(result: str, column: str, groups: list[str], slide: float | None) -> dict[str, Any]:
    """One aggregate over window time: a line per group, the groups with the largest values first."""
    return chart(_open(result), column, groups, slide)


def save_csv(result: str, target: str) -> dict[str, Any]:
    """All rows as CSV, in which no cell is one that a spreadsheet would run as a formula."""
    table = _open(result)
    columns = [
        harmless(c) if pa.types.is_string(c.type) or pa.types.is_large_string(c.type) else c for c in table.columns
    ]
    names = harmless(pa.chunked_array([pa.array(table.column_names, pa.string())])).to_pylist()
    pyarrow.csv.write_csv(pa.table(columns, names=names), target)
    return {"rows": len(table)}


def save_parquet(result: str, target: str) -> dict[str, Any]:
    """All rows as Parquet, every value as it is."""
    table = _open(result)
    pyarrow.parquet.write_table(table, target)
    return {"rows": len(table)}


def harmless(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts with an apostrophe before those that a spreadsheet would take for a formula; numbers stay numbers.

    >>> harmless(pa.chunked_array([["=1+1", "-5", "+49 30", "@SUM(A1)", "plain"]])).to_pylist()
    ["'=1+1", '-5', "'+49 30", "'@SUM(A1)", 'plain']
    """
    risky = pc.and_(
        pc.match_substring_regex(texts, _FORMULA), pc.invert(pc.match_substring_regex(texts, _PLAIN_NUMBER))
    )
    return pc.if_else(pc.fill_null(risky, False), pc.binary_join_element_wise("'", texts, ""), texts)


def shown(value: object) -> object:
    """A value as JSON can carry it and people read it."""
    match value:
        case datetime():
            moment = value.astimezone(UTC) if value.tzinfo else value
            return moment.isoformat(sep=" ", timespec="auto").removesuffix("+00:00")
        case float() if not math.isfinite(value):
            return "Infinity" if value > 0 else "-Infinity" if value < 0 else "NaN"
        case None | bool() | float() | str():
            return value
        case int() if abs(value) < 2**53:
            return value
        case _:
            return str(value)


def _edges(page: pa.Table) -> list[list[float]]:
    return [seconds(page.column(name)).tolist() for name in ("window_start", "window_end")]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _open(result: str) -> pa.Table:
    return pyarrow.feather.read_table(result, memory_map=True)
