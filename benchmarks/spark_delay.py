"""How late rows are on a steady stream on Spark, as windows get longer: Q1, 10,000 events/s, a trigger a second.

    python benchmarks/spark_delay.py [--minutes 1 10 60] [--output FILE]

Wanted: half of the rows are there 1.0 s after the event that closes their window has arrived, 95 % after 2.0 s, and
that does not change as WITHIN goes from 1 to 60 minutes. An event waits for the next trigger, half a second on average,
and for the micro-batch that it begins; its rows come with that one. A run begins with a backlog as long as one window,
so that state has its full size; only windows that close after it count. Event time passes ``rate / density`` times as
fast as the clock. Writes ``benchmarks/results/spark-delay.json`` and the part *Delay* of ``docs/benchmarks-spark.md``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import platform
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pages import PAGE, ROOT, write_part
from pyspark.sql import DataFrame, SparkSession
from spark_stream import LATE, LATENESS, batch_table, read

import greta.spark
from greta import datasets
from greta.spark.stream import aggregate_stream

QUERY = """\
RETURN sector, COUNT(*) AS trends
PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN {minutes} minutes SLIDE 10 seconds
"""
HEADING = "Delay"
BEAT = 0.47
"""Seconds of the clock between files of a steady stream: not in step with triggers, so that windows end at any moment
between two of them, as they do where people use it."""
BATCHES = 20
"""Beats per file of the backlog."""


class Source:
    """A directory that a backlog lies in and files go on to arrive in, each with the time of its newest event."""

    def __init__(self, place: Path, trades: Iterator[pa.RecordBatch]) -> None:
        self.place = place
        self.trades = trades
        self.arrived: list[tuple[float, float]] = []
        self.files = 0
        place.mkdir()

    def put(self, batches: int) -> None:
        """Let one file with so many batches of events arrive."""
        tables = [batch_table(batch) for batch in itertools.islice(self.trades, batches)]
        table = pa.concat_tables(tables)
        draft = self.place / f".{self.files:06}"
        pq.write_table(table, draft)
        draft.rename(self.place / f"{self.files:06}.parquet")
        self.files += 1
        self.arrived.append((table["time"][-1].as_py().timestamp(), time.monotonic()))

    def go_on(self, seconds: float, stop: threading.Event) -> None:
        """A file every beat, for so many seconds of the clock."""
        began = time.monotonic()
        for beat in range(int(seconds / BEAT)):
            if stop.wait(max(0.0, began + beat * BEAT - time.monotonic())):
                return
            self.put(1)


def run(spark: SparkSession, minutes: int, options: argparse.Namespace) -> dict[str, Any]:
    """Delays of one WITHIN."""
    returned: dict[float, float] = {}

    def note(rows: DataFrame, _: int) -> None:
        found = rows.select("window_end").distinct().collect()
        now = time.monotonic()
        for row in found:
            returned.setdefault(row.window_end.astimezone(UTC).timestamp(), now)

    per_beat = int(options.rate * BEAT)
    files = math.ceil(options.density * (60 * minutes + 3 * LATE) / (BATCHES * per_beat))
    beats = files * BATCHES + int(options.seconds / BEAT)
    trades = datasets.stock_batches(beats * per_beat, companies=options.companies, rate=options.density, chunk=per_beat)
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="greta-bench-") as scratch:
        source = Source(Path(scratch) / "in", iter(trades))
        for _ in range(files):
            source.put(BATCHES)
        began = time.monotonic()
        query = (
            aggregate_stream(
                read(spark, source.place, maxFilesPerTrigger=4), QUERY.format(minutes=minutes), lateness=LATENESS
            )
            .writeStream.foreachBatch(note)
            .trigger(processingTime="1 second")
            .option("checkpointLocation", f"{scratch}/checkpoint")
            .start()
        )
        while (spent := _taken(query)) < source.files * BATCHES * per_beat:
            time.sleep(0.5)
        caught_up = time.monotonic() - began
        first = source.arrived[-1][0]
        source.go_on(options.seconds, stop)
        time.sleep(3)
        reports = [json.loads(report.json) for report in query.recentProgress]
        query.stop()
    delays = sorted(_delays(source, returned, first))
    steady = [report["batchDuration"] / 1000 for report in reports if 0 < report["numInputRows"] <= 8 * per_beat]
    figures = [report.get("observedMetrics", {}).get("greta", {}) for report in reports]
    return {
        "minutes": minutes,
        "windows": len(delays),
        "p50": statistics.median(delays),
        "p95": delays[int(0.95 * (len(delays) - 1))],
        "batch_p50": statistics.median(steady),
        "backlog_events": spent,
        "backlog_seconds": caught_up,
        "state_bytes": max((found.get("state_bytes", 0) for found in figures), default=0),
        "live_bytes": max((found.get("live_bytes", 0) for found in figures), default=0),
        "at_close": max((found.get("buckets_at_close", 0) for found in figures[-30:]), default=0),
    }


def _taken(query: Any) -> int:
    """Events that a stream has read; its error, if it has failed."""
    if query.exception() is not None:
        raise query.exception()
    return sum(report.numInputRows for report in query.recentProgress)


def _delays(source: Source, returned: dict[float, float], first: float) -> Iterator[float]:
    """Seconds from the arrival of the file that closes a window to the window's rows."""
    for end, when in returned.items():
        closing = next((at for newest, at in source.arrived if newest - LATE >= end), None)
        if closing is not None and end > first - LATE:
            yield when - closing


