"""How finely time is cut: as the events need, and at a cost that is known beforehand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greta.engine.job import Job
from greta.engine.times import Clock
from greta.plan.nodes import Plan
from greta.spark.batch.ranges import Ranges, Share, plan_measured_ranges, plan_ranges

SCHEMA = pa.schema([("type", pa.string()), ("time", pa.int64()), ("g", pa.string())])


def plan(window: str) -> Plan:
    return Job.bind(f"RETURN COUNT(*) PATTERN A+ WHERE [g] {window}", SCHEMA).plan


Q = plan("WITHIN 10 minutes SLIDE 10 seconds")
EVEN = [Share(number, 1_000, 0.0, 36_000.0) for number in range(256)]


def test_partitions_that_are_many_and_small_are_not_cut() -> None:
    assert plan_measured_ranges((Q,), EVEN, 8) is None


def test_a_hot_partition_is_cut_into_several_ranges_per_task() -> None:
    hot = [*EVEN[:-1], Share(255, 2_304_000, 0.0, 36_000.0)]
    ranges = plan_measured_ranges((Q,), hot, 4)
    assert ranges is not None
    assert 14 <= 36_000_000 / ranges.length <= 16


def test_ranges_never_get_shorter_than_their_overlap() -> None:
    ranges = plan_measured_ranges((Q,), [Share(0, 1_000_000, 0.0, 60.0)], 200)
    assert ranges is not None
    assert ranges.length == 590_000


def test_a_partition_larger_than_memory_is_cut_even_for_one_task() -> None:
    ranges = plan_measured_ranges((Q,), [Share(0, 20_000_000, 0.0, 36_000.0)], 1)
    assert ranges is not None
    assert ranges.length == 3_600_000


@pytest.mark.parametrize("shares", [[], [Share(0, 1_000_000, 0.0, 60.0)]])
def test_time_without_windows_cannot_be_cut(shares: list[Share]) -> None:
    assert plan_measured_ranges((plan(""),), shares, 8) is None
    assert plan_ranges((plan(""),), None) is None


def test_the_usual_ranges_move_an_eighth_more_events() -> None:
    ranges = plan_ranges((Q,), None)
    assert ranges is not None
    assert ranges.length == 8 * 590_000
    assert plan_ranges((Q,), 2.0) == Ranges(1_200_000, 600_000, 10_000)
    assert plan_ranges((Q,), 0) is None


@given(
    within=st.integers(1, 40),
    slide=st.integers(1, 12),
    cut=st.floats(0.1, 5),
    times=st.lists(st.integers(0, 500), min_size=1, max_size=30),
)
def test_every_range_gets_all_events_of_the_windows_that_it_owns(
    within: int, slide: int, cut: float, times: list[int]
) -> None:
    slide = min(slide, within)
    query = plan(f"WITHIN {within} seconds SLIDE {slide} seconds")
    ranges = plan_ranges((query,), cut)
    if ranges is None:
        return
    clock = Clock.of(pa.int64())
    first, last = ranges.number(np.array(times, dtype=np.int64) * 1_000, clock)
    for time, low, high in zip(times, first.tolist(), last.tolist(), strict=True):
        windows = [at for at in range(time // slide + 1) if at * slide <= time < at * slide + within]
        owners = {at * slide * 1_000 // ranges.length for at in windows}
        assert owners == set(range(low, high + 1))
