"""Rows of a result → the positions of those that are asked for, in the order asked for.

A filter is conditions joined by commas or ``and``: ``sector = energy, count > 1e6``. A condition without a comparison
is a text that some cell of the row contains.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from greta.errors import DataError
from greta.studio.charts import floats, is_number, seconds

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_JOINED = re.compile(r"\s*,\s*|\s+and\s+", re.IGNORECASE)
_CONDITION = re.compile(
    r'\s*(?:"(?P<quoted>[^"]+)"|(?P<name>[^<>=!]+?))\s*(?P<op><=|>=|!=|<>|=|<|>)\s*(?P<value>.*?)\s*'
)
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows, and in which order; ``since`` and ``until`` bound ``window_start``, in seconds."""

    sort: str | None = None
    descending: bool = False
    filter: str = ""
    since: float | None = None
    until: float | None = None

    def positions(self, table: pa.Table) -> Positions:
        """Positions in the table. Rows without a value in the column to sort by come last."""
        chosen = np.ones(len(table), dtype=bool)
        if self.since is not None or self.until is not None:
            begins = seconds(table.column("window_start"))
            chosen &= begins >= (-np.inf if self.since is None else self.since)
            chosen &= begins <= (np.inf if self.until is None else self.until)
        for condition in filter(None, _JOINED.split(self.filter.strip())):
            chosen &= _holds(table, condition)
        positions = np.flatnonzero(chosen)
        if self.sort is None:
            return positions
        _require(table, self.sort)
        return positions[_order(table.column(self.sort).take(positions), self.descending)]


def _holds(table: pa.Table, condition: str) -> Mask:
    parts = _CONDITION.fullmatch(condition)
    if parts is None:
        return _contains(table, condition.strip())
    name = _require(table, parts["quoted"] or parts["name"].strip())
    value = parts["value"].strip("'\"")
    column, compare = table.column(name), _COMPARE[parts["op"]]
    number = _number(value)
    if number is not None and (is_number(column.type) or pa.types.is_string(column.type)):
        values = floats(column)
        if is_number(column.type) or np.isfinite(values).any():
            held: Mask = compare(values, number) & ~np.isnan(values)
            return held
    texts = np.asarray(pc.fill_null(column.cast(pa.string()), "NULL").to_numpy(zero_copy_only=False), dtype=str)
    if pa.types.is_timestamp(column.type):
        # 09:40 means the whole minute, a day the whole day.
        texts = np.char.replace(texts, "Z", "")
        if parts["op"] in ("=", "!=", "<>"):
            same: Mask = np.char.startswith(texts, value)
            return same if parts["op"] == "=" else ~same
    compared: Mask = compare(texts, value)
    return compared


def _contains(table: pa.Table, text: str) -> Mask:
    found = np.zeros(len(table), dtype=bool)
    for column in table.columns:
        cells = pc.fill_null(column.cast(pa.string()), "NULL")
        found |= np.asarray(pc.match_substring(cells, text, ignore_case=True))
    return found


def _require(table: pa.Table, name: str) -> str:
    """The column of this name, written in whatever case."""
    for column in table.column_names:
        if column == name or column.lower() == name.lower():
            return str(column)
    raise DataError(f"there is no column {name}", hint=f"the columns are {', '.join(table.column_names)}")


def _order(column: pa.ChunkedArray, descending: bool) -> Positions:
    """A stable order of values with NULL last; exact numbers, which are digits in text, in the order of numbers."""
    valid = np.asarray(pc.is_valid(column))
    if pa.types.is_string(column.type):
        texts = column.to_pylist()
        numbers = all(text is None or re.fullmatch(r"-?\d+", text) for text in texts)
        keys = [("" if text is None else _digits(text) if numbers else text) for text in texts]
        there = np.flatnonzero(valid).tolist()
        order = sorted(there, key=lambda at: keys[at], reverse=descending)
        return np.array([*order, *np.flatnonzero(~valid).tolist()], dtype=np.int64)
    way = "descending" if descending else "ascending"
    return np.asarray(
        pc.array_sort_indices(column.combine_chunks(), order=way, null_placement="at_end"), dtype=np.int64
    )


def _digits(text: str) -> tuple[int, Any]:
    """A key that orders digits of any length as numbers, without making numbers of them.

    >>> sorted(["10", "9", "-10", "-9", "0"], key=_digits)
    ['-10', '-9', '0', '9', '10']
    """
    if text.startswith("-"):
        return -1, (-len(text), [-int(digit) for digit in text[1:]])
    return 1, (len(text), [int(digit) for digit in text])


def _number(text: str) -> float | None:
    try:
        return float(text.replace("_", ""))
    except ValueError:
        return None
