"""NOT at the edges of a pattern, NOT under every selection, and outermost AND go on from push to push."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

import greta
from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob, relevant
from greta.live.at_close import AtClose
from greta.live.online import Online
from greta.live.windows import windows_for
from support.live_streams import as_a_bag

WINDOWS = "WITHIN 60 seconds SLIDE 7 seconds"
ANY = "skip-till-any-match"
NEXT = "skip-till-next-match"
PATTERNS = {
    "leading": "SEQ(NOT N, A+)",
    "trailing": "SEQ(A+, NOT N)",
    "both ends": "SEQ(NOT N, A+, B, NOT M)",
    "all places": "SEQ(NOT N, A+, NOT N N2, B, NOT M)",
    "itself": "SEQ(NOT A A2, A+)",
    "itself, trailing": "SEQ(A+, NOT A A2)",
    "one of two": "SEQ(A+, NOT (M OR N))",
    "branches": "SEQ(NOT N, A+) OR B",
    "pairs": "A+ AND SEQ(A+, B)",
    "pairs of the same": "(A OR B)+ AND A+",
    "pairs, the other way round": "A+ AND (A OR B)+",
    "pairs with NOT": "SEQ(NOT N, A+) AND SEQ(A+, NOT M)",
}
WHERE = {"free": "[g]", "compared": "[g] AND A.x > NEXT(A).x", "equal": "A.w = NEXT(A).w", "local": "[g] AND N.x > 3"}


def trades(count: int, seed: int = 0) -> pa.Table:
    draw = random.Random(seed)
    time, rows = 0.0, []
    for _ in range(count):
        time += draw.choice((0, 0, 0.5, 1, 1, 2, 30 if draw.random() < 0.02 else 1))
        row = {"type": draw.choice("AAAAABBBMN"), "time": time, "g": draw.choice(("u", "v", "w", None))}
        rows.append({**row, "x": draw.choice((None, 1, 2, 3, 4, 5, 6, 7)), "w": draw.choice("pqr")})
    return pa.Table.from_pylist(rows)


def rows_of(query: str, events: pa.Table, piece: int, restore: bool = False, numbers: Any = "double") -> list[Any]:
    stream = greta.stream(query, schema=events.schema, numbers=numbers)
    rows = []
    for at in range(0, events.num_rows, piece):
        rows += stream.push(events.slice(at, piece)).to_pylist()
        # Exact counts and differences beyond 2^53 are computed from the events.
        assert stream.figures.online or "beyond those of doubles" in stream.figures.why[0]
        if restore:
            stream = greta.stream(query, snapshot=stream.snapshot())
    return [*rows, *stream.close().to_pylist()]


def query_of(pattern: str, where: str, semantics: str, windows: str = WINDOWS) -> str:
    conditions = WHERE[where]
    if where == "local" and "NOT N" not in PATTERNS[pattern]:
        conditions = "[g] AND A.x > 3"
    selected = f"PATTERN {PATTERNS[pattern]} SEMANTICS {semantics}"
    return f"RETURN COUNT(*), COUNT(A), MIN(A.x) {selected} WHERE {conditions} {windows}"


SELECTIONS = (ANY, NEXT, "contiguous")
ALL_WINDOWS = (WINDOWS, "WITHIN 10 seconds", "")


def check_pushes(pattern: str, where: str, semantics: str, windows: str) -> None:
    events = trades(400)
    query = query_of(pattern, where, semantics, windows)
    batch = as_a_bag(greta.aggregate(events, query).to_pylist())
    for piece in (7, 400):
        assert as_a_bag(rows_of(query, events, piece)) == batch, query


@pytest.mark.parametrize("semantics", SELECTIONS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_pushes_of_any_size_give_the_rows_of_a_batch(pattern: str, semantics: str) -> None:
    # Every pattern meets every condition in all windows, in each of them under another selection.
    for place, where in enumerate(WHERE, SELECTIONS.index(semantics)):
        check_pushes(pattern, where, semantics, ALL_WINDOWS[place % 3])


@pytest.mark.slow
@pytest.mark.parametrize("semantics", SELECTIONS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_pushes_give_the_rows_of_a_batch_under_all_selections_and_windows(pattern: str, semantics: str) -> None:
    for where, windows in product(WHERE, ALL_WINDOWS):
        check_pushes(pattern, where, semantics, windows)


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("semantics", [ANY, NEXT])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_snapshot_after_every_push_goes_on(pattern: str, semantics: str, numbers: Any) -> None:
    events = trades(150, seed=1)
    # The first keeps no event under skip-till-any-match: its totals and latest matches are stored.
    for conditions in ("[g] WITHIN 20 seconds SLIDE 7 seconds", f"[g] AND A.x > NEXT(A).x {WINDOWS}"):
        query = f"RETURN COUNT(*) PATTERN {PATTERNS[pattern]} SEMANTICS {semantics} WHERE {conditions}"
        batch = as_a_bag(greta.aggregate(events, query, numbers=numbers).to_pylist())
        assert as_a_bag(rows_of(query, events, 11, restore=True, numbers=numbers)) == batch


@pytest.mark.parametrize("semantics", [ANY, NEXT])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_open_windows_are_read_as_if_they_ended_now(pattern: str, semantics: str) -> None:
    events = trades(120, seed=2)
    job = StreamJob.of(Job.bind(query_of(pattern, "compared", semantics), events.schema))
    one, other = windows_for(job), AtClose(job)
    events, _ = relevant(job, events)
    times = job.clock.read(events["time"], "time")
    for last in range(13, events.num_rows, 13):
        piece = events.filter(pa.array((times >= times[last - 13]) & (times < times[last])))
        for windows in (one, other):
            windows.advance(piece, int(times[last]))
        assert as_a_bag(one.open().to_pylist()) == as_a_bag(other.open().to_pylist())


def counted(pattern: str, events: str, windows: str = "WITHIN 10 seconds SLIDE 5 seconds") -> dict[Any, Any]:
    """Trends per window of events such as ``A1 N2``, tick by tick."""
    rows = [{"type": event[0], "time": int(event[1:])} for event in events.split()]
    table = pa.Table.from_pylist(rows)
    job = StreamJob.of(Job.bind(f"RETURN COUNT(*) PATTERN {pattern} {windows}", table.schema))
    open_ones, parts = windows_for(job), []
    for time in sorted({row["time"] for row in rows}):
        tick = pa.Table.from_pylist([row for row in rows if row["time"] == time], table.schema)
        parts.append(open_ones.advance(relevant(job, tick)[0], 1_000 * time + 1))
    assert open_ones.figures().online
    answer = job.finish(pa.concat_tables([*parts, open_ones.close()]))
    return {row["window_start"]: row["count"] for row in answer.to_pylist()}


#                   A6  N7  A7  A8    A12
# W0 [0-----------------------------)
# W5         [5-----------------------------15)
# W10                              [10-------------20)
def test_a_leading_not_shuts_later_events_out_of_the_windows_that_hold_it() -> None:
    assert counted("SEQ(NOT N, A+)", "A6 N7 A7 A8 A12") == {0: 3, 5: 3, 10: 1}


def test_a_leading_not_counts_in_a_partition_that_has_no_other_event_yet() -> None:
    assert counted("SEQ(NOT N, A)", "N3 A4 A7") == {5: 1}


#                   A6  A7  N7  A8    A12
def test_a_trailing_not_voids_earlier_trends_in_the_windows_that_hold_it() -> None:
    assert counted("SEQ(A+, NOT N)", "A6 A7 N7 A8 A12") == {0: 3, 5: 7, 10: 1}


def test_a_trailing_not_leaves_windows_alone_that_end_before_it() -> None:
    assert counted("SEQ(A+, NOT N)", "A6 A7 N11 A12") == {0: 3, 5: 1, 10: 1}


def test_a_window_with_nothing_left_has_no_row() -> None:
    assert counted("SEQ(A+, NOT N)", "A6 A7 N8") == {}


@pytest.mark.parametrize("semantics", [ANY, NEXT, "contiguous"])
def test_a_not_between_two_events_holds_though_all_three_came_by_themselves(semantics: str) -> None:
    selected = f"SEQ(A, NOT N, B) SEMANTICS {semantics}"
    assert counted(selected, "A1 N2 B3", "WITHIN 10 seconds") == {}
    assert counted(selected, "N1 A2 B3", "WITHIN 10 seconds") == {0: 1}
    assert counted(selected, "A1 N1 B3", "WITHIN 10 seconds") == {0: 1}


def test_counts_of_pairs_beyond_two_to_the_53_have_all_their_digits() -> None:
    events = [{"type": "AB"[at % 3 == 0], "time": at} for at in range(130)]
    for pattern in ("(A OR B)+ AND A+", "A+ AND B+"):
        query = f"RETURN COUNT(*) PATTERN {pattern}"
        for numbers in ("double", "exact"):
            (row,) = greta.aggregate(events, query, numbers=numbers).to_pylist()
            stream = greta.stream(query, numbers=numbers)
            stream.push(events)
            (streamed,) = stream.close().to_pylist()
            assert int(row["count"]) > 2**53
            assert streamed["count"] == (
                pytest.approx(row["count"], rel=1e-14) if numbers == "double" else row["count"]
            )


def test_a_trailing_not_gives_back_what_it_makes_void() -> None:
    def size(kind: str) -> int:
        query = "RETURN COUNT(*) PATTERN SEQ(A+, NOT N) WHERE A.x < NEXT(A).x WITHIN 1 hour SLIDE 1 minute"
        stream = greta.stream(query)
        for at in range(3_000):
            stream.push({"type": kind if at % 100 == 99 else "A", "time": at, "x": at * 7919 % 3_001})
        assert stream.figures.online
        return stream.figures.bytes

    assert 3 * size("N") < size("A")


def test_partitions_with_matches_alone_are_forgotten_with_their_windows() -> None:
    query = "RETURN COUNT(*) PATTERN SEQ(NOT N, A) WHERE [session] WITHIN 60 seconds SLIDE 10 seconds"
    count = 20_000
    sessions = pa.array([at // 10 for at in range(count)])
    events = pa.table({"type": ["N"] * count, "time": pa.array(range(count), pa.int64()), "session": sessions})
    job = StreamJob.of(Job.bind(query, events.schema))
    windows = Online(job)
    sizes = []
    for at in range(0, count, 500):
        windows.advance(events.select(job.schema.names).slice(at, 500).cast(job.schema), 1_000 * (at + 500))
        sizes.append(windows.figures().bytes)
    assert max(sizes[10:]) <= 1.5 * max(sizes[:10])
