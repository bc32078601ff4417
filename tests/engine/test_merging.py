"""Partitions merge into groups: sums neither wrap nor depend on an order, and instants keep their windows."""

from __future__ import annotations

import math
import random
from functools import reduce
from itertools import permutations
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from greta import aggregate, analyze
from greta.engine.job import Job
from greta.engine.merging import merge
from greta.engine.results import Merged


def merged(values: list[Any], dtype: Any) -> Any:
    """What the values of one group and window add up to."""
    count = len(values)
    column = np.empty(count, dtype=dtype)
    column[:] = values
    one = Merged(np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64), {0: column}, {})
    (total,) = merge([one]).adds[0].tolist()
    return total


def test_doubles_of_one_group_add_up_to_the_same_bits_in_any_order() -> None:
    values = [2.0**53, 1.0, 1.0, -(2.0**52), 3.0]
    assert len({reduce(add, order) for order in permutations(values)}) > 1
    assert len({merged(list(order), np.float64) for order in permutations(values)}) == 1


@pytest.mark.parametrize("count", [10, 64, 65, 300])
def test_many_doubles_of_one_group_add_up_to_the_same_bits_in_any_order(count: int) -> None:
    draw = random.Random(count)
    values = [draw.choice((-1.0, 1.0)) * 10.0 ** draw.uniform(-20, 20) for _ in range(count)]
    totals = set()
    for _ in range(10):
        draw.shuffle(values)
        totals.add(merged(values, np.float64))
    assert totals == {reduce(add, sorted(values))}


def test_beside_an_infinite_value_all_others_are_nothing() -> None:
    inf = math.inf
    assert merged([1e308, inf, 1e308, 3.0], np.float64) == inf
    assert merged([-1e308, -inf, -1e308], np.float64) == -inf
    assert math.isnan(merged([inf, 1.0, -inf], np.float64))
    assert math.isnan(merged([math.nan, 1.0], np.float64))


def test_sums_beyond_doubles_are_exact_and_counts_that_are_shown_alone_infinite() -> None:
    assert merged([1e308, 1e308, 3.0], np.float64) == 2 * int(1e308) + 3
    assert merged([-1e308, -1e308, 1e308, 1e308], np.float64) == 0
    zeros, values = np.zeros(3, dtype=np.int64), np.array([1e308, 1e308, 3.0])
    counted = analyze("RETURN COUNT(*), SUM(A.x) PATTERN A+")
    sums = merge([Merged(zeros, zeros, {0: values, 1: values}, {})], counted)
    assert sums.adds[0].tolist() == [math.inf]
    assert sums.adds[1].tolist() == [2 * int(1e308) + 3]
    averaged = analyze("RETURN COUNT(*), AVG(A.x) PATTERN A+")
    assert merge([Merged(zeros, zeros, {0: values}, {})], averaged).adds[0].tolist() == [2 * int(1e308) + 3]


def test_windows_far_apart_merge_too() -> None:
    window = np.array([2**61, -(2**61), 0, 2**61, 5], dtype=np.int64)
    group = np.array([3, 0, 10**6, 3, 3], dtype=np.int64)
    together = merge([Merged(group, window, {0: np.array([1.0, 2.0, 3.0, 4.0, 5.0])}, {1: np.arange(5)})])
    assert together.group.tolist() == [0, 3, 3, 10**6]
    assert together.window.tolist() == [-(2**61), 5, 2**61, 0]
    assert together.adds[0].tolist() == [2.0, 5.0, 5.0, 3.0]
    assert together.maxes[1].tolist() == [1, 4, 3, 2]


def test_integers_of_one_group_do_not_wrap() -> None:
    assert merged([2**62, 2**62, 2**62], np.int64) == 3 * 2**62
    assert merged([-(2**62)] * 4 + [7], np.int64) == 7 - 2**64
    assert merged([2**40, -1], np.int64) == 2**40 - 1


def test_values_merge_by_group_and_by_window() -> None:
    draw = random.Random(3)
    rows = [(draw.randrange(4), draw.randrange(3), draw.randrange(100)) for _ in range(200)]
    group, window, value = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    together = merge([Merged(group, window, {0: value}, {1: value})])
    expected: dict[tuple[int, int], list[int]] = {}
    for g, w, v in rows:
        expected.setdefault((g, w), []).append(v)
    keys = list(zip(together.group.tolist(), together.window.tolist(), strict=True))
    assert keys == sorted(expected)
    assert together.adds[0].tolist() == [sum(expected[key]) for key in keys]
    assert together.maxes[1].tolist() == [max(expected[key]) for key in keys]


