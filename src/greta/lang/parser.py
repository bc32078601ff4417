"""Text → ``Query``: the grammar's rules first, then what the clauses must agree on.

The parser is built from ``grammar.lark`` at the first query; importing this module loads no Lark.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from greta.errors import QuerySyntaxError, Span
from greta.lang.nodes import Query

if TYPE_CHECKING:
    from lark import Lark

MAX_LENGTH = 100_000
"""Longest query text, in characters."""


def parse(text: str, *, source: str = "query") -> Query:
    """Read a query.

    Raises ``QuerySyntaxError`` and nothing else, for any text. Every node knows its place in the text, and
    ``parse(str(query)) == query``. O(length) time; the first call also builds the parser.

    Args:
        text: The query.
        source: What error messages call it, such as the name of its file.

    Examples:
        >>> parse("RETURN COUNT(*) PATTERN Stock S+").pattern
        Plus(body=Atom(event_type='Stock', variable='S'))
    """
    try:
        return _parse(text)
    except QuerySyntaxError as error:
        error.locate(text, source)
        raise


def _parse(text: str) -> Query:
    if len(text) > MAX_LENGTH:
        raise QuerySyntaxError(
            f"the query has {len(text)} characters, more than {MAX_LENGTH}",
            hint="is this the right file? A long list of values is better joined to the events as a column",
        )
    from lark.exceptions import UnexpectedToken

    from greta.lang.clauses import assemble
    from greta.lang.mistakes import explain

    try:
        clauses = _parser().parse(text)
    except UnexpectedToken as unexpected:
        token = unexpected.token
        at = None if token.type == "$END" else Span(token.start_pos or 0, token.end_pos or 0)
        raise explain(text, at, frozenset(unexpected.accepts or unexpected.expected)) from None
    return assemble(clauses, text)  # type: ignore[arg-type]


@cache
def _parser() -> Lark:
    from lark import Lark

    from greta.lang.builder import Builder
    from greta.lang.lexer import QueryLexer

    return Lark(
        files("greta.lang").joinpath("grammar.lark").read_text(encoding="utf-8"),
        start="query",
        parser="lalr",
        lexer=QueryLexer,
        transformer=Builder(),
        keep_all_tokens=True,
        maybe_placeholders=False,
    )
