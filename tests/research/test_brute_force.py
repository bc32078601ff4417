"""Brute force against the worked cases, and against counts made by hand."""

import json
import math
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given

from greta.errors import DataError, GretaError
from greta_research.brute_force import aggregate, trends
from support.by_hand import count, stream, words
from support.streams import Case, cases

WORKED = Path(__file__).parents[1] / "conformance"
CASES = [
    case for name in ("paper", "core", "extended") for case in json.loads((WORKED / f"{name}.json").read_text("utf-8"))
]
VALUE_CASES = json.loads((WORKED / "trend-values.json").read_text("utf-8"))


def ordered(rows: list[list[object]]) -> list[list[object]]:
    return sorted(rows, key=lambda row: [(value is None, str(type(value)), str(value)) for value in row])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_worked_cases_come_out_as_written(case: dict) -> None:
    rows = aggregate(case["events"], case["query"])
    assert ordered([[row[name] for name in case["columns"]] for row in rows]) == ordered(case["expected"])


def rounded(value: object) -> object:
    """Roots of the worked cases were not taken exactly."""
    return float(f"{value:.12e}") if isinstance(value, float) else value


@pytest.mark.parametrize("case", VALUE_CASES, ids=lambda case: case["name"])
def test_worked_values_of_trends_come_out_as_written(case: dict) -> None:
    rows = aggregate(case["events"], case["query"])
    got = [[rounded(row[name]) for name in case["columns"]] for row in rows]
    assert ordered(got) == ordered([[rounded(value) for value in row] for row in case["expected"]])


def test_there_are_918_worked_cases() -> None:
    assert (len(CASES), len(VALUE_CASES)) == (618, 300)


# Trends


def test_events_of_one_time_stamp_are_never_adjacent() -> None:
    #  a1 ─ a2
    #     ╲ a2
    assert words(stream("a1 a2 a2"), "A+") == ["A1", "A1 A2", "A1 A2", "A2", "A2"]


def test_two_ways_to_match_the_same_events_are_one_trend() -> None:
    assert count(stream("a1 a2 a3"), "SEQ(A+, A+)") == 4
    assert count(stream("a1 a2 a3"), "A+ OR A+") == 7


def test_different_variables_are_different_trends() -> None:
    assert words(stream("a1 a2"), "A x OR A y") == ["x1", "x2", "y1", "y2"]


def test_a_pattern_never_matches_nothing() -> None:
    assert count([], "A*") == 0
    assert count(stream("b1"), "A*") == 0
    assert count(stream("a1 a2"), "A*") == count(stream("a1 a2"), "A+") == 3


def test_a_repeated_part_that_may_be_empty_fills_its_rounds() -> None:
    assert words(stream("a1 a2 a3"), "(A?){2}") == sorted(["A1", "A2", "A3", "A1 A2", "A1 A3", "A2 A3"])
    assert words(stream("a1 a2 a3"), "A{2,3}") == ["A1 A2", "A1 A2 A3", "A1 A3", "A2 A3"]
    assert words(stream("a1 a2"), "(A*)+") == ["A1", "A1 A2", "A2"]


def test_input_order_does_not_matter() -> None:
    assert words(stream("b3 a2 a1"), "SEQ(A+, B)") == ["A1 A2 B3", "A1 B3", "A2 B3"]


def test_short_trends_are_left_out_by_min_length() -> None:
    assert words(stream("a1 a2 a3"), "A+ MIN LENGTH 3") == ["A1 A2 A3"]


# Names


def test_a_name_is_the_variable_of_this_name_and_only_else_a_type() -> None:
    events = stream("e1 e2 d3")
    # x1, x2, x1 x2, E1 D3, E2 D3
    rows = aggregate(events, "RETURN COUNT(x), COUNT(E) PATTERN E x+ OR SEQ(E, D)")
    assert rows == [{"window_start": None, "window_end": None, "count_x": 4, "count_E": 2}]
    # No variable is called E here, so E is both.
    rows = aggregate(events, "RETURN COUNT(x), COUNT(E) PATTERN E x+ OR SEQ(E y, D)")
    assert rows == [{"window_start": None, "window_end": None, "count_x": 4, "count_E": 6}]


