"""A stream in this process gives the rows of a batch: whatever the cut, the order, the engine, and the restores."""

from __future__ import annotations

import json
import random
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import greta
from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob
from greta.errors import QueryMeaningError
from greta.live.at_close import AtClose
from greta.live.choice import why_not
from greta.live.stream import open_stream
from greta.live.windows import windows_for
from support.events import SCHEMA
from support.live_streams import Make, as_a_bag, streamed, taken_in
from support.online_cases import online_case
from support.streams import Case, cases

FILES = sorted((Path(__file__).parents[1] / "conformance").glob("*.json"))
CASES = [case for file in FILES for case in json.loads(file.read_text("utf-8")) if case["events"]]

ENGINES = [pytest.param(windows_for, id="chosen"), pytest.param(AtClose, id="at-close")]
"""What ``greta.stream`` chooses for a query, and what computes windows when they end."""


def check(case: Case, make: Make, numbers: Any, seed: int) -> None:
    draw = random.Random(seed)
    events = pa.Table.from_pylist(case.events, SCHEMA)
    try:
        batch = greta.aggregate(events, case.query, numbers=numbers).to_pylist()
    except QueryMeaningError:
        assume(False)
    lateness = draw.choice((0, 0.5, 2, 20))
    rows = streamed(case.query, events, lateness, make, draw, restore=draw.random() < 0.5, numbers=numbers)
    assert as_a_bag(rows) == as_a_bag(batch), case.query


def check_many(make: Make, values: bool, examples: int) -> None:
    @settings(max_examples=examples)
    @given(cases(values=values, max_events=14), st.sampled_from(("double", "exact")), st.integers(0, 2**32))
    def judged(case: Case, numbers: Any, seed: int) -> None:
        check(case, make, numbers, seed)

    judged()


@pytest.mark.parametrize("values", [False, True], ids=["aggregates", "values of trends"])
@pytest.mark.parametrize(("make", "examples"), [(windows_for, 500), (AtClose, 100)], ids=["chosen", "at-close"])
def test_random_streams_give_the_rows_of_the_batch(make: Make, examples: int, values: bool) -> None:
    check_many(make, values, examples)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("values", [False, True], ids=["aggregates", "values of trends"])
@pytest.mark.parametrize(("make", "examples"), [(windows_for, 25_000), (AtClose, 2_500)], ids=["chosen", "at-close"])
def test_many_random_streams_give_the_rows_of_the_batch(make: Make, examples: int, values: bool) -> None:
    check_many(make, values, examples)


def check_online(seeds: range) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        case = online_case(draw)
        batch = greta.aggregate(case.events, case.query, numbers=case.numbers).to_pylist()
        job = StreamJob.of(Job.bind(case.query, case.events.schema, numbers=case.numbers))
        assert why_not(job) is None, case.query
        lateness, restore = draw.choice((0, 0.5, 2, 20)), draw.random() < 0.5
        rows = streamed(case.query, case.events, lateness, windows_for, draw, restore=restore, numbers=case.numbers)
        assert by_window(rows) == [nearly(row) for row in by_window(batch)], (seed, case.query)


