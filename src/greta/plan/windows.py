"""WITHIN and SLIDE → window; MIN LENGTH within its limit."""

from __future__ import annotations

from greta.errors import QueryMeaningError
from greta.plan.draft import Draft
from greta.plan.nodes import Window

MAX_MIN_LENGTH = 1_000


def set_window(draft: Draft) -> None:
    """Windows slide by at most their own length, so that every event is in at least one."""
    query = draft.query
    if not 1 <= query.min_length <= MAX_MIN_LENGTH:
        raise QueryMeaningError(
            f"MIN LENGTH is from 1 to {MAX_MIN_LENGTH:,}, not {query.min_length:,}",
            span=query.min_length_span,
            hint="leave MIN LENGTH out for trends of any length, or ask for fewer events: MIN LENGTH 2",
        )
    if query.window is None:
        return
    for duration in (query.window.within, query.window.slide):
        if duration.milliseconds <= 0:
            raise QueryMeaningError(
                "a window lasts and slides by at least 1 ms",
                span=duration.span,
                hint="write WITHIN 10 minutes SLIDE 10 seconds",
            )
    within, slide = query.window.within.milliseconds, query.window.slide.milliseconds
    if slide > within:
        raise QueryMeaningError(
            "SLIDE is larger than WITHIN: events between two windows would be in none",
            span=query.window.slide.span,
            hint="let SLIDE be at most WITHIN, or leave it out for windows side by side",
        )
    draft.window = Window(within, slide)
