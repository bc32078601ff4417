"""Queries of any size and depth are answered: with a tree that is safe to use, or with an error."""

import copy
import pickle

import pytest

from greta.errors import QuerySyntaxError
from greta.lang.lexer import MAX_DEPTH
from greta.lang.nodes import And, Disjunction, Number, Plus, Query, Seq
from greta.lang.parser import MAX_LENGTH, parse
from greta.lang.values import MAX_DIGITS


def pattern(text: str) -> Query:
    return parse(f"RETURN COUNT(*) PATTERN {text}")


def where(text: str) -> Query:
    return pattern(f"A WHERE {text}")


DEEP = {
    "parentheses in a pattern": lambda n: pattern("(" * n + "A" + ")" * n),
    "parentheses in a condition": lambda n: where("(" * n + "A.x" + ")" * n),
    "SEQ": lambda n: pattern("SEQ(" * n + "A" + ")" * n),
    "postfix": lambda n: pattern("A" + "+" * n),
    "NOT in a pattern": lambda n: pattern("NOT " * n + "A"),
    "NOT in a condition": lambda n: where("NOT " * n + "A.x"),
    "AND in a pattern": lambda n: pattern("A" + " AND A" * n),
    "minus signs": lambda n: where("- " * n + "A.x"),
    "sums": lambda n: where("A.x" + "+1" * n),
    "products": lambda n: where("A.x" + "*1" * n),
    "alternating AND and OR": lambda n: where("A.x AND (A.x OR (" * ((n + 1) // 2) + "A.y" + "))" * ((n + 1) // 2)),
}


@pytest.mark.parametrize("build", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1_000, 8_000])
def test_deep_nesting_is_an_error_and_no_crash(build: object, depth: int) -> None:
    with pytest.raises(QuerySyntaxError, match=f"nested more than {MAX_DEPTH} levels|characters, more than"):
        build(depth)  # type: ignore[operator]


@pytest.mark.parametrize("build", DEEP.values(), ids=DEEP)
def test_a_tree_of_the_greatest_depth_can_be_printed_compared_hashed_and_pickled(build: object) -> None:
    query = build(MAX_DEPTH - 2)  # type: ignore[operator]
    assert parse(str(query)) == query
    assert hash(parse(str(query))) == hash(query)
    assert pickle.loads(pickle.dumps(query)) == query
    assert copy.deepcopy(query) == query
    assert repr(query)


def test_the_greatest_depth_itself_is_allowed() -> None:
    assert isinstance(pattern("A" + "+" * (MAX_DEPTH - 1)).pattern, Plus)
    with pytest.raises(QuerySyntaxError):
        pattern("A" + "+" * MAX_DEPTH)


def test_long_flat_lists_are_not_deep() -> None:
    count = 5_000
    sequence = pattern("SEQ(" + ", ".join(["A"] * count) + ")").pattern
    choice = pattern(" OR ".join(["A"] * count)).pattern
    assert isinstance(sequence, Seq)
    assert len(sequence.parts) == count
    assert isinstance(choice, Disjunction)
    assert len(choice.parts) == count
    assert len(where(" AND ".join(["A.x"] * count)).where) == count
    assert isinstance(where("NOT (" + " AND ".join(["A.x"] * count) + ")").where[0].operand, And)  # type: ignore[union-attr]


def test_a_query_of_megabytes_is_refused() -> None:
    with pytest.raises(QuerySyntaxError, match="characters, more than") as caught:
        parse("RETURN COUNT(*) PATTERN A" + " " * 5_000_000)
    assert len(str(caught.value)) < 1_000


def test_a_query_of_the_greatest_length_is_read() -> None:
    text = "RETURN COUNT(*) PATTERN A"
    assert parse(text.ljust(MAX_LENGTH)) == parse(text)


def test_whole_numbers_may_have_hundreds_of_digits_but_not_any_number() -> None:
    digits = "9" * MAX_DIGITS
    assert where(f"A.x < {digits}").where[0].right == Number(int(digits))  # type: ignore[union-attr]
    with pytest.raises(QuerySyntaxError, match="digits is too long"):
        where(f"A.x < {digits}9")


def test_an_error_deep_in_a_long_line_shows_only_a_part_of_it() -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        pattern("SEQ(" + ", ".join(["A"] * 5_000) + ", +)")
    assert len(str(caught.value)) < 1_000
