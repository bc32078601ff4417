"""Whatever comes in, rows or one of greta's own errors come out."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from greta import aggregate
from greta.errors import DataError, GretaError, QueryMeaningError, QuerySyntaxError

STRATEGIES = pytest.mark.parametrize("strategy", ["auto", "graph"])


@STRATEGIES
@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
def test_a_polars_frame_may_have_text_everywhere(kind: Any, strategy: Any) -> None:
    events = pl.DataFrame({"type": ["A", "A", "A"], "time": [1, 2, 3], "g": ["x", "y", "x"]})
    events = events.with_columns(pl.col("g").cast(kind))
    query = "RETURN g, COUNT(*) AS n, MAX(A.g) AS high PATTERN A+ WHERE [g] AND A.g < 'z' GROUP-BY g"
    rows = aggregate(events, query, strategy=strategy).to_pylist()
    assert sorted((row["g"], row["n"], row["high"]) for row in rows) == [("x", 3, "x"), ("y", 1, "y")]


@STRATEGIES
@pytest.mark.parametrize(
    "type_", [pa.timestamp(u, z) for u in ("s", "us", "ns") for z in (None, "UTC")] + [pa.date32()]
)
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("A.t < '2024-01-02T00:00:00'", [1]),
        ("A.t < '2024-01-02T00:00:00Z'", [1]),
        ("A.t < '2024-01-02T02:00:00+02:00'", [1]),
        ("A.t < '2300-01-01'", [3]),
        ("A.t > '1500-01-01T00:00:00Z'", [3]),
        ("A.t = '2024-01-02'", [1]),
        ("A.t < '2300-01-01' OR NEXT(A).t = '2300-01-01'", [3]),
        ("A.t <= '2024-01-02' AND (A.t < NEXT(A).t OR NEXT(A).t > '2300-01-01')", [3]),
    ],
)
def test_time_stamps_meet_literals_of_every_zone_and_range(
    type_: pa.DataType, where: str, expected: list[int], strategy: Any
) -> None:
    stamps = pa.array([date(2024, 1, 1), date(2024, 1, 2)]).cast(pa.timestamp("s")).cast(type_)
    events = pa.table({"type": ["A", "A"], "time": [1, 2], "t": stamps})
    rows = aggregate(events, f"RETURN COUNT(*) AS n PATTERN A+ WHERE {where}", strategy=strategy)
    assert rows.column("n").to_pylist() == expected


@STRATEGIES
def test_time_stamps_of_other_units_and_zones_meet(strategy: Any) -> None:
    events = pa.table(
        {
            "type": ["A", "A"],
            "time": [1, 2],
            "t": pa.array(
                [datetime(2024, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")
            ),
            "u": pa.array([date(2024, 1, 1), date(2024, 1, 2)]).cast(pa.timestamp("ns")),
        }
    )
    for where, expected in (("A.t = A.u", 1), ("A.u < NEXT(A).t", 3), ("A.t >= A.u", 3)):
        rows = aggregate(events, f"RETURN COUNT(*) AS n PATTERN A+ WHERE {where}", strategy=strategy)
        assert rows.column("n").to_pylist() == [expected]


def test_a_literal_that_is_no_time_is_named() -> None:
    events = pa.table({"type": ["A"], "time": [1], "t": pa.array([date(2024, 1, 1)])})
    with pytest.raises(GretaError, match="yesterday"):
        aggregate(events, "RETURN COUNT(*) PATTERN A WHERE A.t < 'yesterday'")


def test_columns_that_are_there_twice_are_named() -> None:
    twice = pa.table([["A"], [1], [2], [3]], names=["type", "time", "x", "x"])
    assert aggregate(twice, "RETURN COUNT(*) AS n PATTERN A").column("n").to_pylist() == [1]
    with pytest.raises(DataError, match="2 columns named 'x'"):
        aggregate(twice, "RETURN SUM(A.x) PATTERN A")
    frame = pd.DataFrame([["A", 1, 2, 3]], columns=["type", "time", "x", "x"])
    with pytest.raises(DataError, match="a name of its own"):
        aggregate(frame, "RETURN SUM(A.x) PATTERN A")


@STRATEGIES
def test_more_scopes_than_a_word_has_bits_are_refused(strategy: Any) -> None:
    names = [f"a{at}" for at in range(70)]
    events = [{"type": "A", "time": 1} | dict.fromkeys(names, 1), {"type": "B", "time": 2} | dict.fromkeys(names, 1)]
    for count, refused in ((3, False), (62, False), (63, True), (64, True), (70, True)):
        scopes = ", ".join(f"A.{name}" for name in names[:count])
        query = f"RETURN COUNT(*) AS n PATTERN SEQ(A+, B) WHERE [{scopes}]"
        if refused:
            with pytest.raises(QueryMeaningError, match=f"{count} attributes"):
                aggregate(events, query, strategy=strategy)
        else:
            assert aggregate(events, query, strategy=strategy).column("n").to_pylist() == [1]


@STRATEGIES
@pytest.mark.parametrize("count", [3, 60])
def test_scopes_that_every_trend_meets_are_one_partition_not_two_each(count: int, strategy: Any) -> None:
    names = [f"A{at}" for at in range(count)]
    pattern, scopes = ", ".join(f"A {name}" for name in names), ", ".join(f"{name}.x" for name in names)
    events = [{"type": "A", "time": at, "x": 1} for at in range(count)]
    query = f"RETURN COUNT(*) AS n PATTERN SEQ({pattern}) WHERE [{scopes}]"
    assert aggregate(events, query, strategy=strategy).column("n").to_pylist() == [1]


@STRATEGIES
def test_a_scope_that_no_event_may_have_leaves_no_partition(strategy: Any) -> None:
    events = [{"type": "A", "time": 1, "x": 1}, {"type": "B", "time": 2, "x": 1}]
    query = "RETURN COUNT(*) AS n PATTERN SEQ(A, B) SEMANTICS contiguous WHERE [A.x] AND A.x > 100"
    assert aggregate(events, query, strategy=strategy).num_rows == 0


def test_halves_of_characters_are_refused() -> None:
    half = "\ud800"
    good = [{"type": "A", "time": 1, "g": "x"}]
    with pytest.raises(DataError, match="attribute g"):
        aggregate([{"type": "A", "time": 1, "g": half}], "RETURN COUNT(*) PATTERN A WHERE A.g = 'x'")
    with pytest.raises(DataError, match="name"):
        aggregate([{"type": "A", "time": 1, half: "x"}], "RETURN COUNT(*) PATTERN A")
    with pytest.raises(QuerySyntaxError, match="a half of one"):
        aggregate(good, f"RETURN COUNT(*) PATTERN A WHERE A.g = '{half}'")
