"""print∘parse is the identity, on random trees and on every real query."""

import pytest
from hypothesis import given

from greta.errors import Span
from greta.lang.nodes import And, Expression, Pattern, Query
from greta.lang.parser import parse
from greta.lang.printer import print_expression, print_pattern
from greta.lang.walk import walk
from support.queries import expressions, patterns, queries
from support.samples import conformance_queries, example_queries


def assert_same(read: object, expected: object) -> None:
    """Equal, and numbers of the same type: 1 == 1.0, but they print differently."""
    assert read == expected
    assert repr(read) == repr(expected)


def read_pattern(text: str) -> Pattern:
    return parse(f"RETURN COUNT(*) PATTERN {text}").pattern


def read_condition(text: str) -> Expression:
    conjuncts = parse(f"RETURN COUNT(*) PATTERN A WHERE {text}").where
    return conjuncts[0] if len(conjuncts) == 1 else And(conjuncts)


@given(queries())
def test_a_printed_query_reads_back_as_itself(query: Query) -> None:
    assert_same(parse(str(query)), query)


@given(patterns())
def test_a_printed_pattern_reads_back_as_itself(pattern: Pattern) -> None:
    assert_same(read_pattern(print_pattern(pattern)), pattern)


@given(expressions())
def test_a_printed_expression_reads_back_as_itself(expression: Expression) -> None:
    assert_same(read_condition(print_expression(expression)), expression)


@given(queries())
def test_printing_is_canonical(query: Query) -> None:
    assert str(parse(str(query))) == str(query)


@given(queries())
def test_the_text_under_a_pattern_s_span_is_that_pattern(query: Query) -> None:
    text = str(query)
    for node, _ in walk(parse(text).pattern):
        assert_same(read_pattern(text[node.span.start : node.span.stop]), node)


@given(expressions())
def test_the_text_under_an_expression_s_span_is_that_expression(expression: Expression) -> None:
    text = f"RETURN COUNT(*) PATTERN A WHERE {print_expression(expression)}"
    for conjunct in parse(text).where:
        for node, _ in walk(conjunct):
            assert node.span != Span(0, 0)
            assert_same(read_condition(text[node.span.start : node.span.stop]), node)


@pytest.mark.parametrize("text", example_queries())
def test_an_example_prints_back(text: str) -> None:
    assert_same(parse(str(parse(text))), parse(text))


def test_every_conformance_query_prints_back() -> None:
    texts = conformance_queries()
    assert len(texts) > 100
    for text in texts:
        assert_same(parse(str(parse(text))), parse(text))
