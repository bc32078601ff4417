"""Errors on their way to the page: what is wrong, where, and a hint, as JSON."""

from __future__ import annotations

from typing import Any

from greta.errors import GretaError, QueryError, visible


class StudioError(GretaError):
    """A request that the studio refuses; ``status`` is the HTTP status it answers with."""

    def __init__(self, message: str, hint: str | None = None, status: int = 400) -> None:
        super().__init__(message, hint=hint)
        self.status = status


def describe(error: GretaError, text: str | None = None) -> dict[str, Any]:
    """The parts of an error: ``message``, ``hint``, and for queries ``carets`` and offsets in the text."""
    if not isinstance(error, QueryError):
        hint = None if error.hint is None else visible(error.hint, keep="\n")
        return {"message": visible(error.message, keep="\n"), "hint": hint}
    error.locate(text)
    described: dict[str, Any] = {
        "message": visible(error.message),
        "hint": None if error.hint is None else visible(error.hint),
    }
    if error.line is not None:
        lines = str(error).split("\n")
        described |= {
            "line": error.line,
            "column": error.column,
            "start": error.span.start,
            "stop": max(error.span.stop, error.span.start + 1),
            "carets": "\n".join(lines[1:3]),
        }
    return described