def page(result: dict[str, Any]) -> str:
    """The part of the page that these figures make."""
    lines = [
        (
            f"`python benchmarks/spark_delay.py --seconds {result['seconds']:.0f}`: Q1 with SLIDE 10 seconds, "
            f"{result['rate']:,.0f} events per second, "
            f"{result['companies']:,} companies, {result['density']:,.0f} events per second of event time, a trigger "
            f"a second, `local[2]`. Seconds from the arrival of the event that closes a window to its rows, once a "
            f"backlog of one window has been read. {result['machine']}; PySpark {result['versions']['spark']}, "
            f"Python {result['versions']['python']}."
        ),
        "",
        (
            "| WITHIN | windows | p50 (at most 1.0) | p95 (at most 2.0) | median micro-batch, s "
            "| backlog, events/s | state | graphs | buckets at the close, of 8 |"
        ),
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {one['minutes']} min | {one['windows']} | {one['p50']:.2f} | {one['p95']:.2f} | {one['batch_p50']:.2f} "
        f"| {one['backlog_events'] / one['backlog_seconds']:,.0f} | {one['state_bytes'] / 1e6:.0f} MB "
        f"| {one['live_bytes'] / 1e6:,.0f} MB | {one['at_close']} |"
        for one in result["runs"]
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, nargs="+", default=[1, 10, 60], help="lengths of windows")
    parser.add_argument("--rate", type=float, default=10_000.0, help="events per second of the clock")
    parser.add_argument("--density", type=float, default=2_000.0, help="events per second of event time")
    parser.add_argument("--seconds", type=float, default=240.0, help="length of each run beyond its backlog")
    parser.add_argument("--companies", type=int, default=20_000)
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results" / "spark-delay.json")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    spark = greta.spark.session("local[2]", spark_sql_shuffle_partitions="2")
    load = os.getloadavg()[0]
    runs = []
    for minutes in options.minutes:
        runs.append(run(spark, minutes, options))
        print(json.dumps(runs[-1]), flush=True)
    versions = {"spark": spark.version, "python": platform.python_version(), "greta": greta.__version__}
    spark.stop()
    result = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f} before",
        "versions": versions,
        "rate": options.rate,
        "density": options.density,
        "companies": options.companies,
        "seconds": options.seconds,
        "runs": runs,
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=2) + "\n")
    write_part(HEADING, page(result), options.page)


if __name__ == "__main__":
    main()
