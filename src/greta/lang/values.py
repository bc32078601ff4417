"""Numbers, bounds and durations from their text, with limits that keep every later step safe."""

from __future__ import annotations

import math
from fractions import Fraction

from greta.errors import QuerySyntaxError, Span, did_you_mean
from greta.lang.nodes import Duration
from greta.lang.words import MILLISECONDS, UNITS

MAX_DIGITS = 1_000
MAX_BOUND = 10_000
MAX_DAYS = 100_000_000
"""Longest duration: as microseconds it still fits into 64 bits."""


def read_number(digits: str, span: Span) -> int | float:
    """An int where the text has neither point nor exponent, else a finite float."""
    if len(digits) > MAX_DIGITS:
        raise QuerySyntaxError(
            f"a number of {len(digits)} digits is too long",
            span=span,
            hint=f"numbers have at most {MAX_DIGITS} digits; write large ones with an exponent: 1e30",
        )
    if digits.isdigit():
        return int(digits)
    value = float(digits)
    if math.isinf(value):
        raise QuerySyntaxError(
            f"{digits} is larger than any floating-point number",
            span=span,
            hint="the largest is 1.7976931348623157e308",
        )
    return value


def read_bound(digits: str, span: Span) -> int:
    """A whole number from 0 to ``MAX_BOUND``, for ``{n,m}`` and MIN LENGTH."""
    if not digits.isdigit():
        raise QuerySyntaxError(
            f"{digits} is not a whole number",
            span=span,
            hint="events are counted in whole numbers: 1, 2, 3 and so on",
        )
    if len(digits) > MAX_DIGITS or int(digits) > MAX_BOUND:
        raise QuerySyntaxError(
            f"a bound may be at most {MAX_BOUND}",
            span=span,
            hint="use + for any number of events, or {n,} for at least n",
        )
    return int(digits)


def read_duration(digits: str, unit: str, *, negative: bool, span: Span, unit_span: Span) -> Duration:
    """Whole milliseconds, more than none."""
    if unit.lower() not in UNITS:
        guess = did_you_mean(unit, UNITS)
        known = "durations are in ms, seconds, minutes, hours or days"
        raise QuerySyntaxError(
            f"{unit} is not a unit of time", span=unit_span, hint=f"{guess} ({known})" if guess else known
        )
    if len(digits) > MAX_DIGITS or "e" in digits.lower():
        raise QuerySyntaxError(
            "a duration is written without an exponent", span=span, hint="write it in a larger unit: 10 days"
        )
    length = Fraction(digits) * UNITS[unit.lower()]
    if negative or length == 0:
        raise QuerySyntaxError(
            "a duration must be longer than zero", span=span, hint="write a positive number: 10 minutes"
        )
    if length.denominator != 1:
        raise QuerySyntaxError(
            "a duration must be a whole number of milliseconds",
            span=span,
            hint=f"write {max(1, round(length))} ms",
        )
    if length > MAX_DAYS * MILLISECONDS["day"]:
        raise QuerySyntaxError(
            f"a duration may be at most {MAX_DAYS} days",
            span=span,
            hint="leave WITHIN out for one window over everything",
        )
    return Duration(int(length), span)
