"""Brute force on values of trends, MAXIMAL and computed columns, against numbers made by hand."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from greta.baselines.brute_force import aggregate
from greta.errors import QueryMeaningError
from greta.lang.nodes import (
    Aggregate,
    Arithmetic,
    Atom,
    Call,
    MathFunction,
    Number,
    Plus,
    Query,
    ReturnValue,
)

Row = dict[str, object]

# Prices 10 8 9 7 at 0, 10, 20 and 60 s: falls are 10 8, 10 9, 10 7, 8 7, 9 7, 10 8 7, 10 9 7 and the single events.
FALLS = [
    {"type": "Stock", "time": time, "price": price, "z": z}
    for time, price, z in [(0, 10, 1), (10, 8, None), (20, 9, 3), (60, 7, None)]
]
FALLING = "PATTERN Stock S+ WHERE S.price > NEXT(S).price"


def row(returns: str, rest: str = FALLING, events: list[Row] = FALLS) -> Row:
    """The only row, without its window."""
    (only,) = aggregate(events, f"RETURN {returns} {rest}")
    return {name: value for name, value in only.items() if not name.startswith("window_")}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("COUNT(*)", 11),
        ("MAX(COUNT(*))", 3),
        ("MIN(COUNT(*))", 1),
        ("SUM(COUNT(*))", 20),
        ("AVG(COUNT(*))", 20 / 11),
        ("SUM(COUNT(S))", 20),
        ("MAX(DURATION(*))", 60),
        ("AVG(DURATION(*))", (10 + 20 + 60 + 50 + 40 + 60 + 60) / 11),
        ("MIN(LAST(S.price) - FIRST(S.price))", -3),
        ("SUM(LAST(S.price) - FIRST(S.price))", -2 - 1 - 3 - 1 - 2 - 3 - 3),
        ("MAX(FIRST(S.price) - (LAST(S.price) - COUNT(*)))", 6),
        ("MAX(-LAST(S.price))", -7),
        ("MAX(MIN(S.price))", 10),
        ("MIN(MAX(S.price))", 7),
        ("MAX(SUM(S.price))", 26),
        ("MAX(SUM(S.z))", 4),
        ("MIN(FIRST(S.z))", 1),
        ("MAX(LAST(S.z) - FIRST(S.z))", 2),
        ("SUM(COUNT(S) + SUM(S.z))", 2 + 4 + 3 + 6 + 3 + 5 + 4 + 7),
        ("MAX(FIRST(S.missing))", None),
    ],
)
def test_a_value_of_trends_is_taken_of_each_trend(value: str, expected: object) -> None:
    assert row(f"{value} AS v") == {"v": expected}


def test_stddev_is_that_of_the_whole_population() -> None:
    lengths = [1] * 4 + [2] * 5 + [3] * 2
    mean = sum(lengths) / 11
    expected = math.sqrt(sum((length - mean) ** 2 for length in lengths) / 11)
    assert row("STDDEV(COUNT(*)) AS v")["v"] == pytest.approx(expected, rel=1e-15)


def test_a_single_trend_has_no_deviation() -> None:
    assert row("STDDEV(COUNT(*)), STDDEV(LAST(S.price))", events=FALLS[:1]) == {
        "stddev_count": 0.0,
        "stddev_last_S_price": 0.0,
    }


def test_a_duration_of_fractions_of_a_second_is_a_float() -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    events: list[Row] = [
        {"type": "A", "time": start},
        {"type": "A", "time": start + timedelta(milliseconds=1500)},
    ]
    assert row("MAX(DURATION(*)) AS v", "PATTERN A+", events) == {"v": 1.5}


# Speeds  1 2 3 2 3 4 4 at times 1 to 7: the rises are 1 2 3 and 2 3 4, and the last 4 alone.
SPEEDS = [{"type": "Car", "time": at, "speed": speed} for at, speed in enumerate([1, 2, 3, 2, 3, 4, 4], start=1)]
RISING = "PATTERN Car C+ SEMANTICS contiguous {} WHERE C.speed < NEXT(C).speed"


def test_maximal_trends_are_contained_in_no_other() -> None:
    assert row("COUNT(*) AS n", RISING.format(""), SPEEDS) == {"n": 6 + 6 + 1}
    assert row("COUNT(*) AS n, SUM(COUNT(*)) AS events", RISING.format("MAXIMAL"), SPEEDS) == {"n": 3, "events": 7}


def test_min_length_is_applied_after_maximal() -> None:
    assert row("COUNT(*) AS n", RISING.format("MAXIMAL MIN LENGTH 2"), SPEEDS) == {"n": 2}


def test_each_window_has_maximal_trends_of_its_own() -> None:
    # W0 [0-----5)      1 2 3 | 2
    # W1      [5-----10)          3 4 | 4
    text = f"RETURN COUNT(*) AS n, MAX(COUNT(*)) AS longest {RISING.format('MAXIMAL')} WITHIN 5 seconds"
    assert [(r["n"], r["longest"]) for r in aggregate(SPEEDS, text)] == [(2, 3), (2, 2)]


@pytest.mark.parametrize(
    ("computed", "expected"),
    [
        ("COUNT(S) / COUNT(*)", 20 / 11),
        ("LOG2(COUNT(*) + 5)", 4.0),
        ("LOG10(COUNT(*) - 1)", 1.0),
        ("LN(COUNT(*) - 10)", 0.0),
        ("SQRT(COUNT(*) + 5)", 4.0),
        ("ABS(MIN(LAST(S.price) - FIRST(S.price)))", 3),
        ("-(COUNT(*) - 1) * 2", -20),
        ("COUNT(*) / (COUNT(*) - 11)", None),
        ("LOG2(COUNT(*) - 11)", None),
        ("LN(-COUNT(*))", None),
        ("SQRT(-COUNT(*))", None),
        ("COUNT(*) + SUM(S.missing)", None),
    ],
)
def test_a_computed_column_follows_sql(computed: str, expected: object) -> None:
    assert row(f"{computed} AS v") == {"v": expected}


@pytest.mark.parametrize(
    ("function", "expected"), [("LOG2", 4_000.0), ("LOG10", 4_000 * math.log10(2)), ("LN", 4_000 * math.log(2))]
)
def test_a_logarithm_is_right_where_its_operand_is_beyond_every_float(function: MathFunction, expected: float) -> None:
    huge = Arithmetic("*", Aggregate("COUNT"), Number(2**4_000))
    query = Query((ReturnValue(Call(function, huge), "v"),), Plus(Atom("A", "A")))
    (only,) = aggregate([{"type": "A", "time": 1}], query)
    assert only["v"] == pytest.approx(expected, rel=1e-15)


def test_having_takes_values_of_trends_and_computed_columns() -> None:
    kept = f"{FALLING} HAVING"
    assert row("COUNT(*) AS n, COUNT(S) / COUNT(*) AS mean", f"{kept} MAX(COUNT(*)) = 3 AND mean > 1.8")["n"] == 11
    assert aggregate(FALLS, f"RETURN COUNT(*) {kept} LOG2(COUNT(*)) > 4") == []


def test_grouping_by_an_attribute_of_a_variable_leaves_other_events_alone() -> None:
    events: list[Row] = [
        {"type": "P", "time": 1, "vehicle": 1},
        {"type": "A", "time": 2},
        {"type": "P", "time": 3, "vehicle": 2},
        {"type": "A", "time": 4},
    ]
    for grouped in ("WHERE [P.vehicle] GROUP-BY vehicle", "GROUP-BY P.vehicle"):
        rows = aggregate(events, f"RETURN P.vehicle, COUNT(*) AS n PATTERN SEQ(P, A+) {grouped}")
        assert [(r["vehicle"], r["n"]) for r in rows] == [(1, 3), (2, 1)]


def test_pairs_of_trends_have_no_values_of_trends() -> None:
    with pytest.raises(QueryMeaningError):
        aggregate([{"type": "A", "time": 1}, {"type": "B", "time": 2}], "RETURN MAX(COUNT(*)) PATTERN A AND B")
