"""Answers without bound are refused before they are made, by a limit that can be raised."""

from __future__ import annotations

import pyarrow as pa
import pytest

from greta import aggregate
from greta.engine.frames import Stream
from greta.engine.job import Job
from greta.engine.run import Execution, _lanes_at_once
from greta.errors import DataError, SetupError


def stamps(milliseconds: list[int]) -> pa.Table:
    return pa.table({"type": ["A"] * len(milliseconds), "time": pa.array(milliseconds).cast(pa.timestamp("ms"))})


def test_an_answer_of_millions_of_rows_per_event_is_refused() -> None:
    events = stamps([0, 10_000, 20_000])
    with pytest.raises(DataError, match=r"86,4\d\d,\d\d\d rows, about 8\.6 GB.*limit\nhint: .*GRETA_MAX_ROWS="):
        aggregate(events, "RETURN COUNT(*) PATTERN A+ WITHIN 1 day SLIDE 1 ms")


def test_windows_without_a_trend_do_not_count() -> None:
    events = stamps([0, 10_000, 20_000])
    assert aggregate(events, "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 1 day SLIDE 1 ms").num_rows == 0


def test_the_limit_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    events, query = stamps([0, 1, 2, 3]), "RETURN COUNT(*) PATTERN A+ WITHIN 10 ms SLIDE 1 ms"
    assert aggregate(events, query).num_rows == 13
    monkeypatch.setenv("GRETA_MAX_ROWS", "12")
    with pytest.raises(DataError, match="13 rows"):
        aggregate(events, query)
    monkeypatch.setenv("GRETA_MAX_ROWS", "1_3")
    assert aggregate(events, query).num_rows == 13
    monkeypatch.setenv("GRETA_MAX_ROWS", "many")
    with pytest.raises(SetupError, match="GRETA_MAX_ROWS is 'many'"):
        aggregate(events, query)


@pytest.mark.filterwarnings("ignore:all events have the same time:greta.errors.GretaWarning")
def test_the_limit_is_for_all_partitions_together(monkeypatch: pytest.MonkeyPatch) -> None:
    events = pa.table({"type": ["A"] * 4, "time": [0, 0, 0, 0], "g": [1, 2, 3, 4]})
    query = "RETURN g, COUNT(*) PATTERN A+ WHERE [g] GROUP-BY g WITHIN 10 seconds"
    monkeypatch.setenv("GRETA_MAX_ROWS", "3")
    with pytest.raises(DataError, match="4 rows"):
        aggregate(events, query)


def test_copies_of_events_for_every_value_of_a_scope_are_refused() -> None:
    count = 10_000
    events = pa.table({"type": ["A", "B"] * count, "time": list(range(2 * count)), "x": list(range(2 * count))})
    with pytest.raises(DataError, match=r"100,000,000 rows.*\nhint: write \[x\] instead of \[A\.x\]"):
        aggregate(events, "RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [A.x]")


@pytest.mark.filterwarnings("ignore:all events have the same time:greta.errors.GretaWarning")
def test_many_events_of_one_time_in_many_windows_take_bounded_memory() -> None:
    ties, windows = 20_000, 5_000
    events = pa.table(
        {
            "type": pa.array(["A"]).take(pa.array([0] * ties)),
            "time": pa.array([10**7] * ties).cast(pa.timestamp("ms")),
        }
    )
    query = f"RETURN COUNT(*) AS n PATTERN A+ WITHIN {windows} ms SLIDE 1 ms"
    job = Job.bind(query, events.schema)
    execution = Execution(Stream.of(job, events), "double")
    runs = execution.separate_runs()
    assert len(runs.first_window) == windows
    assert execution.most_ties() == ties
    (lanes,), (prepared,) = runs.lanes, execution._prepared
    at_once = _lanes_at_once(prepared.automata[0], lanes, ties, 8, lambda: ties)
    assert 1 <= at_once <= 2**28 // (8 * ties)
    assert _lanes_at_once(prepared.automata[0], lanes, ties, 8, lambda: 1) == 4096
    assert _lanes_at_once(prepared.automata[0], lanes, ties, 8, lambda: 10**9) == 1


def test_one_side_of_an_and_may_match_nothing_in_windows_that_overlap() -> None:
    events = stamps([0, 1_000, 2_000, 3_000])
    query = "RETURN COUNT(*) PATTERN A AND A a1+ WITHIN 6 seconds SLIDE 2 seconds"
    assert aggregate(events, query).equals(aggregate(events, query, strategy="graph"))
