"""Q1 on a stream beside Spark's own window count: throughput, latency, growth with partitions, all in one run.

    python benchmarks/spark_stream.py [--quick] [--output FILE]

Claims: at 20k partitions and at least 100k events per micro-batch, Q1 (k = 60) takes in at least twice as many events
per second as Spark's own ``groupBy(window('10 minutes', '10 seconds'), sector).count()``, on ``local[2]``. Each figure
is the median over micro-batches after a warm-up, which is reported apart; ratios are between runs of one process, one
after the other, on the same files.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import greta.spark
from greta import datasets
from greta.spark.stream import aggregate_stream

Q1 = """\
RETURN sector, COUNT(*) AS trends
PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 10 minutes SLIDE 10 seconds
"""
SCHEMA = "type STRING, time TIMESTAMP, company STRING, sector STRING, price DOUBLE"
LATENESS = "10 seconds"
WARM_UP = 2


def greta_rows(events: DataFrame) -> DataFrame:
    return aggregate_stream(events, Q1, lateness=LATENESS)


def spark_rows(events: DataFrame) -> DataFrame:
    window = F.window("time", "10 minutes", "10 seconds")
    counted = events.withWatermark("time", LATENESS).groupBy(window, "sector").count()
    return counted.select(F.col("window.end").alias("window_end"), "sector", "count")


WAYS = {"greta": greta_rows, "spark": spark_rows}


def write_batches(place: Path, batches: int, events: int, partitions: int, rate: float) -> None:
    """A file of ``events`` trades per micro-batch, at ``rate`` trades per second of event time."""
    place.mkdir(parents=True)
    trades = datasets.stock_batches(batches * events, companies=partitions, rate=rate, chunk=events)
    for number, batch in enumerate(trades):
        file = place / f"{number:05}.parquet"
        pq.write_table(batch_table(batch), file)
        os.utime(file, (1_700_000_000 + number,) * 2)


def batch_table(batch: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches([batch]).select(["type", "time", "company", "sector", "price"])


def read(spark: SparkSession, place: Path, **options: Any) -> DataFrame:
    return spark.readStream.schema(SCHEMA).options(**options).parquet(str(place))


def throughput(spark: SparkSession, way: str, place: Path) -> dict[str, Any]:
    """Run over all files as fast as it goes, one file per micro-batch."""
    with tempfile.TemporaryDirectory() as scratch:
        rows = WAYS[way](read(spark, place, maxFilesPerTrigger=1))
        writer = rows.writeStream.format("noop").option("checkpointLocation", f"{scratch}/checkpoint")
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        progress = [json.loads(report.json) for report in query.recentProgress]
    batches = [p for p in progress if p["numInputRows"]]
    seconds = [p["batchDuration"] / 1000 for p in batches]
    measured = list(zip(batches, seconds, strict=True))[WARM_UP:]
    return {
        "way": way,
        "events_per_batch": batches[0]["numInputRows"],
        "events_per_second": statistics.median(p["numInputRows"] / s for p, s in measured),
        "warm_up_seconds": seconds[:WARM_UP],
        "batch_seconds": [s for _, s in measured],
        "state_bytes": max(
            (p.get("observedMetrics", {}).get("greta", {}).get("state_bytes", 0) for p in batches), default=0
        ),
    }


def latency(spark: SparkSession, way: str, rate: float, seconds: float, partitions: int) -> dict[str, Any]:
    """Seconds from the file that closes a window to its row; event time runs ten times as fast as the clock."""
    arrived: list[tuple[float, float]] = []
    returned: dict[float, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        incoming = Path(scratch) / "in"
        incoming.mkdir()
        stop = threading.Event()

        def feed() -> None:
            per_file = int(rate / 2)
            stream_rate = rate / 10
            trades = datasets.stock_batches(
                int(rate * seconds * 4), companies=partitions, rate=stream_rate, chunk=per_file
            )
            began = time.monotonic()
            for number, batch in enumerate(trades):
                if stop.wait(max(0.0, began + number * 0.5 - time.monotonic())):
                    return
                draft = incoming / f".{number:05}"
                pq.write_table(batch_table(batch), draft)
                draft.rename(incoming / f"{number:05}.parquet")
                newest = batch.column("time")[-1].as_py().timestamp()
                arrived.append((newest - 10.0, time.monotonic()))

        def note(rows: DataFrame, _: int) -> None:
            found = rows.select("window_end").distinct().collect()
            now = time.monotonic()
            for row in found:
                returned.setdefault(row.window_end.astimezone(UTC).timestamp(), now)

        query = (
            WAYS[way](read(spark, incoming))
            .writeStream.foreachBatch(note)
            .option("checkpointLocation", f"{scratch}/checkpoint")
            .start()
        )
        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        time.sleep(seconds)
        stop.set()
        feeder.join()
        query.stop()
    delays = []
    for end, when in sorted(returned.items()):
        closing = next((at for watermark, at in arrived if watermark >= end), None)
        if closing is not None and closing > arrived[0][1] + seconds / 3:
            delays.append(when - closing)
    delays.sort()
    return {
        "way": way,
        "rate": rate,
        "windows": len(delays),
        "p50": statistics.median(delays) if delays else None,
        "p95": delays[int(0.95 * (len(delays) - 1))] if delays else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few micro-batches, throughput at 20k partitions only")
    parser.add_argument("--events", type=int, default=400_000, help="events per micro-batch")
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0, help="length of each latency run")
    parser.add_argument("--rate", type=float, default=2_000.0, help="events per second of event time")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    events, batches = options.events, (5 if options.quick else options.batches)
    spark = greta.spark.session(
        "local[2]",
        spark_sql_shuffle_partitions="2",
        spark_sql_streaming_stateStore_rocksdb_changelogCheckpointing_enabled="true",
    )
    results: dict[str, Any] = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "versions": {"spark": spark.version, "python": platform.python_version(), "greta": greta.__version__},
        "throughput": [],
        "latency": [],
    }
    scratch = Path(tempfile.mkdtemp(prefix="greta-bench-"))
    try:
        for partitions in (20_000,) if options.quick else (20_000, 1_000, 200_000):
            place = scratch / str(partitions)
            write_batches(place, batches, events, partitions, options.rate)
            ways = ("spark", "greta") if partitions == 20_000 else ("greta",)
            for way in ways:
                found = {"partitions": partitions, **throughput(spark, way, place)}
                results["throughput"].append(found)
                print(json.dumps(found), flush=True)
        by_way = {found["way"]: found for found in results["throughput"] if found["partitions"] == 20_000}
        results["ratio"] = by_way["greta"]["events_per_second"] / by_way["spark"]["events_per_second"]
        print(f"greta / spark at 20k partitions: {results['ratio']:.2f}", flush=True)
        if not options.quick:
            rate = min(found["events_per_second"] for found in by_way.values()) / 2
            for way in WAYS:
                found = latency(spark, way, rate, options.seconds, 20_000)
                results["latency"].append(found)
                print(json.dumps(found), flush=True)
    finally:
        shutil.rmtree(scratch)
        spark.stop()
    if options.output is not None:
        options.output.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