def by_window(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sorted by window and group."""
    return sorted(rows, key=lambda row: [str(value) for name, value in row.items() if name[0] != "v"])


def nearly(row: dict[str, Any]) -> dict[str, Any]:
    """Doubles are added in another order than in a batch: they may differ in their last digits."""
    return {
        name: pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value
        for name, value in row.items()
    }


@pytest.mark.parametrize("part", range(10))
def test_random_streams_that_are_online_give_the_rows_of_the_batch(part: int) -> None:
    check_online(range(100 * part, 100 * (part + 1)))


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_many_random_streams_that_are_online_give_the_rows_of_the_batch() -> None:
    check_online(range(1_000, 26_000))


def check_worked(worked: list[dict[str, Any]], number_modes: tuple[Any, ...], make: Make, seed: int) -> None:
    """Stream the cases, each in the next of the number modes, with a restore after every push."""
    draw = random.Random(seed)
    for case, numbers in zip(worked, cycle(number_modes), strict=False):
        events = pa.Table.from_pylist(case["events"])
        batch = greta.aggregate(events, case["query"], numbers=numbers).to_pylist()
        lateness = draw.choice((0, 1, 3, 10))
        rows = streamed(case["query"], events, lateness, make, draw, restore=True, numbers=numbers)
        assert as_a_bag(rows) == as_a_bag(batch), case["name"]


@pytest.mark.parametrize("make", ENGINES)
@pytest.mark.parametrize("part", range(4))
def test_worked_cases_come_out_of_a_stream_that_is_restored_after_every_push(part: int, make: Make) -> None:
    # What is chosen answers all of them; windows at their close every third.
    check_worked(CASES[part :: 4 if make is windows_for else 12], ("double", "exact"), make, part)


@pytest.mark.slow
@pytest.mark.parametrize("make", ENGINES)
@pytest.mark.parametrize("numbers", ["double", "exact"])
def test_all_worked_cases_come_out_of_a_restored_stream_in_both_number_modes(numbers: Any, make: Make) -> None:
    check_worked(CASES, (numbers,), make, 4)


FALLING = """
RETURN g, COUNT(*), SUM(A.x), MIN(A.x) PATTERN A+ WHERE [g] AND A.x > NEXT(A).x
GROUP-BY g WITHIN 10 seconds SLIDE 3 seconds
"""


def numbers_at(times: list[float], seed: int = 0) -> pa.Table:
    draw = random.Random(seed)
    return pa.table(
        {
            "type": ["A"] * len(times),
            "time": pa.array(times, pa.float64()),
            "x": pa.array([draw.randrange(50) for _ in times], pa.int64()),
            "g": pa.array([draw.choice("pqr") for _ in times]),
        }
    )


@pytest.mark.parametrize("make", ENGINES)
@pytest.mark.parametrize("seed", range(10))
def test_late_events_count_nowhere_but_in_the_figures(make: Make, seed: int) -> None:
    draw = random.Random(seed)
    times = [draw.choice((at, at, at, draw.uniform(0, 60))) / 2 for at in range(120)]
    events, lateness = numbers_at(times, seed), draw.choice((0.0, 1.0, 4.0))
    stream, rows, pieces, at = open_stream(FALLING, lateness=lateness, windows=make), [], [], 0
    while at < len(times):
        pieces.append(draw.choice((1, 2, 7)))
        rows += stream.push(events.slice(at, pieces[-1])).to_pylist()
        at += pieces[-1]
    rows += stream.close().to_pylist()
    kept = taken_in([(time, row) for row, time in enumerate(times)], pieces, lateness)
    assert stream.figures.late_events == len(times) - len(kept) > 0
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(events.take(pa.array(kept)), FALLING).to_pylist())


@pytest.mark.parametrize("make", ENGINES)
@pytest.mark.parametrize("restore", [False, True])
def test_several_queries_share_a_stream_and_have_the_rows_of_the_batch(make: Make, restore: bool) -> None:
    queries = {
        "falls": FALLING.replace("COUNT(*)", "COUNT(*) AS falls"),
        "all": "RETURN COUNT(*) AS trends PATTERN A+ WHERE A.x > 20",
        "pairs": "RETURN COUNT(*) AS trends PATTERN A{2} SEMANTICS contiguous WHERE [g] WITHIN 4 seconds",
    }
    events = numbers_at([at / 4 for at in range(150)])
    rows = streamed(queries, events, 1.5, make, random.Random(1), restore=restore)
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(events, queries).to_pylist())


@pytest.mark.parametrize("make", ENGINES)
def test_updates_are_the_rows_of_a_batch_over_all_events_before_the_watermark(make: Make) -> None:
    events = numbers_at([at / 3 for at in range(90)])
    stream, shown, final = open_stream(FALLING, emit="update", lateness=1, windows=make), {}, []
    draw, at = random.Random(3), 0
    while at < events.num_rows:
        size = draw.choice((1, 4, 9))
        for row in stream.push(events.slice(at, size)).to_pylist():
            key = row["window_start"], row["g"]
            if row.pop("final"):
                shown.pop(key, None)
                final.append(row)
            else:
                assert shown.get(key) != row, "only what changed is told again"
                shown[key] = row
        at += size
        so_far = events.slice(0, at)
        watermark = max(0.0, so_far.column("time").to_pylist()[-1] - 1)
        passed = so_far.filter(pa.compute.less(so_far.column("time"), watermark))
        assert as_a_bag([*final, *shown.values()]) == as_a_bag(greta.aggregate(passed, FALLING).to_pylist())
    last = stream.close().to_pylist()
    assert all(row.pop("final") for row in last)
    assert as_a_bag([*final, *last]) == as_a_bag(greta.aggregate(events, FALLING).to_pylist())


@pytest.mark.parametrize("make", ENGINES)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns", "date32"])
def test_time_stamps_of_every_unit_give_the_rows_of_the_batch(make: Make, unit: str) -> None:
    day = 86_400
    seconds = pa.array([at * day for at in range(40)], pa.int64())
    type_ = pa.date32() if unit == "date32" else pa.timestamp(unit, "UTC")
    times = (
        seconds.cast(pa.timestamp("s")).cast(type_)
        if unit == "date32"
        else seconds.cast(pa.timestamp("s")).cast(pa.timestamp(unit)).cast(type_)
    )
    events = numbers_at([0.0] * 40).set_column(1, "time", times)
    query = FALLING.replace("10 seconds SLIDE 3 seconds", "10 days SLIDE 3 days")
    stream = open_stream(query, lateness="2 days", windows=make)
    rows = [row for at in range(40) for row in stream.push(events.slice(at, 1)).to_pylist()]
    rows += [*stream.close().to_pylist()]
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(events, query).to_pylist())


@pytest.mark.parametrize("make", ENGINES)
def test_time_stamps_before_1970_have_windows_too(make: Make) -> None:
    times = pa.array([at * 1_000_000 for at in range(-30, 30)], pa.int64()).cast(pa.timestamp("us"))
    events = numbers_at([0.0] * 60).set_column(1, "time", times)
    rows = []
    stream = open_stream(FALLING, windows=make)
    for at in range(0, 60, 7):
        rows += stream.push(events.slice(at, 7)).to_pylist()
    rows += stream.close().to_pylist()
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(events, FALLING).to_pylist())
