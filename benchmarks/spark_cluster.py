"""Two workers of one core against one, on a standalone cluster of processes: how much faster Q1 gets.

Master and workers are processes on loopback, executors run this Python. Spark's *core* is a task at a time, whose Java
and Python run side by side, so that one such worker keeps one and a half cores busy; here a worker is bound to one real
core, as a container with one would be. Either number of workers has a cluster of its own; runs of both come in turns.
Writes the part *Cluster* of ``docs/benchmarks-spark.md``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pages import ROOT, write_part

from greta import datasets

sys.path.insert(0, str(ROOT / "tests"))

from support.clusters import Cluster, cluster

DRIVER = """\
import sys, time
import greta.spark
from greta.datasets.paper import Q1

master, events, repeats = sys.argv[1:]
spark = greta.spark.session(master, **{"spark.pyspark.python": sys.executable, "spark.executor.memory": "1g"})
df = spark.read.parquet(events)
for number in range(int(repeats) + 2):
    began = time.perf_counter()
    greta.spark.aggregate(df, Q1).write.format("noop").mode("overwrite").save()
    # The first two start the workers and let Java compile.
    if number >= 2:
        print("SECONDS", time.perf_counter() - began, flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2, help="turns of either cluster")
    arguments = parser.parse_args()
    seconds: dict[int, list[float]] = {1: [], 2: []}
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="greta-cluster-") as place:
        events = Path(place) / "events"
        datasets.write(
            datasets.stock(arguments.events, companies=20_000, rate=2_000), events, format="parquet", files=8
        )
        for turn in range(arguments.rounds):
            for workers in seconds:
                home = Path(place) / f"{turn}-{workers}"
                home.mkdir()
                with cluster(home, Path(sys.executable), workers, pinned=True) as started:
                    seconds[workers] += measured(started, events, arguments.repeats)
    one, two = (statistics.median(seconds[workers]) for workers in seconds)
    text = (
        f"`python benchmarks/spark_cluster.py --rounds {arguments.rounds}`: Q1 over {arguments.events:,} events "
        f"in Parquet files, each worker bound to a core of its own, medians of {len(seconds[1])} runs; "
        f"load {load:.1f} before and {os.getloadavg()[0]:.1f} after.\n\n"
        "Unbound, Java and Python of one worker run side by side on both cores, and a second one has less to add.\n\n"
        "| workers of one core | seconds |\n|--:|--:|\n"
        f"| 1 | {one:.1f} |\n| 2 | {two:.1f} |\n| ratio (at least 1.7) | {one / two:.2f} |"
    )
    print(text)
    write_part("Cluster", text)


def measured(on: Cluster, events: Path, repeats: int) -> list[float]:
    """Seconds of each run."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", DRIVER, on.master, str(events), str(repeats)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    time.sleep(1)
    return [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("SECONDS")]


if __name__ == "__main__":
    main()