def test_predicates_resolve_names_as_aggregates_do() -> None:
    events = stream("e1 e2", v=[1, 9])
    assert words(events, "E x OR E WHERE E.v > 5") == ["E2", "x1", "x2"]
    assert words(events, "E x OR E y WHERE E.v > 5") == ["x2", "y2"]


# Predicates


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("A.x > 1", "2 3"),
        ("NOT A.x > 1", "1"),
        ("A.x > 1 OR A.y = 7", "2 3 4"),
        ("NOT (A.x > 1 AND A.y = 7)", "1 2"),
        ("A.x % 2 = 1", "1 3"),
        ("-A.x % 2 = -1", "1 3"),
        ("A.x / 2 = 1.5", "3"),
        ("A.x / (A.x - 1) > 0", "2 3"),
        ("A.x % (A.x - 2) = 0 OR A.y = 7", "1 3 4"),
        ("A.missing = A.missing", ""),
    ],
)
def test_predicates_are_three_valued(condition: str, kept: str) -> None:
    events = stream("a1 a2 a3 a4", x=[1, 2, 3, None], y=[0, 0, float("nan"), 7])
    assert " ".join(word[1:] for word in words(events, f"A WHERE {condition}")) == kept


def test_edge_predicates_hold_between_every_pair_of_neighbours() -> None:
    events = stream("a1 a2 a3", x=[3, 1, 2])
    assert words(events, "A+ WHERE A.x > NEXT(A).x") == ["A1", "A1 A2", "A1 A3", "A2", "A3"]
    assert words(events, "SEQ(A x, A y) WHERE x.x < NEXT(y).x") == ["x2 y3"]


def test_remainders_take_the_sign_of_the_dividend() -> None:
    events = stream("a1 a2", x=[-3, 3], y=[-3.5, 3.5])
    assert words(events, "A WHERE A.x % 2 = -1") == ["A1"]
    assert words(events, "A WHERE A.y % -2 = 1.5") == ["A2"]


# Partitions


def test_an_event_that_is_null_in_a_common_attribute_is_in_no_trend() -> None:
    events = stream("a1 a2 a3 a4", g=[1, None, 1, 2])
    assert words(events, "A+ WHERE [g]") == ["A1", "A1 A3", "A3", "A4"]
    rows = aggregate(events, "RETURN g, COUNT(*) AS n PATTERN A+ GROUP-BY g")
    assert [(row["g"], row["n"]) for row in rows] == [(1, 3), (2, 1)]


def test_rows_are_per_group_even_where_the_attribute_is_not_returned() -> None:
    events = stream("a1 a2 a3", g=[1, 2, 2])
    assert [row["n"] for row in aggregate(events, "RETURN COUNT(*) AS n PATTERN A+ GROUP-BY g")] == [1, 3]


def test_a_scope_binds_its_own_variables_only() -> None:
    events = stream("a1 b2 a3 a4 a5", v=[1, 2, 2, 1, None])
    # b2 has no say; a5 is NULL where it must agree.
    assert words(events, "(A OR B)+ WHERE [A.v] MIN LENGTH 3") == ["A1 B2 A4"]
    assert words(events, "(A OR B){2} WHERE [A.v]") == ["A1 A4", "A1 B2", "B2 A3", "B2 A4"]


def test_an_attribute_that_only_a_scope_names_groups_by_the_value_in_the_scope() -> None:
    events = stream("a1 b2 a3", v=[1, 7, 2])
    rows = aggregate(events, "RETURN v, COUNT(*) AS n PATTERN (A OR B)+ WHERE [A.v] GROUP-BY v")
    # v = 1: a1, a1 b2; v = 2: a3, b2 a3; no A event: b2
    assert {row["v"]: row["n"] for row in rows} == {1: 2, 2: 2, None: 1}


# Windows


