"""Where AND and NOT may stand; sequences made flat (paper, §5.1: the cases of negation)."""

from __future__ import annotations

from itertools import pairwise
from typing import assert_never

from greta.errors import QueryMeaningError
from greta.lang.nodes import (
    Atom,
    Conjunction,
    Disjunction,
    Maybe,
    Negation,
    Pattern,
    Plus,
    Repeat,
    Seq,
    Star,
)
from greta.plan.draft import Branch, Draft, Side

_EDGES = "at the edge of the whole pattern, or of a branch of an outermost OR"


def check_shape(draft: Draft) -> None:
    """Split the pattern into sides and branches, the NOTs at their edges apart.

    ``SEQ(A, SEQ(B, NOT N), C)`` becomes ``SEQ(A, B, NOT N, C)``: only sequences with a NOT at their edge are
    opened, so a part that may be empty can be sheltered by a sequence of its own.
    """
    match draft.query.pattern:
        case Conjunction(left=left, right=right):
            for side in (left, right):
                if isinstance(side, Conjunction):
                    raise QueryMeaningError(
                        "AND joins exactly two patterns",
                        span=side.span,
                        hint="ask for two of them: A+ AND B+; one or the other is written with OR",
                    )
            draft.sides = (_side(left), _side(right))
        case pattern:
            draft.sides = (_side(pattern),)


def nullable(pattern: Pattern) -> bool:
    """Whether the pattern may match no event at all."""
    match pattern:
        case Atom():
            return False
        case Star() | Maybe():
            return True
        case Plus(body=body) | Negation(body=body):
            return nullable(body)
        case Repeat(body=body, at_least=at_least):
            return at_least == 0 or nullable(body)
        case Seq(parts=parts):
            return all(isinstance(part, Negation) or nullable(part) for part in parts)
        case Disjunction(parts=parts):
            return any(map(nullable, parts))
        case Conjunction():
            return False
        case _:
            assert_never(pattern)


def _side(pattern: Pattern) -> Side:
    parts = _choices(pattern) if isinstance(pattern, Disjunction) else [pattern]
    return Side(pattern, tuple(map(_branch, parts)))


def _branch(pattern: Pattern) -> Branch:
    if not isinstance(pattern, Seq):
        return Branch(_inner(pattern))
    parts = _opened(pattern)
    leading = trailing = None
    if all(isinstance(part, Negation) for part in parts):
        raise QueryMeaningError(
            "a sequence of NOTs alone has no trends",
            span=pattern.span,
            hint="add what must happen: SEQ(NOT Accident A, Position P+)",
        )
    _check_between(parts)
    if isinstance(parts[0], Negation):
        leading, parts = parts[0].body, parts[1:]
    if isinstance(parts[-1], Negation):
        trailing, parts = parts[-1].body, parts[:-1]
    return Branch(_sequence(parts, pattern), leading, trailing)


def _inner(pattern: Pattern, *, negative: bool = False) -> Pattern:
    """The pattern with flat sequences, below the places where edges may have NOTs."""
    match pattern:
        case Atom():
            return pattern
        case Seq():
            parts = _opened(pattern)
            for part, place in ((parts[0], "leading"), (parts[-1], "trailing")):
                if isinstance(part, Negation):
                    raise _misplaced_edge(part, place, negative=negative)
            _check_between(parts)
            return _sequence(parts, pattern)
        case Plus(body=body):
            return Plus(_inner(body), pattern.span)
        case Star(body=body):
            return Star(_inner(body), pattern.span)
        case Maybe(body=body):
            return Maybe(_inner(body), pattern.span)
        case Repeat(body=body, at_least=at_least, at_most=at_most):
            if at_most is not None and (at_most < max(at_least, 1) or at_least < 0):
                raise QueryMeaningError(
                    f"bounds of {{{at_least},{at_most}}} match nothing",
                    span=pattern.span,
                    hint="let the second bound be at least 1 and at least the first: {2,5}",
                )
            return Repeat(_inner(body), at_least, at_most, pattern.span)
        case Disjunction():
            return Disjunction(tuple(map(_inner, _choices(pattern))), pattern.span)
        case Negation():
            raise QueryMeaningError(
                "NOT has a meaning only as a part of SEQ",
                span=pattern.span,
                hint="give it a positive neighbour: SEQ(NOT Accident A, Position P+)",
            )
        case Conjunction():
            raise QueryMeaningError(
                "AND may only be the outermost operator of a pattern",
                span=pattern.span,
                hint="use AND at the top, as in SEQ(A, B) AND SEQ(C, D); below it, use SEQ and OR",
            )
        case _:
            assert_never(pattern)


def _choices(pattern: Disjunction) -> list[Pattern]:
    found: list[Pattern] = []
    for part in pattern.parts:
        found.extend(_choices(part) if isinstance(part, Disjunction) else [part])
    return found


def _opened(pattern: Seq) -> list[Pattern]:
    """The parts, where nested sequences with a NOT at an edge are opened."""
    parts: list[Pattern] = []
    for part in pattern.parts:
        match part:
            case Seq():
                inner = _opened(part)
                if isinstance(inner[0], Negation) or isinstance(inner[-1], Negation):
                    parts.extend(inner)
                else:
                    _check_between(inner)
                    parts.append(_sequence(inner, part))
            case Negation(body=body):
                parts.append(Negation(_inner(body, negative=True), part.span))
            case _:
                parts.append(_inner(part))
    return parts


def _sequence(parts: list[Pattern], pattern: Seq) -> Pattern:
    return parts[0] if len(parts) == 1 else Seq(tuple(parts), pattern.span)


def _check_between(parts: list[Pattern]) -> None:
    for one, other in pairwise(parts):
        if isinstance(one, Negation) and isinstance(other, Negation):
            raise QueryMeaningError(
                "two NOTs in a row",
                span=one.span | other.span,
                hint="for neither of them write NOT (C OR D), for not one after the other NOT SEQ(C, D)",
            )
    for index, part in enumerate(parts[1:-1], start=1):
        if not isinstance(part, Negation):
            continue
        for neighbour in (parts[index - 1], parts[index + 1]):
            if nullable(neighbour):
                raise QueryMeaningError(
                    "NOT beside a part that may be empty: between which events does it stand?",
                    span=part.span | neighbour.span,
                    hint="say both cases with OR: SEQ(A, NOT N, B, C) OR SEQ(A, C) for SEQ(A, NOT N, B?, C)",
                )


def _misplaced_edge(negation: Negation, place: str, *, negative: bool) -> QueryMeaningError:
    if negative:
        return QueryMeaningError(
            f"a {place} NOT has no meaning inside another NOT",
            span=negation.span,
            hint="put it between two parts: NOT SEQ(C, NOT E, D)",
        )
    moved = "SEQ(NOT N, SEQ(A, B)+)" if place == "leading" else "SEQ(SEQ(A, B)+, NOT N)"
    return QueryMeaningError(
        f"a {place} NOT may only stand {_EDGES}",
        span=negation.span,
        hint=f"move it to the edge, as in {moved}, or between two parts, as in SEQ(A, NOT N, B)+",
    )
