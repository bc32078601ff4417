"""Graphs in files between the steps of a stream: whatever becomes of the files, the rows are those of a batch."""

import fcntl
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import greta
from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob, relevant
from greta.live import cache
from greta.live.cache import Cache
from greta.live.chunks import ChunkCache, Index
from greta.live.growing import LiveGraph
from greta.live.steps import Step
from support.live_streams import as_a_bag
from support.steps import MemoryStore, step

WINDOW = "WITHIN 10 seconds SLIDE 2 seconds"
FALLING = f"RETURN g, COUNT(*) PATTERN A+ WHERE [g] AND A.x > NEXT(A).x GROUP-BY g {WINDOW}"
QUERIES = [
    FALLING,
    f"RETURN COUNT(*), MAX(A.x), SUM(B.x) PATTERN SEQ(A+, B) WHERE A.x < NEXT(A).x {WINDOW}",
    f"RETURN g, COUNT(*) PATTERN SEQ(A, B+) WHERE [g] AND A.w = NEXT(B).w GROUP-BY g {WINDOW}",
    f"RETURN COUNT(*) PATTERN SEQ(A+, NOT C, B) WHERE A.w = NEXT(A).w {WINDOW}",
    f"RETURN COUNT(*), MIN(A.x) PATTERN SEQ(A+, B) WHERE [g] AND A.x < NEXT(A).x AND A.x > NEXT(A).x - 9 {WINDOW}",
    f"RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.w = NEXT(B).w OR A.x * NEXT(B).x > 500 {WINDOW}",
    f"RETURN g, COUNT(*) PATTERN SEQ(A+, NOT SEQ(C, NOT B D, C E), B) WHERE [g] GROUP-BY g {WINDOW}",
    f"RETURN g, COUNT(*) PATTERN SEQ(A+, B) SEMANTICS skip-till-next-match WHERE [g] GROUP-BY g {WINDOW}",
    f"RETURN COUNT(*), MAX(COUNT(*)) PATTERN A+ SEMANTICS contiguous MAXIMAL WHERE [g] AND A.x > NEXT(A).x {WINDOW}",
    f"RETURN g, COUNT(*) PATTERN SEQ(NOT C, A, B) WHERE [g] GROUP-BY g {WINDOW}",
    f"RETURN g, COUNT(*) PATTERN SEQ(A+, B, NOT C) WHERE [g] AND A.x > NEXT(A).x GROUP-BY g {WINDOW}",
    f"RETURN COUNT(*) PATTERN SEQ(NOT C M, A+, NOT C, B) SEMANTICS skip-till-next-match WHERE [g] {WINDOW}",
    f"RETURN COUNT(*), MIN(A.x) PATTERN A+ AND SEQ(A+, NOT C) WHERE [g] AND A.x > NEXT(A).x {WINDOW}",
    f"RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [A.w] {WINDOW}",
    f"RETURN g, w, SUM(A.x) PATTERN SEQ(A+, B*, A C) WHERE [g] AND A.x > NEXT(A).x GROUP-BY g, B.w {WINDOW}",
    f"RETURN g, COUNT(*) PATTERN SEQ(A+, NOT C, B) WHERE A.w = NEXT(A).w GROUP-BY B.g {WINDOW}",
    "RETURN COUNT(*) PATTERN A+ WITHIN 20 seconds SLIDE 10 seconds",
    f"RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [A.w, B.g] {WINDOW}",
]
"""Of the last but one, exact counts are beyond 2^53 and are computed from stored events; the last has no graph."""
OWNER = "stream/bucket"


def events(seconds: int, seed: int = 1) -> pa.Table:
    """Ten events a second, in order of time."""
    draw = random.Random(seed)
    rows = range(10 * seconds)
    return pa.table(
        {
            "type": pa.array([draw.choice("AAABBC") for _ in rows]),
            "time": pa.array([row / 10 for row in rows], pa.float64()),
            "x": pa.array([draw.randrange(50) for _ in rows], pa.int64()),
            "g": pa.array([draw.choice(["one", "two", None]) for _ in rows]),
            "w": pa.array([draw.choice(["u", "v", "w"]) for _ in rows]),
        }
    )


