"""Steps of a stream without Spark: any cut into steps gives the rows of a batch, and stores keep only what is open."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import greta
from greta.engine.blobs import from_bytes, to_bytes
from greta.engine.job import WINDOW, Job
from greta.engine.stream_jobs import StreamJob, relevant
from greta.errors import QueryMeaningError, StateError
from greta.live import steps
from greta.live.chunks import NEVER, ChunkCache, Index
from greta.live.steps import Step
from support import soak
from support.events import SCHEMA
from support.examples import examples
from support.steps import GRAPHS, MemoryStore, step
from support.streams import Case, cases

CASES = [
    case
    for file in sorted((Path(__file__).parent.parent / "conformance").glob("*.json"))
    for case in json.loads(file.read_text("utf-8"))
]


def job_for(query: str, table: pa.Table, numbers: Any = "double") -> StreamJob:
    return StreamJob.of(Job.bind(query, table.schema, numbers=numbers))


def finished(job: StreamJob, parts: list[pa.Table]) -> list[tuple[Any, ...]]:
    table = job.finish(pa.concat_tables(parts))
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def batch_rows(query: str, table: pa.Table, numbers: Any = "double") -> list[tuple[Any, ...]]:
    rows = greta.aggregate(table, query, numbers=numbers).to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


def random_steps(table: pa.Table, lateness: float, draw: random.Random) -> Iterator[tuple[pa.Table, int, int]]:
    """The events in an order that no event lags by more than ``lateness`` seconds, cut anywhere, with watermarks.

    Each with the watermark before its events came, and mostly with the one after.
    """
    times = table.column("time").to_pylist()
    order = sorted(range(len(times)), key=lambda row: times[row] + draw.random() * lateness)
    seen, at = 0.0, 0
    while at < len(order):
        size = draw.choice((1, 1, 2, 3, 5, 20))
        rows = order[at : at + size]
        before, seen, at = seen, max(seen, *(times[row] for row in rows)), at + size
        watermark, then = (max(0, int((newest - lateness) * 1000)) for newest in (before, seen))
        yield table.take(rows), watermark, draw.choice((NEVER, then, then))
    yield table.slice(0, 0), 10**9, NEVER


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("part", range(6))
def test_any_cut_of_a_disordered_stream_gives_the_rows_of_the_batch(part: int, numbers: str) -> None:
    draw = random.Random(part)
    for case in CASES[part::6]:
        table = pa.Table.from_pylist(case["events"]) if case["events"] else None
        if table is None:
            continue
        job = job_for(case["query"], table, numbers)
        store, cache, parts = MemoryStore(), ChunkCache(), []
        for events, watermark, then in random_steps(table, draw.choice((0, 1, 3, 10)), draw):
            if draw.random() < 0.3:
                cache = ChunkCache()
            found = step(job, store, [relevant(job, events)[0]], watermark, chunks=cache, graphs=GRAPHS, then=then)
            assert not found.late.num_rows
            parts.append(found.closed)
        assert finished(job, parts) == batch_rows(case["query"], table, numbers), case["name"]
        assert store.index is None
        assert not store.chunks


def check_steps(case: Case, numbers: Any) -> None:
    """Random events in random order, cut anywhere: the steps return the rows of the batch, and keep nothing."""
    assume("WITHIN" in case.flags and case.events)
    table = pa.Table.from_pylist(case.events, SCHEMA)
    try:
        expected = batch_rows(case.query, table, numbers)
    except QueryMeaningError:
        assume(False)
    draw = random.Random(case.query + repr(case.events))
    job = job_for(case.query, table, numbers)
    store, parts = MemoryStore(), []
    for events, watermark, then in random_steps(table, draw.choice((0, 1, 3, 10)), draw):
        kept = relevant(job, events)[0]
        found = step(job, store, [kept], watermark, chunks=ChunkCache(), graphs=GRAPHS, then=then)
        assert not found.late.num_rows
        parts.append(found.closed)
    assert finished(job, parts) == expected, case.query
    assert store.index is None
    assert not store.chunks


@pytest.mark.parametrize("numbers", ["double", "exact"])
@examples(100)
@given(case=cases(values=True))
def test_any_cut_of_random_cases_gives_the_rows_of_the_batch(case: Case, numbers: Any) -> None:
    check_steps(case, numbers)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("numbers", ["double", "exact"])
def test_any_cut_of_random_cases_gives_the_rows_of_the_batch_for_hours(numbers: Any) -> None:
    soak.run_cases(f"steps of a stream, {numbers} numbers", cases(values=True), lambda case: check_steps(case, numbers))


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("likely", [0.5, 1.0])
def test_running_totals_give_the_rows_of_the_batch_wherever_they_begin_and_end(
    part: int, likely: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, judged = random.Random(part), 0
    monkeypatch.setattr(steps._Bucket, "_is_dense", lambda *_: draw.random() < likely)
    for case in CASES[part::3]:
        table = pa.Table.from_pylist(case["events"]) if case["events"] else None
        if table is None or not job_for(case["query"], table).keeps_totals:
            continue
        job = job_for(case["query"], table)
        store, cache, parts = MemoryStore(), ChunkCache(), []
        for events, watermark, then in random_steps(table, draw.choice((0, 1, 3, 10)), draw):
            options = {"chunks": cache, "graphs": GRAPHS, "early": True, "then": then}
            found = step(job, store, [relevant(job, events)[0]], watermark, **options)
            parts.append(found.closed)
            judged += found.rows > 0
        assert finished(job, parts) == batch_rows(case["query"], table), case["name"]
        assert store.index is None
        assert not store.chunks
    assert judged > 20


FREE = "RETURN g, COUNT(*), COUNT(A) PATTERN A+ WHERE [g] GROUP-BY g WITHIN 10 seconds SLIDE 5 seconds"


def test_a_dense_stream_keeps_totals_instead_of_events_before_the_watermark() -> None:
    tables = [numbers_from(number * 2000, 2000, per_second=1000) for number in range(20)]
    job, store, cache, parts = job_for(FREE, tables[0]), MemoryStore(), ChunkCache(), []
    kept = []
    for number, table in enumerate(tables):
        found = step(job, store, [relevant(job, table)[0]], max(0, number * 2000 - 1000), chunks=cache, graphs=GRAPHS)
        parts.append(found.closed)
        kept.append(found.rows)
        if found.first is not None:
            assert found.first <= found.last
    # The events of the latest step and of one second before it, and two windows of each partition.
    assert max(kept[5:]) <= 2 * 2000 + 2 * 3 * 10
    parts.append(step(job, store, [], 10**9, chunks=cache, graphs=GRAPHS).closed)
    assert finished(job, parts) == batch_rows(FREE, pa.concat_tables(tables))
    assert store.index is None


def test_totals_give_way_to_events_where_many_partitions_have_few() -> None:
    dense = numbers_from(0, 4000, per_second=1000)
    query = FREE.replace("SLIDE 5 seconds", "SLIDE 500 milliseconds")
    job, store, cache, parts = job_for(query, dense), MemoryStore(), ChunkCache(), []
    for part, watermark in ((dense.slice(0, 2000), 0), (dense.slice(2000), 1000)):
        step(job, store, [relevant(job, part)[0]], watermark, chunks=cache, graphs=GRAPHS)
    tables, modes = [dense], [Index.unpack(store.index, job.fingerprint).folded]
    for number in range(8):
        rows = 4000 + number * 500
        sparse = numbers_from(rows, 500, per_second=1000).set_column(3, "g", pa.array(range(rows, rows + 500)))
        tables.append(sparse)
        found = step(job, store, [relevant(job, sparse)[0]], rows, chunks=cache, graphs=GRAPHS)
        parts.append(found.closed)
        assert store.index is not None
        modes.append(Index.unpack(store.index, job.fingerprint).folded)
    assert modes[0] is not None
    assert modes[-1] == modes[-2], "totals no longer grow"
    parts.append(step(job, store, [], 10**9, chunks=cache, graphs=GRAPHS).closed)
    assert finished(job, parts) == batch_rows(query, pa.concat_tables(tables))


def test_early_rows_of_totals_are_those_of_all_events_so_far() -> None:
    tables = [numbers_from(number * 2000, 2000, per_second=1000) for number in range(6)]
    job, store, cache, closed = job_for(FREE, tables[0]), MemoryStore(), ChunkCache(), []
    for number, table in enumerate(tables):
        found = step(
            job, store, [relevant(job, table)[0]], max(0, number * 2000 - 1000), chunks=cache, graphs=GRAPHS, early=True
        )
        closed.append(found.closed)
        assert found.open is not None
        so_far = pa.concat_tables(tables[: number + 1])
        assert finished(job, [*closed, found.open]) == batch_rows(FREE, so_far)
    assert Index.unpack(store.index, job.fingerprint).folded is not None


def test_totals_serve_no_query_that_would_add_up_otherwise() -> None:
    table = numbers_from(0, 1)
    old = job_for(FREE, table)
    assert old.keeps_totals
    assert job_for(FREE.replace("WITHIN", "HAVING COUNT(*) > 3 WITHIN"), table).fingerprint == old.fingerprint
    assert job_for(FREE.replace("A+", "A+ MIN LENGTH 2"), table).fingerprint != old.fingerprint
    assert job_for(FREE.replace("COUNT(A)", "COUNT(A) AS n, COUNT(*) AS m"), table).fingerprint != old.fingerprint
    assert not job_for(FREE, table, "exact").keeps_totals
    assert not job_for(FREE.replace("COUNT(A)", "MAX(A.x)"), table).keeps_totals


FALLING = "RETURN g, COUNT(*) PATTERN A+ WHERE [g] AND A.x > NEXT(A).x GROUP-BY g WITHIN 10 seconds SLIDE 5 seconds"


def numbers_from(start: int, count: int, per_second: int = 100) -> pa.Table:
    """Events at a steady rate, from the start-th on."""
    rows = range(start, start + count)
    return pa.table(
        {
            "type": ["A"] * count,
            "time": pa.array([row / per_second for row in rows], pa.float64()),
            "x": pa.array([row * 7919 % 101 for row in rows], pa.int64()),
            "g": pa.array([row % 5 for row in rows], pa.int64()),
        }
    )


def steady(job: StreamJob, store: MemoryStore, steps: int, size: int, per_second: int = 100) -> list[Step]:
    """Steps of a steady stream, one second of lateness."""
    cache = ChunkCache()
    found = []
    for number in range(steps):
        watermark = max(0, int(number * size / per_second * 1000) - 1000)
        events, _ = relevant(job, numbers_from(number * size, size, per_second))
        found.append(step(job, store, [events], watermark, chunks=cache, graphs=GRAPHS))
    return found


def test_state_is_flat_after_the_first_window_however_long_the_stream_runs() -> None:
    job, store = job_for(FALLING, numbers_from(0, 1)), MemoryStore()
    found = steady(job, store, steps=300, size=200)
    kept = [one.rows for one in found]
    # Two windows are open at a time, and a step brings two seconds: at most 17 seconds of 100 events each.
    assert max(kept[10:]) <= 1700
    assert max(kept[250:]) <= max(kept[10:60])
    assert len(store.chunks) < 20
    assert store.index is not None
    assert len(store.index) < 4000


def test_a_slow_stream_keeps_only_the_events_of_open_windows() -> None:
    job, store = job_for(FALLING, numbers_from(0, 1)), MemoryStore()
    found = steady(job, store, steps=200, size=1, per_second=1)
    assert max(one.rows for one in found) <= 20


def test_a_step_reads_nothing_back_while_its_cache_is_warm() -> None:
    job, store = job_for(FALLING, numbers_from(0, 1)), MemoryStore()
    steady(job, store, steps=50, size=200)
    assert store.read == 0


def test_a_cache_holds_no_more_than_the_store_does() -> None:
    job, store, caches = job_for(FALLING, numbers_from(0, 1)), MemoryStore(), [ChunkCache(), ChunkCache()]
    for number in range(100):
        events, _ = relevant(job, numbers_from(number * 200, 200))
        # Two workers take turns, and each removes chunks that the other has decoded.
        cache = caches[number % 2]
        step(job, store, [events], max(0, number * 2000 - 1000), chunks=cache, graphs=GRAPHS, owner="b")
        assert cache.bytes <= 3000 * numbers_from(0, 1).nbytes


def test_a_cache_forgets_the_longest_unused_chunk_beyond_its_bound() -> None:
    table = numbers_from(0, 100)
    cache = ChunkCache(most_bytes=2 * table.nbytes)
    for key in ("a", "b"):
        cache.put("", key, table)
    assert cache.get("", "a") is table
    cache.put("", "c", table)
    assert cache.get("", "b") is None
    assert cache.get("", "a") is table


def test_events_before_the_watermark_are_late_and_count_nowhere() -> None:
    table = numbers_from(0, 1000)
    job, store, cache = job_for(FALLING, table), MemoryStore(), ChunkCache()
    events, _ = relevant(job, table)
    assert step(job, store, [events], 0, chunks=cache, graphs=GRAPHS).late.num_rows == 0
    # 9.99 s is the last event's time; all up to 7 s are late now, 7 s itself is not.
    again = step(job, store, [events], 7000, chunks=cache, graphs=GRAPHS)
    assert again.late.num_rows == 700
    assert again.rows == 1000 + 300


@pytest.mark.parametrize("early", [False, True])
def test_windows_that_are_closed_while_totals_give_way_come_once(early: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(5)
    monkeypatch.setattr(steps._Bucket, "_is_dense", lambda *_: draw.random() < 0.5)
    query = "RETURN g, COUNT(*), COUNT(A) PATTERN A+ WHERE [g] GROUP-BY g WITHIN 10 seconds SLIDE 5 seconds"
    for _ in range(20):
        events = [{"type": "A", "time": draw.random() * 60, "g": draw.randrange(3)} for _ in range(60)]
        table = pa.Table.from_pylist(events)
        job = job_for(query, table)
        assert job.keeps_totals
        store, parts = MemoryStore(), []
        for part, watermark, then in random_steps(table, 2, draw):
            options = {"chunks": ChunkCache(), "graphs": GRAPHS, "early": early, "then": then}
            found = step(job, store, [relevant(job, part)[0]], watermark, **options)
            over = {row[WINDOW] for closed in parts for row in closed.to_pylist()}
            assert over.isdisjoint(found.closed.column(WINDOW).to_pylist())
            assert not early or over.isdisjoint(found.open.column(WINDOW).to_pylist())
            parts.append(found.closed)
        assert finished(job, parts) == batch_rows(query, table)


def test_windows_that_the_step_s_own_events_end_are_returned_at_once_and_what_comes_for_them_is_late() -> None:
    table = numbers_from(0, 3000)
    job, store, cache = job_for(FALLING, table), MemoryStore(), ChunkCache()
    events, _ = relevant(job, table)
    whole = step(job, store, [events], 0, chunks=cache, graphs=GRAPHS, then=29_000)
    later = job_for(FALLING, table), MemoryStore()
    step(*later, [events], 0, chunks=cache, graphs=GRAPHS)
    closing = step(*later, [], 29_000, chunks=cache, graphs=GRAPHS)
    assert whole.closed.num_rows
    assert whole.closed.equals(closing.closed)
    assert whole.rows <= closing.rows
    assert (whole.waits_for, closing.waits_for) == (1, 29_001)
    # A caller whose watermark has not moved does not open them again, nor where nothing is kept.
    again = step(job, store, [events.slice(0, 10)], 0, chunks=cache, graphs=GRAPHS)
    assert (again.late.num_rows, again.closed.num_rows) == (10, 0)
    gone = step(job, store, [], 0, chunks=cache, graphs=GRAPHS, then=10**9)
    assert (gone.rows, gone.waits_for, store.chunks) == (0, 1, {})
    assert step(job, store, [events], 0, chunks=cache, graphs=GRAPHS).late.num_rows == 3000
    assert step(job, store, [], 10**9, chunks=cache, graphs=GRAPHS).waits_for is None
    assert store.index is None


def test_state_of_another_version_or_query_is_refused() -> None:
    table = numbers_from(0, 10)
    job, store = job_for(FALLING, table), MemoryStore()
    step(job, store, [relevant(job, table)[0]], 0, chunks=ChunkCache(), graphs=GRAPHS)
    assert store.index is not None
    newer = json.dumps({**json.loads(store.index), "format": 99}).encode()
    with pytest.raises(StateError, match="format 99"):
        Index.unpack(newer, job.fingerprint)
    other = job_for(FALLING.replace("10 seconds", "20 seconds"), table)
    with pytest.raises(StateError, match="stored for another query"):
        step(other, store, [], 0, chunks=ChunkCache(), graphs=GRAPHS)


@pytest.mark.parametrize(
    ("change", "served"),
    [
        (("A.x > NEXT", "A.x < NEXT"), True),
        (("COUNT(*)", "COUNT(*), MAX(A.x)"), True),
        (("WITHIN", "HAVING COUNT(*) > 3 WITHIN"), True),
        (("AND A.x", "AND A.x < 5 AND A.x"), False),
        (("A+", "SEQ(A+, B)"), False),
        (("WITHIN 10", "WITHIN 20"), False),
        (("[g]", "[g, x]"), False),
        (("COUNT(*)", "COUNT(*), MAX(A.y)"), False),
    ],
)
def test_a_changed_query_is_served_if_the_stored_events_are_the_same(change: tuple[str, str], served: bool) -> None:
    table = numbers_from(0, 1).append_column("y", pa.array([1.0]))
    old, new = job_for(FALLING, table), job_for(FALLING.replace(*change), table)
    assert (old.fingerprint == new.fingerprint) is served


@given(st.lists(st.sampled_from(["A", "B", None]), max_size=20))
def test_a_chunk_comes_back_from_bytes_as_it_was(kinds: list[str | None]) -> None:
    table = pa.table({"type": pa.array(kinds, pa.string()), "time": pa.array(range(len(kinds)), pa.int64())})
    assert from_bytes(to_bytes(table)).equals(table)
