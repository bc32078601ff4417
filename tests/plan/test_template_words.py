"""Templates accept exactly the words that patterns match by definition, each in one run."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, product

from hypothesis import event, given
from hypothesis import strategies as st

from greta.errors import QueryMeaningError
from greta.lang.nodes import (
    Aggregate,
    Atom,
    Conjunction,
    Disjunction,
    Equivalence,
    EquivalenceAttribute,
    Maybe,
    Negation,
    Pattern,
    Plus,
    Query,
    Repeat,
    ReturnValue,
    Semantics,
    Seq,
    Star,
)
from greta.plan.analyze import analyze
from greta.plan.nodes import Place, Template
from support.words import Word, language, marked, runs, variables_of

LONGEST = 5
VARIABLES = "ABC"


def patterns(max_leaves: int = 6) -> st.SearchStrategy[Pattern]:
    """Positive patterns over few variables, so that words often match in several ways."""
    atoms = st.sampled_from(VARIABLES).map(lambda name: Atom(name, name))
    bounds = st.sampled_from([(0, 2), (1, 2), (1, 3), (2, 2), (2, 3), (0, None), (2, None)])

    def larger(smaller: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
        parts = st.lists(smaller, min_size=1, max_size=3).map(tuple)
        return st.one_of(
            st.builds(Seq, parts),
            st.builds(Disjunction, parts),
            st.builds(Plus, smaller),
            st.builds(Star, smaller),
            st.builds(Maybe, smaller),
            st.builds(lambda body, pair: Repeat(body, *pair), smaller, bounds),
        )

    return st.recursive(atoms, larger, max_leaves=max_leaves)


@st.composite
def patterns_with_not(draw: st.DrawFn) -> Pattern:
    """Patterns with NOTs between parts, each over a variable of its own."""
    numbers = count()

    def sprinkled(pattern: Pattern) -> Pattern:
        match pattern:
            case Seq(parts=parts) | Disjunction(parts=parts):
                changed = [sprinkled(part) for part in parts]
                if isinstance(pattern, Disjunction):
                    return Disjunction(tuple(changed))
                spread: list[Pattern] = changed[:1]
                for part in changed[1:]:
                    if draw(st.booleans()):
                        name = f"N{next(numbers)}"
                        spread.append(Negation(Atom(name, name)))
                    spread.append(part)
                return Seq(tuple(spread))
            case Plus(body=body) | Star(body=body) | Maybe(body=body) | Repeat(body=body):
                return replace(pattern, body=sprinkled(body))
            case _:
                return pattern

    return sprinkled(Seq((draw(patterns(4)), draw(patterns(4)))))


def count_trends(pattern: Pattern, **clauses: object) -> Query:
    return Query((ReturnValue(Aggregate("COUNT"), "count"),), pattern, **clauses)


def words() -> list[Word]:
    return [word for length in range(1, LONGEST + 1) for word in product(VARIABLES, repeat=length)]


def accepted(template: Template) -> set[Word]:
    """The words that the template accepts; none may have two runs."""
    found = set()
    for word in words():
        paths = runs(template, word)
        assert len(paths) <= 1, word
        if paths:
            found.add(word)
    return found


@given(patterns(), st.integers(1, 4), st.sampled_from(Semantics))
def test_a_template_accepts_what_the_pattern_matches_each_word_in_one_run(
    pattern: Pattern, min_length: int, semantics: Semantics
) -> None:
    plan = analyze(count_trends(pattern, min_length=min_length, semantics=semantics))
    expected = {word for word in language(pattern, LONGEST) if len(word) >= min_length}
    assert accepted(plan.templates[0]) == expected


@given(patterns(), st.integers(1, 4))
def test_states_know_the_length_and_the_scopes_met(pattern: Pattern, min_length: int) -> None:
    pattern = Disjunction((pattern, Seq(tuple(Atom(name, name) for name in VARIABLES))))
    agreed = Equivalence((EquivalenceAttribute("A", "x"), EquivalenceAttribute("B", "y")))
    plan = analyze(count_trends(pattern, min_length=min_length, where=(agreed,)))
    (template,) = plan.templates
    for word in words():
        for path in runs(template, word):
            for reached, index in enumerate(path, start=1):
                state = template.states[index]
                assert state.length == min(reached, min_length)
                assert state.seen == ("A" in word[:reached]) + 2 * ("B" in word[:reached])


@given(patterns(), patterns())
def test_the_third_template_of_an_and_accepts_what_both_sides_match(left: Pattern, right: Pattern) -> None:
    plan = analyze(count_trends(Conjunction(left, right)))
    both = language(left, LONGEST) & language(right, LONGEST)
    assert accepted(plan.templates[2]) == {word for word in both if word}


@given(patterns_with_not())
def test_transitions_across_a_gap_carry_its_not_and_no_others_do(pattern: Pattern) -> None:
    try:
        (template,) = analyze(count_trends(pattern)).templates
    except QueryMeaningError as error:
        if "may be empty" not in error.message and "in one way only" not in error.message:
            raise
        event(error.message[:30])
        return
    event(f"{len(template.negatives)} NOTs")
    matched = {word for word in language(pattern, LONGEST) if variables_of(word)}
    spelt = {marked(template, path) for word in words() for path in runs(template, word)}
    assert spelt == matched
    assert accepted(template) == {variables_of(word) for word in matched}
    assert all(negative.place is Place.BETWEEN for negative in template.negatives)


@given(patterns_with_not())
def test_a_word_with_two_meanings_under_not_is_refused(pattern: Pattern) -> None:
    try:
        analyze(count_trends(pattern))
    except QueryMeaningError:
        return
    matched = language(pattern, LONGEST)
    assert len({variables_of(word) for word in matched}) == len(matched)
