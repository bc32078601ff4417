"""What goes in: forms of tables, kinds of time, and input that cannot be read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from greta.engine.aggregate import aggregate
from greta.errors import DataError, GretaError, GretaWarning, SchemaError

QUERY = "RETURN COUNT(*) AS n PATTERN A+ WITHIN 10 seconds"
ROWS = [{"type": "A", "time": t, "x": t} for t in (3, 1, 2)]


@pytest.mark.parametrize(
    "events",
    [ROWS, tuple(ROWS), pa.Table.from_pylist(ROWS), pd.DataFrame(ROWS), pl.DataFrame(ROWS)],
    ids=["dicts", "tuple", "arrow", "pandas", "polars"],
)
def test_every_form_of_table_gives_the_same_rows(events: Any) -> None:
    assert aggregate(events, QUERY).to_pylist() == [{"window_start": 0, "window_end": 10, "n": 7.0}]


def test_windows_of_timestamps_are_aligned_to_the_epoch_and_keep_their_type() -> None:
    start = datetime(2024, 1, 1, 12, 0, 7, tzinfo=UTC)
    events = [{"type": "A", "time": start + timedelta(seconds=s)} for s in (0, 1, 5)]
    rows = aggregate(events, QUERY).to_pylist()
    noon = datetime(2024, 1, 1, 12, 0, 0, tzinfo=UTC)
    assert rows == [
        {"window_start": noon, "window_end": noon + timedelta(seconds=10), "n": 3.0},
        {"window_start": noon + timedelta(seconds=10), "window_end": noon + timedelta(seconds=20), "n": 1.0},
    ]


def test_timestamps_before_the_epoch_have_windows_too() -> None:
    events = [{"type": "A", "time": datetime(1969, 12, 31, 23, 59, 55, tzinfo=UTC)}]
    [row] = aggregate(events, QUERY).to_pylist()
    assert row["window_start"] == datetime(1969, 12, 31, 23, 59, 50, tzinfo=UTC)


def test_decimal_fractions_of_seconds_fall_into_the_window_they_name() -> None:
    events = [{"type": "A", "time": 0.3}]
    [row] = aggregate(events, "RETURN COUNT(*) AS n PATTERN A WITHIN 100 ms").to_pylist()
    assert (row["window_start"], row["window_end"]) == (0.3, 0.4)


def test_an_empty_table_has_an_empty_answer_of_the_right_columns() -> None:
    empty = pa.table({"type": pa.array([], pa.string()), "time": pa.array([], pa.int64())})
    answer = aggregate(empty, QUERY)
    assert answer.num_rows == 0
    assert answer.column_names == ["window_start", "window_end", "n"]


def test_unknown_event_types_match_nothing() -> None:
    with pytest.warns(GretaWarning, match="no event has the type A"):
        assert aggregate([{"type": "Z", "time": 1}, {"type": None, "time": 2}], QUERY).num_rows == 0


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([{"type": "A", "time": -1}], "negative in row 0"),
        ([{"type": "A", "time": 1.0}, {"type": "A", "time": float("nan")}], "not a finite number in row 1"),
        ([{"type": "A", "time": 1}, {"type": "A", "time": None}], "NULL in row 1"),
        ([{"type": "A", "time": "noon"}], "must hold timestamps"),
        ([{"type": "A", "time": 10**16}], "too large"),
        ([{"type": "A", "time": 1, "x": 1}, {"type": "A", "time": 1, "x": "a"}], "mixes values"),
        ([1, 2], "not a mapping"),
        (pa.table({"type": ["A"], "time": pa.array([2**64 - 1], pa.uint64())}), "out of range"),
        (pa.table({"type": ["A"], "time": pa.array([2**60], pa.timestamp("s"))}), "out of range"),
        (pa.table({"type": ["A"], "time": pa.array([2**63 - 2], pa.timestamp("ns"))}), "do not fit times"),
        (pa.table({"type": [["A"]], "time": [1]}), "must hold the name of an event type"),
    ],
)
def test_unreadable_events_are_named(events: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        aggregate(events, QUERY)


def test_a_missing_time_column_is_named_with_the_option_that_chooses_it() -> None:
    with pytest.raises(SchemaError, match="no time column 'time'"):
        aggregate([{"type": "A", "at": 1}], QUERY)
    assert aggregate([{"type": "A", "at": 1}], QUERY, time="at").num_rows == 1


def test_a_missing_attribute_is_an_error_before_any_work() -> None:
    with pytest.raises(SchemaError, match="no attribute pirce"):
        aggregate([{"type": "A", "time": 1, "price": 1}], "RETURN SUM(A.pirce) PATTERN A+")


def test_an_attribute_of_the_wrong_type_is_an_error_before_any_work() -> None:
    with pytest.raises(SchemaError):
        aggregate([{"type": "A", "time": 1, "name": "a"}], "RETURN SUM(A.name) PATTERN A+")


def test_a_column_of_a_type_that_queries_cannot_use_is_named() -> None:
    events = pa.table({"type": ["A"], "time": [1], "x": [[1]]})
    with pytest.raises(SchemaError, match=r"cannot use columns of these types: x \(list<"):
        aggregate(events, "RETURN SUM(A.x) PATTERN A+")


def test_fields_of_structures_are_attributes() -> None:
    events: list[dict[str, Any]] = [
        {"type": "A", "time": t, "p": {"x": t % 3, "of": {"k": "u"}} if t < 4 else None} for t in range(5)
    ]
    query = 'RETURN "p.of.k", COUNT(*) AS n, SUM(A.p.x) PATTERN A+ WHERE A.p.x < NEXT(A).p.x GROUP-BY "p.of.k"'
    # 0 1 2 0 rise in (0), (1), (2), (0 1), (0 2), (1 2), (0 1 2), (0); a structure that is NULL has fields that are.
    for form in (events, pa.Table.from_pylist(events)):
        (row,) = aggregate(form, query).to_pylist()
        assert (row["p.of.k"], row["n"], row["sum_A_p_x"]) == ("u", 8.0, 12.0)
    with pytest.raises(SchemaError, match=r"p\.x"):
        aggregate(events, "RETURN SUM(A.p.y) PATTERN A+")
    flat = pa.table({"type": ["A"], "time": [1], "p.x": [7], "p": [{"x": 1}]})
    assert aggregate(flat, "RETURN SUM(A.p.x) AS total PATTERN A+").to_pylist()[0]["total"] == 7.0


def test_an_unknown_number_mode_is_an_error() -> None:
    with pytest.raises(GretaError, match="'double' or 'exact'"):
        aggregate(ROWS, QUERY, numbers="float")  # type: ignore[arg-type]


def test_dictionary_columns_compare_and_group_as_their_values() -> None:
    events = pa.table(
        {
            "type": pa.array(["A", "A", "A"]).dictionary_encode(),
            "time": [1, 2, 3],
            "name": pa.array(["b", "a", "a"]).dictionary_encode(),
        }
    )
    query = "RETURN name, COUNT(*) AS n, MIN(A.name) AS low PATTERN A+ GROUP-BY name"
    rows = sorted(aggregate(events, query).to_pylist(), key=lambda row: row["name"])
    assert [(row["name"], row["n"], row["low"]) for row in rows] == [("a", 3.0, "a"), ("b", 1.0, "b")]


@pytest.mark.parametrize("name", ["trades.csv", Path("trades.csv")])
def test_the_name_of_a_file_is_no_table_of_events(name: object) -> None:
    with pytest.raises(DataError, match=r'greta.datasets.load\("trades.csv"\)'):
        aggregate(name, "RETURN COUNT(*) PATTERN A+")
