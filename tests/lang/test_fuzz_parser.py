"""No text, however mangled, makes the parser raise anything but its own error."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greta.errors import GretaError, QuerySyntaxError, visible
from greta.lang.parser import parse
from support.samples import conformance_queries, example_queries

_WORDS = (
    "RETURN PATTERN WHERE GROUP-BY HAVING WITHIN SLIDE SEMANTICS SEQ NOT AND OR AS NEXT COUNT MIN SUM LENGTH "
    "MAXIMAL LAST LOG2 TRUE x 0 -1 1.5 1e999 'text' \"name\" seconds A S.price NEXT(S).x [g] COUNT(*) MAX(COUNT(*))"
)
_SIGNS = "( ) [ ] { } , . + - * / % ? = != < <= ; == && ' \" ` -- # \0 \n é \u2028 \ud800"
_TOKENS = [*_WORDS.split(" "), *_SIGNS.split(" ")]
_RICH = """
RETURN sector, COUNT(*) AS trends, AVG(S.price), STDDEV(LAST(S.price) - FIRST(S.price)), LOG2(COUNT(*)) / 2 AS bits
PATTERN SEQ(NOT Accident A, (Stock S+ OR B{2,3})?, C*)
SEMANTICS skip-till-next-match
MAXIMAL
MIN LENGTH 2
WHERE [company, S.sector] AND NOT (S.price > NEXT(S).price * 1.5 OR S.name = 'it''s') AND -S.x <> 3
GROUP BY sector, S."unit price" -- comment
HAVING COUNT(*) > 1000 AND ABS(MIN(DURATION(*))) < 5
WITHIN 10 minutes SLIDE 10 seconds
"""


def mutate(text: str, rng: random.Random) -> str:
    """A few edits, of characters or of whole tokens: drop, repeat, swap, replace or insert."""
    cut = re.compile(r"\s+|\w+|.", re.DOTALL) if rng.random() < 0.6 else re.compile(".", re.DOTALL)
    pieces = cut.findall(text)
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        at, other = rng.randrange(len(pieces)), rng.randrange(len(pieces))
        match rng.randrange(6):
            case 0 if len(pieces) > 1:
                del pieces[at]
            case 1:
                pieces[at:at] = pieces[min(at, other) : max(at, other)]
            case 2:
                pieces[at], pieces[other] = pieces[other], pieces[at]
            case 3:
                pieces[at] = rng.choice(_TOKENS)
            case 4:
                pieces.insert(at, chr(rng.choice([rng.randrange(128), rng.randrange(0x3000)])))
            case _:
                pieces.insert(at, f" {rng.choice(_TOKENS)} ")
    return "".join(pieces)


def check(text: str) -> bool:
    """Whether the text is a query: then it prints back; if not, its error has a hint and can be shown."""
    try:
        query = parse(text)
    except QuerySyntaxError as error:
        problem = error
    else:
        assert parse(str(query)) == query
        return True
    assert problem.hint
    assert visible(problem.message) in str(problem)
    assert 0 <= problem.span.start <= len(text)
    return False


def fuzz(count: int, seed: int) -> None:
    rng = random.Random(seed)
    texts = [*conformance_queries(), *example_queries(), *[_RICH] * 200]
    outcomes = {True: 0, False: 0}
    for _ in range(count):
        text = mutate(rng.choice(texts), rng)
        try:
            outcomes[check(text)] += 1
        except Exception as error:
            raise AssertionError(f"parsing {text!r}") from error
    # Mutations that never break a query, or always do, would test little.
    assert min(outcomes.values()) > count // 20


def test_a_mangled_query_parses_or_raises_a_syntax_error_with_a_hint() -> None:
    fuzz(600, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_many_mangled_queries_parse_or_raise_a_syntax_error_with_a_hint(seed: int) -> None:
    fuzz(6_000, seed=100 + seed)


@given(st.text())
def test_any_text_parses_or_raises_a_syntax_error_with_a_hint(text: str) -> None:
    check(text)


@given(st.lists(st.sampled_from(_TOKENS), max_size=30).map(" ".join))
def test_any_string_of_tokens_parses_or_raises_a_syntax_error_with_a_hint(text: str) -> None:
    check(f"RETURN COUNT(*) PATTERN A {text}")


def test_syntax_errors_are_greta_errors() -> None:
    with pytest.raises(GretaError):
        parse("nonsense")