def job_for(query: str, numbers: Any = "double") -> StreamJob:
    return StreamJob.of(Job.bind(query, events(1).schema, numbers=numbers))


def taken(job: StreamJob, store: MemoryStore, table: pa.Table, watermark: int, graphs: Cache, **options: Any) -> Step:
    """A step of a worker that has seen nothing yet."""
    return step(job, store, [relevant(job, table)[0]], watermark, chunks=ChunkCache(), graphs=graphs, **options)


def pieces(table: pa.Table) -> list[tuple[pa.Table, int]]:
    """A second at a time, with the watermark a second behind; at last one that is behind everything."""
    seconds = table.num_rows // 10
    each = [(table.slice(10 * at, 10), max(0, at - 1) * 1000) for at in range(seconds)]
    return [*each, (table.slice(0, 0), 10**9)]


def streamed(
    query: str, table: pa.Table, graphs: Cache, between: Callable[[Path, int], object], numbers: Any = "double"
) -> tuple[list[str], list[Step]]:
    """The rows of all steps, and the steps; ``between`` gets the graph's file before each."""
    job, store, steps = job_for(query, numbers), MemoryStore(), []
    for number, (piece, watermark) in enumerate(pieces(table)):
        between(graphs.directory / OWNER, number)
        steps.append(taken(job, store, piece, watermark, graphs))
    assert store.index is None
    return as_a_bag(job.finish(pa.concat_tables([one.closed for one in steps])).to_pylist()), steps


def batch(query: str, table: pa.Table, numbers: Any = "double") -> list[str]:
    return as_a_bag(greta.aggregate(table, query, numbers=numbers).to_pylist())


def garbled(file: Path, draw: random.Random) -> None:
    """Do something to a file."""
    if not file.is_file():
        return
    size = file.stat().st_size
    with file.open("r+b") as out:
        match draw.choice(("header", "heap", "rest", "shorter", "longer", "zeros", "nothing")):
            case "header":
                out.seek(draw.randrange(120))
                out.write(draw.randbytes(1))
            case "heap":
                out.seek(4096 + 8 * draw.randrange(200))
                out.write(draw.randbytes(8))
            case "rest":
                out.seek(size - draw.randrange(1, 500))
                out.write(draw.randbytes(1))
            case "shorter":
                out.truncate(draw.randrange(size))
            case "longer":
                out.truncate(size + 1)
            case "zeros":
                out.truncate(0)
                out.truncate(size)


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("query", QUERIES)
def test_rows_are_those_of_a_batch_with_files_garbled_or_removed_at_any_moment(
    query: str, numbers: Any, tmp_path: Path
) -> None:
    draw, table = random.Random(query + numbers), events(25)
    expected = batch(query, table, numbers)
    # What is removed is gone in the same way whatever numbers it had.
    removed: dict[str, Callable[[Path, int], object]] = {
        "double": lambda file, _: file.unlink(missing_ok=True),
        "exact": lambda file, _: shutil.rmtree(file.parent, ignore_errors=True),
    }
    for between in (lambda file, _: None, removed[numbers], lambda file, _: garbled(file, draw)):
        rows, _ = streamed(query, table, Cache(tmp_path, 1 << 20, least_steps=0), between, numbers)
        assert rows == expected