def test_partial_rows_give_the_same_bits_in_whatever_order_they_come() -> None:
    draw = random.Random(5)
    events = pa.table(
        {
            "type": ["A"] * 40,
            "time": list(range(40)),
            "p": [at % 10 for at in range(40)],
            "y": [draw.choice((1e16, 1.0, -1e16, 0.1, 3e-9)) for _ in range(40)],
        }
    )
    job = Job.bind("RETURN SUM(A.y) AS total, AVG(A.y) AS mean PATTERN A+ WHERE [p]", events.schema)
    parts = [job.partials(events.filter(pa.array([at % 10 == p for at in range(40)]))) for p in range(10)]
    answers = set()
    for _ in range(20):
        draw.shuffle(parts)
        answers.add(repr(job.finish(pa.concat_tables(parts)).to_pylist()))
    assert len(answers) == 1


def test_extremes_of_exact_numbers_survive_counts_beyond_64_bits() -> None:
    # The count of the first window outgrows 64 bits; the windows after it must come out as well.
    events = [{"type": "A", "time": at, "x": at * (-1) ** at} for at in (*range(70), 100, 101, 102, 200, 201)]
    query = "RETURN COUNT(*) AS n, MIN(A.x) AS low, MAX(A.x) AS high PATTERN A+ WITHIN 100 seconds"
    rows = aggregate(events, query, numbers="exact").to_pylist()
    assert [(int(row["n"]), row["low"], row["high"]) for row in rows] == [
        (2**70 - 1, -69, 68),
        (7, -101, 102),
        (3, -201, 200),
    ]


@pytest.mark.parametrize("second", [0.3, 0.7, 1.1, 2.3, 4.35, 8.2, 1.001, 16.1])
def test_a_fraction_of_a_second_falls_into_the_window_that_it_begins(second: float) -> None:
    rows = aggregate([{"type": "A", "time": second}], "RETURN COUNT(*) PATTERN A WITHIN 1 ms").to_pylist()
    assert [row["window_start"] for row in rows] == [second]


def test_each_partition_that_overflows_is_computed_again() -> None:
    # Of five partitions, two have counts beyond doubles; all averages must come out.
    sizes = (3, 1100, 4, 1200, 2)
    events = [{"type": "A", "time": at, "x": float(p), "p": p} for p, size in enumerate(sizes) for at in range(size)]
    query = "RETURN p, AVG(A.x) AS mean PATTERN A+ WHERE [p] GROUP-BY p"
    assert aggregate(events, query).column("mean").to_pylist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def partitions(count: int, lengths: dict[str, int]) -> pa.Table:
    """So many partitions k, each with so many events of each type, a second apart."""
    types = [name for name, length in lengths.items() for _ in range(length)]
    rows = [{"type": name, "time": float(at), "k": k} for k in range(count) for at, name in enumerate(types)]
    return pa.Table.from_pylist(rows)


def test_counts_that_are_compared_keep_their_size_where_partitions_meet() -> None:
    events = partitions(5, {"A": 1, "B": 1022})
    query = "RETURN COUNT(*) PATTERN SEQ(A?, B+) WHERE [k] HAVING COUNT(*) {0} COUNT(A) WITHIN 2000 seconds"
    assert aggregate(events, query.format(">")).num_rows == 1
    assert aggregate(events, query.format("<=")).num_rows == 0
    assert aggregate(partitions(1, {"A": 1, "B": 1100}), query.format(">")).num_rows == 1
    assert aggregate(events, query.replace("COUNT(A)", "5").format(">")).num_rows == 1


def test_counts_of_one_query_may_be_infinite_beside_sums_of_another_that_cancel_out() -> None:
    events = pa.concat_tables([partitions(3, {"A": 1014}), partitions(6, {"B": 1014}).filter(pc.field("k") > 2)])
    counted = "RETURN SUM(COUNT(*)) AS x PATTERN A+ WHERE [k] WITHIN 2000 seconds"
    cancelled = "RETURN SUM(COUNT(A) - COUNT(B)) AS x PATTERN (A OR B)+ WHERE [k] WITHIN 2000 seconds"
    alone = aggregate(events, cancelled)["x"].to_pylist()
    assert alone == [0.0]
    for queries in ({"one": counted, "two": cancelled}, {"two": cancelled, "one": counted}):
        together = aggregate(events, queries).to_pylist()
        assert [row["x"] for row in together if row["query"] == "two"] == alone
