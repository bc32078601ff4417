"""Kafka through Python: the rows of a batch from a broker on loopback, whatever ends in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from test_stream_kill import inside

pytest.importorskip("pyspark")
pytest.importorskip("confluent_kafka")

import confluent_kafka as kafka

import greta
from greta.errors import DataError, SetupError
from greta.spark.compat import client_version
from greta.spark.stream import aggregate_stream
from greta.spark.stream.kafka import KafkaTopic, OffsetRange, TopicReader, TopicWriter, within_limit
from greta.spark.stream.run import explained
from greta.spark.stream.sources import Source, write_to

pytestmark = pytest.mark.spark

SCHEMA = "type STRING, time TIMESTAMP, company STRING, price BIGINT"
FALLING = """\
RETURN company, COUNT(*) AS trends
PATTERN Stock S+
WHERE [company] AND S.price > NEXT(S).price
GROUP-BY company
WITHIN 10 seconds SLIDE 5 seconds
"""
FAR = {"type": "Stock", "time": "2026-02-05T09:30:00Z", "company": "c0", "price": 0}
"""Ends all windows but its own, in the micro-batch that it comes with."""


class Broker:
    """librdkafka's own broker, which lives as long as the producer that opened it."""

    def __init__(self) -> None:
        self.server = kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 0})
        brokers = self.server.list_topics(timeout=30).brokers.values()
        self.address = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
        self.producer = kafka.Producer({"bootstrap.servers": self.address, "log_level": 0})

    def produce(self, topic: str, values: list[Any]) -> None:
        for number, value in enumerate(values):
            text = value if isinstance(value, str) else json.dumps(value)
            self.producer.produce(topic, text.encode(), partition=number % 3)
        assert self.producer.flush(30) == 0

    def consume(self, topic: str) -> list[Any]:
        reader = TopicReader(self.address, topic, 0)
        ranges = reader.partitions(reader.initialOffset(), reader.latestOffset())
        return [
            json.loads(value.as_py()) for part in ranges for batch in reader.read(part) for value in batch.column(0)
        ]


@pytest.fixture(scope="module")
def broker() -> Broker:
    return Broker()


def trades(first: int, last: int) -> list[dict[str, Any]]:
    return [
        {
            "type": "Stock",
            "time": f"2026-01-05T09:{30 + second // 60:02}:{second % 60:02}Z",
            "company": f"c{second % 2}",
            "price": second * 7919 % 101,
        }
        for second in range(first, last)
    ]