def test_every_word_of_a_heap_is_looked_at(tmp_path: Path) -> None:
    graphs, table = Cache(tmp_path, 1 << 16, least_steps=0), events(12)
    job, store = job_for(FALLING), MemoryStore()
    for piece, watermark in pieces(table)[:-1]:
        found = taken(job, store, piece, watermark, graphs)
    assert store.index is not None
    index = Index.unpack(store.index, job.fingerprint)
    (note,) = index.graphs
    assert note.token is not None
    whole = (tmp_path / OWNER).read_bytes()
    name = whole[len(cache._MAGIC) : len(cache._MAGIC) + 32]
    used = found.live_bytes // 8
    assert used > 200
    for word in [None, *range(0, 150, 7)]:
        changed = bytearray(whole)
        if word is not None:
            changed[4096 + 8 * word] ^= 1
        (tmp_path / OWNER).write_bytes(changed)
        slot = graphs.open(OWNER)
        assert slot is not None
        assert (slot.load(name, bytes.fromhex(note.token)) is None) is (word is not None)
        # Once taken up, it is nobody's until it is saved.
        assert slot.load(name, bytes.fromhex(note.token)) is None
        slot.close()


def test_a_graph_is_gone_on_with_and_not_made_again(tmp_path: Path) -> None:
    table = events(60)
    job, store, reads = job_for(FALLING), MemoryStore(), []
    for piece, watermark in pieces(table)[:-1]:
        before = store.read
        found = taken(job, store, piece, watermark, Cache(tmp_path, 1 << 20, least_steps=0))
        reads.append(store.read - before)
        assert found.why is None
    assert found.live_bytes > 0
    # The chunk with the events that the watermark has passed, and the latest one, which new events join.
    assert max(reads) <= 2


def test_a_graph_of_an_earlier_attempt_is_stale(tmp_path: Path) -> None:
    graphs, table = Cache(tmp_path, 1 << 20, least_steps=0), events(25)
    job, store, parts = job_for(FALLING), MemoryStore(), []
    for piece, watermark in pieces(table):
        stored = store.index, dict(store.chunks)
        # Whatever this attempt finds is lost: the store is as before it, the graph's file is not.
        taken(job, store, piece, watermark, graphs)
        store.index, store.chunks = stored
        parts.append(taken(job, store, piece, watermark, graphs).closed)
    assert as_a_bag(job.finish(pa.concat_tables(parts)).to_pylist()) == batch(FALLING, table)


def test_a_file_of_an_earlier_step_is_stale(tmp_path: Path) -> None:
    copies: list[bytes] = []
    draw = random.Random(5)

    def put_back(file: Path, number: int) -> None:
        if file.is_file():
            copies.append(file.read_bytes())
            file.write_bytes(draw.choice(copies))

    table = events(25)
    assert streamed(FALLING, table, Cache(tmp_path, 1 << 16, least_steps=0), put_back)[0] == batch(FALLING, table)
    assert len(copies) > 20


