"""The rivals: the same rows as brute force and the engine wherever they finish, and honesty where they do not."""

import math

import pytest
from hypothesis import assume, given

from greta.datasets import cluster, paper, stock, traffic
from greta.engine.aggregate import aggregate
from greta.engine.tables import schema_of, to_table
from greta.errors import QueryError
from greta.plan.analyze import analyze
from greta_research import brute_force
from greta_research.rivals import DidNotFinish, Finished, Limits, rivals
from support.streams import Case, cases

RIVALS = rivals()
TWO_STEP = ("flat", "sase", "cet")


def plan_of(query, table):
    return analyze(query, schema_of(table.schema))


def answer(name, events, query):
    table = to_table(events)
    outcome = RIVALS[name].run(table, plan_of(query, table), Limits())
    assert isinstance(outcome, Finished)
    return outcome.rows


def assert_same(rows, expected):
    """Equal rows in any order, numbers up to rounding."""

    def key(row):
        return [f"{v:.6g}" if isinstance(v, int | float) else repr(v) for v in row.values()]

    def number(value):
        return pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value

    rows, expected = sorted(rows, key=key), sorted(expected, key=key)
    assert rows == [{name: number(value) for name, value in row.items()} for row in expected]


def table_of(case: Case):
    """The case's events with every column of its schema, typed even where all values are NULL."""
    columns = ("type", "time", "x", "y", "s", "b", "g", "h")
    return to_table([{name: event.get(name) for name in columns} for event in case.events])


@pytest.mark.parametrize("name", TWO_STEP)
@given(case=cases(conjunction=False))
def test_rivals_agree_with_brute_force(name, case):
    assume(case.events)
    table = table_of(case)
    try:
        plan = plan_of(case.query, table)
    except QueryError:
        assume(False)
    assume(RIVALS[name].supports(plan) is None)
    outcome = RIVALS[name].run(table, plan, Limits())
    assert isinstance(outcome, Finished)
    assert_same(outcome.rows, brute_force.aggregate(case.events, case.query))


SEQUENCES = (
    "RETURN COUNT(*), SUM(B.x), MIN(A.y), MAX(C.x), AVG(B.y) PATTERN SEQ(A, B, C) WITHIN 6 seconds SLIDE 2 seconds",
    "RETURN g, COUNT(B) PATTERN SEQ(A, NOT C, B) WHERE [g] AND A.x > 1 GROUP-BY g WITHIN 4 seconds SLIDE 1 second",
    "RETURN COUNT(*) PATTERN SEQ(A, NOT C, B, NOT C c2, A a2) HAVING COUNT(*) > 1",
)


@pytest.mark.parametrize("query", SEQUENCES)
@given(case=cases(negation=False, conjunction=False))
def test_a_seq_agrees_with_brute_force_on_sequences(query, case):
    assume(case.events)
    table = table_of(case)
    outcome = RIVALS["aseq"].run(table, plan_of(query, table), Limits())
    assert isinstance(outcome, Finished)
    assert_same(outcome.rows, brute_force.aggregate(case.events, query))


@pytest.mark.parametrize("name", TWO_STEP)
@pytest.mark.parametrize("example", paper.EXAMPLES)
def test_rivals_find_the_papers_numbers_of_trends(name, example):
    example = paper.EXAMPLES[example]
    if RIVALS[name].supports(analyze(example.query)):
        pytest.skip("another event selection semantics")
    rows = answer(name, example.events, example.query)
    assert tuple(row["count"] for row in rows) == example.trends


@pytest.mark.parametrize("name", RIVALS)
def test_rivals_refuse_values_of_trends(name):
    plan = analyze("RETURN MAX(COUNT(*)) AS longest PATTERN SEQ(A, B)")
    assert RIVALS[name].supports(plan) == "no values of trends"


@pytest.mark.parametrize("name", TWO_STEP)
def test_rivals_compute_from_aggregates(name):
    events = [{"type": "A", "time": t} for t in (1, 2, 3)]
    (row,) = answer(name, to_table(events), "RETURN COUNT(*), COUNT(A) / COUNT(*) AS mean, COUNT(A) PATTERN A+")
    assert list(row.items())[2:] == [("count", 7), ("mean", 12 / 7), ("count_A", 12)]


PAPERS = {
    "Q1": (paper.Q1, stock(60, companies=6, seed=3, rate=0.05)),
    "Q2": (paper.Q2, cluster(1500, rate=20, jobs=5, mappers=5, seed=1)),
    "Q3": (paper.Q3, traffic(400, seed=5)),
}


@pytest.mark.parametrize("name", TWO_STEP)
@pytest.mark.parametrize("query", PAPERS)
def test_rivals_agree_with_the_engine_on_the_papers_queries(name, query):
    text, events = PAPERS[query]
    expected = aggregate(events, text).to_pylist()
    assert expected
    assert_same(answer(name, events, text), expected)


@pytest.mark.parametrize("name", TWO_STEP)
def test_time_that_is_up_is_reported_as_not_finished(name):
    events = stock(40, companies=1, falling=True)
    outcome = RIVALS[name].run(events, plan_of(paper.Q1, events), Limits(seconds=0.05))
    assert isinstance(outcome, DidNotFinish)
    assert outcome.reason == "time"
    assert 0.05 < outcome.seconds < math.inf


@pytest.mark.parametrize("name", ["flat", "cet"])
def test_memory_that_is_full_is_reported_as_not_finished(name):
    events = stock(40, companies=1, falling=True)
    outcome = RIVALS[name].run(events, plan_of(paper.Q1, events), Limits(memory=1e6))
    assert isinstance(outcome, DidNotFinish)
    assert outcome.reason == "memory"
    assert outcome.stored > 1e6


def test_cet_stores_trends_where_sase_stores_pointers():
    events = stock(14, companies=1, falling=True)
    plan = plan_of(paper.Q1, events)
    stored = {name: RIVALS[name].run(events, plan, Limits()).stored for name in TWO_STEP}
    assert stored["cet"] > 100 * stored["sase"]


@pytest.mark.parametrize(
    ("name", "query", "reason"),
    [
        ("aseq", "RETURN COUNT(*) PATTERN A+", "Kleene"),
        ("aseq", "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A.x < NEXT(B).x", "edge"),
        ("aseq", "RETURN COUNT(*) PATTERN SEQ(NOT A, B)", "edge of a pattern"),
        ("sase", "RETURN COUNT(*) PATTERN A AND B", "AND"),
        ("cet", "RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous", "contiguous"),
        ("flat", "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [A.x]", "some of the pattern's variables"),
    ],
)
def test_a_rival_says_what_it_cannot_do(name, query, reason):
    assert reason in RIVALS[name].supports(analyze(query))
