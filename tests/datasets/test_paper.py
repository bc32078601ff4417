"""The paper's examples: streams as printed, queries that parse, counts that the judge confirms."""

import pytest

from greta import parse
from greta.datasets import paper
from greta_research import brute_force


def test_the_stream_of_figure_6_is_as_printed():
    events = [f"{e['type'].lower()}{e['time']}" for e in paper.I.to_pylist()]
    assert events == ["a1", "b2", "c2", "a3", "e3", "a4", "c5", "d6", "b7", "a8", "b9"]


def test_prices_are_as_printed():
    assert paper.PRICES.column("price").to_pylist() == [10, 2, 9, 8, 7, 1, 6, 5, 4, 3]


def test_attributes_may_be_missing_for_some_events():
    assert paper.stream("a1=5 b2").column("attr").to_pylist() == [5, None]


@pytest.mark.parametrize("text", [paper.Q1, paper.Q2, paper.Q3])
def test_the_three_queries_parse(text):
    parse(text)


@pytest.mark.parametrize("query", ["Q1", "Q2", "Q3"])
def test_each_query_has_ten_different_variations_that_parse(query):
    texts = {paper.variation(query, factor, way) for factor in paper.FACTORS for way in ("up", "down")}
    assert len(texts) == 10
    assert getattr(paper, query) in texts
    for text in texts:
        parse(text)


def test_a_variation_changes_the_edge_predicate_alone():
    assert "M.load > NEXT(M).load * 1.2\n" in paper.variation("Q2", 1.2, "down").replace("AND ", "")
    assert (
        paper.variation("Q2", 1.2, "down").replace("M.load > NEXT(M).load * 1.2", "M.load < NEXT(M).load") == paper.Q2
    )


@pytest.mark.parametrize("name", paper.EXAMPLES)
def test_building_every_trend_confirms_the_examples(name):
    example = paper.EXAMPLES[name]
    rows = brute_force.aggregate(example.events.to_pylist(), example.query)
    assert tuple(row["count"] for row in rows) == example.trends
