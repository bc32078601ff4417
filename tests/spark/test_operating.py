"""A stream in operation: figures for Prometheus, rows posted to an address, places beyond this machine."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from greta.cli.backlog import Backlog
from greta.cli.metrics import Metrics
from greta.errors import DataError, GretaError, SetupError
from greta.spark.stream.alerts import KEY, Poster, posting
from greta.spark.stream.checkpoint import claim
from greta.spark.stream.run import Status
from greta.spark.stream.sources import Source

STATUS = Status(
    time="2026-01-05T09:30:00.000+00:00",
    batch=7,
    events=1000,
    events_per_second=500.0,
    batch_seconds=2.0,
    lag_seconds=1.5,
    open_windows=60,
    state_rows=123,
    state_bytes=4567,
    late_events=3,
    bad_records=1,
    rows=10,
    last_row_seconds=1_767_605_400.0,
    buckets_at_close=2,
)


class Receiver(ThreadingHTTPServer):
    """Takes posts, after a number of failures."""

    def __init__(self, failures: int = 0, code: int = 503) -> None:
        self.taken: list[tuple[str, dict[str, Any]]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                nonlocal failures
                failures -= 1
                if failures < 0:
                    receiver.taken.append((self.headers[KEY], body))
                self.send_response(204 if failures < 0 else code)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/rows"


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("greta.spark.stream.alerts.time.sleep", lambda _: None)
    return


def test_figures_are_served_as_prometheus_reads_them() -> None:
    metrics = Metrics(0)
    try:
        metrics.take(STATUS)
        metrics.take(STATUS)
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics.port}/metrics") as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            text = answer.read().decode()
    finally:
        metrics.close()
    figures = dict(line.split() for line in text.splitlines() if not line.startswith("#"))
    assert figures["greta_events_total"] == "2000"
    assert figures["greta_rows_total"] == "20"
    assert figures["greta_late_events_total"] == "3"
    assert figures["greta_lag_seconds"] == "1.5"
    assert figures["greta_buckets_at_close"] == "2"
    assert figures["greta_last_row_timestamp_seconds"] == "1767605400"
    assert "# TYPE greta_events_total counter" in text
    assert text.count("earlier runs included where the output is a directory of this machine") == 2


def test_events_that_are_late_while_a_backlog_is_read_in_parts_are_warned_of_once() -> None:
    said: list[str] = []
    backlog = Backlog(said.append, before=3)
    backlog.take(STATUS)
    assert said == []
    backlog.take(replace(STATUS, late_events=89_134))
    backlog.take(replace(STATUS, late_events=99_999))
    assert len(said) == 1
    assert said[0].startswith("89,131 events came too late and were dropped while a topic is read in parts")


def test_a_port_in_use_is_said() -> None:
    first = Metrics(0)
    try:
        with pytest.raises(SetupError, match=f"port {first.port} cannot be used"):
            Metrics(first.port)
    finally:
        first.close()


def test_the_dashboard_asks_for_figures_that_are_served() -> None:
    dashboard = (Path(__file__).parents[2] / "examples" / "grafana-dashboard.json").read_text()
    asked = {part.split("[")[0].split(")")[0].split('"')[0] for part in dashboard.split("greta_")[1:]}
    from greta.cli.metrics import _HELP

    assert asked <= set(_HELP)
    assert json.loads(dashboard)["title"]


@pytest.mark.usefixtures("no_waiting")
def test_rows_pass_unchanged_and_are_posted_with_a_key_that_repeats() -> None:
    with Receiver(failures=2) as receiver:
        rows = pa.table(
            {"window_end": pa.array([datetime(2026, 1, 5, 9, 30, tzinfo=UTC)] * 2), "trends": [1.0, 2.0]}
        ).to_batches()
        poster = Poster(receiver.address, ("window_end", "trends"))
        assert list(poster(rows)) == rows
        assert list(poster(rows)) == rows
        receiver.shutdown()
    assert [body for _, body in receiver.taken[:2]] == [
        {"trends": 1.0, "window_end": "2026-01-05T09:30:00+00:00"},
        {"trends": 2.0, "window_end": "2026-01-05T09:30:00+00:00"},
    ]
    assert receiver.taken[0] == receiver.taken[2]
    assert len({key for key, _ in receiver.taken}) == 2


@pytest.mark.usefixtures("no_waiting")
def test_a_receiver_that_refuses_ends_the_stream_with_an_error() -> None:
    with Receiver(failures=100, code=404) as receiver:
        with pytest.raises(DataError, match="it answers 404"):
            Poster(receiver.address, ("trends",)).post({"trends": 1})
        receiver.shutdown()
    with pytest.raises(DataError, match="cannot be posted"):
        Poster("http://127.0.0.1:1/", ("trends",), attempts=2).post({"trends": 1})


def test_a_number_beyond_doubles_is_posted_as_text() -> None:
    with Receiver() as receiver:
        Poster(receiver.address, ("trends",)).post({"trends": float("inf")})
        receiver.shutdown()
    assert [body for _, body in receiver.taken] == [{"trends": "Infinity"}]


@pytest.mark.spark
def test_rows_of_a_dataframe_are_posted_on_their_way(spark: Any) -> None:
    with pytest.raises(DataError, match="no http or https address"):
        posting(spark.range(1), "ftp://host")
    with Receiver() as receiver:
        posted = posting(spark.range(3).toDF("payload.id"), receiver.address)
        assert sorted(row["payload.id"] for row in posted.collect()) == [0, 1, 2]
        receiver.shutdown()
    assert sorted(body["payload.id"] for _, body in receiver.taken) == [0, 1, 2]


@pytest.mark.spark
def test_places_may_be_addresses_of_file_systems(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"there is no directory {tmp_path}/nowhere"):
        Source(f"file://{tmp_path}/nowhere").read(spark)
    (tmp_path / "in").mkdir()
    stream = Source(f"file://{tmp_path}/in", "json", "type STRING, time TIMESTAMP").read(spark)
    assert stream.isStreaming
    claim(f"file://{tmp_path}/state", {"format": 1, "buckets": 1, "queries": []})
    assert (tmp_path / "state" / "greta.json").is_file()
    claim("viewfs://cluster/state", {"format": 1, "buckets": 1, "queries": []})


@pytest.mark.spark
@pytest.mark.parametrize("option", [{"tasks": 4}, {"cut": 2.0}])
def test_options_of_a_batch_are_refused_for_a_stream(spark: Any, option: dict[str, Any]) -> None:
    import greta.spark

    stream = spark.readStream.format("rate").load().selectExpr("timestamp AS time", "'A' AS type")
    with pytest.raises(GretaError, match="is for batches"):
        greta.spark.aggregate(stream, "RETURN COUNT(*) PATTERN A+ WITHIN 1 second", lateness="1 second", **option)


@pytest.mark.spark
def test_a_unit_of_time_is_for_streams_too(spark: Any) -> None:
    import greta.spark

    stream = spark.readStream.format("rate").load().selectExpr("unix_millis(timestamp) AS time", "'A' AS type")
    query = "RETURN COUNT(*) PATTERN A+ WITHIN 1 second"
    rows = greta.spark.aggregate(stream, query, lateness="1 second", time_unit="ms")
    assert rows.dtypes[0] == ("window_start", "timestamp")
