"""Conditions that no sum answers go on from push to push: vertices are kept one by one, with the rows of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import greta
from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob, relevant
from greta.kernels.regrouping import LEVEL, LONGEST
from greta.kernels.runs import LIST, PLACE, SORTED
from greta.live import growing
from greta.live.at_close import AtClose
from greta.live.growing import LiveGraph
from greta.live.online import MEMORY, Online
from greta.live.program import Program
from greta.live.stream import open_stream
from greta.live.windows import windows_for
from support.live_streams import as_a_bag

WINDOWS = ["WITHIN 60 seconds SLIDE 7 seconds", "WITHIN 20 seconds", ""]
LINKS = {
    "two comparisons": "A.x < NEXT(A).x AND A.y >= NEXT(A).y",
    "three, one of them in a range": "A.x < NEXT(A).x AND A.x + 9 >= NEXT(A).x AND A.y > NEXT(A).y",
    "two inequalities": "A.x != NEXT(A).x AND A.y != NEXT(A).y",
    "a sum of both": "A.x + NEXT(A).y > 20",
    "a product of integers": "A.x * NEXT(A).x > 99",
    "an alternative of words": "(A.word = NEXT(A).word OR A.x > NEXT(A).x)",
    "words that differ": "A.word != NEXT(A).word AND A.x < NEXT(A).x",
    "a key besides": "A.word = NEXT(A).word AND A.x <= NEXT(A).x AND A.y < NEXT(A).y",
    "a comparison and a ratio": "A.y < NEXT(A).y AND A.x / NEXT(A).x < 1.5",
}


def measured(count: int, seconds: int, seed: int = 0) -> pa.Table:
    draw = np.random.default_rng(seed)
    x = draw.integers(0, 40, count)
    return pa.table(
        {
            "type": draw.choice(list("AAAB"), count).tolist(),
            "time": np.sort(draw.integers(0, 4 * seconds, count)) / 4,
            "x": pa.array(x, pa.int64(), mask=x == 0),
            "y": pa.array(np.round(draw.normal(10, 4, count), 1)),
            "word": draw.choice(["p", "q", "r"], count).tolist(),
            "g": draw.choice(["u", "v"], count).tolist(),
        }
    )


def rows_of(query: str, events: pa.Table, piece: int, *, restore: bool = False, numbers: Any = "double") -> list[Any]:
    stream = greta.stream(query, schema=events.schema, numbers=numbers)
    rows = []
    for at in range(0, events.num_rows, piece):
        rows += stream.push(events.slice(at, piece)).to_pylist()
        assert stream.figures.online
        if restore:
            stream = greta.stream(query, snapshot=stream.snapshot(), numbers=numbers)
    return [*rows, *stream.close().to_pylist()]


def assert_alike(rows: list[Any], batch: list[Any]) -> None:
    """Doubles are added in another order: they may differ in their last digits."""

    def in_order(some: list[Any]) -> list[Any]:
        return sorted(some, key=lambda row: (row.get("window_start", 0), str(row.get("g"))))

    assert len(rows) == len(batch)
    for row, expected in zip(in_order(rows), in_order(batch), strict=True):
        assert row == {
            name: pytest.approx(value, rel=1e-10) if isinstance(value, float) else value
            for name, value in expected.items()
        }


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("link", LINKS)
def test_pushes_of_any_size_give_the_rows_of_a_batch(link: str, windows: str) -> None:
    events = measured(400, 120)
    query = (
        f"RETURN g, COUNT(*), SUM(A.x), MIN(A.y) PATTERN SEQ(A+, B?) WHERE [g] AND {LINKS[link]} GROUP-BY g {windows}"
    )
    batch = greta.aggregate(events, query).to_pylist()
    for piece, restore in ((7, False), (61, True), (400, False)):
        assert_alike(rows_of(query, events, piece, restore=restore), batch)


def lists(graph: LiveGraph) -> list[list[int]]:
    """Per list: the levels of its chunks."""
    whole, found = graph.memory.view(np.int64), []
    for instance in graph.partitions.place:
        about = graph.partitions.instance[instance]
        if about[SORTED] == LIST:
            at, levels = int(about[PLACE]), []
            while at >= 0:
                levels.append(int(whole[at + LEVEL]))
                at = int(whole[at])
            found.append(levels)
    return found


@pytest.mark.parametrize("link", ["two comparisons", "a comparison and a ratio", "three, one of them in a range"])
def test_long_lists_are_regrouped_and_give_the_rows_of_a_batch(link: str) -> None:
    count = 3 * 64 * LONGEST
    events = measured(count, 2_000).set_column(0, "type", pa.array(["A"] * count))
    query = f"RETURN COUNT(*), MAX(A.y) PATTERN A+ WHERE {LINKS[link]} WITHIN 2000 seconds SLIDE 100 seconds"
    job = StreamJob.of(Job.bind(query, events.schema))
    graph = LiveGraph(Program.of(job), 1 << 28)
    table, _ = relevant(job, events)
    times = job.clock.read(table["time"], "time")
    seen: set[int] = set()
    for at in range(0, count, 512):
        end = int(np.searchsorted(times, times[min(at + 512, count - 1)]))
        first = int(np.searchsorted(times, times[at]))
        graph.advance(table.slice(first, end - first), int(times[end]))
        (levels,) = lists(graph)
        assert levels == sorted(levels, reverse=True)
        seen |= set(levels)
    assert seen == {0, 1, 2}
    assert_alike(rows_of(query, events, 900), greta.aggregate(events, query).to_pylist())


def test_vertices_that_change_places_stay_in_their_windows() -> None:
    # The second group is made when windows have closed since its oldest vertices came.
    count = 32 * LONGEST
    events = measured(count, 200).set_column(0, "type", pa.array(["A"] * count))
    query = f"RETURN COUNT(*), MAX(A.y) PATTERN A+ WHERE {LINKS['two comparisons']} WITHIN 100 seconds SLIDE 20 seconds"
    assert_alike(rows_of(query, events, 600), greta.aggregate(events, query).to_pylist())


def test_chunks_of_closed_windows_are_given_back() -> None:
    query = "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x AND A.y > NEXT(A).y WITHIN 60 seconds SLIDE 10 seconds"
    events = measured(30_000, 15_000).drop_columns("type").append_column("type", pa.array(["A"] * 30_000))
    job = StreamJob.of(Job.bind(query, events.schema))
    windows = Online(job)
    table, _ = relevant(job, events)
    times = job.clock.read(table["time"], "time")
    sizes, at = [], 0
    for until in range(500, 15_001, 500):
        end = int(np.searchsorted(times, until * 10**9))
        windows.advance(table.slice(at, end - at), until * 10**9)
        sizes.append(windows.figures().bytes)
        at = end
    assert max(sizes[10:]) <= 1.5 * max(sizes[:10])


def test_a_partition_that_is_nearly_silent_takes_little_room() -> None:
    query = "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x AND A.y > NEXT(A).y WITHIN 600 seconds SLIDE 1 second"
    events = measured(60, 6_000).drop_columns("type").append_column("type", pa.array(["A"] * 60))
    job = StreamJob.of(Job.bind(query, events.schema))
    graph = LiveGraph(Program.of(job), 1 << 28)
    table, _ = relevant(job, events)
    graph.advance(table, 6_000 * 10**9)
    assert max(map(len, lists(graph))) <= 5


def test_lists_beyond_their_memory_are_given_up_for_the_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY, "20000")
    events = measured(600, 100)
    query = f"RETURN COUNT(*) PATTERN A+ WHERE {LINKS['two comparisons']} {WINDOWS[0]}"
    stream = greta.stream(query, schema=events.schema)
    rows = stream.push(events).to_pylist()
    assert stream.figures.why == ("more than 20,000 bytes would be needed",)
    assert_alike([*rows, *stream.close().to_pylist()], greta.aggregate(events, query).to_pylist())


@pytest.mark.parametrize(("overlap", "online"), [("SLIDE 1 second", True), ("", False)])
def test_lists_are_given_up_where_windows_at_their_end_cost_less(
    overlap: str, online: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without an overlap, an event is computed once either way, and a batch has a tree for it.
    monkeypatch.setattr(growing, "_ENOUGH_SCANS", 500)
    events = measured(3_000, 50).drop_columns("type").append_column("type", pa.array(["A"] * 3_000))
    query = f"RETURN COUNT(*) PATTERN A+ WHERE {LINKS['two comparisons']} WITHIN 40 seconds {overlap}"
    stream = greta.stream(query, schema=events.schema)
    rows = [row for at in range(0, 3_000, 100) for row in stream.push(events.slice(at, 100)).to_pylist()]
    assert stream.figures.online == online
    assert online or "looked at" in stream.figures.why[0]
    assert_alike([*rows, *stream.close().to_pylist()], greta.aggregate(events, query).to_pylist())


@pytest.mark.parametrize("large", [2**27, 2**40, 2**62])
def test_integers_that_doubles_would_round_are_computed_at_the_close(large: int) -> None:
    events = pa.table(
        {"type": ["A"] * 6, "time": pa.array(range(6), pa.int64()), "x": [1, 3, large, large + 1, large + 2, 7]}
    )
    query = "RETURN COUNT(*) PATTERN A+ WHERE A.x * NEXT(A).x > NEXT(A).x * NEXT(A).x - 1 WITHIN 10 seconds"
    windows = windows_for(job := StreamJob.of(Job.bind(query, events.schema)))
    table, _ = relevant(job, events)
    assert windows.figures().online
    rows = [windows.advance(table.slice(at, 1), 1_000 * at + 1) for at in range(6)]
    assert windows.figures().why == "a condition between two events computes with integers beyond 2^53"
    rows.append(windows.close())
    assert as_a_bag(job.finish(pa.concat_tables(rows)).to_pylist()) == as_a_bag(
        greta.aggregate(events, query).to_pylist()
    )


def test_exact_counts_have_all_their_digits() -> None:
    events = pa.table({"type": ["A"] * 90, "time": pa.array(range(90), pa.int64()), "x": range(90), "y": range(90)})
    query = "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x AND A.y < NEXT(A).y WITHIN 80 seconds SLIDE 20 seconds"
    stream = open_stream(query, schema=events.schema, numbers="exact", windows=windows_for)
    rows = [row for at in range(0, 90, 9) for row in stream.push(events.slice(at, 9)).to_pylist()]
    rows += stream.close().to_pylist()
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(events, query, numbers="exact").to_pylist())
    assert str(2**80 - 1) in {row["count"] for row in rows}


def test_open_windows_are_read_as_if_they_ended_now() -> None:
    events = measured(200, 60, seed=2)
    job = StreamJob.of(
        Job.bind(f"RETURN COUNT(*) PATTERN A+ WHERE {LINKS['a sum of both']} {WINDOWS[0]}", events.schema)
    )
    one, other = windows_for(job), AtClose(job)
    events, _ = relevant(job, events)
    times = job.clock.read(events["time"], "time")
    at = 0
    for until in range(10, 70, 10):
        end = int(np.searchsorted(times, until * 10**9))
        for windows in (one, other):
            windows.advance(events.slice(at, end - at), until * 10**9)
        at = end
        assert as_a_bag(one.open().to_pylist()) == as_a_bag(other.open().to_pylist())


def test_words_that_are_compared_by_their_order_are_computed_at_the_close() -> None:
    query = "RETURN COUNT(*) PATTERN A+ WHERE A.word < NEXT(A).word AND A.x < NEXT(A).x WITHIN 10 seconds"
    figures = windows_for(StreamJob.of(Job.bind(query, measured(1, 1).schema))).figures()
    assert figures.why == "text is compared by its order"
