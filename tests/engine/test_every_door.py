"""Every case through every door: kernels and graph, parts that merge, steps of a stream, the stream in this process.

Both modes of numbers; brute force, or a formula where trends are too many for it, says what is right.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings

from greta.errors import QueryMeaningError
from greta_research import brute_force
from support.doors import DOORS, Door, alike, differences
from support.edges import EdgeCase, edge_cases

# Values at the edges are strange on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::greta.GretaWarning")

EVERY_DOOR = pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
ONE_OF_BOTH = "the same numbers as exact ones, rounded: one of both is enough of O(n²) Python"
NUMBERS = pytest.mark.parametrize("numbers", ["double", "exact"])


def check(case: EdgeCase, door: Door) -> None:
    assume(door.takes(case.query))
    try:
        got = door.rows(case.events, case.query, case.numbers)
    except QueryMeaningError:
        assume(False)
    expected = brute_force.aggregate(case.for_brute_force(), case.query)
    assert differences(got, expected) == [], case.query


@EVERY_DOOR
@settings(max_examples=150)
@given(case=edge_cases())
def test_values_at_the_edges_give_the_rows_of_brute_force(case: EdgeCase, door: Door) -> None:
    check(case, door)


@EVERY_DOOR
@pytest.mark.slow
@pytest.mark.timeout(7200)
@settings(max_examples=10_000)
@given(case=edge_cases(max_events=8))
def test_many_values_at_the_edges_give_the_rows_of_brute_force(case: EdgeCase, door: Door) -> None:
    check(case, door)


def rising(count: int, x: Any = 1, type_: pa.DataType | None = None) -> pa.Table:
    """So many events A, one a millisecond, in one window of a day."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    times = pa.array([start + timedelta(milliseconds=at) for at in range(count)], pa.timestamp("ms", "UTC"))
    return pa.table({"type": ["A"] * count, "time": times, "x": pa.array([x] * count, type_), "g": [1] * count})


@EVERY_DOOR
@NUMBERS
@pytest.mark.parametrize("count", [52, 53, 54, 62, 63, 64, 65, 1023, 1024, 1025])
def test_counts_pass_every_width(count: int, numbers: Any, door: Door) -> None:
    if door.name == "graph" and count > 100 and numbers == "double":
        pytest.skip(ONE_OF_BOTH)
    query = "RETURN COUNT(*) AS n, SUM(A.x) AS total, AVG(A.x) AS mean PATTERN A+ WITHIN 1 day"
    [row] = door.rows(rising(count, 3), query, numbers)
    trends = 2**count - 1
    assert alike(row["n"], trends)
    assert alike(row["total"], 3 * count * 2 ** (count - 1))
    assert row["mean"] == 3.0
    assert (numbers == "exact") == isinstance(row["n"], str)


@EVERY_DOOR
@NUMBERS
@pytest.mark.parametrize("value", [1e-200, 5e-324, 0.0075, 1e300])
def test_averages_survive_counts_beyond_all_doubles(value: float, numbers: Any, door: Door) -> None:
    if door.name == "graph" and value < 1 and numbers == "double":
        pytest.skip(ONE_OF_BOTH)
    events = rising(1100 if door.name != "graph" else 1030, value, pa.float64())
    [row] = door.rows(events, "RETURN COUNT(*) AS n, AVG(A.x) AS mean PATTERN A+ WITHIN 1 day", numbers)
    assert row["mean"] == pytest.approx(value, rel=1e-9, abs=5e-324)
    assert numbers == "exact" or row["n"] == math.inf


@EVERY_DOOR
@NUMBERS
@pytest.mark.parametrize("each", [4, 1020])
def test_hundreds_of_partitions_merge(each: int, numbers: Any, door: Door) -> None:
    if each > 100 and door.name != "kernels" and door.name != "partials":
        pytest.skip("hundreds of thousands of events are for the kernels")
    partitions = 300
    start = datetime(2024, 1, 1, tzinfo=UTC)
    times = [start + timedelta(milliseconds=at) for at in range(each) for _ in range(partitions)]
    events = pa.table(
        {
            "type": pa.array(["A"]).take(pa.array([0] * len(times))),
            "time": pa.array(times, pa.timestamp("ms", "UTC")),
            "x": [2.5] * len(times),
            "p": list(range(partitions)) * each,
        }
    )
    query = "RETURN COUNT(*) AS n, AVG(A.x) AS mean PATTERN A+ WHERE [p] WITHIN 1 day"
    [row] = door.rows(events, query, numbers)
    assert alike(row["n"], partitions * (2**each - 1))
    assert row["mean"] == 2.5
