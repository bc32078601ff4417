"""Kernels by themselves: sorting, windows of equal content, trees, and the compiler's cache."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greta.engine.aggregate import aggregate
from greta.engine.frames import Stream
from greta.engine.job import Job
from greta.engine.run import Execution
from greta.kernels.sorting import argsort, number_integers, order_by_group
from greta.kernels.windows import Breaks, Sliding, window_runs

WHOLE = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(WHOLE, max_size=200))
def test_sorting_orders_any_integers(keys: list[int]) -> None:
    order = argsort(np.array(keys, dtype=np.int64)).tolist()
    assert order == sorted(range(len(keys)), key=keys.__getitem__)


@given(
    st.integers(0, 400), st.sampled_from((3, 1000, 2**20, 2**30, 2**40, 2**50, 2**63 - 1)), st.integers(0, 2**32 - 1)
)
def test_sorting_is_stable_at_every_length_and_width(length: int, largest: int, seed: int) -> None:
    keys = np.random.default_rng(seed).integers(-largest, largest, length)
    assert argsort(keys).tolist() == np.argsort(keys, kind="stable").tolist()


@given(
    st.integers(161, 3_000),
    st.sampled_from((1, 50, 2**20, 2**35)),
    st.lists(WHOLE, max_size=3),
    st.integers(0, 2**32 - 1),
)
def test_sorting_is_right_where_keys_lie_together_and_some_far_from_them(
    length: int, near: int, far: list[int], seed: int
) -> None:
    # The leading bits tell only those that are far away from the others.
    keys = np.append(np.random.default_rng(seed).integers(0, near, length), np.array(far, dtype=np.int64))
    assert argsort(keys).tolist() == np.argsort(keys, kind="stable").tolist()


@given(st.lists(st.integers(-1, 5), max_size=50))
def test_counting_sort_keeps_the_order_within_a_group(groups: list[int]) -> None:
    offsets, order = order_by_group(np.array(groups, dtype=np.int32), 6, np.arange(len(groups)))
    expected = [[row for row, group in enumerate(groups) if group == g] for g in range(6)]
    assert [order[a:b].tolist() for a, b in pairwise(offsets)] == expected


def runs(
    times: list[int], within: int, slide: int, *, merge: bool = True, broken: tuple[int, ...] = ()
) -> list[tuple[int, int, int, int]]:
    offsets = np.array([0, len(times)], dtype=np.int64)
    owned = np.array([[-(2**62)], [2**62]], dtype=np.int64)
    breaks = Breaks(
        np.zeros((1, 1), dtype=np.int64),
        np.array([0, len(broken)], dtype=np.int64),
        np.array(broken, dtype=np.int64),
        np.empty(1, dtype=np.int64),
    )
    instants = np.array(times, dtype=np.int64)
    found = window_runs(offsets, instants, Sliding(within, slide, owned), merge, breaks, np.zeros(1, dtype=np.int64))
    return list(zip(*(column.tolist() for column in found[1:]), strict=True))


def test_windows_of_one_event_share_their_content() -> None:
    #      a4
    # W-1 [-3------)
    # W0     [0------)
    # W1        [3------)
    assert runs([4], within=9, slide=3) == [(-1, 1, 0, 1)]


def test_windows_by_themselves_may_be_many_times_the_events() -> None:
    assert runs([4], within=100, slide=1, merge=False) == [(w, w, 0, 1) for w in range(-95, 5)]
    apart = [(w, w, 0, 1) for w in range(-99, 1)] + [(w, w, 1, 2) for w in range(10**9 - 99, 10**9 + 1)]
    assert runs([0, 10**9], within=100, slide=1, merge=False) == apart
    assert runs([0, 10**9], within=100, slide=1) == [(-99, 0, 0, 1), (10**9 - 99, 10**9, 1, 2)]


def test_times_may_be_further_apart_than_64_bits_tell() -> None:
    far = 2**62 + 2**61
    first, last = (-far) // 10, far // 10
    assert runs([-far, far], within=10, slide=10) == [(first, first, 0, 1), (last, last, 1, 2)]


@given(st.lists(st.integers(0, 60), min_size=1, max_size=30), st.integers(1, 12), st.integers(1, 12))
def test_runs_hold_the_windows_that_each_window_by_itself_has(times: list[int], within: int, slide: int) -> None:
    times.sort()
    slide = min(slide, within)
    spread = [(w, w, *held) for first, last, *held in runs(times, within, slide) for w in range(first, last + 1)]
    assert spread == runs(times, within, slide, merge=False)
    for window, _, first, last in spread:
        start = window * slide
        assert times[first:last] == [time for time in times if start <= time < start + within]


@given(st.lists(st.integers(-3, 5) | st.sampled_from([10**6, -(2**63), 2**63 - 1]), max_size=40))
def test_integers_are_numbered_in_the_order_in_which_they_come(values: list[int]) -> None:
    codes, count = number_integers(np.array(values, dtype=np.int64))
    if values and max(values) - min(values) >= 4 * len(values) + 1024:
        assert count == -1
        return
    seen = list(dict.fromkeys(values))
    assert count == len(seen)
    assert codes.tolist() == [seen.index(value) for value in values]


def test_a_run_ends_where_matches_of_a_negative_come_or_go() -> None:
    assert runs([4], within=9, slide=3, broken=(-5, 0, 0, 7)) == [(-1, -1, 0, 1), (0, 1, 0, 1)]


@pytest.mark.parametrize(
    "pattern", ["SEQ(NOT C, A+)", "SEQ(A+, NOT C)", "SEQ(NOT C, A+) OR SEQ(A b+, NOT SEQ(C, A d))"]
)
def test_windows_of_equal_content_are_computed_once_beside_a_negative_at_the_edge(pattern: str) -> None:
    events = [{"type": kind, "time": time} for kind, time in (("A", 0), ("C", 4_000), ("A", 9_000), ("C", 9_500))]
    table = pa.Table.from_pylist(events)
    job = Job.bind(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 1 hour SLIDE 1 second", table.schema)
    execution = Execution(Stream.of(job, table), "double")
    [block] = execution.blocks()
    assert len(block.runs.first_window) <= 3 * len(events)


@given(
    st.lists(st.integers(-30, 60), min_size=1, max_size=12).map(sorted),
    st.integers(1, 20),
    st.integers(1, 20),
)
def test_runs_are_the_windows_with_events_each_once(times: list[int], within: int, slide: int) -> None:
    slide = min(slide, within)
    found = {}
    for first_window, last_window, first, last in runs(times, within, slide):
        for window in range(first_window, last_window + 1):
            assert window not in found
            found[window] = (first, last)
    expected = {}
    for window in range(-80, 80):
        inside = [row for row, t in enumerate(times) if window * slide <= t < window * slide + within]
        if inside:
            expected[window] = (inside[0], inside[-1] + 1)
    assert found == expected


@given(st.lists(st.integers(-30, 60), min_size=1, max_size=12).map(sorted), st.integers(1, 20), st.integers(1, 5))
def test_there_are_at_most_two_runs_per_event(times: list[int], within: int, slide: int) -> None:
    assert len(runs(times, within, min(slide, within))) <= 2 * len(times)


def reference(rows: list[dict[str, int]], holds: object) -> int:
    """Count trends of A+ by the definition of a count, in Python integers."""
    counts: list[int] = []
    for j, later in enumerate(rows):
        links = (counts[i] for i, earlier in enumerate(rows[:j]) if holds(earlier, later))  # type: ignore[operator]
        counts.append(1 + sum(links))
    return sum(counts)


ACCESS_PATHS = pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("A.x > NEXT(A).x", lambda p, q: p["x"] > q["x"]),
        ("A.x <= NEXT(A).y", lambda p, q: p["x"] <= q["y"]),
        ("A.x != NEXT(A).x", lambda p, q: p["x"] != q["x"]),
        ("A.x = NEXT(A).y", lambda p, q: p["x"] == q["y"]),
        ("A.x = NEXT(A).x AND A.y < NEXT(A).y", lambda p, q: p["x"] == q["x"] and p["y"] < q["y"]),
        ("A.x = NEXT(A).y AND A.y != NEXT(A).x", lambda p, q: p["x"] == q["y"] and p["y"] != q["x"]),
        ("A.x > NEXT(A).x AND A.y < NEXT(A).y", lambda p, q: p["x"] > q["x"] and p["y"] < q["y"]),
        (
            "A.x >= NEXT(A).x AND A.y <= NEXT(A).y AND A.x != NEXT(A).y",
            lambda p, q: p["x"] >= q["x"] and p["y"] <= q["y"] and p["x"] != q["y"],
        ),
        ("(A.x > NEXT(A).x OR A.y = NEXT(A).y)", lambda p, q: p["x"] > q["x"] or p["y"] == q["y"]),
        ("(A.x + NEXT(A).x) % 3 = 0", lambda p, q: (p["x"] + q["x"]) % 3 == 0),
    ],
)


def spread_events() -> pa.Table:
    random = np.random.default_rng(7)
    n = 300
    return pa.table(
        {
            "type": ["A"] * n,
            "time": np.arange(n),
            "x": random.integers(0, 40, n),
            "y": random.integers(0, 40, n),
        }
    )


@ACCESS_PATHS
def test_every_access_path_sums_what_a_walk_over_all_events_finds(where: str, holds: object) -> None:
    events = spread_events()
    query = f"RETURN COUNT(*) AS n PATTERN A+ WHERE {where}"
    [row] = aggregate(events, query, numbers="exact").to_pylist()
    assert int(row["n"]) == reference(events.to_pylist(), holds)


@ACCESS_PATHS
@pytest.mark.parametrize(("within", "slide"), [(80, 80), (80, 3), (200, 1)])
def test_every_access_path_serves_windows_computed_side_by_side(
    where: str, holds: object, within: int, slide: int
) -> None:
    events = spread_events()
    query = f"RETURN COUNT(*) AS n PATTERN A+ WHERE {where} WITHIN {within} seconds SLIDE {slide} seconds"
    found = {row["window_start"]: int(row["n"]) for row in aggregate(events, query, numbers="exact").to_pylist()}
    assert list(found) == list(range(0, 300, slide))
    rows = events.to_pylist()
    for start in range(0, 300, 30 * slide):
        assert found[start] == reference(rows[start : start + within], holds)


@pytest.mark.parametrize("unequal", ["A.z != NEXT(A).w", "A.z < NEXT(A).w", "A.z >= NEXT(A).w"])
def test_an_equality_that_nothing_meets_leaves_no_predecessor_whatever_stands_beside_it(unequal: str) -> None:
    events = [
        {"type": "A", "time": 0, "x": 2, "y": 0, "z": 0, "w": 0},
        {"type": "A", "time": 1, "x": 0, "y": 1, "w": 3},
    ]
    query = f"RETURN COUNT(*) AS n PATTERN A+ WHERE A.x = NEXT(A).y AND {unequal}"
    assert aggregate(events, query).column("n").to_pylist() == [2]


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_a_second_process_starts_without_compiling() -> None:
    script = (
        "from greta.engine.aggregate import aggregate\n"
        "aggregate([{'type': 'A', 'time': 1}], 'RETURN COUNT(*) PATTERN A+')\n"
        "from greta.kernels.propagate import propagate\n"
        "print(sum(propagate.stats.cache_misses.values()))\n"
    )
    command = [sys.executable, "-c", script]
    subprocess.run(command, check=True, capture_output=True)
    again = subprocess.run(command, check=True, capture_output=True, text=True)
    assert again.stdout.strip() == "0"
