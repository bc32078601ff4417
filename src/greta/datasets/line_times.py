"""Times of lines, as text or as numbers → time stamps in UTC, or numbers of seconds; and which could be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.datasets.loaders import TimeUnit

_UTC = pa.timestamp("us", tz="UTC")
_MICROSECONDS = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}
_MOST_SECONDS = 9.2e9
_MOST_MICROSECONDS = 2.0**62

Times = tuple[pa.ChunkedArray, NDArray[np.bool_]]


def times_type(values: Sequence[Any], unit: TimeUnit | None) -> pa.DataType:
    """The type to read a column of times in, by its first value: text, or numbers."""
    if values and isinstance(values[0], str):
        return pa.string()
    # A double has all digits of microseconds since 1970, and not those of nanoseconds.
    return pa.int64() if unit == "ns" else pa.float64()


def read_times(column: pa.ChunkedArray, unit: TimeUnit | None) -> Times:
    """(times, where they could be read): time stamps for text and for numbers with a unit, else seconds."""
    if pa.types.is_string(column.type):
        return _read_text(column)
    if pa.types.is_integer(column.type):
        good = np.asarray(pc.is_valid(column).to_numpy(), dtype=bool)
        return pc.fill_null(column, 0).cast(pa.timestamp("ns")).cast(_UTC, safe=False), good
    numbers = pc.fill_null(column, np.nan).to_numpy()
    most = _MOST_SECONDS if unit is None else _MOST_MICROSECONDS / _MICROSECONDS[unit]
    with np.errstate(invalid="ignore"):
        good = (numbers <= most) & (numbers >= (0 if unit is None else -most))
    if unit is None:
        return column, good
    micros = np.rint(np.where(good, numbers, 0.0) * _MICROSECONDS[unit]).astype(np.int64)
    return pa.chunked_array([pa.array(micros).cast(_UTC)]), good


def _read_text(column: pa.ChunkedArray) -> Times:
    """Text in ISO 8601; without a zone it is taken as UTC."""
    good = np.asarray(pc.is_valid(column).to_numpy(), dtype=bool)
    for type_ in (_UTC, pa.timestamp("us")):
        try:
            return column.cast(type_).cast(_UTC), good
        except pa.ArrowInvalid:
            continue
    times = [_moment(value) for value in column.to_pylist()]
    return pa.chunked_array([pa.array(times, pa.int64()).cast(_UTC)]), np.array([time is not None for time in times])


def _moment(text: str | None) -> int | None:
    if text is None:
        return None
    for type_ in (_UTC, pa.timestamp("us")):
        try:
            micros: int = pa.scalar(text).cast(type_).value
            return micros
        except pa.ArrowInvalid:
            continue
    return None
