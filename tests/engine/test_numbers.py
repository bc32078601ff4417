"""Counts grow as 2ⁿ: doubles saturate, averages stay finite, exact numbers have any size."""

from __future__ import annotations

import math
import sys
from typing import Any

import pyarrow as pa
import pytest

import greta
from greta.engine.aggregate import aggregate
from support.examples import only_compiled

ALL = "RETURN COUNT(*) AS n, COUNT(A) AS events, SUM(A.x) AS sum, AVG(A.x) AS avg, AVG(A.y) AS avg_y PATTERN A+"


def falling(count: int) -> list[dict[str, Any]]:
    return [{"type": "A", "time": t, "x": count - 2 * t, "y": 0.5 * t} for t in range(count)]


def row(count: int, numbers: Any) -> dict[str, Any]:
    [only] = aggregate(falling(count), ALL, numbers=numbers).to_pylist()
    return only


@pytest.fixture
def _long_digits() -> Any:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(limit)


@pytest.mark.usefixtures("_long_digits")
@pytest.mark.parametrize("count", [1, 10, 55, 57, 64, 130, 600, pytest.param(5000, marks=only_compiled)])
def test_exact_counts_and_sums_have_any_size(count: int) -> None:
    answer = row(count, "exact")
    assert int(answer["n"]) == 2**count - 1
    assert int(answer["events"]) == count * 2 ** (count - 1)
    assert int(answer["sum"]) == sum(count - 2 * t for t in range(count)) * 2 ** (count - 1)


@only_compiled
@pytest.mark.parametrize("aggregates", ["COUNT(*) AS n", "COUNT(*) AS n, SUM(A.x)"])
def test_exact_counts_do_not_wrap_within_one_tick(aggregates: str) -> None:
    # 256 events of one time stamp with 2^56 trends each add up to 2^64.
    events = [{"type": "A", "time": min(t, 56), "x": 1} for t in range(56 + 256)]
    [answer] = aggregate(events, f"RETURN {aggregates} PATTERN A+", numbers="exact").to_pylist()
    assert int(answer["n"]) == 2**56 - 1 + 256 * 2**56


@only_compiled
def test_digits_need_no_setting_of_python() -> None:
    assert len(row(20_000, "exact")["n"]) == math.floor(20_000 * math.log10(2)) + 1


@pytest.mark.parametrize("count", [3, 40, 70, 300, 900])
def test_doubles_are_within_a_billionth_of_exact(count: int) -> None:
    double, exact = row(count, "double"), row(count, "exact")
    for name in ("n", "events", "sum"):
        assert math.isclose(double[name], int(exact[name]), rel_tol=1e-9)
    assert math.isclose(double["avg"], exact["avg"], rel_tol=1e-9)


def test_doubles_beyond_their_range_are_infinite_and_never_nan() -> None:
    answer = row(1500, "double")
    assert answer["n"] == math.inf
    assert answer["events"] == math.inf
    assert answer["sum"] == math.inf


def test_averages_stay_finite_where_counts_do_not() -> None:
    answer = row(1500, "double")
    assert math.isclose(answer["avg"], 1.0, rel_tol=1e-9)
    assert math.isclose(answer["avg_y"], 0.5 * 1499 / 2, rel_tol=1e-9)


def test_the_sign_of_an_infinite_sum_is_that_of_the_true_one() -> None:
    events = [{"type": "A", "time": t, "x": -1} for t in range(2000)]
    [answer] = aggregate(events, "RETURN SUM(A.x) AS s PATTERN A+").to_pylist()
    assert answer["s"] == -math.inf


def test_infinite_values_of_both_signs_have_no_sum() -> None:
    events = [{"type": "A", "time": 1, "y": math.inf}, {"type": "A", "time": 2, "y": -math.inf}]
    [answer] = aggregate(events, "RETURN SUM(A.y) AS s, AVG(A.y) AS a PATTERN A+").to_pylist()
    assert answer == {"window_start": None, "window_end": None, "s": None, "a": None}


def test_minimum_and_maximum_keep_integers_beyond_53_bits() -> None:
    events = [{"type": "A", "time": t, "x": 2**62 + t} for t in range(3)]
    [answer] = aggregate(events, "RETURN MIN(A.x) AS low, MAX(A.x) AS high PATTERN A+").to_pylist()
    assert (answer["low"], answer["high"]) == (2**62, 2**62 + 2)


def test_comparisons_of_integers_are_exact_beyond_53_bits() -> None:
    events = [{"type": "A", "time": t, "x": 2**60 - t} for t in range(4)]
    query = "RETURN COUNT(*) AS n PATTERN A+ WHERE A.x > NEXT(A).x"
    assert aggregate(events, query).to_pylist()[0]["n"] == 15


@pytest.mark.parametrize("digits", [30, 400], ids=["beyond 64 bits", "beyond doubles"])
@pytest.mark.parametrize(
    "clause",
    ["WHERE A.x < {}", "WHERE A.x > -{}", "WHERE A.x * NEXT(A).x < {}", "HAVING COUNT(*) < {}"],
)
def test_constants_of_any_size_compare(clause: str, digits: int) -> None:
    events = [{"type": "A", "time": t, "x": t} for t in range(3)]
    query = f"RETURN COUNT(*) AS n PATTERN A+ {clause.format(10**digits)}"
    assert aggregate(events, query).to_pylist()[0]["n"] == 7


def test_deviations_do_not_lose_digits_to_cancellation() -> None:
    events = [{"type": "A", "time": t, "x": x} for t, x in enumerate([10**7, 10**7 + 1, 10**7 + 2])]
    query = "RETURN STDDEV(SUM(A.x)) AS d PATTERN A"
    assert aggregate(events, query).to_pylist()[0]["d"] == math.sqrt(2 / 3)


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("door", ["kernels", "graph", "stream"])
def test_logarithms_and_ratios_are_right_where_the_count_is_beyond_doubles(door: str, numbers: Any) -> None:
    events = [{"type": "A", "time": time} for time in range(1_100)]
    query = "RETURN LOG2(COUNT(*)) AS bits, COUNT(A) / COUNT(*) AS length PATTERN A+ WITHIN 2000 seconds"
    if door == "stream":
        stream = greta.stream(query, numbers=numbers)
        found = pa.concat_tables([stream.push(events), stream.close()])
    else:
        found = greta.aggregate(events, query, strategy="graph" if door == "graph" else "auto", numbers=numbers)
    (row,) = found.to_pylist()
    assert row["bits"] == pytest.approx(1_100, rel=1e-12)
    assert row["length"] == pytest.approx(550, rel=1e-12)


@pytest.mark.parametrize("gap", [0, 10**5, 10**7, 1_700_000_000])
def test_lengths_of_time_keep_their_digits_however_long_the_stream_is(gap: int) -> None:
    # Four events a second apart, far from the first one.
    events = [{"type": "A", "time": float(time)} for time in (0, *(gap + 100 + second for second in range(4)))]
    query = "RETURN STDDEV(DURATION(*)) AS v, AVG(DURATION(*)) AS a PATTERN A+ WITHIN 10 seconds SLIDE 5 seconds"
    far = {row["window_start"] - gap: (row["v"], row["a"]) for row in aggregate(events, query).to_pylist()[1:]}
    near = aggregate([{"type": "A", "time": 100.0 + second} for second in range(4)], query).to_pylist()
    for row in near:
        assert far[row["window_start"]] == pytest.approx((row["v"], row["a"]), rel=1e-9)
