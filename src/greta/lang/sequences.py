"""Parts in a row that were written with another sign, ``A -> B`` → the ``SEQ(A, B)`` that says it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from greta.lang.expected import Piece, Stop
from greta.lang.words import KEYWORDS


def as_sequence(stop: Stop, sign: str) -> str:
    """``SEQ(Stock S+, Stock T)`` for the parts before and after ``sign``, where reading stopped, and each further one.

    A part that is more than a type, a variable and postfixes is written as ``A+`` or ``B``.
    """
    before = list(takewhile(_of_a_part, reversed(stop.before)))[::-1]
    parts = [_written(before) or "A+"]
    rest = stop.after[len(sign) - 1 :]
    while True:
        part = list(takewhile(_of_a_part, rest))
        parts.append(_written(part) or "B")
        rest = rest[len(part) :]
        if "".join(piece.text for piece in rest[: len(sign)]) != sign:
            return f"SEQ({', '.join(parts)})"
        rest = rest[len(sign) :]


def _of_a_part(piece: Piece) -> bool:
    return piece.text in ("+", "*", "?") or (piece.kind == "WORD" and piece.word not in KEYWORDS)


def _written(pieces: Sequence[Piece]) -> str:
    """Names apart, postfixes behind them; empty without a name."""
    names = [piece.text for piece in pieces if piece.kind == "WORD"]
    return " ".join(names) + "".join(piece.text for piece in pieces if piece.kind != "WORD") if names else ""
