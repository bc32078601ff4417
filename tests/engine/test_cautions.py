"""Answers that are probably not what was meant come with a warning; all others come without."""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa
import pytest

import greta
from greta.engine.cautions import long_scans
from greta.engine.job import Job
from greta.engine.prepared import Prepared
from greta.errors import DataError, GretaWarning

FALLS = "RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price"


def trades(*prices: object, start: int = 1, step: int = 1, type_: str = "Stock") -> list[dict[str, Any]]:
    return [{"type": type_, "time": start + step * at, "price": price} for at, price in enumerate(prices)]


def test_types_that_no_event_has_are_told_with_those_that_are_there() -> None:
    with pytest.warns(GretaWarning, match=r"no event has the type Stock: column 'type' holds Trade\nhint: name one"):
        greta.aggregate(trades(3, 2, 1, type_="Trade"), FALLS)


def test_one_event_of_a_named_type_is_enough() -> None:
    events = [*trades(3, 2, type_="Trade"), {"type": "Stock", "time": 9, "price": 1}]
    assert greta.aggregate(events, "RETURN COUNT(*) PATTERN SEQ(NOT Accident A, Stock S+)").num_rows == 1


@pytest.mark.parametrize("slip", ["Accidnt", "accident", "Accidents"])
def test_a_type_that_is_nearly_one_of_the_events_is_told_though_others_are_there(slip: str) -> None:
    events = [*trades(3, 2), {"type": "Accident", "time": 9, "price": 1}]
    message = rf"no event has the type {slip}, and the query does not name Accident\nhint: did you mean Accident\?"
    with pytest.warns(GretaWarning, match=message):
        greta.aggregate(events, f"RETURN COUNT(*) PATTERN SEQ(Stock S+, NOT {slip} A)")


def test_a_type_that_is_near_another_named_one_is_not_told() -> None:
    events = [{"type": "Order1", "time": 1, "price": 1}]
    assert greta.aggregate(events, "RETURN COUNT(*) PATTERN SEQ(Order1 A, NOT Order2 B)").num_rows == 1


@pytest.mark.parametrize(("start", "unit"), [(1_704_187_800_000, "ms"), (1_704_187_800_000_000, "us")])
def test_numbers_that_look_like_a_time_since_1970_in_small_units_are_told(start: int, unit: str) -> None:
    with pytest.warns(GretaWarning, match=f"since 1970\nhint: .*--time-unit {unit}"):
        greta.aggregate(trades(3, 2, 1, start=start), FALLS)


def test_nanoseconds_since_1970_are_an_error_that_says_what_they_look_like() -> None:
    with pytest.raises(DataError, match=r"it looks like nanoseconds since 1970: .*--time-unit ns"):
        greta.aggregate(trades(3, 2, 1, start=1_704_187_800_000_000_000), FALLS)
    milliseconds = [event | {"time": 1_704_187_800_000.5 + event["time"]} for event in trades(3, 2)]
    with pytest.raises(DataError, match=r"it looks like milliseconds since 1970: .*--time-unit ms"):
        greta.aggregate(milliseconds, FALLS)


def test_seconds_since_1970_are_times_as_any() -> None:
    assert greta.aggregate(trades(3, 2, 1, start=1_704_187_800), FALLS).column("count").to_pylist() == [7.0]


@pytest.mark.parametrize("query", [FALLS, "RETURN MAX(S.price) PATTERN Stock S+"])
def test_an_order_of_text_that_reads_as_numbers_is_told(query: str) -> None:
    with pytest.warns(GretaWarning, match="price is text that reads as numbers"):
        greta.aggregate(trades("10", "9.5", "8"), query)


@pytest.mark.parametrize("prices", [("high", "low"), ("2023", "2024"), ("10", "low"), (None, None)])
def test_text_that_is_in_order_as_it_is_is_not_told(prices: tuple[str | None, ...]) -> None:
    events = pa.table({"type": ["Stock"] * 2, "time": [1, 2], "price": pa.array(prices, pa.string())})
    greta.aggregate(events, FALLS)


def test_text_that_is_only_told_apart_is_not_told() -> None:
    greta.aggregate(trades("10", "9"), "RETURN COUNT(*) PATTERN Stock S+ WHERE S.price != '9'")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("S.price > S.price", r"S\.price > S\.price never holds\nhint: did you mean S\.price > NEXT\(S\)\.price\?"),
        ("S.price = S.price", r"S\.price = S\.price always holds\nhint: did you mean"),
        ("S.price > 5 AND S.price < 3", r"S\.price > 5 and S\.price < 3 never hold together\nhint: join them by OR"),
        ("S.price > NEXT(S).price AND NOT S.price > NEXT(S).price", "never hold together"),
        ("S.type = 'A' AND S.price > 1 AND S.type = 'B'", r"S\.type = 'A' and S\.type = 'B' never hold together"),
        ("S.price > 1 OR S.price != S.price", r"S\.price != S\.price never holds"),
        ("1 > 2", r"1 > 2 never holds\nhint: compare with an attribute"),
        ("NOT 1 > 2", r"1 <= 2 always holds"),
    ],
)
def test_a_condition_that_decides_nothing_is_told(where: str, message: str) -> None:
    with pytest.warns(GretaWarning, match=message):
        greta.aggregate(trades(3, 2, 1), f"RETURN COUNT(*) PATTERN Stock S+ WHERE {where}")


