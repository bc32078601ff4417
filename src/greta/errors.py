"""Every error a user can meet, with its place in the query and a way out.

All of them are ``GretaError``. A ``QueryError`` knows the query's text and a span in it, and prints the
line with carets under the place::

    q3.greta:2: NOT may not be the outermost operator
      PATTERN NOT Accident A
              ^^^^^^^^^^^^^^
    hint: give it a positive neighbour: SEQ(NOT Accident A, Position P+)

Names come from users and their data, so whatever a terminal would obey rather than show is written as an escape.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range ``[start, stop)`` of character offsets in a query's text."""

    start: int
    stop: int

    def __or__(self, other: Span) -> Span:
        return Span(min(self.start, other.start), max(self.stop, other.stop))


NOWHERE = Span(0, 0)

_HINT = "\nhint: "


class GretaError(Exception):
    """The root of all errors that greta raises on purpose: what is wrong and, as ``hint``, what to do about it.

    >>> print(GretaError("there is no query", hint="pass one"))
    there is no query
    hint: pass one
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return _revive, (type(self), self.message, self.hint)

    def __str__(self) -> str:
        return _with_hint(self.message, self.hint)

    def reworded(self, words: Mapping[str, str]) -> GretaError:
        """The same error in the words of someone who calls things by other names."""
        message, hint = self.message, self.hint
        for ours, theirs in words.items():
            message = message.replace(ours, theirs)
            hint = None if hint is None else hint.replace(ours, theirs)
        return _revive(type(self), message, hint)


class QueryError(GretaError):
    """Something is wrong with a query; knows where, and how to mend it.

    ``text`` and ``source`` may be filled in later by a caller that knows them (``locate``), so that deep
    code only needs a span.
    """

    def __init__(
        self,
        message: str,
        *,
        span: Span = NOWHERE,
        hint: str | None = None,
        text: str | None = None,
        source: str = "query",
    ) -> None:
        super().__init__(message, hint=hint)
        self.span = span
        self.text = text
        self.source = source

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.span, self.hint, self.text, self.source)

    def locate(self, text: str | None, source: str | None = None) -> QueryError:
        """Fill in the query's text and name where they are still unknown; returns itself."""
        if self.text is None:
            self.text = text
        if source is not None:
            self.source = source
        return self

    @property
    def line(self) -> int | None:
        """Line of the span, counted from 1; None where the place is unknown."""
        if self.text is None or self.span == NOWHERE:
            return None
        return self.text.count("\n", 0, self.span.start) + 1

    @property
    def column(self) -> int | None:
        """Column of the span, counted from 1; None where the place is unknown."""
        if self.text is None or self.span == NOWHERE:
            return None
        return self.span.start - (self.text.rfind("\n", 0, self.span.start) + 1) + 1

    def __str__(self) -> str:
        lines = [f"{visible(self.source)}: {visible(self.message)}"]
        if self.text is not None and self.line is not None:
            lines = [
                f"{visible(self.source)}:{self.line}: {visible(self.message)}",
                *_carets(self.text, self.span),
            ]
        if self.hint:
            lines.append(f"hint: {visible(self.hint)}")
        return "\n".join(lines)


class QuerySyntaxError(QueryError):
    """The text does not follow the grammar."""


class QueryMeaningError(QueryError):
    """The text follows the grammar but means nothing, or nothing that can be computed."""


class SchemaError(QueryError):
    """The query asks for a column that the events do not have, or of another type."""


class DataError(GretaError):
    """An event, or a whole input, cannot be read as the query needs it."""


class SetupError(GretaError):
    """Something outside greta is missing: Java, PySpark, an optional extra, a permission."""


class StateError(GretaError):
    """What a stream has stored cannot be gone on with: it is another query's, or another version's."""


class GretaWarning(UserWarning):
    """The answer is what was asked for, and probably not what was meant; says why, and how to ask for that.

    What ``str`` makes of one becomes the same again: Numba keeps the texts of warnings while it compiles.

    >>> GretaWarning(str(GretaWarning("all times are equal", hint="name another column"))).hint
    'name another column'
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        if hint is None and _HINT in message:
            message, _, hint = message.partition(_HINT)
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return _revive_warning, (self.message, self.hint)

    def __str__(self) -> str:
        return _with_hint(self.message, self.hint)

    def about(self, query: str | int | None) -> GretaWarning:
        """The same warning about one of several queries; None: there is only one."""
        return self if query is None else GretaWarning(f"query {query}: {self.message}", hint=self.hint)


def warn(warning: GretaWarning) -> None:
    """Issue a warning at the line outside greta that led here, so that each such line warns once.

    Numba, which tells of its compilations in context managers, is not outside.
    """
    level, frame = 1, sys._getframe()
    inside = ("greta", "numba", "contextlib")
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in inside:
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


def on_one_line(warning: GretaWarning) -> str:
    """A warning for a place that has a line for it.

    >>> on_one_line(GretaWarning("all events have the same time", hint="name the time column"))
    'all events have the same time (hint: name the time column)'
    """
    return visible(warning.message if warning.hint is None else f"{warning.message} (hint: {warning.hint})")


def _with_hint(message: str, hint: str | None) -> str:
    return message if hint is None else f"{message}{_HINT}{hint}"


_WIDTH = 160
"""Longest stretch of a query line shown in an error."""


def _carets(text: str, span: Span) -> list[str]:
    begin = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.start)
    end = len(text) if end < 0 else end
    first = max(begin, span.start - _WIDTH // 2) if end - begin > _WIDTH else begin
    line = text[first : min(end, first + _WIDTH)].replace("\t", " ").rstrip("\r")
    start, stop = span.start - first, span.stop - first
    # An escape is longer than what it stands for: the carets go under the line as it is shown.
    before, marked, after = (visible(part) for part in (line[:start], line[start:stop], line[stop:]))
    return [f"  {before}{marked}{after}", "  " + " " * len(before) + "^" * max(1, len(marked))]


def _revive(kind: type[GretaError], message: str, hint: str | None) -> GretaError:
    return kind(message, hint=hint)


def _revive_warning(message: str, hint: str | None) -> GretaWarning:
    return GretaWarning(message, hint=hint)


def _rebuild(
    kind: type[QueryError], message: str, span: Span, hint: str | None, text: str | None, source: str
) -> QueryError:
    return kind(message, span=span, hint=hint, text=text, source=source)


def visible(text: str, keep: str = "") -> str:
    r"""The text with everything that prints as nothing, or as something else, escaped; ``keep`` stays as it is.

    >>> visible("red \x1b[31m and \u202etxet")
    'red \\x1b[31m and \\u202etxet'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in text)


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """``"did you mean price?"`` for a near miss, None for no guess.

    >>> did_you_mean("pirce", ["price", "volume"])
    'did you mean price?'
    """
    by_lower = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), list(by_lower), n=1, cutoff=0.6)
    return f"did you mean {by_lower[close[0]]}?" if close else None
