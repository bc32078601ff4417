"""The vocabulary: keywords, names and units of time, as the lexer reads and the printer writes them."""

from __future__ import annotations

import re
from typing import get_args

from greta.lang.nodes import AggregateFunction, MathFunction, TrendFunction, ValueFunction

EVENT_FUNCTIONS: tuple[AggregateFunction, ...] = get_args(AggregateFunction)
"""Aggregates over the events of all trends."""

TREND_FUNCTIONS: tuple[TrendFunction, ...] = get_args(TrendFunction)
"""Aggregates over trends of a value of each."""

VALUE_FUNCTIONS: tuple[ValueFunction, ...] = get_args(ValueFunction)
"""Values that one trend has."""

MATH_FUNCTIONS: tuple[MathFunction, ...] = get_args(MathFunction)
"""Functions of one number, over aggregates."""

FUNCTIONS = tuple(dict.fromkeys((*EVENT_FUNCTIONS, *TREND_FUNCTIONS)))
"""Words that may begin an aggregate."""

TERMINALS = {
    **dict.fromkeys(map(str, VALUE_FUNCTIONS), "VALUE"),
    **dict.fromkeys(map(str, FUNCTIONS), "FUNCTION"),
    **dict.fromkeys(map(str, MATH_FUNCTIONS), "CALL"),
}
"""What the grammar calls each word that is followed by an argument in parentheses."""

CLAUSES = (
    "RETURN",
    "PATTERN",
    "SEMANTICS",
    "MAXIMAL",
    "MIN LENGTH",
    "WHERE",
    "GROUP-BY",
    "HAVING",
    "WITHIN",
    "SLIDE",
)

KEYWORDS = frozenset(
    (
        *("RETURN", "PATTERN", "SEMANTICS", "MAXIMAL", "WHERE", "HAVING", "WITHIN", "SLIDE"),
        *("SEQ", "NOT", "AND", "OR", "AS", "TRUE", "FALSE", "NEXT"),
    )
)
"""Words that the grammar writes as they are. MIN LENGTH and GROUP-BY are single tokens of two words."""

PLAIN_NAME = r"[^\W\d]\w*"
"""A name that needs no quotes: letters (of any script), digits, underscore; no digit first."""

MILLISECONDS = {"day": 86_400_000, "hour": 3_600_000, "minute": 60_000, "second": 1_000, "ms": 1}
"""Units of time, largest first, under the name that the printer uses."""

UNITS: dict[str, int] = {
    spelling: MILLISECONDS[unit]
    for unit, spellings in {
        "day": "d day days",
        "hour": "h hr hrs hour hours",
        "minute": "m min mins minute minutes",
        "second": "s sec secs second seconds",
        "ms": "ms msec msecs millisecond milliseconds",
    }.items()
    for spelling in spellings.split()
}
"""Every spelling of a unit, in small letters, with its milliseconds."""

_PLAIN = re.compile(PLAIN_NAME)


def upper(word: str) -> str:
    """A word as keywords are written. Only ASCII: ``ı`` must not become the ``I`` of WITHIN."""
    return word.upper() if word.isascii() else word


def quoted(name: str, *, reserved: frozenset[str] = frozenset()) -> str:
    """A name as a query writes it: in double quotes where it would be read as something else.

    >>> quoted("price"), quoted("unit price"), quoted("not", reserved=frozenset({"NOT"}))
    ('price', '"unit price"', '"not"')
    """
    if _PLAIN.fullmatch(name) and upper(name) not in reserved:
        return name
    return '"' + name.replace('"', '""') + '"'
