"""Rows of a finished run → pages of a table and lines of a chart. The file is mapped, not read."""

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

from greta.studio.limits import LIMITS

_FORMULA = r"^[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""How a cell begins that spreadsheets compute, the full-width signs of East Asian keyboards included."""
_PLAIN_NUMBER = r"^[+-]?\d+(\.\d+)?$"


def rows(result: str, offset: int, limit: int) -> dict[str, Any]:
    """``limit`` rows from ``offset`` on, each value as the page shows it."""
    table = _open(result)
    page = table.slice(max(0, offset), max(0, min(limit, LIMITS.page_rows)))
    columns = [[shown(value) for value in column.to_pylist()] for column in page.columns]
    return {
        "columns": table.column_names,
        "numeric": [_is_number(field.type) for field in table.schema],
        "rows": [list(row) for row in zip(*columns, strict=True)],
        "total": len(table),
    }


def series(result: str, column: str, groups: list[str]) -> dict[str, Any]:
    """One aggregate over window time: a line per group, the groups with the largest values first."""
    return chart(_open(result), column, groups)


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


def chart(table: pa.Table, column: str, groups: list[str]) -> dict[str, Any]:
    """Aligned lines: ``times`` in seconds (ascending), and per group values with None where there is no row.

    At most ``Limits.series`` groups and ``Limits.points`` points are drawn; the answer says what was left out.
    """
    keep = pc.is_valid(table.column("window_start"))
    table = table.filter(keep)
    values = _floats(table.column(column))
    times = _seconds(table.column("window_start"))
    labels = _labels(table, groups)
    finite = np.isfinite(values)
    names, of_row = np.unique(labels, return_inverse=True) if len(labels) else (labels, np.empty(0, np.int64))
    tops = np.full(len(names), -math.inf)
    np.maximum.at(tops, of_row, np.where(finite, values, -math.inf))
    chosen = np.argsort(-tops, kind="stable")[: LIMITS.series]
    instants, slot = np.unique(times, return_inverse=True) if len(times) else (times, np.empty(0, np.int64))
    step = -(-len(instants) // LIMITS.points) or 1
    width = -(-len(instants) // step)
    lines = []
    for group in chosen:
        mine = (of_row == group) & finite
        line = np.full(width, -math.inf)
        np.maximum.at(line, slot[mine] // step, values[mine])
        lines.append({"name": str(names[group]), "values": [v if math.isfinite(v) else None for v in line.tolist()]})
    return {
        "column": column,
        "times": instants[::step].tolist(),
        "clock": pa.types.is_timestamp(table.schema.field("window_start").type),
        "lines": lines,
        "groups": len(names),
        "windows": len(instants),
        "windows_per_point": step,
        "beyond": int((~finite & ~np.isnan(values)).sum()),
    }


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


def _open(result: str) -> pa.Table:
    return pyarrow.feather.read_table(result, memory_map=True)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _floats(column: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Numbers as doubles; exact digits too large for one become infinite, NULL and text NaN."""
    kind = column.type
    if pa.types.is_string(kind):
        return np.array([_number(text) for text in column.to_pylist()], dtype=np.float64)
    if pa.types.is_timestamp(kind):
        return _seconds(column)
    if not (_is_number(kind) or pa.types.is_boolean(kind)):
        return np.full(len(column), math.nan)
    return np.asarray(pc.fill_null(column.cast(pa.float64()), math.nan).to_numpy(), dtype=np.float64)


def _number(text: str | None) -> float:
    try:
        return math.nan if text is None else float(text)
    except ValueError:
        return math.nan


def _seconds(column: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.float64]]:
    if pa.types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        return np.asarray(micros.to_numpy(), dtype=np.float64) / 1e6
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)


def _labels(table: pa.Table, groups: list[str]) -> np.ndarray[Any, Any]:
    if not groups:
        return np.full(len(table), "all events", dtype=object)
    texts = [pc.fill_null(table.column(name).cast(pa.string()), "NULL") for name in groups]
    joined = texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, " · ")
    return np.asarray(joined.to_numpy(zero_copy_only=False), dtype=object)
