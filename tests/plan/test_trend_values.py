"""Values of trends, MAXIMAL and attributes of a variable in GROUP-BY: what is refused, and what is meant."""

from __future__ import annotations

import pytest

from greta.errors import QueryError, QueryMeaningError, SchemaError
from greta.lang.nodes import Atom, Plus, Query, ReturnValue, TrendAggregate, ValuePart
from greta.lang.parser import parse
from greta.plan.analyze import analyze
from greta.plan.nodes import AttributeType, Partitioning, Scope
from greta.plan.show.words import sentence


def refused(query: str | Query, kind: type[QueryError] = QueryMeaningError) -> QueryError:
    with pytest.raises(kind) as caught:
        analyze(query)
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("function", ["SUM", "AVG", "STDDEV"])
@pytest.mark.parametrize("extreme", ["MIN", "MAX"])
def test_the_extremes_of_trends_have_extremes_only(function: str, extreme: str) -> None:
    error = refused(f"RETURN {function}({extreme}(S.x)) PATTERN S+")
    assert "needs the trends one by one" in error.message
    assert f"MAX({extreme}(S.x))" in str(error.hint)


@pytest.mark.parametrize("value", ["MAX(S.x) - MIN(S.x)", "COUNT(*) + MIN(S.x)", "-MAX(S.x)"])
def test_the_extreme_of_a_trend_stands_alone(value: str) -> None:
    refused(f"RETURN MAX({value}) PATTERN S+")
    refused(f"RETURN COUNT(*) PATTERN S+ HAVING 2 * MAX({value}) > 3")


def test_a_tree_built_by_hand_is_checked_too() -> None:
    parts = (ValuePart("MIN", "S", "x"),)
    refused(Query((ReturnValue(TrendAggregate("SUM", parts), "total"),), Plus(Atom("S", "S"))))


def test_pairs_of_trends_have_no_values_of_trends() -> None:
    assert "outermost AND" in refused("RETURN MAX(COUNT(*)) PATTERN A+ AND B+").message


@pytest.mark.parametrize(
    "rest",
    [
        "A+ MAXIMAL",
        "A+ SEMANTICS skip-till-any-match MAXIMAL",
        "SEQ(A+, B) SEMANTICS contiguous MAXIMAL",
        "(A OR B)+ SEMANTICS contiguous MAXIMAL",
        "A* SEMANTICS skip-till-next-match MAXIMAL",
    ],
)
def test_maximal_stands_with_one_variable_and_a_selection_that_goes_on(rest: str) -> None:
    error = refused(f"RETURN COUNT(*) PATTERN {rest}")
    assert error.text is not None
    assert error.text[error.span.start : error.span.stop] == "MAXIMAL"


def test_maximal_runs_of_one_variable_have_a_plan() -> None:
    for semantics in ("contiguous", "skip-till-next-match"):
        assert analyze(f"RETURN COUNT(*) PATTERN Stock S+ SEMANTICS {semantics} MAXIMAL").query.maximal


def test_a_value_of_a_trend_is_a_number() -> None:
    schema = {"name": AttributeType.TEXT, "x": AttributeType.INTEGER}
    with pytest.raises(SchemaError, match="a value of a trend is a number, and name is text"):
        analyze("RETURN MAX(LAST(S.name)) PATTERN S+", schema)
    analyze("RETURN MAX(LAST(S.x)) PATTERN S+ HAVING LOG2(MAX(LAST(S.x))) > 1", schema)
    with pytest.raises(SchemaError, match="LOG2 needs numbers"):
        analyze("RETURN COUNT(*) PATTERN S+ HAVING LOG2(MAX(S.name)) > 1", schema)


def test_group_by_with_a_variable_means_its_scope() -> None:
    plan = analyze("RETURN P.vehicle, COUNT(*) PATTERN SEQ(Position P+, Accident A) GROUP-BY P.vehicle")
    same = analyze("RETURN vehicle, COUNT(*) PATTERN SEQ(Position P+, Accident A) WHERE [P.vehicle] GROUP-BY vehicle")
    assert plan.partitioning == same.partitioning == Partitioning((), (Scope("vehicle", frozenset({"P"})),))
    assert plan.group == plan.returned == ("vehicle",)


def test_the_scope_of_all_variables_is_common() -> None:
    plan = analyze("RETURN S.sector, COUNT(*) PATTERN Stock S+ GROUP-BY S.sector")
    assert plan.partitioning == Partitioning(("sector",))


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("RETURN COUNT(*) PATTERN SEQ(A, B) GROUP-BY A.g, B.g", "could mean A.g or B.g"),
        ("RETURN B.g, COUNT(*) PATTERN SEQ(A, B) GROUP-BY A.g", "another g than that of B"),
        ("RETURN A.g, COUNT(*) PATTERN SEQ(A, B)", "which is not grouped"),
        ("RETURN COUNT(*) PATTERN SEQ(A, NOT B, C) GROUP-BY B.g", "stands only inside NOT"),
        ("RETURN COUNT(*) PATTERN A GROUP-BY Q.g", "neither a variable nor an event type"),
    ],
)
def test_a_group_that_could_mean_two_things_or_nothing_is_refused(query: str, problem: str) -> None:
    assert problem in refused(query).message


def test_words_say_what_a_value_of_trends_is() -> None:
    query = parse(
        "RETURN MAX(COUNT(*)), AVG(LAST(S.price) - FIRST(S.price)), STDDEV(DURATION(*)), MAX(MIN(S.price)), "
        "COUNT(S) / COUNT(*) AS mean PATTERN Stock S+ SEMANTICS contiguous MAXIMAL GROUP-BY S.company "
        "HAVING MAX(COUNT(*)) > 3"
    )
    assert sentence(query) == (
        "For each S.company: the largest number of events in a trend, "
        "the average last S.price minus first S.price in a trend, "
        "the standard deviation of the duration in seconds in a trend, the largest lowest S.price in a trend and "
        "mean = COUNT(S) / COUNT(*). A trend, contained in no other, is one or more Stock events S, where "
        "no event of the partition may be skipped. Only rows where the largest number of events in a trend is "
        "greater than 3 are kept."
    )
