"""Bound plans: planned once, true to their promises, and the same in every process."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

import greta
from greta.engine import job as binding
from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob
from greta.engine.tables import schema_of
from greta.errors import DataError, GretaError, SchemaError
from greta.plan.nodes import AttributeType

EVENTS = pa.table(
    {
        "type": ["A", "B", "A", "B", "A"],
        "time": [1, 2, 3, 4, 5],
        "x": [1, 2, 3, 4, 5],
        "y": [1.5, 0.5, None, 2.0, 1.0],
        "s": ["p", "q", "p", None, "q"],
        "unused": [[1]] * 5,
    }
)
QUERY = "RETURN s, COUNT(*), SUM(A.y) PATTERN A+ WHERE A.x < NEXT(A).x GROUP-BY s WITHIN 10 seconds"

QUERIES = [
    QUERY,
    "RETURN COUNT(*) PATTERN SEQ(A+, B)",
    "RETURN x, s, COUNT(A) AS n, SUM(A.x), AVG(A.x) PATTERN A+ WHERE [x] GROUP-BY x, s WITHIN 2 seconds SLIDE 1 second",
    "RETURN MIN(A.x), MAX(A.y), MIN(A.s), SUM(A.y) PATTERN A+ HAVING COUNT(*) > 1",
    "RETURN s, MAX(A.s) PATTERN A+ WHERE A.x > 100 GROUP-BY s",
    "RETURN COUNT(*) PATTERN A+ WITHIN 1500 milliseconds SLIDE 500 milliseconds",
]


def as_type(name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    return EVENTS.set_column(EVENTS.column_names.index(name), name, column)


INPUTS = {
    "plain": EVENTS,
    "a dictionary": as_type("s", EVENTS["s"].dictionary_encode()),
    "small whole numbers": as_type("x", EVENTS["x"].cast(pa.int8())),
    "a dictionary of whole numbers": as_type("x", EVENTS["x"].dictionary_encode()),
    "large text": as_type("s", EVENTS["s"].cast(pa.large_string())),
    "decimals": as_type("y", EVENTS["y"].cast(pa.decimal128(6, 2))),
    "single precision": as_type("y", EVENTS["y"].cast(pa.float32())),
    "time stamps": as_type("time", EVENTS["time"].cast(pa.timestamp("s", "UTC"))),
    "seconds with fractions": as_type("time", EVENTS["time"].cast(pa.float64())),
    "no event": EVENTS.slice(0, 0),
}


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("events", INPUTS.values(), ids=INPUTS)
def test_the_schema_of_the_rows_is_known_before_any_event_is_read(events: pa.Table, numbers: Any) -> None:
    for query in QUERIES:
        bound = Job.bind(query, events.schema, numbers=numbers)
        rows, parts = bound.run(events), bound.partials(events)
        assert rows.schema == bound.output_schema, query
        assert parts.schema == bound.partial_schema, query
        assert bound.finish(parts).schema == bound.output_schema, query
        assert bound.finish(parts).to_pylist() == rows.to_pylist(), query


def test_a_plan_that_fits_the_events_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = greta.analyze(QUERY, schema_of(EVENTS.schema))
    expected = greta.aggregate(EVENTS, QUERY)

    def refuse(*_: object) -> None:
        raise AssertionError("a plan was planned again")

    monkeypatch.setattr(binding, "analyze", refuse)
    assert Job.bind(plan, EVENTS.schema).plan is plan
    assert greta.aggregate(EVENTS, plan).equals(expected)
    assert greta.aggregate(EVENTS, plan, strategy="graph").equals(expected)


def test_a_plan_without_types_is_completed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def count(*arguments: Any) -> Any:
        calls.append(arguments)
        return greta.analyze(*arguments)

    monkeypatch.setattr(binding, "analyze", count)
    plan = greta.analyze("RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x AND A.y > 0")
    first, second = (Job.bind(plan, EVENTS.schema).plan for _ in range(2))
    assert first is second
    assert dict(first.schema or ())["x"] is AttributeType.INTEGER
    assert len(calls) == 1


def test_equal_queries_that_are_two_objects_are_not_taken_for_one() -> None:
    query = greta.parse("RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds")
    shorter = greta.parse("RETURN COUNT(*) PATTERN A+ WITHIN 2 seconds")
    rows = [greta.aggregate(EVENTS, each).num_rows for each in (query, shorter, query)]
    assert rows == [1, 3, 1]


def test_a_plan_for_floats_takes_whole_numbers_and_not_the_other_way_round() -> None:
    query = "RETURN SUM(A.x) PATTERN A+ WHERE A.x < NEXT(A).x"
    floats = as_type("x", EVENTS["x"].cast(pa.float64()))
    for_floats, for_integers = (greta.analyze(query, schema_of(events.schema)) for events in (floats, EVENTS))
    assert greta.aggregate(EVENTS, for_floats).equals(greta.aggregate(EVENTS, query))
    with pytest.raises(SchemaError, match="the plan was made for events whose x is integer, and here it is double"):
        greta.aggregate(floats, for_integers)


def test_a_plan_takes_a_column_in_which_nothing_is_known() -> None:
    query = "RETURN s, COUNT(*) PATTERN A+ GROUP-BY s"
    plan = greta.analyze(query, schema_of(EVENTS.schema))
    assert greta.aggregate(as_type("s", pa.nulls(5)), plan).num_rows == 0


def test_a_plan_for_an_attribute_that_is_missing_says_where() -> None:
    plan = greta.analyze(QUERY, schema_of(EVENTS.schema))
    with pytest.raises(SchemaError, match="the events have no attribute x"):
        greta.aggregate(EVENTS.drop_columns("x"), plan)


@pytest.mark.parametrize(
    ("events", "options", "message"),
    [
        (EVENTS.append_column("x", EVENTS["x"]), {}, "2 columns named 'x'"),
        (EVENTS.append_column("time", EVENTS["time"]), {}, "2 columns named 'time'"),
        (EVENTS, {"time": "tim"}, "no time column 'tim'"),
        (EVENTS, {"type": "kind"}, "no type column 'kind'"),
        (EVENTS, {"time": "s"}, "time column 's' has type string"),
        (EVENTS, {"type": "unused"}, "type column 'unused' has type list"),
        (EVENTS, {"numbers": "float"}, "numbers must be"),
    ],
)
def test_what_cannot_be_bound_is_refused_before_any_event_is_read(
    events: pa.Table, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(GretaError, match=message):
        Job.bind(QUERY, events.schema, **options)


def test_a_column_that_is_there_twice_harms_only_those_who_read_it() -> None:
    events = EVENTS.append_column("x", EVENTS["x"])
    assert greta.aggregate(events, "RETURN COUNT(*) PATTERN A+")["count"].to_pylist() == [7.0]
    with pytest.raises(DataError):
        greta.aggregate(events, "RETURN SUM(A.x) PATTERN A+")


@pytest.mark.parametrize("numbers", ["double", "exact"])
def test_a_job_that_was_sent_elsewhere_gives_the_same_rows(numbers: Any) -> None:
    bound = Job.bind(QUERY, EVENTS.schema, numbers=numbers)
    rows = bound.run(EVENTS)
    sent = pickle.loads(pickle.dumps(bound))
    assert sent == bound
    assert sent.columns == ["time", "type", "x", "s", "y"]
    assert sent.run(EVENTS).equals(rows)
    stored = StreamJob.of(bound)
    assert pickle.loads(pickle.dumps(stored)) == stored
    assert isinstance(pickle.loads(pickle.dumps(stored)), StreamJob)


def test_unsigned_numbers_stay_whole() -> None:
    query = "RETURN SUM(A.x) AS total PATTERN A"
    for largest in (2**62, 2**63, 2**64 - 1):
        events = as_type("x", pa.array([largest, 2, 3, 4, 6], pa.uint64()))
        for strategy in ("auto", "graph"):
            rows = greta.aggregate(events, query, numbers="exact", strategy=strategy)
            assert rows["total"].to_pylist() == [str(largest + 9)]
