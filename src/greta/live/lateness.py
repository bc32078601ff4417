"""How late events may come: a duration as text, a ``timedelta`` or seconds → units of a clock."""

from __future__ import annotations

import math
import re
from datetime import timedelta

from greta.engine.times import Clock
from greta.errors import GretaError, QueryError, Span
from greta.lang.values import read_duration

Lateness = str | timedelta | float
"""A duration as queries write it, ``"10 seconds"``; a ``timedelta``; or a number of seconds."""

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
_NANOSECONDS = 1_000_000


def nanoseconds(lateness: Lateness | None) -> int:
    """The duration in whole nanoseconds; ``GretaError`` for what is none.

    >>> nanoseconds("1.5 seconds"), nanoseconds(timedelta(milliseconds=2)), nanoseconds(3), nanoseconds(None)
    (1500000000, 2000000, 3000000000, 0)
    """
    match lateness:
        case None:
            return 0
        case str():
            return _read(lateness)
        case timedelta():
            length = lateness // timedelta(microseconds=1) * 1_000
        case bool():
            raise _misfit(lateness)
        case int() | float() if math.isfinite(lateness):
            length = round(lateness * 1_000_000_000)
        case _:
            raise _misfit(lateness)
    if length < 0:
        raise _misfit(lateness)
    return length


def in_units(length: int, clock: Clock) -> int:
    """Nanoseconds in a clock's units, rounded up: what may be this late is not dropped."""
    return -(-length * clock.per_millisecond // _NANOSECONDS)


def _read(text: str) -> int:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise _misfit(text)
    digits, unit = found.groups()
    if not float(digits):
        digits, zero = "1", 0
    else:
        zero = 1
    try:
        duration = read_duration(digits, unit, negative=False, span=Span(0, 0), unit_span=Span(0, 0))
    except QueryError as error:
        raise GretaError(f"lateness {text!r}: {error.message}", hint=error.hint) from error
    return zero * duration.milliseconds * _NANOSECONDS


def _misfit(lateness: object) -> GretaError:
    return GretaError(
        f"lateness must be a duration of 0 or more, not {lateness!r}",
        hint="write it as '10 seconds', as a timedelta, or as a number of seconds",
    )
