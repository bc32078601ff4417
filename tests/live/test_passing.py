"""Next and contiguous selection go on from push to push: the rows of a batch, each event linked once."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import greta
from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob, relevant
from greta.live.at_close import AtClose
from greta.live.online import MEMORY, Online
from greta.live.windows import windows_for
from support.live_streams import as_a_bag

WINDOWS = "WITHIN 60 seconds SLIDE 7 seconds"
QUERIES = {
    "falls": "RETURN g, COUNT(*), MIN(A.x), AVG(DURATION(*)) PATTERN A+ SEMANTICS {} "
    "WHERE [g] AND A.x > NEXT(A).x GROUP-BY g",
    "runs": "RETURN g, COUNT(*), MAX(COUNT(*)) PATTERN A+ SEMANTICS {} MAXIMAL "
    "WHERE [g] AND A.x > NEXT(A).x GROUP-BY g",
    "long runs": "RETURN COUNT(*) PATTERN A+ SEMANTICS {} MAXIMAL WHERE A.x >= NEXT(A).x MIN LENGTH 3",
    "sequences": "RETURN g, COUNT(*), SUM(B.x) PATTERN SEQ(A+, B) SEMANTICS {} WHERE [g] GROUP-BY g",
    "words": "RETURN COUNT(*) PATTERN SEQ(A, B+) SEMANTICS {} WHERE B.word <= NEXT(B).word",
    "sums of two": "RETURN COUNT(*) PATTERN A+ SEMANTICS {} WHERE A.x + NEXT(A).x > 7",
}


def trades(count: int, seed: int = 0) -> pa.Table:
    draw = random.Random(seed)
    time, rows = 0.0, []
    for _ in range(count):
        time += draw.choice((0, 0, 0.5, 1, 1, 2, 30 if draw.random() < 0.02 else 1))
        x = draw.choice((None, 1, 2, 3, 4, 5, 6, 7))
        rows.append(
            {"type": draw.choice("AAABC"), "time": time, "g": draw.choice("uvw"), "x": x, "word": draw.choice("pqr")}
        )
    return pa.Table.from_pylist(rows)


def rows_of(query: str, events: pa.Table, piece: int, restore: bool = False) -> list[Any]:
    stream = greta.stream(query, schema=events.schema)
    rows = []
    for at in range(0, events.num_rows, piece):
        rows += stream.push(events.slice(at, piece)).to_pylist()
        assert stream.figures.online
        if restore:
            stream = greta.stream(query, snapshot=stream.snapshot())
    return [*rows, *stream.close().to_pylist()]


@pytest.mark.parametrize("windows", [WINDOWS, "WITHIN 20 seconds", ""])
@pytest.mark.parametrize("semantics", ["skip-till-next-match", "contiguous"])
@pytest.mark.parametrize("name", QUERIES)
def test_pushes_of_any_size_give_the_rows_of_a_batch(name: str, semantics: str, windows: str) -> None:
    events = trades(600)
    query = f"{QUERIES[name].format(semantics)} {windows}"
    batch = as_a_bag(greta.aggregate(events, query).to_pylist())
    for piece in (7, 600):
        assert as_a_bag(rows_of(query, events, piece)) == batch


@pytest.mark.parametrize("semantics", ["skip-till-next-match", "contiguous"])
def test_a_snapshot_after_every_push_goes_on(semantics: str) -> None:
    events = trades(300, seed=1)
    query = f"{QUERIES['runs'].format(semantics)} {WINDOWS}"
    batch = as_a_bag(greta.aggregate(events, query).to_pylist())
    assert as_a_bag(rows_of(query, events, 23, restore=True)) == batch


@pytest.mark.parametrize("semantics", ["skip-till-next-match", "contiguous"])
@pytest.mark.parametrize("name", ["falls", "runs"])
def test_open_windows_are_read_as_if_they_ended_now(name: str, semantics: str) -> None:
    events = trades(200, seed=2)
    job = StreamJob.of(Job.bind(f"{QUERIES[name].format(semantics)} {WINDOWS}", events.schema))
    one, other = windows_for(job), AtClose(job)
    events, _ = relevant(job, events)
    times = job.clock.read(events["time"], "time")
    for at in range(0, events.num_rows, 31):
        last = min(at + 31, events.num_rows)
        while last < events.num_rows and times[last] == times[last - 1]:
            last += 1
        first = at
        while 0 < first < events.num_rows and times[first] == times[first - 1]:
            first += 1
        for windows in (one, other):
            windows.advance(events.slice(first, last - first), int(times[last - 1]) + 1)
        assert as_a_bag(one.open().to_pylist()) == as_a_bag(other.open().to_pylist())


def test_counts_beyond_two_to_the_53_have_all_their_digits() -> None:
    events = [{"type": "AB"[at % 2], "time": at // 2} for at in range(120)]
    query = "RETURN COUNT(*) PATTERN (A OR B)+ SEMANTICS skip-till-next-match"
    (row,) = greta.aggregate(events, query, numbers="exact").to_pylist()
    assert int(row["count"]) > 2**53
    stream = greta.stream(query, numbers="exact")
    stream.push(events)
    assert stream.close().to_pylist() == [row]


def test_partitions_that_nobody_needs_give_their_vertices_back() -> None:
    query = "RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous WHERE [session] WITHIN 60 seconds SLIDE 10 seconds"
    events = pa.table(
        {
            "type": ["A"] * 20_000,
            "time": pa.array(range(20_000), pa.int64()),
            "session": pa.array([at // 10 for at in range(20_000)]),
        }
    )
    job = StreamJob.of(Job.bind(query, events.schema))
    windows = Online(job)
    sizes = []
    for at in range(0, 20_000, 500):
        windows.advance(events.select(job.schema.names).slice(at, 500).cast(job.schema), 1_000 * (at + 500))
        sizes.append(windows.figures().bytes)
    assert max(sizes[10:]) <= 1.5 * max(sizes[:10])


def test_vertices_beyond_their_memory_are_given_up_for_the_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY, "1000")
    events = trades(100)
    query = f"{QUERIES['falls'].format('contiguous')} {WINDOWS}"
    stream = greta.stream(query, schema=events.schema)
    rows = stream.push(events).to_pylist()
    assert not stream.figures.online
    assert stream.figures.why == ("more than 1,000 bytes would be needed",)
    assert as_a_bag([*rows, *stream.close().to_pylist()]) == as_a_bag(greta.aggregate(events, query).to_pylist())


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("RETURN COUNT(*) PATTERN SEQ(A, NOT B) OR C SEMANTICS skip-till-next-match", "end with different NOTs"),
        ("RETURN COUNT(*) PATTERN SEQ(A+, B) SEMANTICS contiguous WHERE [A.x]", "some variables"),
    ],
)
def test_figures_say_what_is_still_computed_at_the_close(query: str, why: str) -> None:
    stream = greta.stream(query)
    stream.push([{"type": "A", "time": 1, "x": 1}, {"type": "C", "time": 2, "x": 1}])
    assert not stream.figures.online
    assert why in stream.figures.why[0]
