"""What some variables alone agree on cuts open partitions into parts, which go on from push to push (decision 53)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import greta
from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob, relevant
from greta.live.choice import why_not
from greta.live.growing import LiveGraph
from greta.live.online import MEMORY, Online
from support.live_streams import as_a_bag

QUERIES = {
    "of the first variable": "RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [A.g] AND A.x < NEXT(A).x",
    "of the last variable": "RETURN COUNT(*), MIN(A.x) PATTERN SEQ(A+, B) WHERE [B.g] AND A.x < NEXT(A).x",
    "of one in the middle": "RETURN COUNT(*) PATTERN SEQ(A, B+, C) WHERE [B.g]",
    "that trends may lack": "RETURN g, COUNT(*) PATTERN SEQ(A, B*, C) GROUP-BY B.g",
    "of a branch": "RETURN g, COUNT(*) PATTERN A+ OR B WHERE A.x > NEXT(A).x GROUP-BY B.g",
    "beside a common one": "RETURN h, COUNT(*) PATTERN SEQ(A, B) WHERE [h, A.g] GROUP-BY h",
    "grouped with a common one": "RETURN h, g, COUNT(*) PATTERN SEQ(A, B+) WHERE [h] GROUP-BY h, B.g",
    "that is NULL in places": "RETURN COUNT(*), COUNT(B) PATTERN SEQ(A, B+) WHERE [B.n]",
    "of a type with two variables": "RETURN COUNT(*) PATTERN SEQ(A X, A Y, B) WHERE [X.g]",
    "of a variable that repeats": "RETURN COUNT(*) PATTERN (SEQ(A, B))+ WHERE [B.g]",
    "with equalities": "RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [B.g] AND A.h = NEXT(A).h",
    "with pairs": "RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [B.g] AND A.x < NEXT(A).x AND A.y > NEXT(A).y",
    "with a free NOT between": "RETURN COUNT(*) PATTERN SEQ(A+, NOT C, B) WHERE [B.g] AND A.h = NEXT(A).h",
    "of all but the NOT": "RETURN g, COUNT(*) PATTERN SEQ(NOT C, A+) WHERE [A.g, h] AND A.x > NEXT(A).x GROUP-BY g",
    "with a free NOT at the end": "RETURN COUNT(*) PATTERN SEQ(A+, B, NOT C) WHERE [A.g] AND A.h = NEXT(A).h",
    "with a NOT of several events": "RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C, D), B) WHERE [A.g]",
    "with a leading NOT of several": "RETURN COUNT(*) PATTERN SEQ(NOT SEQ(C, D), A, B) WHERE [B.g]",
    "of long trends": "RETURN g, COUNT(*), AVG(A.y) PATTERN SEQ(A+, B?) MIN LENGTH 3 GROUP-BY B.g",
}
WINDOWS = ["WITHIN 12 seconds SLIDE 3 seconds", "WITHIN 9 seconds", ""]


def letters(count: int, seconds: int, values: int = 4, seed: int = 0) -> pa.Table:
    draw = np.random.default_rng(seed)
    number = draw.integers(0, values, count)
    return pa.table(
        {
            "type": draw.choice(list("AAABBCD"), count).tolist(),
            "time": pa.array(np.sort(draw.integers(0, seconds, count)), pa.int64()),
            "g": [f"v{one}" for one in number],
            "h": draw.choice(["p", "q"], count).tolist(),
            "n": pa.array(number, mask=number == 0),
            "x": pa.array(draw.integers(0, 9, count)),
            "y": pa.array(draw.normal(3, 1, count)),
        }
    )


def advanced(
    query: str, events: pa.Table, seconds: int = 1, numbers: Literal["double", "exact"] = "double"
) -> tuple[list[dict[str, Any]], Online, int]:
    """The rows of windows that are brought forward some seconds at a time; the most partitions that there were."""
    job = StreamJob.of(Job.bind(query, events.schema, numbers=numbers))
    online, rows, most = Online(job), [], 0
    for begin in range(0, pc.max(events.column("time")).as_py() + 1, seconds):
        time = events.column("time")
        piece = events.filter(pc.and_(pc.greater_equal(time, begin), pc.less(time, begin + seconds)))
        rows.append(online.advance(relevant(job, piece)[0], 1_000 * (begin + seconds)))
        assert isinstance(online._bands.current, LiveGraph)
        most = max(most, len(online._bands.current.partitions.key))
    return job.finish(pa.concat_tables([*rows, online.open()])).to_pylist(), online, most


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("name", QUERIES)
def test_pushes_of_any_size_give_the_rows_of_a_batch(name: str, windows: str) -> None:
    query = f"{QUERIES[name]} {windows}"
    events = letters(40 if not windows else 120, 40)
    batch = as_a_bag(greta.aggregate(events, query).to_pylist())
    for seconds in (1, 4):
        rows, online, _ = advanced(query, events, seconds)
        assert online.figures().online
        assert as_a_bag(rows) == batch


def test_a_value_that_is_new_follows_the_free_events_before_it() -> None:
    events = pa.table(
        {
            "type": ["A", "A", "B", "A", "B", "B"],
            "time": pa.array([1, 2, 3, 4, 5, 6], pa.int64()),
            "g": [None, None, "u", None, "v", "u"],
        }
    )
    # part of u: (a1 a2 a4) before b3 and b6, either or both; of v: any of a1 a2 a4 before b5.
    query = "RETURN g, COUNT(*) PATTERN SEQ(A, B+) GROUP-BY B.g WITHIN 10 seconds"
    rows, _, most = advanced(query, events)
    assert [(row["g"], row["count"]) for row in sorted(rows, key=lambda row: row["g"])] == [("u", 7.0), ("v", 3.0)]
    assert most == 3


def test_an_accident_without_a_vehicle_counts_against_every_vehicle_of_its_segment() -> None:
    draw = np.random.default_rng(3)
    kinds = draw.choice(["Position"] * 20 + ["Accident"], 600)
    accident = kinds == "Accident"
    events = pa.table(
        {
            "type": kinds.tolist(),
            "time": pa.array(np.sort(draw.integers(0, 60, 600)), pa.int64()),
            "segment": pa.array(draw.integers(0, 3, 600)),
            "vehicle": pa.array(draw.integers(0, 25, 600), mask=accident),
            "speed": pa.array(draw.normal(60, 9, 600), mask=accident),
        }
    )
    query = """
    RETURN segment, vehicle, COUNT(*), AVG(P.speed) PATTERN SEQ(NOT Accident A, Position P+)
    WHERE [P.vehicle, segment] AND P.speed > NEXT(P).speed GROUP-BY segment, vehicle WITHIN 20 seconds SLIDE 5 seconds
    """
    rows, online, _ = advanced(query, events)
    assert online.figures().online
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(events, query).to_pylist())


@pytest.mark.parametrize(
    "condition", ["A.y < NEXT(A).y", "A.y + NEXT(A).y > 7 AND A.x > NEXT(A).x", "A.x != NEXT(A).x"]
)
def test_indexes_of_many_events_are_copied_for_a_new_value(condition: str) -> None:
    events = letters(4_000, 40, values=30)
    query = f"RETURN g, COUNT(*), MAX(A.y) PATTERN SEQ(A+, B) WHERE {condition} GROUP-BY B.g"
    query += " WITHIN 30 seconds SLIDE 10 seconds"
    rows, online, _ = advanced(query, events)
    assert online.figures().online
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(events, query).to_pylist())


def test_parts_of_values_that_no_open_window_has_are_forgotten() -> None:
    # Free events come all the time, values once each.
    seconds = 300
    events = pa.table(
        {
            "type": ["A", "B"] * seconds,
            "time": pa.array(np.repeat(np.arange(seconds), 2), pa.int64()),
            "g": [f"v{at // 2}" for at in range(2 * seconds)],
            "x": pa.array(np.arange(2 * seconds) % 7),
            "h": ["p", "q"] * seconds,
        }
    )
    tops = []
    query = "RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [B.g] AND A.x < NEXT(A).x AND A.h = NEXT(A).h"
    query += " WITHIN 10 seconds SLIDE 2 seconds"
    for length in (100, 2 * seconds):
        rows, online, most = advanced(query, events.slice(0, length))
        assert as_a_bag(rows) == as_a_bag(greta.aggregate(events.slice(0, length), query).to_pylist())
        assert most <= 14
        assert isinstance(online._bands.current, LiveGraph)
        assert len(online._bands.current.partitions.of_place) <= 14 * 3
        tops.append(len(online._bands.current.heap))
    assert tops[1] <= 1.2 * tops[0]


@pytest.mark.parametrize("grouping", ["GROUP-BY B.g", "GROUP-BY h", "GROUP-BY h, B.g", ""])
def test_exact_numbers_of_parts_beyond_doubles_are_computed_from_events(grouping: str) -> None:
    events = letters(600, 60)
    returned = "".join(f"{name}, " for name in ("h", "g") if f"{name}" in grouping.replace("GROUP-BY", ""))
    query = (
        f"RETURN {returned}COUNT(*) PATTERN SEQ(A+, B?) WHERE [h, B.g] {grouping} WITHIN 60 seconds SLIDE 20 seconds"
    )
    rows, _, _ = advanced(query, events, numbers="exact")
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(events, query, numbers="exact").to_pylist())
    assert max(int(row["count"]) for row in rows) > 2**53


def test_parts_that_need_more_memory_than_there_is_are_computed_at_the_close(monkeypatch: pytest.MonkeyPatch) -> None:
    events = letters(600, 40, values=60)
    query = "RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [B.g] AND A.y < NEXT(A).y WITHIN 30 seconds SLIDE 10 seconds"
    monkeypatch.setenv(MEMORY, str(1 << 19))
    rows, online, _ = advanced(query, events)
    assert not online.figures().online
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(events, query).to_pylist())


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("PATTERN SEQ(A, B) WHERE [A.g, B.h]", "some variables alone agree on an attribute, others on another one"),
        (
            "PATTERN SEQ(A, NOT B, C) WHERE [B.g]",
            "variables within a NOT agree on an attribute that not all events agree on",
        ),
        (
            "PATTERN SEQ(A X, NOT SEQ(C, NOT A M, C D), B) WHERE [A.g]",
            "variables within a NOT agree on an attribute that not all events agree on",
        ),
        (
            "PATTERN SEQ(A, B) SEMANTICS contiguous WHERE [A.g]",
            "the query asks for contiguous, and some variables alone agree on an attribute",
        ),
    ],
)
def test_other_scopes_are_computed_at_the_close(query: str, why: str) -> None:
    events = letters(60, 30)
    query = f"RETURN COUNT(*) {query} WITHIN 12 seconds SLIDE 3 seconds"
    assert why_not(Job.bind(query, events.schema)) == why
    stream = greta.stream(query, schema=events.schema)
    rows = [*stream.push(events).to_pylist(), *stream.close().to_pylist()]
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(events, query).to_pylist())
