"""Values at the ends of their types: one event's overflow, rounding or range is no other event's business."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from greta import aggregate
from support.examples import only_compiled

STRATEGIES = pytest.mark.parametrize("strategy", ["auto", "graph"])
LAST = 2**63 - 1


def stream(x: list[Any], y: list[Any] | None = None) -> pa.Table:
    columns = {"type": ["A"] * len(x), "time": list(range(len(x))), "x": x}
    return pa.table(columns if y is None else {**columns, "y": y})


def count(events: pa.Table, where: str, strategy: Any = "auto") -> list[Any]:
    answer = aggregate(events, f"RETURN COUNT(*) AS n PATTERN A+ WHERE {where}", strategy=strategy)
    return answer.column("n").to_pylist()  # type: ignore[no-any-return]


@STRATEGIES
def test_an_overflow_in_one_event_rounds_no_other(strategy: Any) -> None:
    near = [2**53 + 1, 2**53, 2**53 + 1]
    query = "RETURN COUNT(*) AS n PATTERN A+ WHERE A.x * 1 > 9007199254740992 AND A.x * A.y > 0 WITHIN 10 seconds"
    alone = aggregate(stream(near, [1, 1, 1]), query, strategy=strategy)
    assert alone.column("n").to_pylist() == [3]
    times = [0, 1, 2, 50]
    events = stream([*near, LAST], [1, 1, 1, 3]).set_column(1, "time", pa.array(times))
    assert aggregate(events, query, strategy=strategy).column("n").to_pylist() == [3, 1]
    edges = "RETURN COUNT(*) AS n PATTERN A+ WHERE A.x * A.y < NEXT(A).x * NEXT(A).y WITHIN 10 seconds"
    assert aggregate(events, edges, strategy=strategy).column("n").to_pylist() == [4, 1]


@STRATEGIES
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("A.x < 9223372036854775808", [3]),
        ("A.x = 9223372036854775808", []),
        ("A.x > -9223372036854775809", [3]),
        ("A.x + 1 = 9223372036854775808", [1]),
        ("A.x * A.x * A.x > 0", [1]),
        ("A.x * A.x % 9223372036854775807 = 0", [1]),
        ("-A.x = 9223372036854775808", [1]),
        ("A.x < 100000000000000000000000000000000000000000000000000000000000000000000000000000000", [3]),
        ("A.x * 2 > NEXT(A).x", [3]),
        ("A.x - NEXT(A).x > 9223372036854775807", [3]),
    ],
)
def test_integers_are_exact_beyond_64_bits(where: str, expected: list[int], strategy: Any) -> None:
    assert count(stream([LAST, -(2**63)]), where, strategy) == expected


@STRATEGIES
@pytest.mark.parametrize("where", ["A.x > NEXT(A).x AND A.y < NEXT(A).y", "A.x < NEXT(A).x AND A.y < NEXT(A).y"])
@pytest.mark.parametrize("end", [LAST, -(2**63), -LAST])
def test_nothing_lies_beyond_the_ends_of_a_type_where_two_comparisons_meet(where: str, end: int, strategy: Any) -> None:
    assert count(stream([end, end], [1, 2]), where, strategy) == [2]


def test_integers_beyond_76_digits_are_null_for_their_event_alone() -> None:
    power = "A.x * A.x * A.x * A.x * A.x * A.x"
    assert count(stream([LAST, 3, None]), f"{power} = 729") == [1]
    assert count(stream([LAST, 3, None]), f"{power} > 0 OR {power} <= 0") == [1]


@STRATEGIES
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("A.x - NEXT(A).x = 1", 4),
        ("A.x + NEXT(A).y > NEXT(A).x + A.y", 4),
        ("2 * A.x - 2 * NEXT(A).x - 2 = 0", 4),
        ("-(NEXT(A).x - A.x) = 1 OR A.x + NEXT(A).x = 1", 4),
    ],
)
def test_residual_predicates_over_integers_do_not_round(where: str, expected: int, strategy: Any) -> None:
    assert count(stream([2**53 + 1, 2**53, 2**53 + 2], [0, 0, 1]), where, strategy) == [expected]


@STRATEGIES
@pytest.mark.parametrize("where", ["A.x + 0 < NEXT(A).x + 0.0", "A.x + 0.0 < NEXT(A).x + 0", "A.x < NEXT(A).x + 0.0"])
def test_an_integer_that_meets_a_float_is_a_double_whatever_both_are_made_of(where: str, strategy: Any) -> None:
    assert count(stream([2**53, 2**53 + 1]), where, strategy) == [2]


@only_compiled
@pytest.mark.parametrize("numbers", ["double", "exact"])
def test_averages_survive_the_merge_of_partitions_with_infinite_counts(numbers: Any) -> None:
    companies, prices = 200, 1000
    events = pa.table(
        {
            "type": ["A"] * (companies * prices),
            "time": [at for at in range(prices) for _ in range(companies)],
            "c": list(range(companies)) * prices,
            "x": [2000.0 - at for at in range(prices) for _ in range(companies)],
        }
    )
    query = "RETURN COUNT(*) AS n, AVG(A.x) AS mean PATTERN A+ WHERE [c] AND A.x > NEXT(A).x"
    answer = aggregate(events, query, numbers=numbers)
    assert answer.column("mean").to_pylist() == [pytest.approx(1500.5, rel=1e-12)]


@pytest.mark.parametrize(("partitions", "events", "value"), [(4, 1014, 0.0075), (1, 2000, 1e-200), (3, 1500, 1e-300)])
def test_averages_of_small_values_survive_infinite_counts(partitions: int, events: int, value: float) -> None:
    table = pa.table(
        {
            "type": ["A"] * (partitions * events),
            "time": [at for at in range(events) for _ in range(partitions)],
            "c": list(range(partitions)) * events,
            "x": [value] * (partitions * events),
        }
    )
    answer = aggregate(table, "RETURN AVG(A.x) AS mean PATTERN A+ WHERE [c]")
    assert answer.column("mean").to_pylist() == [pytest.approx(value, rel=1e-9)]


def test_partitions_that_overflow_together_may_cancel_out() -> None:
    events = stream([1e308, 1e308, -1e308, -1e308], [1, 2, 3, 4])
    [row] = aggregate(events, "RETURN SUM(A.x) AS total, AVG(A.x) AS mean PATTERN A WHERE [y]").to_pylist()
    assert row["total"] == 0
    assert row["mean"] == 0
    assert not math.isnan(row["total"])


@pytest.mark.parametrize("numbers", ["double", "exact"])
def test_having_compares_every_row_as_if_it_were_alone(numbers: Any) -> None:
    small, large = [0, 1, 2], list(range(100_000, 101_100))
    times = [*small, *large]
    events = pa.table({"type": ["A"] * len(times), "time": times, "x": [2**53 + 1, 0, 0] + [1] * len(large)})
    query = "RETURN SUM(A.x) AS total PATTERN A+ {} WITHIN 2000 seconds"
    for having in ("HAVING SUM(A.x) = 36028797018963972", "HAVING COUNT(*) = 7"):
        both = aggregate(events, query.format(having), numbers=numbers).to_pylist()
        alone = aggregate(events.slice(0, 3), query.format(having), numbers=numbers).to_pylist()
        assert both == alone
        assert len(alone) == 1
