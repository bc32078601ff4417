"""Strategies that are made once: where thousands of cases are drawn, making one costs more than drawing from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

_MADE: dict[str, st.SearchStrategy[Any]] = {}


def one_of(options: Sequence[T]) -> st.SearchStrategy[T]:
    """One of a few options, the simplest first."""
    # By how they look: 1, True and 1.0 are equal, and not the same option.
    written = repr(options)
    if written not in _MADE:
        _MADE[written] = st.sampled_from(options)
    return _MADE[written]