def expected(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    table = pa.Table.from_pylist(events)
    times = table.column("time").cast(pa.timestamp("us", "UTC"))
    rows = greta.aggregate(table.set_column(1, "time", times), FALLING).to_pylist()
    return sorted((row["window_start"].timestamp(), row["company"], row["trends"]) for row in rows)


def begin(spark: Any, broker: Broker, topic: str, place: Path, output: str | None = None, **more: Any) -> Any:
    """A stream that reads what there is, and ends."""
    events = Source(f"kafka:{broker.address}/{topic}", None, SCHEMA, **more).read(spark)
    bad = more.get("bad_records", "stop")
    rows = aggregate_stream(events, FALLING, lateness="5 seconds", buckets=2, bad_records=bad)
    writer = write_to(output or str(place / "out"), rows, "parquet", more.get("kafka"))
    return writer.option("checkpointLocation", str(place / "state")).trigger(availableNow=True).start()


def go(
    spark: Any, broker: Broker, topic: str, place: Path, output: str | None = None, **more: Any
) -> list[tuple[Any, ...]]:
    """Read what there is, and end; the rows so far."""
    begin(spark, broker, topic, place, output, **more).awaitTermination()
    return [] if output is not None else written(spark, place)


def written(spark: Any, place: Path) -> list[tuple[Any, ...]]:
    read = spark.read.parquet(str(place / "out")).collect()
    return sorted((row.window_start.timestamp(), row.company, row.trends) for row in read)


def test_a_stream_goes_on_from_its_offsets_with_nothing_lost_and_nothing_twice(
    spark: Any, broker: Broker, tmp_path: Path
) -> None:
    topic = "goes-on"
    events = trades(0, 90)
    broker.produce(topic, events[:40])
    go(spark, broker, topic, tmp_path)
    broker.produce(topic, [*events[40:], FAR])
    assert go(spark, broker, topic, tmp_path) == expected(events)


def test_rows_go_into_a_topic_as_json(spark: Any, broker: Broker, tmp_path: Path) -> None:
    broker.produce("in", [*trades(0, 60), FAR])
    broker.produce("rows", [])
    output = f"kafka:{broker.address}/rows"
    go(spark, broker, "in", tmp_path, output)
    found = sorted((row["company"], row["trends"]) for row in broker.consume("rows"))
    assert found == sorted((company, trends) for _, company, trends in expected(trades(0, 60)))


def test_a_record_that_does_not_parse_stops_the_stream_or_is_skipped(
    spark: Any, broker: Broker, tmp_path: Path
) -> None:
    broker.produce("bad", [*trades(0, 10), "{not json"])
    with pytest.raises(Exception, match="no readable time") as caught:
        go(spark, broker, "bad", tmp_path / "a")
    assert isinstance(explained(caught.value), DataError)
    go(spark, broker, "bad", tmp_path / "b", bad_records="skip")


def test_a_topic_that_is_not_there_ends_the_stream_with_an_error_that_says_so(
    spark: Any, broker: Broker, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="there is no such topic"):
        TopicReader(broker.address, "nowhere").initialOffset()
    with pytest.raises(Exception, match="there is no such topic") as caught:
        go(spark, broker, "nowhere", tmp_path)
    assert "create it first; records may come later" in str(explained(caught.value))


def raw(spark: Any, servers: str, topic: str, place: Path, patience: int) -> Any:
    """A topic's records into nowhere, with less patience than a user's stream has."""
    spark.dataSource.register(KafkaTopic)
    options = {"servers": servers, "topic": topic, "patience": str(patience)}
    rows = spark.readStream.format("greta_kafka").options(**options).load()
    return rows.writeStream.format("noop").option("checkpointLocation", str(place))


def test_a_broker_that_is_away_at_the_start_ends_the_stream_with_an_error_that_says_so(
    spark: Any, tmp_path: Path
) -> None:
    writer = raw(spark, "127.0.0.1:1", "trades", tmp_path, patience=1)
    with pytest.raises(Exception, match="no answer for 1 seconds") as caught:
        writer.trigger(availableNow=True).start().awaitTermination()
    told = explained(caught.value)
    assert str(told).startswith("kafka:127.0.0.1:1/trades: no answer for 1 seconds\nhint: is the address right")


def test_a_broker_that_goes_away_while_a_stream_runs_ends_it_with_an_error_that_says_so(
    spark: Any, tmp_path: Path
) -> None:
    broker = Broker()
    broker.produce("gone", trades(0, 30))
    query = raw(spark, broker.address, "gone", tmp_path, patience=5).start()
    try:
        query.processAllAvailable()
        assert sum(report.numInputRows for report in query.recentProgress) == 30
        del broker.server
        with pytest.raises(Exception, match="no answer for 5 seconds") as caught:
            query.awaitTermination(60)
    finally:
        query.stop()
    assert "Start again with the same checkpoint: nothing is lost" in str(explained(caught.value))


def test_a_broker_that_goes_away_in_between_ends_the_stream_and_nothing_is_lost() -> None:
    broker = Broker()
    broker.produce("away", trades(0, 30))
    reader = TopicReader(broker.address, "away", patience=1)
    first, *_ = reader.partitions(reader.initialOffset(), reader.latestOffset())
    assert sum(batch.num_rows for batch in reader.read(first)) == 10
    del broker.server
    with pytest.raises(DataError, match="no answer for 1 seconds"):
        reader.latestOffset()
    with pytest.raises(DataError, match="Start again with the same checkpoint: nothing is lost"):
        list(reader.read(first))
    with pytest.raises(DataError, match="rows could not be written"):
        TopicWriter(broker.address, "away", patience=1).write(iter([(b"{}",)]))


def test_records_that_were_deleted_are_an_error_and_no_gap(broker: Broker) -> None:
    broker.produce("short", trades(0, 6))
    with pytest.raises(DataError, match="no longer has the records from 50 on"):
        list(TopicReader(broker.address, "short", 0).read(OffsetRange(0, 50, 60)))


def test_a_partition_that_ends_before_what_was_read_is_an_error_and_no_gap() -> None:
    reader = TopicReader("none", "trades")
    with pytest.raises(DataError, match=r"trades, partition 1: records were read up to 7, .* ends at 3"):
        reader.partitions({"0": 50, "1": 7}, {"0": 60, "1": 3})
    with pytest.raises(DataError, match=r"partition 1: records were read up to 7, .* is no longer there"):
        reader.partitions({"0": 50, "1": 7}, {"0": 60})


def test_a_topic_that_was_created_again_ends_the_stream_with_an_error_that_says_what_to_do(
    spark: Any, broker: Broker, tmp_path: Path
) -> None:
    broker.produce("again", trades(0, 30))
    go(spark, broker, "again", tmp_path)
    other = Broker()
    other.produce("again", trades(0, 6))
    with pytest.raises(Exception, match="partition 0: records were read up to 10") as caught:
        go(spark, other, "again", tmp_path)
    told = explained(caught.value)
    assert isinstance(told, DataError)
    assert "Start with a new checkpoint" in str(told)


def test_long_ranges_are_cut_so_that_all_cores_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("greta.spark.stream.kafka._RANGE", 100)
    ranges = TopicReader("none", "none", 0).partitions({"0": 50, "1": 7}, {"0": 260, "1": 7})
    assert ranges == [OffsetRange(0, 50, 150), OffsetRange(0, 150, 250), OffsetRange(0, 250, 260)]


def test_a_limit_is_dealt_out_by_what_waits() -> None:
    assert within_limit({"0": 0, "1": 10}, {"0": 900, "1": 110}, 100) == {"0": 90, "1": 20}
    assert within_limit({"0": 0, "1": 10}, {"0": 9, "1": 11}, 100) == {"0": 9, "1": 11}


@pytest.mark.skipif(client_version() < (4, 2), reason="before 4.2, Spark's sources in Python take no limit")
def test_a_backlog_of_uneven_partitions_is_read_in_parts_and_nothing_is_late(
    spark: Any, broker: Broker, tmp_path: Path
) -> None:
    # Partition 0 has two of three events, 1 one of six: equal parts of each would be a minute apart at the end.
    topic = "uneven"
    events = trades(0, 180)
    for second, event in enumerate(events):
        place = (0, 0, 0, 0, 1, 2)[second % 6]
        broker.producer.produce(topic, json.dumps(event).encode(), partition=place)
    assert broker.producer.flush(30) == 0
    query = begin(spark, broker, topic, tmp_path, records_per_trigger=60)
    query.awaitTermination()
    assert [report.numInputRows for report in query.recentProgress if report.numInputRows] == [60, 60, 60]
    broker.produce(topic, [FAR])
    assert go(spark, broker, topic, tmp_path) == expected(events)


def test_a_stream_of_what_is_available_ends_there_whatever_comes_meanwhile(broker: Broker) -> None:
    broker.produce("meanwhile", trades(0, 9))
    reader = TopicReader(broker.address, "meanwhile")
    available = reader.latestOffset()
    reader.prepareForTriggerAvailableNow()
    broker.produce("meanwhile", trades(9, 18))
    assert reader.latestOffset(reader.initialOffset()) == available
    assert reader.latestOffset(available) == available
    assert TopicReader(broker.address, "meanwhile").latestOffset() != available


@pytest.mark.skipif(client_version() < (4, 2), reason="before 4.2, Spark's sources in Python take no limit")
def test_a_stream_that_is_stopped_within_a_backlog_goes_on_with_nothing_lost_and_nothing_twice(
    spark: Any, broker: Broker, tmp_path: Path
) -> None:
    events = trades(0, 180)
    broker.produce("stopped", events[:150])
    query = begin(spark, broker, "stopped", tmp_path, records_per_trigger=30)
    while query.isActive and not (tmp_path / "state" / "offsets" / "2").exists():
        time.sleep(0.02)
    assert query.isActive
    query.stop()
    # A run that goes on reads what came meanwhile, too, and not only the micro-batch that was stopped.
    broker.produce("stopped", [*events[150:], FAR])
    query = begin(spark, broker, "stopped", tmp_path, records_per_trigger=60)
    query.awaitTermination()
    assert not any(report.observedMetrics["greta"]["late_events"] for report in query.recentProgress)
    assert written(spark, tmp_path) == expected(events)


@pytest.mark.slow
@pytest.mark.skipif(client_version() < (4, 2), reason="before 4.2, Spark's sources in Python take no limit")
def test_a_stream_that_is_killed_within_a_backlog_goes_on_with_nothing_lost_and_nothing_twice(
    spark: Any, broker: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = trades(0, 180)
    broker.produce("killed", events[:150])
    query = tmp_path / "query.greta"
    query.write_text(FALLING)
    command = [
        *("stream", str(query), "--input", f"kafka:{broker.address}/killed", "--schema", SCHEMA),
        *("--output", str(tmp_path / "out"), "--checkpoint", str(tmp_path / "state"), "--lateness", "5 seconds"),
        *("--buckets", "2", "--records-per-trigger", "15", "--available-now", "--quiet", "--master", "local[2]"),
    ]
    process = subprocess.Popen([sys.executable, "-m", "greta.cli", *command], start_new_session=True)
    try:
        while process.poll() is None and not (tmp_path / "state" / "offsets" / "2").exists():
            time.sleep(0.02)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    # A run that goes on reads what came meanwhile, too, and not only the micro-batch that was killed.
    broker.produce("killed", [*events[150:], FAR])
    assert inside(*command[1:]) == 0
    assert "late and dropped: 0" in capsys.readouterr().err
    assert written(spark, tmp_path) == expected(events)


def test_a_bound_that_an_old_spark_would_not_keep_is_refused(
    spark: Any, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greta.spark.stream.sources.spark_version", lambda _: (4, 1))
    with pytest.raises(SetupError, match=r"can be bounded on Spark 4\.2 or later"):
        Source(f"kafka:{broker.address}/topic", None, SCHEMA, records_per_trigger=5).read(spark)


def test_settings_reach_the_client_that_reads_and_the_one_that_writes(
    spark: Any, broker: Broker, tmp_path: Path
) -> None:
    broker.produce("set", trades(0, 30))
    broker.produce("set-rows", [])
    output = f"kafka:{broker.address}/set-rows"
    go(spark, broker, "set", tmp_path / "a", output, kafka={"client.id": "reader", "socket.timeout.ms": "20000"})
    refused = {"security.protocol": "a-secret"}
    with pytest.raises(Exception, match=r"does not take what --kafka says: security\.protocol") as caught:
        go(spark, broker, "set", tmp_path / "b", kafka=refused)
    told = explained(caught.value)
    assert isinstance(told, SetupError)
    assert "a-secret" not in str(caught.value)
    with pytest.raises(SetupError, match=r"security\.protocol") as written_by:
        TopicWriter(broker.address, "set-rows", client=refused).write(iter([]))
    assert "a-secret" not in str(written_by.value)
    assert KafkaTopic({"servers": "a", "topic": "b", "kafka.sasl.username": "me"})._client() == {"sasl.username": "me"}


def test_settings_never_change_what_the_source_relies_on(broker: Broker) -> None:
    broker.produce("fixed", trades(0, 6))
    reader = TopicReader(broker.address, "fixed", client={"auto.offset.reset": "latest", "bootstrap.servers": "none"})
    with pytest.raises(DataError, match="no longer has the records from 50 on"):
        list(reader.read(OffsetRange(0, 50, 60)))


def test_the_source_names_itself_and_its_column() -> None:
    assert KafkaTopic.name() == "greta_kafka"
    assert KafkaTopic({"servers": "a", "topic": "b"}).schema().simpleString() == "struct<greta_json:binary>"
