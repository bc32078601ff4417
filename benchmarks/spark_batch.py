"""Batches on Spark against Spark itself: each figure is a ratio of two runs in one warm session.

    python benchmarks/spark_batch.py [--events 5000000] [--repeats 2] [--only Q1,own,free,hot,unkeyed,keys,sql]

Writes ``benchmarks/results/spark-batch.json`` and the part *Batch* of ``docs/benchmarks-spark.md``. Inputs are Parquet
files; answers go to Spark's ``noop`` sink, so that nothing but the computation is measured. Processor time is that of
the JVM and all Python workers: it says more than time where other work runs on the same cores.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pages import ROOT, write_part
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import window

import greta.spark
from greta.datasets import paper, stock_batches
from greta.datasets.stock_market import STOCK_SCHEMA
from greta.spark.sessions.java import export_java_home

FREE = "RETURN company, COUNT(*) PATTERN Stock S+ WHERE [company] GROUP-BY company WITHIN 1 minute"
BURSTS = "RETURN company, COUNT(*) PATTERN Stock S+ WHERE [company] GROUP-BY company WITHIN 1 second SLIDE 250 ms"
FALLS = BURSTS.replace("[company]", "[company] AND S.price > NEXT(S).price")
ALL_FALLS = "RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price WITHIN 1 second SLIDE 250 ms"
HEADING = "Batch"
WARM_UPS = 3


class Memory:
    """The largest resident memory of one Python worker while something runs."""

    def __init__(self) -> None:
        self.peak = 0
        self._done = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            for process in psutil.Process().children(recursive=True):
                try:
                    if "java" not in process.name():
                        self.peak = max(self.peak, process.memory_info().rss)
                except psutil.Error:
                    continue


class Bench:
    def __init__(self, spark: SparkSession, events: int, repeats: int, folder: Path) -> None:
        self.spark, self.events, self.repeats, self.folder = spark, events, repeats, folder
        self.runs: dict[str, dict[str, float]] = {}

    def data(self, name: str, companies: int, rate: float, hot: float = 0.0) -> DataFrame:
        """Trades in four files; ``hot`` is the share of events that one company gets."""
        where = self.folder / name
        if not where.exists():
            where.mkdir()
            batches = stock_batches(self.events, companies=companies, rate=rate, chunk=-(-self.events // 4))
            for at, batch in enumerate(batches):
                table = pa.Table.from_batches([batch], schema=STOCK_SCHEMA)
                if hot:
                    chosen = pa.array(np.random.default_rng(at).random(len(table)) < hot)
                    company = pa.compute.if_else(chosen, "HOT", table.column("company"))
                    table = table.set_column(table.schema.get_field_index("company"), "company", company)
                pq.write_table(table, where / f"{at}.parquet")
        return self.spark.read.parquet(str(where))

    def measure(self, name: str, make: Callable[[], DataFrame]) -> None:
        seconds, cpu = [], []
        # Java compiles what it runs often, while it runs, at a cost that is not the query's.
        for _ in range(WARM_UPS):
            make().write.format("noop").mode("overwrite").save()
        with Memory() as memory:
            for _ in range(self.repeats):
                before = processor_seconds()
                started = time.perf_counter()
                make().write.format("noop").mode("overwrite").save()
                seconds.append(time.perf_counter() - started)
                cpu.append(processor_seconds() - before)
        best = min(seconds)
        self.runs[name] = {
            "seconds": round(best, 2),
            "cpu_seconds": round(min(cpu), 1),
            "events_per_second": round(self.events / best),
            "worker_mb": round(memory.peak / 1e6),
        }
        print(
            f"{name:45} {best:8.2f} s {self.events / best / 1e6:8.2f} M events/s {memory.peak / 1e6:7.0f} MB",
            flush=True,
        )


class Used:
    """Processor time of Spark and its workers so far; those that have ended stay counted as they were last seen."""

    def __init__(self) -> None:
        self.seen: dict[tuple[int, float], float] = {}

    def seconds(self) -> float:
        for process in psutil.Process().children(recursive=True):
            try:
                used = process.cpu_times()
                self.seen[process.pid, process.create_time()] = used.user + used.system
            except psutil.Error:
                continue
        return sum(self.seen.values())


processor_seconds = Used().seconds


def drain(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = 0
    for batch in batches:
        rows += batch.num_rows
    yield pa.RecordBatch.from_pydict({"rows": [rows]})


def floor(df: DataFrame, *columns: str) -> DataFrame:
    """Read, shuffle by the partition attributes and hand over to Python: what any Python operator pays."""
    keys = [name for name in ("company", "sector") if name in columns]
    return df.select("time", "type", *columns).repartition(2, *keys).mapInArrow(drain, "rows bigint")


def ratios_of(bench: Bench, claim: str, of: str, to: str) -> dict[str, float]:
    """One run against another, in time and in processor time."""
    one, other = bench.runs[of], bench.runs[to]
    return {
        f"{claim}, {word}": one[unit] / other[unit]
        for word, unit in (("time", "seconds"), ("processor time", "cpu_seconds"))
    }


def q1(bench: Bench) -> dict[str, float]:
    df = bench.data("even-100", companies=100, rate=100.0)
    bench.measure("Q1: floor", lambda: floor(df, "company", "sector", "price"))
    bench.measure("Q1: greta", lambda: greta.spark.aggregate(df, paper.Q1))
    files = bench.folder / "even-100"
    bench.measure("Q1: greta, from files", lambda: greta.spark.aggregate_files(bench.spark, files, paper.Q1))
    sliding = window("time", "10 minutes", "10 seconds")
    bench.measure("Q1: Spark counts events", lambda: df.groupBy(sliding, "sector").count())
    claims = {
        "Q1, k = 60: Spark's own sliding count ÷ greta": ("Q1: Spark counts events", "Q1: greta"),
        "Q1, k = 60: Spark's own sliding count ÷ greta from files (at least 8)": (
            "Q1: Spark counts events",
            "Q1: greta, from files",
        ),
        "Q1, k = 60: greta ÷ floor": ("Q1: greta", "Q1: floor"),
        "Q1, k = 60: greta from files ÷ floor": ("Q1: greta, from files", "Q1: floor"),
    }
    ratios: dict[str, float] = {}
    for claim, (of, to) in claims.items():
        ratios |= ratios_of(bench, claim, of, to)
    return ratios


def own(bench: Bench) -> dict[str, float]:
    """Q1 in a session that somebody else made, with Spark's settings and none of greta's, and in greta's own."""
    bench.data("even-100", companies=100, rate=100.0)
    bench.spark.stop()
    names = {"own": "Q1: a session of the user's own", "greta": "Q1: greta.spark.session"}
    for kind, name in names.items():
        command = [sys.executable, __file__, "--session", kind, "--folder", str(bench.folder)]
        command += ["--events", str(bench.events), "--repeats", str(bench.repeats)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        bench.runs[name] = json.loads(said.splitlines()[-1])
        print(f"{name:45} {bench.runs[name]['seconds']:8.2f} s", flush=True)
    bench.spark = greta.spark.session("local[2]")
    return ratios_of(bench, "a session of the user's own ÷ greta.spark.session, Q1 (at most 1.2)", *names.values())


def measure_session(kind: str, options: argparse.Namespace) -> None:
    """Q1 in a session of this process, for ``own``: prints its figures as JSON."""
    if kind == "own":
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        export_java_home()
        spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    else:
        spark = greta.spark.session("local[2]")
    bench = Bench(spark, options.events, options.repeats, Path(options.folder))
    df = bench.data("even-100", companies=100, rate=100.0)
    bench.measure("Q1", lambda: greta.spark.aggregate(df, paper.Q1))
    spark.stop()
    print(json.dumps(bench.runs["Q1"]))


def free(bench: Bench) -> dict[str, float]:
    df = bench.data("even-1000", companies=1000, rate=1000.0)
    bench.measure("free, 1,000 keys: floor", lambda: floor(df, "company"))
    bench.measure("free, 1,000 keys: greta", lambda: greta.spark.aggregate(df, FREE))
    claim = "no edge predicate, 1,000 partitions: greta ÷ floor (at most 1.5)"
    return ratios_of(bench, claim, "free, 1,000 keys: greta", "free, 1,000 keys: floor")


def hot(bench: Bench) -> dict[str, float]:
    even = bench.data("even-1000", companies=1000, rate=1000.0)
    skewed = bench.data("hot-1000", companies=1000, rate=1000.0, hot=0.9)
    ratios: dict[str, float] = {}
    for word, query in (("no edge predicate", BURSTS), ("falling prices", FALLS)):
        names = f"{word}, evenly spread", f"{word}, 90 % in one partition"
        bench.measure(names[0], partial(greta.spark.aggregate, even, query))
        bench.measure(names[1], partial(greta.spark.aggregate, skewed, query))
        claim = f"90 % of events in one partition ÷ evenly spread, {word} (at most 1.5)"
        ratios |= ratios_of(bench, claim, names[1], names[0])
    return ratios


def unkeyed(bench: Bench) -> dict[str, float]:
    df = bench.data("even-1000", companies=1000, rate=1000.0)
    bench.measure("no partition attributes, one task", lambda: greta.spark.aggregate(df, ALL_FALLS, tasks=1))
    bench.measure("no partition attributes", lambda: greta.spark.aggregate(df, ALL_FALLS))
    one, all_ = (bench.runs[f"no partition attributes{end}"]["seconds"] for end in (", one task", ""))
    return {"no partition attributes: one task ÷ a task per core, time": one / all_}


def keys(bench: Bench) -> dict[str, float]:
    few = bench.data("even-1000", companies=1000, rate=1000.0)
    many = bench.data("even-1000000", companies=1_000_000, rate=1000.0)
    query = FREE.replace("1 minute", "1 hour")
    bench.measure("free, 1,000 keys, an hour", lambda: greta.spark.aggregate(few, query))
    bench.measure("free, 1,000,000 keys, an hour", lambda: greta.spark.aggregate(many, query))
    claim = "1,000,000 partitions ÷ 1,000 partitions (at most 3)"
    return ratios_of(bench, claim, "free, 1,000,000 keys, an hour", "free, 1,000 keys, an hour")


def sql(bench: Bench) -> dict[str, float]:
    df = bench.data("even-1000", companies=1000, rate=1000.0)
    df.createOrReplaceTempView("trades")
    greta.spark.register(bench.spark)
    text = f"SELECT * FROM greta_trends(TABLE(trades), query => '{FREE}')"
    bench.measure("free, 1,000 keys: DataFrame", lambda: greta.spark.aggregate(df, FREE))
    bench.measure("free, 1,000 keys: SQL", lambda: bench.spark.sql(text))
    claim = "table function in SQL ÷ DataFrame (at most 2)"
    return ratios_of(bench, claim, "free, 1,000 keys: SQL", "free, 1,000 keys: DataFrame")


PARTS = {"Q1": q1, "own": own, "free": free, "hot": hot, "unkeyed": unkeyed, "keys": keys, "sql": sql}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--session", choices=("own", "greta"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.session:
        measure_session(options.session, options)
        return
    spark = greta.spark.session("local[2]")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(spark, options.events, options.repeats, Path(folder))
        for name in options.only.split(","):
            before = os.getloadavg()[0]
            bench.runs = {}
            ratios = PARTS[name](bench)
            report(name, bench, before, ratios)
    bench.spark.stop()


def report(part: str, bench: Bench, before: float, ratios: dict[str, float]) -> None:
    """Write one part's figures, and keep those of the parts that this run leaves out or has not come to."""
    file = ROOT / "benchmarks" / "results" / "spark-batch.json"
    file.parent.mkdir(exist_ok=True)
    parts = json.loads(file.read_text()).get("parts", {}) if file.exists() else {}
    parts[part] = {
        "events": bench.events,
        "repeats": bench.repeats,
        "load": [round(before, 1), round(os.getloadavg()[0], 1)],
        "runs": bench.runs,
        "ratios": {name: round(value, 2) for name, value in ratios.items()},
    }
    result = {
        "machine": {
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            **{name: version(name) for name in ("pyspark", "pyarrow", "numpy", "numba")},
        },
        "parts": {name: parts[name] for name in PARTS if name in parts},
    }
    file.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    write_part(HEADING, page(result))


def page(result: dict[str, Any]) -> str:
    parts = result["parts"]
    events, repeats = (sorted({part[word] for part in parts.values()}) for word in ("events", "repeats"))
    lines = [
        (
            f"`python benchmarks/spark_batch.py --repeats {repeats[-1]}`: {' and '.join(f'{n:,}' for n in events)} "
            f"generated stock trades in Parquet files, `local[2]`, the best of {' and '.join(map(str, repeats))} runs "
            f"after {WARM_UPS} that are not measured. PySpark {result['machine']['pyspark']}, "
            f"Python {result['machine']['python']}. *Load* is that of the two cores before and after a part: above 2, "
            "other work ran on them, and processor time (that of the JVM and all Python workers) says more than time."
        ),
        "",
        "| ratio | | load |",
        "|---|--:|--:|",
        *(
            f"| {name} | {value:.2f} | {part['load'][0]} – {part['load'][1]} |"
            for part in parts.values()
            for name, value in part["ratios"].items()
        ),
        "",
        "| run | seconds | processor seconds | million events/s | largest Python worker |",
        "|---|--:|--:|--:|--:|",
        *(
            f"| {name} | {run['seconds']:.1f} | {run['cpu_seconds']:.1f} | {run['events_per_second'] / 1e6:.2f} "
            f"| {run['worker_mb']:.0f} MB |"
            for part in parts.values()
            for name, run in part["runs"].items()
        ),
        "",
        "*Floor*: read, shuffle and hand the same columns to Python without any work, row by row as Spark does it.",
        "greta shuffles packed Arrow buffers instead, so it can be below.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
