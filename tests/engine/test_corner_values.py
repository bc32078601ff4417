"""Values at the edges of their types mean to the engine what they mean to brute force."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from greta import aggregate
from greta.engine.job import Job
from greta_research import brute_force

INF, NAN = math.inf, math.nan
STRATEGIES = pytest.mark.parametrize("strategy", ["auto", "graph"])
NUMBERS = pytest.mark.parametrize("numbers", ["double", "exact"])


def stream(x: list[Any], y: list[Any] | None = None) -> list[dict[str, Any]]:
    return [
        {"type": "A", "time": at, "x": value} | ({"y": y[at]} if y is not None else {}) for at, value in enumerate(x)
    ]


def rows(answer: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Exact digits as numbers."""
    return [
        {
            name: int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else value
            for name, value in r.items()
        }
        for r in answer
    ]


@STRATEGIES
@NUMBERS
def test_averages_leave_nulls_out(numbers: Any, strategy: Any) -> None:
    # Every event is in four of the seven trends: (4 · 1 + 4 · 5) / 8, and not / 12.
    [row] = aggregate(
        stream([1, None, 5]), "RETURN AVG(A.x) AS mean PATTERN A+", numbers=numbers, strategy=strategy
    ).to_pylist()
    assert row["mean"] == 3.0


@STRATEGIES
@NUMBERS
@pytest.mark.parametrize(
    "where",
    [
        "A.x - A.y < NEXT(A).x",
        "A.x < NEXT(A).x - NEXT(A).y",
        "A.x * A.y != NEXT(A).x",
        "A.x / A.y != NEXT(A).x",
        "A.x * NEXT(A).y - NEXT(A).x != 0",
        "A.x - A.y != 1",
        "NOT (A.x / A.y = 1)",
        "A.x <= NEXT(A).x",
    ],
)
def test_arithmetic_without_a_result_is_null(where: str, numbers: Any, strategy: Any) -> None:
    events = stream([INF, -INF, 1.0, 0.0, NAN, INF], [INF, 0.0, 2.0, INF, 1.0, -INF])
    query = f"RETURN COUNT(*), MIN(A.x), MAX(A.x), SUM(A.x) PATTERN A+ WHERE {where}"
    assert rows(aggregate(events, query, numbers=numbers, strategy=strategy).to_pylist()) == brute_force.aggregate(
        events, query
    )


@STRATEGIES
@pytest.mark.parametrize(
    "rest",
    [
        "WHERE [x]",
        "WHERE [A.x]",
        "WHERE A.x = NEXT(A).x",
        "WHERE [x, y] GROUP-BY x",
        "GROUP-BY x",
        "WHERE [A.x] GROUP-BY x",
    ],
)
def test_zero_has_no_sign(rest: str, strategy: Any) -> None:
    events = stream([0.0, -0.0, 1.0, -0.0], [1, 1, 1, 2])
    query = f"RETURN COUNT(*) PATTERN A+ {rest}"
    assert aggregate(events, query, strategy=strategy).to_pylist() == brute_force.aggregate(events, query)


def test_zero_has_no_sign_where_parts_of_an_answer_meet() -> None:
    events = pa.Table.from_pylist(stream([0.0, -0.0], [1, 2]))
    job = Job.bind("RETURN x, COUNT(*) AS n PATTERN A+ WHERE [y] GROUP-BY x", events.schema)
    answer = job.finish(pa.concat_tables([job.partials(events.slice(at, 1)) for at in (0, 1)]))
    assert answer.column("n").to_pylist() == [2.0]


@STRATEGIES
@pytest.mark.parametrize(
    "where",
    [
        "A.x >= NEXT(A).y",
        "A.x >= A.y",
        "A.x > 9007199254740992.0",
        "A.x > 9007199254740992",
        "A.x + A.y > NEXT(A).x",
        "A.x * NEXT(A).x > 3",
        "A.x != NEXT(A).x",
    ],
)
def test_integers_beyond_53_bits_meet_floats(where: str, strategy: Any) -> None:
    events = stream([2**53 + 1, 2**53, 5, None], [2.0**53, 1.0, 2.0, 3.0])
    query = f"RETURN COUNT(*) PATTERN A+ WHERE {where}"
    assert aggregate(events, query, strategy=strategy).to_pylist() == brute_force.aggregate(events, query)


def test_unsigned_integers_go_beyond_63_bits() -> None:
    events = pa.table({"type": ["A"] * 2, "time": [1, 2], "x": pa.array([2**63 + 2**20, 1], pa.uint64())})
    [answer] = aggregate(events, "RETURN COUNT(*) AS n, MAX(A.x) AS high PATTERN A+ WHERE A.x > NEXT(A).x").to_pylist()
    assert (answer["n"], answer["high"]) == (3, 2**63 + 2**20)


@STRATEGIES
@NUMBERS
@pytest.mark.parametrize("x", [[INF, 1.0, 2.0], [1.0, INF, -INF], [-INF, 1.0, None]])
@pytest.mark.parametrize("pattern", ["A+ AND SEQ(A, A)", "A+ AND A", "A AND SEQ(A, A)", "A+ AND B+"])
def test_infinite_values_add_up_over_pairs(pattern: str, x: list[float | None], numbers: Any, strategy: Any) -> None:
    events = stream(x)
    query = f"RETURN COUNT(*), SUM(A.x), AVG(A.x), MIN(A.x), MAX(A.x) PATTERN {pattern}"
    if "B" in pattern:
        query = query.replace("SUM", "COUNT(B), SUM")
    assert rows(aggregate(events, query, numbers=numbers, strategy=strategy).to_pylist()) == brute_force.aggregate(
        events, query
    )


