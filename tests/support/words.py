"""Words over variables: which a pattern matches by its definition, and which runs a template has for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import assert_never

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
from greta.plan.nodes import Template

Word = tuple[str, ...]
NOT = "NOT "
"""Begins the marks that NOTs leave in words."""


def language(pattern: Pattern, longest: int) -> set[Word]:
    """Every word of at most ``longest`` variables, the empty one included where it matches.

    A ``NOT N`` over a single variable leaves the mark ``"NOT N"`` where it stands.
    """
    match pattern:
        case Atom(variable=variable):
            return {(variable,)}
        case Negation(body=Atom(variable=variable)):
            return {(NOT + variable,)}
        case Seq(parts=parts):
            return _concatenated((language(part, longest) for part in parts), longest)
        case Disjunction(parts=parts):
            return set().union(*(language(part, longest) for part in parts))
        case Maybe(body=body):
            return {(), *language(body, longest)}
        case Plus(body=body):
            return _repeated(language(body, longest), 1, None, longest)
        case Star(body=body):
            return _repeated(language(body, longest), 0, None, longest)
        case Repeat(body=body, at_least=at_least, at_most=at_most):
            return _repeated(language(body, longest), at_least, at_most, longest)
        case Negation() | Conjunction():
            raise AssertionError("no words of its own")
        case _:
            assert_never(pattern)


def variables_of(word: Word) -> Word:
    """The word without marks."""
    return tuple(symbol for symbol in word if not symbol.startswith(NOT))


def runs(template: Template, word: Word) -> list[list[int]]:
    """All sequences of states from a start to an end that spell the word."""
    paths = [[state.index] for state in template.states if state.start and state.variable == word[0]]
    for variable in word[1:]:
        paths = [
            [*path, transition.target]
            for path in paths
            for transition in template.transitions
            if transition.source == path[-1] and template.states[transition.target].variable == variable
        ]
    return [path for path in paths if template.states[path[-1]].end]


def marked(template: Template, path: list[int]) -> Word:
    """The word that a run spells, with the marks of the NOTs whose gaps it crosses."""
    links = {(t.source, t.target): template.links[t.link] for t in template.transitions}
    word = [template.states[path[0]].variable]
    for source, target in pairwise(path):
        crossed = (template.negatives[index].template for index in links[source, target].negations)
        word.extend(NOT + negative.states[0].variable for negative in crossed)
        word.append(template.states[target].variable)
    return tuple(word)


def _concatenated(languages: Iterable[set[Word]], longest: int) -> set[Word]:
    words: set[Word] = {()}
    for part in languages:
        words = {one + other for one in words for other in part if len(variables_of(one + other)) <= longest}
    return words


def _repeated(words: set[Word], at_least: int, at_most: int | None, longest: int) -> set[Word]:
    """Unions of powers; those beyond ``longest`` add nothing, since only the empty word is shorter than 1."""
    times = range(at_least, (at_least + longest if at_most is None else at_most) + 1)
    found: set[Word] = set()
    for power, reached in _powers(words, times.stop - 1, longest):
        if power in times:
            found |= reached
    return found


def _powers(words: set[Word], most: int, longest: int) -> Iterator[tuple[int, set[Word]]]:
    reached: set[Word] = {()}
    yield 0, reached
    for power in range(1, most + 1):
        reached = _concatenated((reached, words), longest)
        yield power, reached
