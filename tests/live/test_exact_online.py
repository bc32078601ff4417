"""Exact numbers of streams: doubles while these have all digits, else computed from events; equal to a batch."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import greta
from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob
from greta.live.choice import why_not
from greta.live.online import Online
from greta.live.windows import windows_for
from greta.plan.bounds import bounded
from greta.plan.flows import Flow, Op, Step, Weight
from support.live_streams import streamed

SCHEMA = pa.schema(
    [("type", pa.string()), ("time", pa.int64()), ("g", pa.string()), ("x", pa.int64()), ("y", pa.int32())]
)
EDGE = 2**53
RETURNED = (
    "COUNT(*)",
    "SUM(A.x)",
    "SUM(A.y)",
    "AVG(A.x)",
    "MIN(A.x)",
    "MAX(A.y)",
    "MAX(COUNT(*))",
    "MIN(COUNT(A))",
    "AVG(COUNT(*))",
    "STDDEV(COUNT(*))",
    "SUM(DURATION(*))",
    "STDDEV(DURATION(*))",
    "MIN(DURATION(*))",
    "MAX(SUM(A.x))",
    "MIN(SUM(A.y))",
    "AVG(SUM(A.x))",
    "STDDEV(SUM(A.y))",
    "MAX(LAST(A.x) - FIRST(A.x))",
    "SUM(FIRST(A.x))",
    "STDDEV(LAST(A.y) - FIRST(A.x))",
    "MIN(SUM(A.x) - COUNT(*))",
    "MAX(MIN(A.x))",
)
PATTERNS = ("A+", "SEQ(A+, B)", "SEQ(A, B+)", "(SEQ(A, B))+", "A+ OR B", "SEQ(A, B?, A2+)")


def exactly(rows: list[dict[str, Any]]) -> list[str]:
    """Rows that can be compared in any order, with all their digits and types."""
    return sorted(repr(list(row.items())) for row in rows)


def some_query(draw: random.Random) -> str:
    semantics = draw.choice(("skip-till-any-match", "skip-till-any-match", "skip-till-next-match", "contiguous"))
    pattern = draw.choice(PATTERNS).replace("A2", "A A2")
    maximal = "MAXIMAL" if pattern == "A+" and semantics != "skip-till-any-match" and draw.random() < 0.5 else ""
    where = ["A.x < NEXT(A).x"] if "A+" in pattern and draw.random() < 0.4 else []
    where += ["[g]"] if draw.random() < 0.4 else []
    returned = draw.sample(RETURNED, draw.randint(1, 4))
    window = draw.choice(("WITHIN 8 seconds SLIDE 2 seconds", "WITHIN 6 seconds SLIDE 4 seconds", "WITHIN 9 seconds"))
    return (
        f"RETURN {', '.join(f'{one} AS v{at}' for at, one in enumerate(returned))} PATTERN {pattern} "
        f"SEMANTICS {semantics} {maximal} {'WHERE ' + ' AND '.join(where) if where else ''} {window}"
    )


def some_events(draw: random.Random) -> pa.Table:
    values = draw.choice(
        (
            (None, 0, 1, 2, 3, -4),
            (0, 1, -1, EDGE // 4, -EDGE // 4, 5),
            (EDGE - 1, 1 - EDGE, 1, -1, 3, EDGE // 2),
            (EDGE // 8, EDGE // 8 + 1, EDGE // 8 - 3),
            (94_906_265, -94_906_266, 94_906_267, 1),
        )
    )
    time, rows = draw.choice((0, 7, 2**28)), []
    for _ in range(draw.choice((6, 20, 60))):
        time += draw.choice((0, 0, 1, 1, 2))
        time += 400 if draw.random() < 0.02 else 0
        row = {"type": draw.choice("AAAB"), "time": time, "g": draw.choice("uv"), "x": draw.choice(values)}
        rows.append({**row, "y": draw.choice((None, 7, -9, 2**31 - 1, -(2**31)))})
    return pa.Table.from_pylist(rows, SCHEMA)


@pytest.mark.parametrize("seed", range(120))
def test_rows_of_a_stream_have_the_digits_of_a_batch(seed: int) -> None:
    draw = random.Random(seed)
    query, events = some_query(draw), some_events(draw)
    assert windows_for(StreamJob.of(Job.bind(query, events.schema, numbers="exact"))).figures().online, query
    batch = exactly(greta.aggregate(events, query, numbers="exact").to_pylist())
    lateness = draw.choice((0, 0, 3))
    rows = streamed(query, events, lateness, windows_for, draw, restore=seed % 3 == 0, numbers="exact")
    assert exactly(rows) == batch, query


def streamed_figures(query: str, events: pa.Table) -> tuple[list[dict[str, Any]], list[bool]]:
    """(rows of a stream, event by event; after each whether the windows that ended last were computed online)"""
    stream = greta.stream(query, schema=events.schema, numbers="exact")
    rows, online = [], []
    for at in range(events.num_rows):
        rows += stream.push(events.slice(at, 1)).to_pylist()
        online.append(stream.figures.online)
    return [*rows, *stream.close().to_pylist()], online


def table(times: list[int], values: list[int | None], kind: pa.DataType | None = None) -> pa.Table:
    count = len(times)
    return pa.table(
        {
            "type": ["A"] * count,
            "time": pa.array(times, pa.int64()),
            "g": ["u"] * count,
            "x": pa.array(values, kind or pa.int64()),
        }
    )


@pytest.mark.parametrize("aggregate", ["SUM(A.x)", "MAX(SUM(A.x))", "SUM(SUM(A.x))", "AVG(SUM(A.x))"])
def test_sums_that_go_beyond_doubles_and_come_back_have_their_digits(aggregate: str) -> None:
    # 2^53 + 1 is no double: where it is added and taken away again, the sum is a small number all the same.
    query = f"RETURN {aggregate} AS v PATTERN A+ SEMANTICS contiguous MAXIMAL WITHIN 10 seconds"
    times = [0, 1, 2, 3, 10, 11, 12, 20, 30]
    events = table(times, [EDGE, 1, -EDGE, 3, 5, -6, 7, 1, 1])
    rows, online = streamed_figures(query, events)
    assert exactly(rows) == exactly(greta.aggregate(events, query, numbers="exact").to_pylist())
    assert [float(row["v"]) for row in rows] == [4, 6, 1, 1]
    # The first window is computed from its events, and only that one.
    assert online == [True, True, True, True, False, False, False, True, True]


def test_the_largest_value_of_trends_is_not_decided_by_rounded_ones() -> None:
    query = "RETURN MAX(SUM(A.x)) AS most, MIN(SUM(A.x)) AS least PATTERN A+ WITHIN 10 seconds"
    events = table([0, 1, 2, 3, 20], [EDGE, 1, 2, -EDGE - 2, 0])
    rows, _ = streamed_figures(query, events)
    assert rows[0]["most"] == str(EDGE + 3)
    assert rows[0]["least"] == str(-EDGE - 2)


def test_squares_are_bound_by_themselves() -> None:
    # Values and their sums are small, their squares are not.
    query = "RETURN STDDEV(SUM(A.x)) AS v PATTERN A+ SEMANTICS contiguous MAXIMAL WITHIN 10 seconds"
    events = table([0, 5, 10, 20, 25, 40], [94_906_267, 94_906_269, 94_906_271, 3, 4, 1])
    rows, online = streamed_figures(query, events)
    assert exactly(rows) == exactly(greta.aggregate(events, query, numbers="exact").to_pylist())
    assert not all(online)
    assert online[-1]


def test_integers_that_are_no_doubles_are_added_from_their_events() -> None:
    query = "RETURN SUM(A.x) AS v PATTERN A WITHIN 10 seconds"
    events = table([0, 1, 10, 20], [2**62 + 1, 1 - 2**62, 3, 4])
    rows, online = streamed_figures(query, events)
    assert [row["v"] for row in rows] == ["2", "3", "4"]
    assert online == [True, True, False, True]


def test_groups_of_partitions_are_added_with_all_digits() -> None:
    # Each partition has fewer than 2^53 trends, their group has more.
    events = pa.table(
        {
            "type": ["A"] * 160,
            "time": pa.array([at // 3 for at in range(159)] + [100], pa.int64()),
            "g": [("u", "v", "w")[at % 3] for at in range(160)],
        }
    )
    query = "RETURN COUNT(*) AS v PATTERN A+ WHERE [g] WITHIN 100 seconds"
    stream = greta.stream(query, schema=events.schema, numbers="exact")
    rows = stream.push(events).to_pylist()
    assert stream.figures.online
    assert rows[0]["v"] == str(3 * (2**53 - 1))


def test_lengths_of_time_are_whole_however_long_they_are() -> None:
    events = table([0, 2**51 + 1], [1, 1])
    query = "RETURN SUM(DURATION(*)) AS v, MAX(DURATION(*)) AS w PATTERN A+"
    stream = greta.stream(query, schema=events.schema, numbers="exact")
    stream.push(events)
    (row,) = stream.close().to_pylist()
    assert (row["v"], row["w"]) == (str(2**51 + 1),) * 2


def test_doubles_of_an_exact_query_are_those_of_any_query() -> None:
    draw = np.random.default_rng(3)
    events = pa.table(
        {
            "type": ["A"] * 200,
            "time": pa.array(range(200), pa.int64()),
            "x": pa.array(draw.integers(-9, 9, 200)),
            "y": pa.array(draw.normal(0, 1, 200)),
        }
    )
    query = (
        "RETURN COUNT(*), SUM(A.x), AVG(A.y), MAX(A.y), STDDEV(LAST(A.y) - FIRST(A.y)) AS d PATTERN A+ "
        "WHERE A.y < NEXT(A).y WITHIN 40 seconds SLIDE 10 seconds"
    )
    stream = greta.stream(query, schema=events.schema, numbers="exact")
    rows = [*stream.push(events).to_pylist(), *stream.close().to_pylist()]
    assert stream.figures.online
    for row, expected in zip(rows, greta.aggregate(events, query, numbers="exact").to_pylist(), strict=True):
        assert row == {k: pytest.approx(v, rel=1e-9) if isinstance(v, float) else v for k, v in expected.items()}


@pytest.mark.parametrize("kind", [pa.decimal128(20, 0), pa.decimal128(20, 2), pa.uint64()])
def test_decimals_and_unsigned_numbers_are_added_at_the_close(kind: pa.DataType) -> None:
    schema = pa.schema([("type", pa.string()), ("time", pa.int64()), ("x", kind)])
    why = why_not(Job.bind("RETURN SUM(A.x) PATTERN A+ WITHIN 9 seconds", schema, numbers="exact"))
    assert why is not None
    assert "x" in why


def test_an_interrupted_exact_stream_goes_on_from_a_snapshot() -> None:
    query = "RETURN SUM(A.x) AS v PATTERN A+ WITHIN 100 seconds SLIDE 50 seconds"
    events = table(list(range(150)), [(-1) ** at * at for at in range(150)])
    stream = greta.stream(query, schema=events.schema, numbers="exact")
    rows = stream.push(events.slice(0, 77)).to_pylist()
    stream = greta.stream(query, snapshot=stream.snapshot())
    rows += stream.push(events.slice(77)).to_pylist()
    rows += stream.close().to_pylist()
    assert exactly(rows) == exactly(greta.aggregate(events, query, numbers="exact").to_pylist())


def test_numbers_that_cannot_be_negative_need_no_bound_of_their_own() -> None:
    def slots(returned: str) -> int:
        job = StreamJob.of(Job.bind(f"RETURN {returned} PATTERN A+ WITHIN 9 seconds", SCHEMA, numbers="exact"))
        return Online(job)._program.slots.adds + Online(job)._program.slots.maxes

    def plain(returned: str) -> int:
        job = StreamJob.of(Job.bind(f"RETURN {returned} PATTERN A+ WITHIN 9 seconds", SCHEMA))
        return Online(job)._program.slots.adds + Online(job)._program.slots.maxes

    for returned in ("COUNT(*), COUNT(A)", "STDDEV(COUNT(*))", "MIN(COUNT(*))", "MAX(A.x)"):
        assert slots(returned) == plain(returned)
    assert slots("SUM(A.x)") == plain("SUM(A.x)") + 1


def test_a_bound_has_the_steps_of_what_it_bounds_with_positive_weights() -> None:
    weight = Weight(constant=-1, attributes=(("x", 2),))
    flow = Flow(
        adds=2,
        maxes=0,
        carried_adds=2,
        carried_maxes=0,
        start_adds=frozenset([0]),
        start_maxes=frozenset(),
        starting={},
        taking_part={"A": (Step(Op.ADD, 1, 0, weight), Step(Op.ADD, 0, 0, Weight(constant=1)))},
        results=(0, 1),
    )
    found = bounded(flow, [False, False], [0, 1])
    positive = Weight(constant=-1, attributes=(("x", 2),), absolute=True)
    assert found.flow.taking_part["A"] == (
        Step(Op.ADD, 1, 0, weight),
        Step(Op.ADD, 2, 0, positive),
        Step(Op.ADD, 0, 0, Weight(constant=1)),
    )
    assert (found.flow.adds, found.flow.carried_adds, found.adds) == (3, 3, (0, 2))