def test_a_step_that_fails_half_way_leaves_no_graph_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs, table = Cache(tmp_path, 1 << 20, least_steps=0), events(25)
    job, store, parts = job_for(FALLING), MemoryStore(), []
    go_on = LiveGraph.advance

    def interrupted(graph: LiveGraph, new: pa.Table, until: int) -> Any:
        go_on(graph, new, until)
        raise KeyboardInterrupt

    for number, (piece, watermark) in enumerate(pieces(table)):
        if number % 3 == 2:
            stored = store.index, dict(store.chunks)
            with monkeypatch.context() as patched:
                patched.setattr(LiveGraph, "advance", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    taken(job, store, piece, watermark, graphs)
            store.index, store.chunks = stored
        parts.append(taken(job, store, piece, watermark, graphs).closed)
    assert as_a_bag(job.finish(pa.concat_tables(parts)).to_pylist()) == batch(FALLING, table)


CHILD = """
import pickle, sys
from pathlib import Path
from greta.live.cache import Cache
from greta.live.chunks import ChunkCache
from support.steps import step
job, store, kept, watermark, directory = pickle.loads(Path(sys.argv[1]).read_bytes())
found = step(job, store, [kept], watermark, chunks=ChunkCache(), graphs=Cache(Path(directory), 1 << 20, least_steps=0))
Path(sys.argv[1]).write_bytes(pickle.dumps((store, found)))
"""


def test_another_process_goes_on_with_the_graph(tmp_path: Path) -> None:
    graphs, table = Cache(tmp_path / "graphs", 1 << 20, least_steps=0), events(25)
    job, store, parts = job_for(FALLING), MemoryStore(), []
    for number, (piece, watermark) in enumerate(pieces(table)):
        if number != 20:
            parts.append(taken(job, store, piece, watermark, graphs).closed)
            continue
        load = tmp_path / "step.pickle"
        kept = relevant(job, piece)[0]
        load.write_bytes(pickle.dumps((job, store, kept, watermark, str(graphs.directory))))
        paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
        environment = {**os.environ, "PYTHONPATH": paths}
        subprocess.run([sys.executable, "-c", CHILD, str(load)], check=True, env=environment)
        before = store.read
        store, found = pickle.loads(load.read_bytes())
        assert found.why is None
        assert store.read - before <= 2, "the graph was made again from all events"
        parts.append(found.closed)
    assert as_a_bag(job.finish(pa.concat_tables(parts)).to_pylist()) == batch(FALLING, table)


def test_a_file_that_another_process_holds_is_left_alone(tmp_path: Path) -> None:
    held: list[int] = []

    def hold(file: Path, number: int) -> None:
        if number == 10:
            held.append(os.open(file, os.O_RDWR))
            fcntl.flock(held[0], fcntl.LOCK_EX)
        if number == 15:
            os.close(held[0])

    table = events(25)
    rows, steps = streamed(FALLING, table, Cache(tmp_path, 1 << 20, least_steps=0), hold)
    assert rows == batch(FALLING, table)
    apart = [number for number, one in enumerate(steps) if one.why is not None]
    assert apart == [10, 11, 12, 13, 14]
    assert str(tmp_path) in str(steps[10].why)


def test_a_graph_that_outgrows_its_room_is_given_up_and_says_so(tmp_path: Path) -> None:
    table = events(25)
    rows, steps = streamed(FALLING, table, Cache(tmp_path, 0, least_steps=0), lambda *_: None)
    assert rows == batch(FALLING, table)
    assert steps[-2].why == "more than 8,192 bytes would be needed"
    assert steps[-2].live_bytes == 0


def test_without_a_place_for_files_windows_are_computed_as_they_close(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    table = events(25)
    rows, steps = streamed(FALLING, table, Cache(tmp_path / "file", 1 << 20, least_steps=0), lambda *_: None)
    assert rows == batch(FALLING, table)
    assert steps[-2].why is not None


def test_a_query_without_a_graph_says_why(tmp_path: Path) -> None:
    _, steps = streamed(QUERIES[-1], events(15), Cache(tmp_path, 1 << 20, least_steps=0), lambda *_: None)
    assert steps[-2].why == "some variables alone agree on an attribute, others on another one"
    assert not list(tmp_path.iterdir())


def test_another_query_over_the_same_events_makes_its_own_graph(tmp_path: Path) -> None:
    graphs, table = Cache(tmp_path, 1 << 20, least_steps=0), events(25)
    rising = FALLING.replace("A.x >", "A.x <")
    store, parts = MemoryStore(), []
    for number, (piece, watermark) in enumerate(pieces(table)):
        job = job_for(FALLING if number < 9 else rising)
        found = taken(job, store, piece, watermark, graphs)
        # No window has closed by then.
        assert number >= 9 or not found.closed.num_rows
        parts.append(found.closed)
    assert as_a_bag(job.finish(pa.concat_tables(parts)).to_pylist()) == batch(rising, table)


def test_state_of_the_first_version_names_no_graph_and_is_gone_on_from(tmp_path: Path) -> None:
    graphs, table = Cache(tmp_path, 1 << 20, least_steps=0), events(25)
    job, store, parts = job_for(FALLING), MemoryStore(), []
    for piece, watermark in pieces(table):
        if store.index is not None:
            index = json.loads(store.index)
            store.index = json.dumps({k: v for k, v in index.items() if k not in ("until", "graphs")}).encode()
        parts.append(taken(job, store, piece, watermark, graphs).closed)
    assert as_a_bag(job.finish(pa.concat_tables(parts)).to_pylist()) == batch(FALLING, table)


@pytest.mark.parametrize("query", QUERIES)
def test_early_rows_are_those_of_all_events_so_far(query: str, tmp_path: Path) -> None:
    graphs, table = Cache(tmp_path, 1 << 20, least_steps=0), events(20)
    job, store, closed = job_for(query), MemoryStore(), []
    for number, (piece, watermark) in enumerate(pieces(table)[:-1]):
        found = taken(job, store, piece, watermark, graphs, early=True)
        closed.append(found.closed)
        assert found.open is not None
        rows = job.finish(pa.concat_tables([*closed, found.open])).to_pylist()
        assert as_a_bag(rows) == batch(query, table.slice(0, 10 * (number + 1)))


def test_files_of_streams_that_have_not_gone_on_for_long_are_removed(tmp_path: Path) -> None:
    graphs = Cache(tmp_path, 1 << 16, least_steps=0)
    for owner in ("old/1", "new/1"):
        slot = graphs.open(owner)
        assert slot is not None
        slot.close()
    os.utime(tmp_path / "old", (0, 0))
    slot = graphs.open("third/1")
    assert slot is not None
    slot.close()
    assert sorted(place.name for place in tmp_path.iterdir()) == ["new", "third"]


def test_a_graph_is_made_where_steps_are_short_and_given_up_where_they_are_long(tmp_path: Path) -> None:
    graphs, table = Cache(tmp_path, 1 << 20), events(60)
    query = FALLING.replace("WITHIN 10", "WITHIN 20")
    job, store, parts, with_graph = job_for(query), MemoryStore(), [], []
    seconds = [0, 8, 16, 17, 18, 19, 20, 24, 28, 36, 40, 41, 42, 60]
    for begin, end in pairwise(seconds):
        found = taken(job, store, table.slice(10 * begin, 10 * (end - begin)), 1000 * begin, graphs)
        parts.append(found.closed)
        if found.live_bytes:
            with_graph.append(begin)
        elif begin:
            assert found.why is not None
    # Sixteen steps of a second are in a window. At 24 s and 28 s the graph is there already; 36 s is too far.
    assert with_graph == [17, 18, 19, 20, 24, 28, 41, 42]
    parts.append(taken(job, store, table.slice(0, 0), 10**9, graphs).closed)
    assert as_a_bag(job.finish(pa.concat_tables(parts)).to_pylist()) == batch(query, table)


def test_a_bucket_s_first_step_says_nothing_of_long_micro_batches(tmp_path: Path) -> None:
    found = taken(job_for(FALLING), MemoryStore(), events(1), 0, Cache(tmp_path, 1 << 20), then=500)
    assert found.rows > 0
    assert found.why is None


def test_early_rows_keep_the_digits_of_lengths_of_time_across_a_gap(tmp_path: Path) -> None:
    query = "RETURN STDDEV(DURATION(*)) AS v PATTERN A+ WHERE A.x > NEXT(A).x WITHIN 10 seconds SLIDE 5 seconds"
    schema = pa.schema([("type", pa.string()), ("time", pa.float64()), ("x", pa.float64())])
    near = [{"type": "A", "time": at / 10, "x": float(at * 7 % 30)} for at in range(30)]
    far = [event | {"time": event["time"] + 30 * 86_400} for event in near]
    job, store, graphs = StreamJob.of(Job.bind(query, schema)), MemoryStore(), Cache(tmp_path, 1 << 20, least_steps=0)
    for at, event in enumerate(near):
        taken(job, store, pa.Table.from_pylist([event], schema), 100 * at, graphs, early=True)
    found = taken(job, store, pa.Table.from_pylist(far, schema), 2_900, graphs, early=True)
    assert found.open is not None
    early = [row["v"] for row in job.finish(found.open).to_pylist()]
    last = [row["v"] for row in greta.aggregate(far, query).to_pylist()]
    assert early[-len(last) :] == pytest.approx(last, rel=1e-9)