def test_a_trend_counts_in_every_window_that_holds_all_its_events() -> None:
    #          a2     a5
    # W0 [0--------4)
    # W1      [2--------6)
    # W2           [4--------8)
    rows = aggregate(stream("a2 a5"), "RETURN COUNT(*) AS n PATTERN A+ WITHIN 4 seconds SLIDE 2 seconds")
    assert [(row["window_start"], row["window_end"], row["n"]) for row in rows] == [
        (0, 4, 1),
        (2, 6, 3),
        (4, 8, 1),
    ]


def test_window_borders_are_exact_for_decimal_fractions() -> None:
    # 0.3 is the end of [0.2, 0.3) and the start of [0.3, 0.4), though 3 * 0.1 > 0.3 in floating point.
    rows = aggregate([{"type": "A", "time": 0.3}], "RETURN COUNT(*) AS n PATTERN A WITHIN 100 ms")
    assert rows == [{"window_start": 0.3, "window_end": 0.4, "n": 1}]


def test_windows_over_datetimes_are_aligned_to_the_epoch() -> None:
    query = "RETURN COUNT(*) AS n PATTERN A WITHIN 10 seconds"
    for zone in (None, UTC):
        events = [{"type": "A", "time": datetime(1969, 12, 31, 23, 59, 55, tzinfo=zone)}]
        assert aggregate(events, query) == [
            {
                "window_start": datetime(1969, 12, 31, 23, 59, 50, tzinfo=zone),
                "window_end": datetime(1970, 1, 1, tzinfo=zone),
                "n": 1,
            }
        ]


@pytest.mark.parametrize("time", [None, math.nan, math.inf, "noon", True])
def test_a_time_that_is_none_is_an_error(time: object) -> None:
    with pytest.raises(DataError, match="event 0"):
        aggregate([{"type": "A", "time": time}], "RETURN COUNT(*) PATTERN A")


def test_columns_for_time_and_type_may_have_other_names() -> None:
    rows = aggregate([{"kind": "A", "at": 1}], "RETURN COUNT(*) AS n PATTERN A", time="at", type="kind")
    assert rows[0]["n"] == 1


# Aggregates


def test_aggregates_pass_over_null_and_are_null_without_values() -> None:
    query = "RETURN COUNT(A), MIN(A.x), MAX(A.x), SUM(A.x), AVG(A.x) PATTERN A+"
    [row] = aggregate(stream("a1 a2", x=[3, None]), query)
    # Trends a1, a2, a1 a2: four events, of which two have a value.
    assert list(row.values())[2:] == [4, 3, 3, 6, 3.0]
    [row] = aggregate(stream("a1 a2", x=[None, float("nan")]), query)
    assert list(row.values())[2:] == [4, None, None, None, None]


def test_sums_of_integers_are_exact_and_averages_are_rounded_once() -> None:
    [row] = aggregate(stream("a1 a2", x=[2**80, 1]), "RETURN SUM(A.x) AS s, AVG(A.x) AS a PATTERN A+")
    assert row["s"] == 2 * (2**80 + 1)
    assert isinstance(row["s"], int)
    assert row["a"] == (2**80 + 1) / 2
    [row] = aggregate(stream("a1 a2 a3", x=[1e16, 1.0, -1e16]), "RETURN SUM(A.x) AS s PATTERN A")
    assert row["s"] == 1.0


def test_min_and_max_keep_the_type() -> None:
    [row] = aggregate(stream("a1 a2", s=["q", "p"]), "RETURN MIN(A.s) AS low, MAX(A.s) AS high PATTERN A")
    assert (row["low"], row["high"]) == ("p", "q")


def test_having_keeps_rows_for_which_it_is_true() -> None:
    events = stream("a1 a2 a3 a4", g=[1, 1, 2, 3], x=[1, 2, 5, None])
    query = "RETURN COUNT(*) AS n PATTERN A+ GROUP-BY g HAVING "
    assert [row["n"] for row in aggregate(events, query + "n > 1")] == [3]
    assert [row["n"] for row in aggregate(events, query + "MAX(A.x) > 1")] == [3, 1]
    assert [row["n"] for row in aggregate(events, query + "NOT MAX(A.x) > 4")] == [3]
    assert [row["n"] for row in aggregate(events, query + "g = 3 OR SUM(A.x) = 5")] == [1, 1]


# Outermost AND


