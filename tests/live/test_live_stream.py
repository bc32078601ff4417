"""What ``greta.stream`` takes, tells and refuses; snapshots; a push that fails changes nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import greta
from greta.engine.stream_jobs import StreamJob
from greta.errors import DataError, GretaError, QueryMeaningError, SchemaError, StateError
from greta.live.at_close import AtClose
from greta.live.stream import open_stream
from support.live_streams import as_a_bag

QUERY = "RETURN g, COUNT(*), MAX(A.x) AS top PATTERN A+ WHERE [g] GROUP-BY g WITHIN 10 seconds"
FIRST = {"type": "A", "time": 1, "g": "p", "x": 1.5}


def event(time: Any, **more: Any) -> dict[str, Any]:
    return FIRST | {"time": time} | more


def state(stream: greta.Stream) -> Any:
    """All that tells two streams apart."""
    return stream.figures, stream.snapshot()


#       1  2  3             12
# W0 [--●--●--●----------)
# W1                     [--●
def test_a_row_comes_with_the_event_that_ends_its_window() -> None:
    stream = greta.stream(QUERY)
    assert [stream.push(event(time)).num_rows for time in (1, 2, 3)] == [0, 0, 0]
    row = {"window_start": 0, "window_end": 10, "g": "p", "count": 7.0, "top": 1.5}
    assert stream.push(event(12)).to_pylist() == [row]
    assert stream.close().to_pylist() == [row | {"window_start": 10, "window_end": 20, "count": 1.0}]


def test_events_at_the_watermark_wait_for_others_of_their_tick() -> None:
    stream = greta.stream("RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10 seconds")
    for kind in ("A", "B"):
        stream.push({"type": kind, "time": 5})
    assert stream.push({"type": "B", "time": 6}).num_rows == 0
    assert stream.figures.late_events == 0
    assert stream.close().to_pylist()[0]["count"] == 1


def test_a_window_ends_at_its_end_and_not_before() -> None:
    stream = greta.stream(QUERY, lateness="2 seconds")
    stream.push(event(1))
    assert stream.push(event(11)).num_rows == 0
    assert stream.push(event(12)).num_rows == 1


@pytest.mark.parametrize(
    "lateness", ["2 seconds", "2s", "2000 ms", timedelta(seconds=2), 2, 2.0], ids=lambda given: str(given)
)
def test_lateness_is_a_duration_in_every_form(lateness: Any) -> None:
    stream = greta.stream(QUERY, lateness=lateness)
    stream.push([event(20), event(1)])
    stream.push([event(18), event(17)])
    assert (stream.figures.events, stream.figures.late_events) == (3, 1)
    assert stream.figures.watermark == 18


@pytest.mark.parametrize("lateness", ["0 seconds", 0, timedelta(0), None])
def test_no_lateness_lets_the_watermark_be_the_latest_time(lateness: Any) -> None:
    stream = greta.stream(QUERY, lateness=lateness)
    stream.push(event(20))
    stream.push(event(19))
    assert stream.figures.late_events == 1


@pytest.mark.parametrize("lateness", ["soon", "2 parsecs", "-1 seconds", -1, math.nan, math.inf, True, [1]])
def test_what_is_no_duration_is_no_lateness(lateness: Any) -> None:
    with pytest.raises(GretaError, match="lateness"):
        greta.stream(QUERY, lateness=lateness)


def test_the_time_can_go_on_without_events() -> None:
    stream = greta.stream(QUERY, lateness=1)
    stream.push([event(1), event(2)])
    assert stream.advance(10).num_rows == 0
    assert stream.advance(11).to_pylist()[0]["count"] == 3
    assert stream.advance(5).num_rows == 0
    stream.push(event(9))
    assert stream.figures.late_events == 1


@pytest.mark.parametrize("at", [10, datetime(1970, 1, 1, 0, 0, 10, tzinfo=UTC)])
def test_time_that_went_on_before_the_first_event_counts(at: Any) -> None:
    stream = greta.stream(QUERY)
    assert stream.advance(at).num_rows == 0
    stream = greta.stream(QUERY, snapshot=stream.snapshot())
    times = [at, 5 if at == 10 else at - timedelta(seconds=5)]
    for time in times:
        stream.push(event(time))
    assert (stream.figures.events, stream.figures.late_events) == (1, 1)


def test_a_query_without_within_has_its_rows_at_the_close() -> None:
    stream = greta.stream("RETURN COUNT(*) PATTERN A+")
    stream.push([event(time) for time in range(3)])
    assert stream.push(event(10**6)).num_rows == 0
    assert stream.close().to_pylist() == [{"window_start": None, "window_end": None, "count": 15.0}]


EVENTS = [event(float(time), x=time / 2, g="pq"[time % 2]) for time in range(30)]
FORMS = {
    "table": pa.Table.from_pylist(EVENTS),
    "batch": pa.Table.from_pylist(EVENTS).to_batches()[0],
    "pandas": pd.DataFrame(EVENTS),
    "categories": pd.DataFrame(EVENTS).astype({"g": "category", "type": "category"}),
    "polars": pl.DataFrame(EVENTS),
    "dicts": EVENTS,
    "iterator": iter(EVENTS),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_stream_takes_what_a_batch_takes(form: str) -> None:
    stream = greta.stream(QUERY)
    rows = stream.push(FORMS[form]).to_pylist() + stream.close().to_pylist()
    assert [row["window_start"] for row in rows] == [0, 0, 10, 10, 20, 20]
    assert as_a_bag(rows) == as_a_bag(greta.aggregate(EVENTS, QUERY).to_pylist())


def test_events_of_different_forms_go_together() -> None:
    stream, parts = greta.stream(QUERY), []
    for at, form in enumerate(("table", "pandas", "categories", "polars")):
        parts += stream.push(FORMS[form][at * 5 : at * 5 + 5]).to_pylist()
    for each in EVENTS[20:]:
        parts += stream.push(each).to_pylist()
    assert as_a_bag(parts + stream.close().to_pylist()) == as_a_bag(greta.aggregate(EVENTS, QUERY).to_pylist())


USUAL_AND_NOT: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"x": 1.5}, {"x": 2}),
    ({"x": 1}, {"x": 2.0}),
    ({"x": 1}, {"x": np.int32(2)}),
    ({"x": 1.5}, {"x": np.float32(0.5)}),
    ({"x": 1.5}, {"x": Decimal("2.5")}),
    ({"x": 1.5}, {"x": None}),
    ({"x": 1.5}, {"x": math.nan}),
    ({"x": 1.5}, {"x": 1.5, "more": [1, 2]}),
    ({"g": "p"}, {"g": "ü"}),
    ({"time": 1}, {"time": 2.0}),
    ({"time": 1.0}, {"time": 2}),
    ({"time": datetime(2024, 1, 1, tzinfo=UTC)}, {"time": datetime(2024, 1, 1, 0, 0, 1)}),  # noqa: DTZ001
    ({"time": datetime(2024, 1, 1, tzinfo=UTC)}, {"time": np.datetime64("2024-01-01T00:00:01")}),
    ({"time": datetime(2024, 1, 1, tzinfo=UTC)}, {"time": pd.Timestamp("2024-01-01T01:00:01+01:00")}),
]


@pytest.mark.parametrize("form", ["dict", "list"])
@pytest.mark.parametrize(("first", "second"), USUAL_AND_NOT)
def test_later_values_of_other_types_are_taken_where_nothing_is_lost(first: Any, second: Any, form: str) -> None:
    stream = greta.stream(QUERY)
    stream.push(FIRST | first)
    stream.push(FIRST | {"time": first.get("time", 1)} | second if form == "dict" else [FIRST | first | second])
    assert stream.figures.events == 2
    assert stream.close().num_rows >= 1


LOSSES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"x": 1}, {"x": 2.5}, "column 'x' of this stream is int64"),
    ({"x": 1.5}, {"x": "2"}, "column 'x' of this stream is double, and these events have string"),
    ({"x": 1.5}, {"x": 2**60 + 1}, "column 'x' of this stream is double"),
    ({"x": 1.5}, {"x": True}, "column 'x' of this stream is double"),
    ({"x": None}, {"x": 3}, "NULL in all of the first events"),
    ({"g": "p"}, {"g": 7}, "column 'g' of this stream is string"),
    ({}, {"g": "\ud800"}, "not Unicode"),
    ({}, {"time": 2.5}, "column 'time' of this stream is int64"),
    ({}, {"time": -1}, "negative"),
    ({}, {"time": None}, "NULL"),
    ({"time": 1.0}, {"time": math.nan}, "not a finite number"),
    ({"time": 1.0}, {"time": "noon"}, "column 'time' of this stream is double"),
    ({}, {"time": 2**53}, "too large"),
]


@pytest.mark.parametrize("form", ["dict", "list", "table"])
@pytest.mark.parametrize(("first", "second", "message"), LOSSES)
def test_an_event_that_does_not_fit_is_refused_and_changes_nothing(
    first: Any, second: Any, message: str, form: str
) -> None:
    stream = greta.stream(QUERY)
    stream.push([FIRST | first, FIRST | first])
    before = state(stream)
    bad = FIRST | first | second
    with pytest.raises(GretaError, match=message):
        stream.push({"dict": lambda: bad, "list": lambda: [bad], "table": lambda: [bad, bad]}[form]())
    assert state(stream) == before


def test_good_events_beside_a_bad_one_are_not_taken_in() -> None:
    stream = greta.stream(QUERY)
    stream.push(event(1))
    with pytest.raises(DataError, match="negative"):
        stream.push([event(2), event(-3)])
    assert stream.figures.events == 1
    stream.push(event(2))
    assert stream.close().to_pylist()[0]["count"] == 3


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ({"type": "A", "time": 1}, SchemaError),
        ({"time": 1, "g": "p", "x": 1}, SchemaError),
        ({"type": "A", "time": "noon", "g": "p", "x": 1}, DataError),
        (7, DataError),
        ("text", DataError),
    ],
)
def test_first_events_that_cannot_be_taken_in_leave_the_stream_new(bad: Any, error: Any) -> None:
    stream = greta.stream(QUERY)
    with pytest.raises(error):
        stream.push(bad)
    assert stream.schema is None
    stream.push(event(1))
    assert stream.close().num_rows == 1


def test_columns_can_be_named_in_advance() -> None:
    schema = {"type": pa.string(), "time": pa.int64(), "g": pa.string(), "x": pa.float64()}
    stream = greta.stream(QUERY, schema=schema)
    assert stream.schema == greta.aggregate(pa.schema(schema).empty_table(), QUERY).schema
    stream.push({"type": "A", "time": 1, "g": "p"})
    stream.push({"type": "A", "time": 2, "g": "p", "x": 3})
    assert stream.close().to_pylist()[0]["top"] == 3.0


TEXT_FORMS = [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("form", TEXT_FORMS, ids=str)
def test_text_may_be_named_in_any_form_and_come_in_it(form: pa.DataType) -> None:
    schema = pa.schema({"type": form, "time": pa.int64(), "g": form, "x": pa.float64()})
    stream = greta.stream(QUERY, schema=schema)
    events = pa.Table.from_pylist([event(at, g="p" if at % 2 else None) for at in range(1, 30, 3)], schema)
    rows = [stream.push(events.slice(at, 3)) for at in range(0, 10, 3)]
    rows.append(stream.close())
    assert pa.concat_tables(rows).to_pylist() == greta.aggregate(events, QUERY).to_pylist()


@pytest.mark.parametrize("form", TEXT_FORMS, ids=str)
def test_the_same_columns_go_on_from_a_snapshot(form: pa.DataType) -> None:
    schema = {"type": form, "time": pa.int64(), "g": form, "x": pa.float64()}
    stream = greta.stream(QUERY, schema=schema)
    stream.push(event(1))
    again = greta.stream(QUERY, schema=schema, snapshot=stream.snapshot())
    again.push(event(2))
    assert again.close().to_pylist()[0]["count"] == 3.0


def test_several_queries_have_their_names_in_front() -> None:
    stream = greta.stream([QUERY, "RETURN COUNT(*) PATTERN A"], emit="update")
    stream.push([event(1), event(2)])
    rows = stream.close().to_pylist()
    assert [row["query"] for row in rows] == [0, 1]
    assert all(row["final"] for row in rows)


def test_errors_of_queries_are_those_of_a_batch() -> None:
    with pytest.raises(QueryMeaningError):
        greta.stream("RETURN COUNT(*) PATTERN NOT A", schema=pa.schema({"type": pa.string(), "time": pa.int64()}))
    with pytest.raises(GretaError, match="emit must be"):
        greta.stream(QUERY, emit="never")  # type: ignore[arg-type]
    with pytest.raises(GretaError, match="numbers must be"):
        greta.stream(QUERY, numbers="some").push(FIRST)  # type: ignore[arg-type]
    with pytest.raises(GretaError, match="a column is named final"):
        greta.stream("RETURN COUNT(*) AS final PATTERN A", emit="update").push(FIRST)


def test_a_closed_stream_takes_nothing_more() -> None:
    stream = greta.stream(QUERY)
    stream.push(event(1))
    assert stream.close().num_rows == 1
    assert stream.close().num_rows == 0
    for call in (lambda: stream.push(event(2)), lambda: stream.advance(3), stream.snapshot):
        with pytest.raises(GretaError, match="closed"):
            call()


def test_a_stream_without_events_has_no_rows() -> None:
    assert greta.stream(QUERY).close().num_rows == 0
    assert greta.stream(QUERY).push([]).num_rows == 0


def test_many_small_pushes_keep_only_what_open_windows_need() -> None:
    stream = greta.stream(QUERY)
    for time in range(3000):
        stream.push(event(time))
    figures = stream.figures
    assert figures.events == 3000
    assert figures.waiting_events + figures.kept_events < 1100
    assert figures.rows == 299


def test_figures_tell_what_is_kept_and_how() -> None:
    stream = greta.stream(QUERY, lateness=5)
    stream.push([event(time) for time in (1, 2, 13)])
    figures = stream.figures
    assert (figures.events, figures.late_events, figures.waiting_events) == (3, 0, 3)
    assert figures.watermark == 8
    assert figures.open_windows == 1
    stream.push(event(26))
    figures = stream.figures
    assert (figures.events, figures.late_events, figures.waiting_events) == (4, 0, 1)
    assert figures.watermark == 21
    assert figures.rows == 2
    assert figures.bytes > 0
    assert figures.online == (not figures.why)


# Snapshots.


def test_a_snapshot_goes_on_where_it_was_taken() -> None:
    stream = greta.stream(QUERY, lateness=3)
    stream.push([event(1), event(2), event(7)])
    again = greta.stream(QUERY.replace("RETURN", "return  "), snapshot=stream.snapshot())
    assert replace(again.figures, bytes=0) == replace(stream.figures, bytes=0)
    for each in (stream, again):
        assert each.push(event(13)).to_pylist()[0]["count"] == 7


def test_another_query_cannot_go_on_from_a_snapshot() -> None:
    taken = greta.stream(QUERY)
    taken.push(FIRST)
    for other in (QUERY.replace("10", "20"), [QUERY], {"a": QUERY}, QUERY.replace("MAX", "MIN")):
        with pytest.raises(StateError, match="another query"):
            greta.stream(other, snapshot=taken.snapshot())


@pytest.mark.parametrize(
    ("name", "value"),
    [("numbers", "exact"), ("lateness", 3), ("emit", "update"), ("time", "at"), ("type", "kind")],
)
def test_other_options_cannot_go_on_from_a_snapshot(name: str, value: Any) -> None:
    snapshot = greta.stream(QUERY, lateness=2).snapshot()
    with pytest.raises(StateError, match=f"whose {name} is"):
        greta.stream(QUERY, snapshot=snapshot, **{name: value})


def test_columns_of_other_types_cannot_go_on_from_a_snapshot() -> None:
    taken = greta.stream(QUERY)
    taken.push(FIRST)
    with pytest.raises(StateError, match="whose column 'x' is double"):
        greta.stream(QUERY, snapshot=taken.snapshot(), schema={"x": pa.int64()})


@pytest.mark.parametrize("at", [0, 3, 14, 18, 40, -1])
def test_a_damaged_snapshot_is_refused(at: int) -> None:
    stream = greta.stream(QUERY)
    stream.push([event(1), event(2)])
    damaged = bytearray(stream.snapshot())
    damaged[at] ^= 0xFF
    with pytest.raises(StateError, match=r"no snapshot|damaged|format"):
        greta.stream(QUERY, snapshot=bytes(damaged))


@pytest.mark.parametrize("size", [0, 5, 25, 200])
def test_a_snapshot_that_was_cut_off_is_refused(size: int) -> None:
    stream = greta.stream(QUERY)
    stream.push([event(1), event(2)])
    with pytest.raises(StateError):
        greta.stream(QUERY, snapshot=stream.snapshot()[:size])


class Failing(AtClose):
    """Windows that cannot take in events while ``fails`` is set."""

    fails = False

    def __init__(self, job: StreamJob) -> None:
        super().__init__(job)
        self.of_types = job.plan.event_types

    def advance(self, events: pa.Table, until: int) -> pa.Table:
        if Failing.fails and "B" in self.of_types:
            raise DataError("no room")
        return super().advance(events, until)


def test_windows_that_fail_leave_a_stream_of_one_query_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    query = "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10 seconds"
    stream = open_stream(query, windows=Failing)
    stream.push([{"type": "A", "time": 1}, {"type": "B", "time": 2}])
    before = state(stream)
    monkeypatch.setattr(Failing, "fails", True)
    for bad in ({"type": "A", "time": 12}, [{"type": "A", "time": 12}]):
        with pytest.raises(DataError, match="no room"):
            stream.push(bad)
        assert state(stream) == before
    monkeypatch.setattr(Failing, "fails", False)
    assert stream.push({"type": "A", "time": 12}).to_pylist()[0]["count"] == 1


def test_windows_that_fail_when_others_have_moved_end_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = ["RETURN COUNT(*) PATTERN A WITHIN 10 seconds", "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10 seconds"]
    stream = open_stream(queries, windows=Failing)
    stream.push([{"type": "A", "time": 1}, {"type": "B", "time": 2}])
    monkeypatch.setattr(Failing, "fails", True)
    with pytest.raises(DataError, match="no room"):
        stream.push({"type": "A", "time": 12})
    monkeypatch.setattr(Failing, "fails", False)
    with pytest.raises(StateError, match="in the middle of a push"):
        stream.push({"type": "A", "time": 12})


@pytest.mark.parametrize("type_", [pa.date32(), pa.date64(), pa.timestamp("us"), pa.timestamp("s", "Europe/Berlin")])
def test_groups_of_dates_and_times_come_back_as_they_were(type_: pa.DataType) -> None:
    days = pa.array([date(1, 1, 1), date(1969, 12, 31), date(2026, 2, 3), date(9999, 12, 31), None])
    events = pa.table({"type": ["A"] * 5, "time": [0] * 5, "g": days.cast(type_)})
    query = "RETURN g, COUNT(*) AS n PATTERN A+ GROUP-BY g WITHIN 3 seconds"
    stream = greta.stream(query, schema=events.schema)
    got = pa.concat_tables([stream.push(events), stream.close()])
    assert got.equals(greta.aggregate(events, query))
    assert got.num_rows == 4


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("values", [[5, 6], [1, 2**64 - 1], [2**63, 2**63 + 1]])
def test_unsigned_integers_of_all_sizes_are_those_of_a_batch(values: list[int], numbers: Any) -> None:
    events = pa.table({"type": ["A"] * 2, "time": [0, 1], "x": pa.array(values, pa.uint64())})
    for query in (
        "RETURN COUNT(*), MIN(A.x), MAX(A.x), SUM(A.x), AVG(A.x) PATTERN A+ WITHIN 3 seconds",
        "RETURN x, COUNT(*) PATTERN A+ WHERE A.x <= NEXT(A).x GROUP-BY x WITHIN 3 seconds",
    ):
        stream = greta.stream(query, schema=events.schema, numbers=numbers)
        got = pa.concat_tables([stream.push(events.slice(0, 1)), stream.push(events.slice(1)), stream.close()])
        assert got.equals(greta.aggregate(events, query, numbers=numbers))