def test_next_is_not_proposed_where_no_event_of_the_variable_comes_next() -> None:
    with pytest.warns(GretaWarning, match="hint: both sides are the same"):
        greta.aggregate(trades(3, 2), "RETURN COUNT(*) PATTERN Stock S WHERE S.price > S.price")


def test_times_that_are_all_equal_are_told_where_trends_have_several_events() -> None:
    with pytest.warns(GretaWarning, match="all events have the same time"):
        greta.aggregate(trades(3, 2, 1, step=0), FALLS)
    greta.aggregate(trades(3, 2, 1, step=0), "RETURN COUNT(*) PATTERN Stock S")


@pytest.mark.parametrize("rows", [0, 1])
def test_no_event_and_one_event_are_no_ground_for_a_warning(rows: int) -> None:
    table = pa.table({"type": ["Stock"] * rows, "time": [1] * rows, "price": [1.0] * rows})
    table = table.cast(pa.schema([("type", pa.string()), ("time", pa.int64()), ("price", pa.float64())]))
    greta.aggregate(table, FALLS)


def test_a_warning_points_at_the_line_that_asked_and_names_the_query_of_several() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        greta.aggregate(trades(3, 2, 1, type_="Trade"), {"falls": FALLS})
    assert [warning.filename for warning in caught] == [__file__]
    assert str(caught[0].message).startswith("query falls: no event has the type Stock")


def many(count: int, step: int = 1) -> pa.Table:
    """Events of one type, a step of seconds apart; rows of a table that holds one."""
    times = pa.array(range(0, count * step, step))
    one = pa.table({"type": ["A"], "x": [1], "g": [1]}).take(pa.array([0] * count))
    return one.append_column("time", times)


@pytest.mark.parametrize(
    ("where", "window", "warned"),
    [
        ("A.x * NEXT(A).x > 3 OR A.x = NEXT(A).g", "", True),
        ("A.x * NEXT(A).x % 2 = 1", "WITHIN 100000 seconds", True),
        ("A.x * NEXT(A).x % 2 = 1", "WITHIN 60 seconds", False),
        ("A.x < NEXT(A).x", "", False),
        ("A.x * NEXT(A).x % 2 = 1 AND A.g = NEXT(A).g", "", False),
    ],
)
def test_conditions_that_are_decided_pair_by_pair_are_estimated(where: str, window: str, warned: bool) -> None:
    events = many(100_000)
    job = Job.bind(f"RETURN COUNT(*) PATTERN A+ WHERE {where} {window}", events.schema)
    found = list(long_scans(job, Prepared(job, events)))
    assert bool(found) == warned
    if warned:
        assert "5.0e+09 pairs, about 2 minutes" in found[0].message
        assert "[company]" in (found[0].hint or "")
    few = many(1_000)
    assert not list(long_scans(job, Prepared(job, few)))


def test_pairs_inside_a_not_count_too() -> None:
    events = many(100_000)
    query = "RETURN COUNT(*) PATTERN SEQ(A a, NOT SEQ(A b, A c), A d) WHERE b.x * NEXT(c).x % 2 = 1"
    job = Job.bind(query, events.schema)
    assert len(list(long_scans(job, Prepared(job, events)))) == 1


@pytest.mark.parametrize(
    ("events", "query", "said"),
    [
        (trades(3, 2, 1, type_="Trade"), FALLS, "no event has the type Stock"),
        (trades(3, 2, 1, start=1_704_187_800_000), FALLS, "look like milliseconds since 1970"),
        ([event | {"price": str(event["price"])} for event in trades(30, 2, 1)], FALLS, "text that reads as numbers"),
        ([event | {"time": 5} for event in trades(3, 2, 1)], FALLS, "all events have the same time"),
        (trades(3, 2, 1), FALLS.replace("NEXT(S).price", "S.price"), "never holds"),
    ],
)
def test_showing_trends_warns_as_counting_them_does(events: Any, query: str, said: str) -> None:
    for ask in (greta.aggregate, greta.trends):
        with pytest.warns(GretaWarning, match=said):
            ask(events, query)


def test_the_name_of_a_file_in_place_of_events_says_how_to_read_it() -> None:
    with pytest.raises(DataError, match=r'is a name.*\n.*greta\.datasets\.load\("trades\.csv"\)'):
        greta.aggregate("trades.csv", FALLS)  # type: ignore[arg-type]
