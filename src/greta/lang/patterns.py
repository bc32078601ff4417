# ruff: noqa: RUF009  (a span is immutable, so one default may be shared)
"""Nodes of patterns: ``SEQ(A+, NOT B, C)`` (paper, Definition 1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from greta.errors import NOWHERE, Span


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


class _PrintedPattern:
    """``str`` of a pattern is its text, as of a whole query."""

    __slots__ = ()

    def __str__(self) -> str:
        from greta.lang.printer import print_pattern

        return print_pattern(cast("Pattern", self))


@dataclass(frozen=True, slots=True)
class Atom(_PrintedPattern):
    """One event: ``Stock S``. A type without a variable is its own variable."""

    event_type: str
    variable: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Seq(_PrintedPattern):
    """``SEQ(P, Q, ...)``: one after another in time; parts may be ``Negation``."""

    parts: tuple[Pattern, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Plus(_PrintedPattern):
    """``P+``"""

    body: Pattern
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Star(_PrintedPattern):
    """``P*``"""

    body: Pattern
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Maybe(_PrintedPattern):
    """``P?``"""

    body: Pattern
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Repeat(_PrintedPattern):
    """``P{n}``, ``P{n,}`` (``at_most`` is None) and ``P{n,m}``."""

    body: Pattern
    at_least: int
    at_most: int | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Disjunction(_PrintedPattern):
    """``P OR Q OR ...``"""

    parts: tuple[Pattern, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Negation(_PrintedPattern):
    """``NOT P``, only inside ``SEQ``."""

    body: Pattern
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Conjunction(_PrintedPattern):
    """``P AND Q``, only outermost: pairs of different trends."""

    left: Pattern
    right: Pattern
    span: Span = _span()


Pattern = Atom | Seq | Plus | Star | Maybe | Repeat | Disjunction | Negation | Conjunction
