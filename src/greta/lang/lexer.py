"""Text → tokens, for Lark's LALR parser.

Which words are keywords depends on where they stand: the lexer looks at the parser's state and calls a word
a keyword only if the grammar could go on with it there. One pass, one regular expression, O(length).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Any

from lark.lexer import Lexer, LexerState, Token

from greta.errors import QuerySyntaxError, Span
from greta.lang.words import KEYWORDS, PLAIN_NAME, TERMINALS, upper

MAX_DEPTH = 100
"""Deepest nesting of a query: parentheses in the text, and levels of the syntax tree."""

SKIPPED = re.compile(r"(?:\s+|--[^\n]*)+")
TOKEN = re.compile(
    rf"""
      (?P<WORD>{PLAIN_NAME})
    | (?P<NUMBER>(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+(?!\w))?)
    | (?P<TEXT>'(?:[^']|'')*')
    | (?P<QUOTED>"(?:[^"]|"")*"|`(?:[^`]|``)*`)
    | (?P<SLIP>==|=<|=>|&&?|\|\|?|!(?!=)|[;≠≤≥∧∨¬−×÷’‘“”])
    | (?P<COMPARISON><=|>=|<>|!=|=|<|>)
    | (?P<SIGN>[-+*/%(),.\[\]{{}}?])
    """,
    re.VERBOSE,
)

_SIGNS = {
    "+": "PLUS", "-": "MINUS", "*": "STAR", "/": "SLASH", "%": "PERCENT", "?": "QMARK",
    ",": "COMMA", ".": "DOT",
    "(": "LPAR", ")": "RPAR", "[": "LSQB", "]": "RSQB", "{": "LBRACE", "}": "RBRACE",
}  # fmt: skip
"""Lark's own names for the signs that the grammar writes between quotes."""

_SLIPS = {
    "==": "write = to compare: S.price = 10",
    "=<": "write <= for at most: S.price <= 10",
    "=>": "write >= for at least: S.price >= 10",
    "&": "write AND between conditions: S.price > 10 AND S.volume > 5",
    "|": "write OR between alternatives: S.price > 10 OR S.volume > 5",
    "!": "write NOT before a condition, or != between two values: NOT S.price = 10",
    "¬": "write NOT before a condition: NOT S.price = 10",
    "∧": "write AND between conditions: S.price > 10 AND S.volume > 5",
    "∨": "write OR between alternatives: S.price > 10 OR S.volume > 5",
    ";": "leave it out: a query ends where its text ends",
    "≠": "write != for not equal: S.price != 10",
    "≤": "write <= for at most: S.price <= 10",
    "≥": "write >= for at least: S.price >= 10",
    "−": "this is a typographer's minus sign: write - instead",
    "×": "write * to multiply: S.price * 2",
    "÷": "write / to divide: S.price / 2",
    "‘": "put text between straight single quotes: 'IBM'",
    "’": "put text between straight single quotes: 'IBM'",
    "“": "put text between straight single quotes: 'IBM'",
    "”": "put text between straight single quotes: 'IBM'",
}
_UNCLOSED = {
    "'": "this text has no closing quote",
    '"': "this quoted name has no closing quote",
    "`": "this quoted name has no closing quote",
}
_PAIRS = (
    ("MIN_LENGTH", "MIN", re.compile(r"MIN\s+LENGTH(?!\w)", re.IGNORECASE | re.ASCII)),
    ("GROUP_BY", "GROUP", re.compile(r"GROUP(?:\s*-\s*|\s+)BY(?!\w)", re.IGNORECASE | re.ASCII)),
)
_SELECTION = re.compile(rf"{PLAIN_NAME}(?:-\w+)*")


class QueryLexer(Lexer):
    """Lark's interface to the functions below; holds no state between queries."""

    __future_interface__ = 2

    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, lexer_state: LexerState, parser_state: Any) -> Iterator[Token]:
        """Tokens one by one; between two of them the parser moves on, and its state with it."""
        text = lexer_state.text.text
        states = parser_state.parse_conf.states
        at, depth = 0, 0
        while True:
            if skipped := SKIPPED.match(text, at):
                at = skipped.end()
            if at == len(text):
                return
            token = _read(text, at, states[parser_state.position])
            if token.type == "LPAR":
                depth += 1
                if depth > MAX_DEPTH:
                    raise too_deep(_span(token))
            elif token.type == "RPAR":
                depth -= 1
            at = token.end_pos or at
            yield token


def too_deep(span: Span) -> QuerySyntaxError:
    """The error for a place deeper than ``MAX_DEPTH``."""
    return QuerySyntaxError(
        f"the query is nested more than {MAX_DEPTH} levels deep",
        span=span,
        hint="take out parentheses that change nothing; repeat a part with {n} instead of nesting it",
    )


def _read(text: str, at: int, accepted: Container[str]) -> Token:
    found = TOKEN.match(text, at)
    if found is None:
        raise _unreadable(text, at)
    match found.lastgroup:
        case "WORD":
            kind, stop = _word(text, found, accepted)
        case "SIGN":
            kind, stop = _SIGNS[found.group()], found.end()
        case "SLIP":
            sign = found.group()
            hint = _SLIPS.get(sign) or _SLIPS[sign[0]]
            raise QuerySyntaxError(f"{sign} has no meaning here", span=Span(at, found.end()), hint=hint)
        case kind:
            assert kind is not None
            stop = found.end()
    return Token(kind, text[at:stop], start_pos=at, end_pos=stop)


def _word(text: str, found: re.Match[str], accepted: Container[str]) -> tuple[str, int]:
    if "SELECTION" in accepted and (selection := _SELECTION.match(text, found.start())):
        return "SELECTION", selection.end()
    word = upper(found.group())
    for kind, first, pair in _PAIRS:
        fits = word == first and (kind in accepted or "NAME" not in accepted)
        if fits and (both := pair.match(text, found.start())):
            return kind, both.end()
    kind = TERMINALS.get(word) or (word if word in KEYWORDS else "NAME")
    if kind in accepted or "NAME" not in accepted:
        return kind, found.end()
    return "NAME", found.end()


def _unreadable(text: str, at: int) -> QuerySyntaxError:
    sign = text[at]
    if sign in _UNCLOSED:
        line_end = text.find("\n", at)
        return QuerySyntaxError(
            _UNCLOSED[sign],
            span=Span(at, len(text) if line_end < 0 else line_end),
            hint=f"close it with {sign}; a {sign} inside is written twice: {sign}it{sign}{sign}s{sign}",
        )
    return QuerySyntaxError(
        f"{sign!r} is not part of the language",
        span=Span(at, at + 1),
        hint='leave it out, or put an unusual name between double quotes: S."unit price"',
    )


def _span(token: Token) -> Span:
    return Span(token.start_pos or 0, token.end_pos or 0)
