"""What may come next in a pattern, read off the syntax tree: the matcher of brute force.

A *rest* is the part of a pattern that is still to be matched: sub-patterns, one after another. Nothing here
builds an automaton, so that brute force and the templates of the planner have no mistake in common.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, assert_never

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

Rest = tuple[Pattern, ...]


class Step(NamedTuple):
    """One way to take the next event: the NOTs passed on the way, the place it takes, what is left then."""

    gaps: tuple[Negation, ...]
    atom: Atom
    rest: Rest


class Branch(NamedTuple):
    """An outermost OR's branch without the NOTs at its edges."""

    leading: tuple[Negation, ...]
    body: Rest
    trailing: tuple[Negation, ...]


def branches(pattern: Pattern) -> list[Branch]:
    """The branches of an outermost OR, or the whole pattern as the only one, with SEQ in SEQ made flat."""
    match pattern:
        case Disjunction(parts=parts):
            return [branch for part in parts for branch in branches(part)]
        case Negation():
            raise QueryMeaningError(
                "NOT may not be the outermost operator",
                span=pattern.span,
                hint="give it a positive neighbour: SEQ(NOT A, B+)",
            )
        case Seq():
            parts = tuple(_flat(pattern))
            positive = [index for index, part in enumerate(parts) if not isinstance(part, Negation)]
            if not positive:
                raise QueryMeaningError(
                    "SEQ needs a part without NOT",
                    span=pattern.span,
                    hint="give NOT a positive neighbour: SEQ(NOT A, B+)",
                )
            first, last = positive[0], positive[-1]
            return [Branch(_negations(parts[:first]), parts[first : last + 1], _negations(parts[last + 1 :]))]
        case _:
            return [Branch((), (pattern,), ())]


@lru_cache(maxsize=4096)
def steps(rest: Rest) -> tuple[Step, ...]:
    """All ways to take the next event from ``rest``; two of them may be alike."""
    found: list[Step] = []
    gaps: tuple[Negation, ...] = ()
    for index, part in enumerate(rest):
        if isinstance(part, Negation):
            gaps = (*gaps, part)
            continue
        found += [Step(gaps + step.gaps, step.atom, step.rest + rest[index + 1 :]) for step in _first(part)]
        if not _may_be_empty(part):
            break
    return tuple(found)


@lru_cache(maxsize=4096)
def is_done(rest: Rest) -> bool:
    """Whether a trend may end before ``rest``."""
    if not all(_may_be_empty(part) for part in rest if not isinstance(part, Negation)):
        return False
    for part in rest:
        if isinstance(part, Negation):
            raise misplaced(part)
    return True


def misplaced(negation: Negation) -> QueryMeaningError:
    """The error for a NOT that has no event before or after it."""
    return QueryMeaningError(
        "this NOT has no event on one of its sides",
        span=negation.span,
        hint="put it between parts that always match an event, or at the edge of the whole pattern",
    )


def atoms(pattern: Pattern, *, negative: bool = True) -> Iterator[Atom]:
    """The places for events from left to right, with those inside NOT or (``negative=False``) without."""
    match pattern:
        case Atom():
            yield pattern
        case Seq(parts=parts) | Disjunction(parts=parts):
            for part in parts:
                yield from atoms(part, negative=negative)
        case Plus(body=body) | Star(body=body) | Maybe(body=body) | Repeat(body=body):
            yield from atoms(body, negative=negative)
        case Negation(body=body):
            if negative:
                yield from atoms(body)
        case Conjunction(left=left, right=right):
            yield from atoms(left, negative=negative)
            yield from atoms(right, negative=negative)
        case _:
            assert_never(pattern)


def _first(pattern: Pattern) -> Iterator[Step]:
    match pattern:
        case Atom():
            yield Step((), pattern, ())
        case Seq():
            yield from steps(tuple(_flat(pattern)))
        case Disjunction(parts=parts):
            for part in parts:
                yield from _first(part)
        case Maybe(body=body):
            yield from _first(body)
        case Plus(body=body) | Star(body=body):
            for step in _first(body):
                yield step._replace(rest=(*step.rest, Star(body)))
        case Repeat(body=body, at_least=at_least, at_most=at_most):
            if at_most == 0:
                return
            # A body that may be empty fills the rounds that are still due with nothing.
            due = 0 if _may_be_empty(body) else max(at_least - 1, 0)
            left = Repeat(body, due, None if at_most is None else at_most - 1)
            for step in _first(body):
                yield step._replace(rest=(*step.rest, left))
        case Negation():
            raise misplaced(pattern)
        case Conjunction():
            raise QueryMeaningError(
                "AND may only be the outermost operator",
                span=pattern.span,
                hint="write P AND Q as the whole pattern",
            )
        case _:
            assert_never(pattern)


def _may_be_empty(pattern: Pattern) -> bool:
    match pattern:
        case Atom() | Conjunction():
            return False
        case Star() | Maybe() | Negation():
            return True
        case Plus(body=body):
            return _may_be_empty(body)
        case Repeat(body=body, at_least=at_least):
            return at_least == 0 or _may_be_empty(body)
        case Seq(parts=parts):
            return all(_may_be_empty(part) for part in parts)
        case Disjunction(parts=parts):
            return any(_may_be_empty(part) for part in parts)
        case _:
            assert_never(pattern)


def _flat(pattern: Pattern) -> Iterator[Pattern]:
    if isinstance(pattern, Seq):
        for part in pattern.parts:
            yield from _flat(part)
    else:
        yield pattern


def _negations(parts: Rest) -> tuple[Negation, ...]:
    return tuple(part for part in parts if isinstance(part, Negation))
