"""Kafka, end to end: JSON records of a topic → Q1 in a stream → rows, in events per second.

The broker is the one that confluent-kafka opens for tests, on loopback, in this process: it takes some of the two
cores, which a real one would not. Writes the part *Kafka* of ``docs/benchmarks-spark.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from typing import Any

import confluent_kafka as kafka
from pages import write_part
from spark_batch import processor_seconds

import greta.spark
from greta import datasets
from greta.datasets.paper import Q1
from greta.spark.stream import aggregate_stream
from greta.spark.stream.kafka import TopicReader
from greta.spark.stream.sources import Source

SCHEMA = "type STRING, time TIMESTAMP, company STRING, sector STRING, price DOUBLE"
COLUMNS = ("type", "time", "company", "sector", "price")
PARTITIONS = 4
TOPIC = "trades"
WARM_UPS = 3
"""Runs before the first that is measured: Java goes on compiling for tens of micro-batches."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--per-batch", type=int, default=250_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    server, address = broker()
    produce(address, arguments.events)
    bounds = TopicReader(address, TOPIC)._bounds()
    kept = sum(high - low for low, high in bounds.values())
    assert kept == arguments.events, f"the broker forgot {arguments.events - kept:,} records: produce fewer"
    spark = greta.spark.session("local[2]", spark_sql_shuffle_partitions="2")
    load = os.getloadavg()[0]
    runs = [one_run(spark, address, arguments.per_batch) for _ in range(arguments.repeats + WARM_UPS)][WARM_UPS:]
    alone = source_alone(address, arguments.events)
    lines = [
        (
            f"`python benchmarks/spark_kafka.py --per-batch {arguments.per_batch}`: {arguments.events:,} generated "
            f"trades as JSON in {PARTITIONS} "
            f"partitions, {arguments.per_batch:,} per "
            f"micro-batch; {arguments.repeats} runs after {WARM_UPS} that are not measured; load {load:.1f} before and "
            f"{os.getloadavg()[0]:.1f} after.\n"
        ),
        "| run | events/s (at least 150,000) | processor s per million |\n|---|--:|--:|",
    ]
    for number, (rate, seconds) in enumerate(runs, 1):
        lines.append(f"| Q1 from Kafka, run {number} | {rate:,.0f} | {seconds * 1e6 / arguments.events:.1f} |")
    lines.append(f"| reading and decoding alone, one process | {alone:,.0f} | |")
    print("\n".join(lines))
    write_part("Kafka", "\n".join(lines))
    del server


def broker() -> tuple[kafka.Producer, str]:
    """A broker that lives as long as the first of the two."""
    server = kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 0})
    brokers = server.list_topics(timeout=30).brokers.values()
    return server, ",".join(f"{one.host}:{one.port}" for one in brokers)


def produce(address: str, events: int) -> None:
    """Trades in order of time, dealt out to the partitions in turn; compressed, since the broker keeps 5 MB of each."""
    settings = {"bootstrap.servers": address, "compression.type": "zstd", "linger.ms": 200, "batch.size": 1_000_000}
    producer = kafka.Producer(settings | {"log_level": 0, "queue.buffering.max.messages": 1_000_000})
    number = 0
    for batch in datasets.stock_batches(events, companies=20_000, rate=2_000, chunk=50_000):
        columns = [batch.column(name).to_pylist() for name in COLUMNS]
        for values in zip(*columns, strict=True):
            record = dict(zip(COLUMNS, values, strict=True))
            record["time"] = record["time"].isoformat()
            producer.produce(TOPIC, json.dumps(record).encode(), partition=number % PARTITIONS)
            number += 1
        producer.flush(60)


def one_run(spark: Any, address: str, per_batch: int) -> tuple[float, float]:
    """Events per second, and processor seconds of Java and its Python workers."""
    with tempfile.TemporaryDirectory(prefix="greta-kafka-") as place:
        source = Source(f"kafka:{address}/{TOPIC}", None, SCHEMA, records_per_trigger=per_batch)
        rows = aggregate_stream(source.read(spark), Q1, lateness="10 seconds", buckets=2)
        writer = rows.writeStream.format("noop").option("checkpointLocation", place).trigger(availableNow=True)
        before = processor_seconds()
        query = writer.start()
        query.awaitTermination()
        reports = [json.loads(report.json) for report in query.recentProgress]
        events = sum(report["numInputRows"] for report in reports)
        late = sum((report["observedMetrics"].get("greta") or {}).get("late_events") or 0 for report in reports)
        assert not late, f"{late:,} events were late"
        most = max(report["numInputRows"] for report in reports)
        assert most <= per_batch, f"a micro-batch took {most:,} events"
        seconds = sum(report["batchDuration"] for report in reports) / 1000
        return events / seconds, processor_seconds() - before


def source_alone(address: str, events: int) -> float:
    """Events per second of reading and decoding in this process."""
    from pyspark.sql.types import StructType

    from greta.spark.stream.records import Records

    reader = TopicReader(address, TOPIC, records=Records.of(StructType.fromDDL(SCHEMA)))
    began = time.perf_counter()
    for part in reader.partitions(reader.initialOffset(), reader.latestOffset()):
        for _ in reader.read(part):
            pass
    return events / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
