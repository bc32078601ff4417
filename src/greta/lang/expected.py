"""What the grammar expected and what it found, in plain words: no user meets the name of a terminal."""

from __future__ import annotations

from dataclasses import dataclass

from greta.errors import Span
from greta.lang.lexer import SKIPPED, TOKEN
from greta.lang.words import CLAUSES, upper


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text as the lexer sees it without the grammar."""

    kind: str
    text: str
    span: Span

    @property
    def word(self) -> str:
        """In capitals, as keywords are known; empty for all that is no word."""
        return upper(self.text) if self.kind == "WORD" else ""


@dataclass(frozen=True, slots=True)
class Stop:
    """Where reading stopped: what came before, what was found (None: the end), what could have followed."""

    before: tuple[Piece, ...]
    found: Piece | None
    after: tuple[Piece, ...]
    accepted: frozenset[str]

    def last(self, back: int = 1) -> Piece:
        """The piece before the place, or one further back; an empty piece before the beginning."""
        return self.before[-back] if len(self.before) >= back else Piece("", "", Span(0, 0))

    @property
    def word(self) -> str:
        """The word that was found, in capitals."""
        return self.found.word if self.found else ""


_NAMES = frozenset({"NAME", "QUOTED", "FUNCTION", "VALUE", "CALL", "NEXT"})
"""All that may stand where a name does."""

_EXPECTATIONS: tuple[tuple[str, frozenset[str], str], ...] = (
    (
        "SEQ",
        frozenset({"SEQ", "NOT", "LPAR", *_NAMES}),
        "a pattern such as Stock S+",
    ),
    (
        "TRUE",
        frozenset(
            {
                "TRUE",
                "FALSE",
                "NOT",
                "LPAR",
                "LSQB",
                "MINUS",
                "NUMBER",
                "TEXT",
                *_NAMES,
            }
        ),
        "a value such as S.price",
    ),
    ("LBRACE", frozenset({"LBRACE", "PLUS", "STAR", "QMARK"}), ""),
    (
        "PERCENT",
        frozenset({"PERCENT", "PLUS", "MINUS", "STAR", "SLASH", "COMPARISON"}),
        "an operator",
    ),
    ("COMPARISON", frozenset({"COMPARISON"}), "a comparison"),
    (
        "WITHIN",
        frozenset({"SEMANTICS", "MAXIMAL", "MIN_LENGTH", "WHERE", "GROUP_BY", "HAVING", "WITHIN", "SLIDE"}),
        "another clause",
    ),
    ("SELECTION", frozenset({"SELECTION"}), "an event selection such as skip-till-any-match"),
    ("NUMBER", frozenset({"NUMBER", "MINUS"}), "a number"),
    ("MINUS", frozenset({"PLUS", "MINUS"}), "an operator"),
    ("NAME", _NAMES, "a name"),
    ("$END", frozenset({"$END"}), "the end of the query"),
)
"""If the first terminal is accepted, the whole set is spoken of by the phrase."""

_SIGNS = {
    "LPAR": "(",
    "RPAR": ")",
    "LSQB": "[",
    "RSQB": "]",
    "RBRACE": "}",
    "COMMA": "a comma",
    "DOT": "a dot",
    "STAR": "*",
}


def read_pieces(text: str) -> tuple[Piece, ...]:
    """All that can be read of the text, errors passed over."""
    pieces: list[Piece] = []
    at = 0
    while at < len(text):
        if skipped := SKIPPED.match(text, at):
            at = skipped.end()
        elif found := TOKEN.match(text, at):
            pieces.append(Piece(found.lastgroup or "", found.group(), Span(at, found.end())))
            at = found.end()
        else:
            at += 1
    return tuple(pieces)


def place_of(stop: Stop) -> Span:
    """What was found; at the end of the query, the character after the last piece."""
    if stop.found is not None:
        return stop.found.span
    end = stop.last().span.stop
    return Span(end, end + 1)


def message_for(stop: Stop) -> str:
    """``expected a pattern such as Stock S+, found WHERE``"""
    return f"expected {expected_words(stop)}, {found_words(stop)}"


def found_words(stop: Stop) -> str:
    """``found WHERE``, or that the query ends."""
    if stop.found is None:
        return "but the query ends"
    shown = stop.found.text if len(stop.found.text) <= 40 else stop.found.text[:40] + "…"
    return f"found {shown}"


def expected_words(stop: Stop) -> str:
    """``PATTERN, a comma or a name``: the accepted terminals, grouped where a phrase covers several."""
    left = set(stop.accepted)
    if not left & {"SEQ", "TRUE"} and {"NAME", "NUMBER"} <= left:
        # In RETURN and inside an aggregate, where a value begins: the name is what people miss.
        left -= {"LPAR", "MINUS", "NUMBER"}
    if stop.last(2).text == ".":
        # An attribute may be a structure, and go on with a field: nobody misses that.
        left -= {"DOT"}
    phrases: list[str] = []
    if "CALL" in left and "NAME" not in left:
        # In RETURN behind an operator, where only what is computed from aggregates can follow.
        left -= {"CALL", "FUNCTION", "LPAR", "MINUS", "NUMBER"}
        phrases.append("an aggregate such as COUNT(*)")
    for sign, spoken, phrase in _EXPECTATIONS:
        if sign in left:
            left -= spoken
            phrases.append(phrase)
    words = [_SIGNS.get(terminal, terminal.replace("_", " ")) for terminal in sorted(left)]
    phrases = sorted(words) + [phrase for phrase in phrases if phrase]
    return phrases[0] if len(phrases) == 1 else ", ".join(phrases[:-1]) + " or " + phrases[-1]


def example_for(stop: Stop) -> str:
    """A working fragment for the kind of thing that was expected."""
    accepted = stop.accepted
    if accepted == {"RETURN"}:
        return "a query begins with RETURN: RETURN COUNT(*) PATTERN Stock S+"
    if "PATTERN" in accepted:
        return "after RETURN comes PATTERN: RETURN COUNT(*) PATTERN Stock S+"
    if "SEQ" in accepted:
        return "patterns are written like SEQ(Start S, Measurement M+, End E)"
    if "TRUE" in accepted:
        return "conditions are written like S.price > NEXT(S).price AND S.volume >= 100"
    if accepted <= {"NUMBER", "MINUS"}:
        return "write a number: MIN LENGTH 2, A{2,3}, WITHIN 10 minutes"
    if "SELECTION" in accepted:
        return "SEMANTICS skip-till-any-match, skip-till-next-match or contiguous"
    if "DOT" in accepted and not accepted & {"COMMA", "RPAR", "PERCENT"}:
        return "write the attribute after a dot: NEXT(S).price"
    if {"AND", "MINUS"} <= accepted:
        return "join values with an operator such as = or <, and conditions with AND or OR"
    if "$END" in accepted:
        return f"the clauses after PATTERN are {', '.join(CLAUSES[2:])}"
    if "RETURN" not in accepted and "NAME" in accepted:
        return "a name is letters, digits and underscores; others go between double quotes"
    return f"write {expected_words(stop)} here"
