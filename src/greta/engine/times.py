"""Event times as whole numbers, so that ticks and windows are exact; and window bounds back in the user's type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.tables import as_type, contiguous, wrap_numbers
from greta.errors import DataError
from greta.plan.nodes import Window

Kind = Literal["timestamp", "whole seconds", "seconds"]

_PER_MILLISECOND = {"ms": 1, "us": 1_000, "ns": 1_000_000}


@dataclass(frozen=True, slots=True)
class Clock:
    """How a time column counts.

    Timestamps keep their own unit (seconds are counted in milliseconds), whole numbers are seconds counted in
    milliseconds, other numbers are seconds counted in nanoseconds: instants closer than that are one tick.
    """

    kind: Kind
    unit: Literal["ms", "us", "ns"]
    type: pa.DataType

    @staticmethod
    def of(type_: pa.DataType, name: str = "time") -> Clock:
        """The clock for a column type; raises DataError for a type that is no time."""
        if pa.types.is_dictionary(type_):
            type_ = type_.value_type
        if pa.types.is_timestamp(type_):
            unit: Literal["ms", "us", "ns"] = "ms" if type_.unit == "s" else type_.unit
            return Clock("timestamp", unit, pa.timestamp(unit, type_.tz))
        if pa.types.is_date(type_):
            return Clock("timestamp", "ms", pa.timestamp("ms"))
        if pa.types.is_integer(type_) or pa.types.is_null(type_):
            return Clock("whole seconds", "ms", pa.int64())
        if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
            return Clock("seconds", "ns", pa.float64())
        raise DataError(
            f"time column {name!r} has type {type_}; it must hold timestamps, or numbers of seconds",
            hint="cast it to a timestamp first",
        )

    @property
    def per_millisecond(self) -> int:
        """Units per millisecond."""
        return _PER_MILLISECOND[self.unit]

    def units(self, window: Window) -> tuple[int, int]:
        """(within, slide) in this clock's units."""
        return window.within * self.per_millisecond, window.slide * self.per_millisecond

    def require_room(self, furthest: int, window: Window) -> None:
        """Raise DataError where the bounds of windows would not fit 64 bits, for instants up to this far from 0."""
        within, slide = self.units(window)
        if furthest + within + slide >= 2**63:
            raise DataError(
                f"windows of this length do not fit times that are counted in {self.unit}",
                hint="cast the time column to a coarser unit, or leave WITHIN out for one window over everything",
            )

    @property
    def lowest_window(self) -> int:
        """First window id there is: with plain numbers as time, windows start at 0."""
        return 0 if self.kind != "timestamp" else -(2**62)

    def read(self, column: pa.ChunkedArray, name: str) -> NDArray[np.int64]:
        """The column in units; NULL, NaN and negative numbers are errors that name the row."""
        if column.null_count:
            _refuse(pc.is_null(column), name, "NULL")
        if self.kind == "timestamp":
            return _integers(_cast(column, self.type, name))
        if self.kind == "whole seconds":
            seconds = _integers(_cast(column, pa.int64(), name))
            if seconds.size and seconds.min() < 0:
                _refuse(pa.array(seconds < 0), name, "negative")
            if seconds.size and seconds.max() > 2**52:
                _refuse_large(seconds, 2**52, name)
            return np.asarray(seconds * 1_000)
        numbers = as_type(column, pa.float64()).to_numpy()
        bad = ~np.isfinite(numbers)
        if bad.any():
            _refuse(pa.array(bad), name, "not a finite number")
        if (numbers < 0).any():
            _refuse(pa.array(numbers < 0), name, "negative")
        if (numbers > 9.2e9).any():
            _refuse_large(numbers, 9.2e9, name)
        return np.asarray(np.rint(numbers * 1e9).astype(np.int64))

    def bounds_type(self, window: Window | None) -> pa.DataType:
        """Arrow type of window_start and window_end."""
        if self.kind == "whole seconds" and window is not None and (window.within % 1000 or window.slide % 1000):
            return pa.float64()
        return self.type

    def write(self, units: NDArray[np.int64], window: Window) -> pa.Array:
        """Instants back in the column's own type; their memory may become that of the result."""
        if self.kind == "timestamp":
            return wrap_numbers(units, self.type)
        if self.bounds_type(window) == pa.int64():
            return wrap_numbers(units // 1_000, pa.int64())
        return wrap_numbers(units / (1_000 * self.per_millisecond), pa.float64())


def furthest_from_zero(instants: NDArray[np.int64]) -> int:
    """The largest distance of an instant from 0."""
    return max(abs(int(instants.min())), abs(int(instants.max()))) if instants.size else 0


def _cast(column: pa.ChunkedArray, type_: pa.DataType, name: str) -> pa.ChunkedArray:
    try:
        return as_type(column, type_)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"time column {name!r} holds a time out of range: {error}",
            hint="filter such rows out first, or cast the column to another unit",
        ) from error


def _integers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    array = contiguous(column)
    return np.asarray(array.view(pa.int64()).to_numpy(zero_copy_only=False))


_EPOCH_UNITS = (("ns", "nanoseconds", 1e17), ("us", "microseconds", 1e14), ("ms", "milliseconds", 1e11))
"""Smallest number that is taken for a count from 1970 in that unit: as seconds, all are beyond the year 5000."""


def epoch_unit(time: float) -> tuple[str, str] | None:
    """The unit, short and in words, in which a number looks like a time since 1970; None for one that may be seconds.

    >>> epoch_unit(1_704_187_800_000)
    ('ms', 'milliseconds')
    """
    return next(((unit, words) for unit, words, least in _EPOCH_UNITS if time >= least), None)


def _refuse_large(numbers: NDArray[np.int64] | NDArray[np.float64], most: float, name: str) -> None:
    """Raise DataError at the first number that is too large for seconds, with the unit that it seems to have."""
    row = int(np.argmax(numbers > most))
    unit = epoch_unit(float(numbers[row]))
    hint = f"it looks like {unit[1]} since 1970: {read_as(unit[0])}" if unit else "filter such rows out first"
    raise DataError(
        f"time column {name!r} is too large for a number of seconds in row {row} (counted from 0)", hint=hint
    )


def read_as(unit: str) -> str:
    """How to have numbers read as times since 1970."""
    named = f"time_unit={unit!r}, --time-unit {unit}"
    return f"cast it to a timestamp in {unit}, or name the unit where events are read: {named}"


def _refuse(bad: pa.Array | pa.ChunkedArray, name: str, what: str) -> None:
    row = pc.index(bad, True).as_py()
    raise DataError(
        f"time column {name!r} is {what} in row {row} (counted from 0)",
        hint="filter such rows out first; every event needs a time, as a timestamp or a number of seconds from 0 on",
    )
