"""Errors and warnings in the words of Python → the same in those of the command line: options instead of arguments."""

from __future__ import annotations

from greta.errors import GretaError, GretaWarning, QueryError

_OPTIONS = {
    "event_type=..., or type_column=...": "--input TYPE=PATH, or --type",
    "type_column=... or event_type=...": "--type, or --input TYPE=PATH",
    "event_type=...": "--input TYPE=PATH",
    "type=...": "--type",
    "time=...": "--time",
    **{f" where events are read: time_unit={unit!r}, --time-unit": ": --time-unit" for unit in ("s", "ms", "us", "ns")},
    **{f"time_unit={unit!r}, --time-unit": "--time-unit" for unit in ("s", "ms", "us", "ns")},
    "time_unit": "--time-unit",
    "leave group out": "leave --group out",
    "leave window out": "leave --window out",
    "another column as the type": "another column as the type (--type)",
    "the column that tells when they happened": "the column that tells when they happened (--time)",
    "numbers='exact'": "--numbers exact",
    "bad_records='skip'": "--bad-records skip (greta run: --malformed skip)",
    "a row that greta.aggregate returns": "a row that greta run prints",
    "a row of greta.aggregate": "a row that greta run prints",
}
"""What Python calls its arguments, and the command line its options; longer words come first."""


def in_options(error: GretaError) -> GretaError:
    """The error as someone reads it who gave options. What is said about a place in a query stays as it is."""
    if isinstance(error, QueryError):
        error.hint = None if error.hint is None else _reworded(error.hint)
        return error
    return error.reworded(_OPTIONS)


def warning_in_options(warning: GretaWarning) -> GretaWarning:
    """The warning likewise."""
    return GretaWarning(_reworded(warning.message), hint=None if warning.hint is None else _reworded(warning.hint))


def _reworded(text: str) -> str:
    """The text with options for arguments.

    >>> _reworded("name the unit where events are read: time_unit='ms', --time-unit ms")
    'name the unit: --time-unit ms'
    """
    for argument, option in _OPTIONS.items():
        text = text.replace(argument, option)
    return text
