"""Several queries in one call: the rows of separate calls, under common columns, with errors that name the query."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import greta
from greta.engine import prepared as preparing
from greta.engine.tables import to_table
from greta.errors import DataError, GretaError, QueryError, QuerySyntaxError, SchemaError
from support.examples import examples
from support.streams import Case, cases

# Random queries and streams are senseless now and then, which is what they are for.
pytestmark = pytest.mark.filterwarnings("ignore::greta.GretaWarning")

EVENTS = pa.table(
    {
        "type": ["A", "B", "A", "C", "A", "B", None],
        "time": [1, 2, 3, 4, 5, 6, 7],
        "g": [1, 1, 2, 2, 1, 1, 1],
        "x": [3, 1, 2, 5, 4, 2, 9],
    }
)
QUERIES = {
    "all": "RETURN COUNT(*) PATTERN A+",
    "grouped": "RETURN g, COUNT(*), MAX(A.x) AS top PATTERN SEQ(A+, B) WHERE [g] GROUP-BY g",
    "without": "RETURN COUNT(*) PATTERN SEQ(A, NOT C, A b)",
    "contiguous": "RETURN COUNT(*) PATTERN SEQ(A, B) SEMANTICS contiguous WHERE [g]",
    "local": "RETURN COUNT(*) PATTERN A+ WHERE A.x > 2 AND A.x < NEXT(A).x",
    "nothing": "RETURN COUNT(*) PATTERN Z+",
}


@pytest.mark.parametrize("strategy", ["auto", "graph"])
@pytest.mark.parametrize("numbers", ["double", "exact"])
def test_rows_are_those_of_separate_calls_under_the_columns_of_all(strategy: Any, numbers: Any) -> None:
    rows = greta.aggregate(EVENTS, QUERIES, strategy=strategy, numbers=numbers)
    assert rows.column_names == ["query", "window_start", "window_end", "count", "g", "top"]
    expected = [
        {"query": name, "g": None, "top": None} | row
        for name, query in QUERIES.items()
        for row in greta.aggregate(EVENTS, query, strategy=strategy, numbers=numbers).to_pylist()
    ]
    assert rows.to_pylist() == expected


def test_queries_without_names_are_numbered() -> None:
    rows = greta.aggregate(EVENTS, [*QUERIES.values(), ("RETURN COUNT(*) PATTERN B+")])
    assert rows.schema.field("query").type == pa.int64()
    assert set(rows["query"].to_pylist()) == {0, 1, 2, 3, 4, 6}


def test_texts_queries_and_plans_may_be_mixed_and_named_by_pairs() -> None:
    text = QUERIES["all"]
    rows = greta.aggregate(EVENTS, [("text", text), ("query", greta.parse(text)), ("plan", greta.analyze(text))])
    assert rows["query"].to_pylist() == ["text", "query", "plan"]
    assert rows["count"].to_pylist() == [7.0] * 3


@examples(60)
@given(st.lists(cases(), min_size=2, max_size=5))
def test_random_queries_over_one_stream_give_the_rows_of_separate_calls(drawn: list[Case]) -> None:
    events = to_table([event for case in drawn for event in case.events])
    apart, together = [], []
    for case in drawn:
        try:
            apart.append(greta.aggregate(events, case.query).to_pylist())
        except GretaError:
            continue
        together.append(case.query)
    if not together:
        return
    try:
        rows = greta.aggregate(events, together)
    except SchemaError as error:
        assert "and another query has" in str(error)  # noqa: PT017 - most random queries go together
        return
    for number, expected in enumerate(apart):
        own = rows.filter(pa.array([label == number for label in rows["query"].to_pylist()], pa.bool_()))
        names = list(expected[0]) if expected else []
        assert own.select(names).to_pylist() == expected if expected else not own.num_rows


def test_events_are_sorted_once_per_set_of_partition_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    sorts = []
    original = preparing.order_events
    monkeypatch.setattr(preparing, "order_events", lambda *given: sorts.append(given) or original(*given))
    queries = [f"RETURN COUNT(*) PATTERN {pattern} WHERE [g]" for pattern in ("A+", "SEQ(A, B)", "SEQ(A+, C)")]
    greta.aggregate(EVENTS, [*queries, "RETURN COUNT(*) PATTERN A+", "RETURN COUNT(*) PATTERN B+"])
    assert len(sorts) == 2


@pytest.mark.parametrize(
    ("queries", "kind", "message"),
    [
        ({"good": "RETURN COUNT(*) PATTERN A+", "bad": "RETURN COUNT(*) PATTERN"}, QuerySyntaxError, "^query bad:1: "),
        (["RETURN COUNT(*) PATTERN A+", "RETURN SUM(A.y) PATTERN A+"], SchemaError, "^query 1:1: .*no attribute y"),
        ([], GretaError, "there is no query"),
        ([("a", "RETURN COUNT(*) PATTERN A"), "RETURN COUNT(*) PATTERN A"], GretaError, "some queries have names"),
        ([("a", "RETURN COUNT(*) PATTERN A"), ("a", "RETURN COUNT(*) PATTERN A")], GretaError, "same name"),
        ({1: "RETURN COUNT(*) PATTERN A"}, GretaError, "names of queries must be texts"),
        (7, GretaError, "not int"),
        (
            {"a": "RETURN COUNT(*) AS n PATTERN A", "b": "RETURN MAX(A.x) AS n PATTERN A"},
            SchemaError,
            "column n of query b is int64, and another query has double",
        ),
        (["RETURN COUNT(*) AS query PATTERN A"], SchemaError, "query 0 has a column named query"),
    ],
)
def test_errors_name_the_query(queries: Any, kind: type[GretaError], message: str) -> None:
    with pytest.raises(kind, match=message):
        greta.aggregate(EVENTS, queries)


def test_an_error_of_the_events_is_no_query_s_fault() -> None:
    events = EVENTS.set_column(1, "time", pa.array([1, 2, None, 4, 5, 6, 7]))
    with pytest.raises(DataError, match=r"^time column"):
        greta.aggregate(events, list(QUERIES.values()))


def test_an_error_of_one_query_alone_stays_as_it_is() -> None:
    with pytest.raises(QueryError, match=r"^query:1: "):
        greta.aggregate(EVENTS, "RETURN SUM(A.y) PATTERN A+")