def test_and_counts_pairs_of_different_trends() -> None:
    # P: a1, a2, a1 a2.  Q: b3.  No trend in both: 3 · 1 pairs.
    assert count(stream("a1 a2 b3"), "A+ AND B+") == 3
    # Z = 3 trends in both: Z(Z-1)/2 = 3 pairs.
    assert count(stream("a1 a2"), "A+ AND A+") == 3
    # X = {a1 a2}, Z = {a1, a2}: XZ + Z(Z-1)/2 = 2 + 1.
    assert count(stream("a1 a2"), "A+ AND A") == 3


def test_and_returns_no_row_where_there_is_no_pair() -> None:
    assert aggregate(stream("a1"), "RETURN COUNT(*) AS n PATTERN A+ AND A+") == []
    assert aggregate(stream("a1 b2", g=[1, 2]), "RETURN COUNT(*) AS n PATTERN A AND B WHERE [g]") == []


def test_and_aggregates_over_the_events_of_both_trends_of_every_pair() -> None:
    # Pairs {a1, a2}, {a1, a1 a2}, {a2, a1 a2}: x = 1+2, 1+1+2, 2+1+2.
    [row] = aggregate(stream("a1 a2", x=[1, 2]), "RETURN COUNT(A) AS c, SUM(A.x) AS s PATTERN A+ AND A+")
    assert (row["c"], row["s"]) == (8, 12)


def test_min_length_applies_to_each_trend_of_a_pair() -> None:
    assert count(stream("a1 a2 b3"), "A+ AND B+ MIN LENGTH 2") == 0


# The trends themselves


def test_trends_are_listed_by_window_and_partition() -> None:
    found = trends(
        stream("p1 p2 q3", v=[1, 1, 5], g=[1, 1, 1]),
        "RETURN COUNT(*) PATTERN SEQ(P+, Q) WHERE [g, P.v] WITHIN 10 seconds",
    )
    assert [(f.window_start, f.window_end, dict(f.partition)) for f in found] == [(0, 10, {"g": 1, "P.v": 1})]
    assert sorted(found[0].trends) == [
        ((0, "P"), (1, "P"), (2, "Q")),
        ((0, "P"), (2, "Q")),
        ((1, "P"), (2, "Q")),
    ]


def test_more_trends_than_the_limit_are_an_error() -> None:
    events = stream(" ".join(f"a{time}" for time in range(40)))
    with pytest.raises(GretaError, match="more than 100 trends"):
        trends(events, "RETURN COUNT(*) PATTERN A+", limit=100)
    assert len(trends(events[:3], "RETURN COUNT(*) PATTERN A+", limit=7)[0].trends) == 7


@given(cases(conjunction=False))
def test_counts_are_the_numbers_of_listed_trends(case: Case) -> None:
    query = "\n".join(line for line in case.query.splitlines() if not line.startswith("HAVING"))
    rows = aggregate(case.events, query)
    listed = trends(case.events, query)
    assert sum(row["n"] for row in rows) == sum(len(found.trends) for found in listed)
    for found in listed:
        assert len(set(found.trends)) == len(found.trends)
        for trend in found.trends:
            times = [case.events[index]["time"] for index, _ in trend]
            assert times == sorted(set(times))


@given(cases())
def test_the_order_of_the_input_never_matters(case: Case) -> None:
    forwards, backwards = (
        ordered([list(row.values()) for row in aggregate(events, case.query)])
        for events in (case.events, case.events[::-1])
    )
    assert forwards == backwards


@given(cases(conjunction=False))
def test_contiguous_and_next_match_only_ever_leave_trends_out(case: Case) -> None:
    lines = [line for line in case.query.splitlines() if not line.startswith("SEMANTICS")]

    def listed(semantics: str) -> set[tuple[object, ...]]:
        query = "\n".join([*lines[:2], f"SEMANTICS {semantics}", *lines[2:]])
        return {(f.window_start, trend) for f in trends(case.events, query) for trend in f.trends}

    assert listed("skip-till-next-match") <= listed("skip-till-any-match")
    assert listed("contiguous") <= listed("skip-till-any-match")
