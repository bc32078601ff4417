"""A NOT of several events goes on from push to push: its latest starts are found as events come, once each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import greta
from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob, relevant
from greta.live.growing import LiveGraph
from greta.live.online import Online
from greta.live.program import Program
from greta.live.windows import windows_for
from support.live_streams import as_a_bag

PATTERNS = {
    "two events": ("SEQ(A+, NOT SEQ(C, D), B)", ""),
    "of one of two kinds": ("SEQ(A, NOT (SEQ(C, D) OR E), B+)", ""),
    "any number of events": ("SEQ(A+, NOT SEQ(C+, D), B)", "C.x < NEXT(C).x"),
    "events that pairs are made of": ("SEQ(A+, NOT SEQ(C+, D), B)", "C.x < NEXT(C).x AND C.y > NEXT(D).y"),
    "a NOT in a NOT": ("SEQ(A+, NOT SEQ(C, NOT E, D), B)", ""),
    "a NOT of two in a NOT": ("SEQ(A+, NOT SEQ(C, NOT SEQ(E, E F), D), B)", "A.x <= NEXT(A).x"),
    "a comparison besides": ("SEQ(A+, NOT SEQ(C, D), B)", "A.x < NEXT(B).x"),
    "a product besides": ("SEQ(A+, NOT SEQ(C, D), B)", "A.x * NEXT(B).y > 9"),
    "two of them": ("SEQ(A, NOT SEQ(C, D), B, NOT SEQ(D, C), A F)", ""),
    "again and again": ("(SEQ(A, NOT SEQ(C, D), B))+", "A.y < NEXT(B).y"),
    "at the beginning": ("SEQ(NOT SEQ(C, D), A+)", ""),
    "at the beginning of a branch": ("SEQ(NOT SEQ(C+, D), A, B+) OR E", ""),
}
WINDOWS = ["WITHIN 30 seconds SLIDE 7 seconds", "WITHIN 20 seconds", ""]


def letters(count: int, seconds: int, seed: int = 0) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "type": draw.choice(list("AAABBCDE"), count).tolist(),
            "time": pa.array(np.sort(draw.integers(0, seconds, count)), pa.int64()),
            "x": pa.array(draw.integers(0, 9, count)),
            "y": pa.array(draw.normal(3, 1, count)),
            "g": draw.choice(["u", "v"], count).tolist(),
        }
    )


def rows_of(query: str, events: pa.Table, piece: int, restore: bool = False) -> list[Any]:
    stream = greta.stream(query, schema=events.schema)
    rows = []
    for at in range(0, events.num_rows, piece):
        rows += stream.push(events.slice(at, piece)).to_pylist()
        assert stream.figures.online
        if restore:
            stream = greta.stream(query, snapshot=stream.snapshot())
    return [*rows, *stream.close().to_pylist()]


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("name", PATTERNS)
def test_pushes_of_any_size_give_the_rows_of_a_batch(name: str, windows: str) -> None:
    pattern, where = PATTERNS[name]
    events = letters(300, 150)
    query = f"RETURN g, COUNT(*), MAX(A.x) PATTERN {pattern} WHERE [g] {'AND ' + where if where else ''} GROUP-BY g"
    batch = as_a_bag(greta.aggregate(events, f"{query} {windows}").to_pylist())
    # Single events where windows overlap, which is where most happens between two of them.
    for piece, restore in ((1 if "SLIDE" in windows else 5, False), (17, True), (300, False)):
        assert as_a_bag(rows_of(f"{query} {windows}", events, piece, restore)) == batch


def test_a_match_forbids_until_the_latest_start_and_not_longer() -> None:
    #          a1  c2  a3  d4  b5        no a may be earlier than c2
    # pushes   [-----) [--) [-) [-)
    events = [{"type": type_, "time": at} for at, type_ in enumerate("ACADB", 1)]
    query = "RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C, D), B) WITHIN 100 seconds"
    stream = greta.stream(query)
    for first, last in ((0, 2), (2, 3), (3, 4), (4, 5)):
        stream.push(events[first:last])
    assert [row["count"] for row in stream.close().to_pylist()] == [1]


def test_a_match_that_ends_later_but_started_earlier_takes_nothing_back() -> None:
    #          c1  a2  c3  d4  |  e: the next push  d6 (with x 1, which only c1 precedes)  b7
    events = [
        {"type": type_, "time": at, "x": x}
        for type_, at, x in (("C", 1, 1), ("A", 2, 0), ("C", 3, 2), ("D", 4, 2), ("D", 6, 1), ("B", 7, 0))
    ]
    query = "RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C, D), B) WHERE C.x = NEXT(D).x WITHIN 100 seconds"
    assert greta.aggregate(events, query).to_pylist() == []
    for cut in range(1, 6):
        stream = greta.stream(query)
        stream.push(events[:cut])
        stream.push(events[cut:])
        assert stream.close().to_pylist() == []


def test_matches_that_no_open_window_holds_are_forgotten() -> None:
    query = "RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C+, D), B) WHERE C.y < NEXT(C).y WITHIN 60 seconds SLIDE 10 seconds"
    events = letters(30_000, 15_000)
    job = StreamJob.of(Job.bind(query, events.schema))
    windows = Online(job)
    table, _ = relevant(job, events)
    times = job.clock.read(table["time"], "time")
    sizes, at = [], 0
    for until in range(500_000, 15_000_001, 500_000):
        end = int(np.searchsorted(times, until))
        windows.advance(table.slice(at, end - at), until)
        sizes.append(windows.figures().bytes)
        at = end
    assert max(sizes[10:]) <= 1.5 * max(sizes[:10])


@pytest.mark.parametrize("years", [0, 40, 250])
def test_starts_keep_their_digits_however_old_a_stream_is(years: int) -> None:
    # Times in nanoseconds, which doubles do not tell apart after 104 days.
    since = years * 365 * 86_400 * 10**9
    instants = [0, *(since + at for at in (10, 11, 12, 13, 14))]
    events = pa.table({"type": list("AACADB"), "time": pa.array(instants, pa.timestamp("ns"))})
    query = "RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C, D), B) WITHIN 1 second"
    batch = greta.aggregate(events, query).to_pylist()
    assert [row["count"] for row in batch] == [1]
    for piece in (1, 2, 6):
        assert as_a_bag(rows_of(query, events, piece)) == as_a_bag(batch)


def test_one_window_over_more_time_than_doubles_count_is_computed_at_the_close() -> None:
    instants = [0, *(200 * 86_400 * 10**9 + at for at in (10, 11, 12, 13, 14))]
    events = pa.table({"type": list("AACADB"), "time": pa.array(instants, pa.timestamp("ns"))})
    query = "RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C, D), B)"
    windows = windows_for(job := StreamJob.of(Job.bind(query, events.schema)))
    table, _ = relevant(job, events)
    rows = [windows.advance(table.slice(at, 1), instants[at] + 1) for at in range(6)]
    assert windows.figures().why == "a NOT of several events is asked for over more time than doubles count"
    rows.append(windows.close())
    assert job.finish(pa.concat_tables(rows)).to_pylist() == greta.aggregate(events, query).to_pylist()


def test_the_graph_of_a_not_lies_in_the_memory_of_the_query() -> None:
    query = "RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C+, D), B) WHERE C.y < NEXT(C).y WITHIN 60 seconds SLIDE 10 seconds"
    graph = LiveGraph(Program.of(StreamJob.of(Job.bind(query, letters(1, 2).schema))), 1 << 20)
    (inner,) = graph._inner
    assert inner is not None
    assert inner.memory is graph.memory
    assert inner.about is graph.about


def test_counts_alone_behind_a_lasting_not_go_on_over_any_time_and_from_a_snapshot() -> None:
    query = "RETURN COUNT(*) AS v PATTERN SEQ(NOT SEQ(C, D), A+) WITHIN 20 seconds"
    day = 86_400 * 10**9
    for days in (0, 50, 110, 400):
        times = pa.array([0, days * day, days * day + 10**9, days * day + 2 * 10**9], pa.timestamp("ns"))
        events = pa.table({"type": ["A", "C", "D", "A"], "time": times})
        assert as_a_bag(rows_of(query, events, 1, restore=True)) == as_a_bag(greta.aggregate(events, query).to_pylist())