@NUMBERS
def test_partitions_beyond_the_range_of_doubles_join_small_ones(numbers: Any) -> None:
    events = [
        {"type": "A", "time": at, "x": 1.5, "p": p} for p, count in enumerate((3, 2000, 1, 1100)) for at in range(count)
    ]
    query = "RETURN COUNT(*) AS n, AVG(A.x) AS a, SUM(A.x) AS s PATTERN A+ WHERE [p]"
    [answer] = aggregate(events, query, numbers=numbers).to_pylist()
    assert answer["a"] == 1.5
    assert answer["s"] == INF
    assert answer["n"] == (INF if numbers == "double" else str(2**3 + 2**2000 + 2 + 2**1100 - 4))
    events.append({"type": "A", "time": 0, "x": -INF, "p": 4})
    assert aggregate(events, query, numbers=numbers).to_pylist()[0]["a"] == -INF


@STRATEGIES
def test_having_compares_exact_numbers_exactly(strategy: Any) -> None:
    events = [{"type": "A", "time": at, "x": 1} for at in range(54)]
    for clause, count in (("< 18014398509481984", 1), ("= 18014398509481983", 1), ("= 18014398509481984", 0)):
        query = f"RETURN COUNT(*) PATTERN A+ HAVING COUNT(*) {clause}"
        assert aggregate(events, query, numbers="exact", strategy=strategy).num_rows == count


@STRATEGIES
@NUMBERS
@pytest.mark.parametrize(
    ("semantics", "window"),
    [
        ("", ""),
        ("", "WITHIN 3 seconds SLIDE 1 second"),
        ("SEMANTICS contiguous", ""),
        ("SEMANTICS skip-till-next-match", ""),
    ],
)
def test_trends_that_never_meet_a_scope_count_once(semantics: str, window: str, numbers: Any, strategy: Any) -> None:
    events = [
        {"type": "B", "time": 1},
        {"type": "A", "time": 2, "x": 1},
        {"type": "A", "time": 3, "x": 2},
        {"type": "B", "time": 4},
    ]
    query = f"RETURN COUNT(*) AS n PATTERN (A OR B)+ {semantics} WHERE [A.x] {window}"
    counts = aggregate(events, query, numbers=numbers, strategy=strategy).column("n").to_pylist()
    assert [int(count) for count in counts] == [row["n"] for row in brute_force.aggregate(events, query)]


@STRATEGIES
@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(B b1, NOT SEQ(A a1, A a2), B b2)",
        "(A a1 OR A a2 OR B)+ SEMANTICS skip-till-next-match",
        "(A a1 OR A a2 OR B)+ SEMANTICS contiguous",
    ],
)
def test_nulls_in_a_scope_are_in_no_match(pattern: str, strategy: Any) -> None:
    # Every a may be an a2; with a NULL it may be no a1, also where a trend has no a1 at all.
    events = [{"type": t, "time": at, "x": None} for at, t in enumerate("BAAB")] + [{"type": "A", "time": 9, "x": 1}]
    query = f"RETURN COUNT(*) AS n PATTERN {pattern} WHERE [a1.x]"
    counts = aggregate(events, query, strategy=strategy).column("n").to_pylist()
    assert counts == [row["n"] for row in brute_force.aggregate(events, query)] != []


@STRATEGIES
@NUMBERS
@pytest.mark.parametrize(
    ("pattern", "pairs", "total"),
    [
        ("A+ AND A+", 3, 12),  # 1 | 2, 1 | 12, 2 | 12
        ("A+ AND A", 3, 12),  # the same: a pair has no order
        ("A AND A", 1, 3),
    ],
)
def test_sums_run_over_both_trends_of_every_pair(
    pattern: str, pairs: int, total: int, numbers: Any, strategy: Any
) -> None:
    query = f"RETURN COUNT(*) AS n, SUM(A.x) AS total PATTERN {pattern}"
    [row] = rows(aggregate(stream([1, 2]), query, numbers=numbers, strategy=strategy).to_pylist())
    assert (row["n"], row["total"]) == (pairs, total)


@STRATEGIES
def test_two_equalities_at_once_take_no_other_pair_for_the_same(strategy: Any) -> None:
    query = "RETURN COUNT(*) AS n PATTERN A+ WHERE A.x = NEXT(A).x AND A.y = NEXT(A).y"
    events = stream([0, 1, 0, 1], [1, 0, 1, 1])
    assert aggregate(events, query, strategy=strategy).column("n").to_pylist() == [5]


@STRATEGIES
@pytest.mark.parametrize(("instant", "expected"), [(0, [1]), (1, [1]), (2, []), (3, [1]), (4, [1])])
def test_a_match_at_the_time_of_a_neighbour_does_not_lie_between(
    instant: int, expected: list[int], strategy: Any
) -> None:
    # a   b
    # 1 2 3
    events = [{"type": "A", "time": 1}, {"type": "B", "time": 3}, {"type": "C", "time": instant}]
    query = "RETURN COUNT(*) AS n PATTERN SEQ(A, NOT C, B)"
    assert aggregate(events, query, strategy=strategy).column("n").to_pylist() == expected
