"""A stream on a cluster whose executors, workers and drivers are killed again and again: every row once.

Master and workers are processes of their own, and executors run a Python that never had greta.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil
import pytest
from test_stream import FALLING, batch, comparable, trades

pytest.importorskip("pyspark")

from greta.spark.sessions.shipping import pack
from support.clusters import Cluster, bare_python, cluster
from support.spark_streams import Stream, random_parts

pytestmark = pytest.mark.spark

Victim = Literal["executor", "worker", "python", "driver"]

_PATIENCE = 900
"""Seconds without a micro-batch; only a hang takes that long."""

DRIVER = """\
import sys
import greta.spark
from greta.spark.stream import aggregate_stream

master, python, archive, place, query = sys.argv[1:]
spark = greta.spark.session(master, **{"spark.pyspark.python": python, "spark.sql.shuffle.partitions": "2"})
greta.spark.ship(spark, archive)
schema = spark.read.parquet(f"{place}/in/00000.parquet").schema
events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(f"{place}/in")
rows = aggregate_stream(events, query, lateness="2 seconds", buckets=2, checkpoint=f"{place}/checkpoint")
writer = rows.writeStream.format("parquet").option("path", f"{place}/out").trigger(availableNow=True)
stream = writer.option("checkpointLocation", f"{place}/checkpoint").start()
stream.awaitTermination()
held = [report.observedMetrics.get("greta") for report in stream.recentProgress]
with open(f"{place}/graphs", "w") as file:
    file.write(str(max((figures.live_bytes or 0 for figures in held if figures is not None), default=0)))
"""
QUERY = FALLING.replace("WITHIN 10 seconds SLIDE 5 seconds", "WITHIN 240 seconds SLIDE 10 seconds")
"""Windows of so many micro-batches that the graphs of their events are kept."""


@dataclass
class Run:
    """A stream on a cluster, and the driver that runs it now."""

    on: Cluster
    python: Path
    archive: Path
    stream: Stream
    driver: subprocess.Popen[bytes] | None = None
    workers: int = 0

    def start(self) -> None:
        hidden = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
        with (self.stream.place / "driver.log").open("ab") as log:
            self.driver = subprocess.Popen(
                [sys.executable, "-c", DRIVER, self.on.master, self.python, self.archive, self.stream.place, QUERY],
                env={name: value for name, value in os.environ.items() if name not in hidden},
                stderr=log,
                start_new_session=True,
            )

    def batches(self) -> int:
        """Micro-batches that are done."""
        done = Path(self.stream.checkpoint) / "commits"
        return len([file for file in done.glob("*") if file.name.isdigit()]) if done.is_dir() else 0

    def wait_for_more(self, before: int) -> None:
        """Wait until a micro-batch more is done."""
        assert self.driver is not None
        began = time.monotonic()
        while self.batches() <= before:
            log = self.stream.place / "driver.log"
            assert self.driver.poll() is None, f"it ended ({self.driver.returncode}): {log.read_text()[-3000:]}"
            assert time.monotonic() - began < _PATIENCE, log.read_text()[-3000:]
            time.sleep(0.05)

    def kill(self, victim: Victim) -> bool:
        """Kill one; False where none runs at the moment."""
        match victim:
            case "driver":
                self.end_driver()
                self.start()
                return True
            case "worker":
                alive = [one for one in self.on.processes[1:] if one.handle.poll() is None]
                alive[0].end()
                self.workers += 1
                self.on.start_worker(f"worker-again-{self.workers}")
                return True
            case "executor":
                return kill_first(self._below("CoarseGrainedExecutorBackend"))
            case "python":
                # The daemon forks a worker per task: the youngest is one.
                return kill_first(sorted(self._below("pyspark.daemon"), key=lambda one: -one.create_time()))

    def _below(self, word: str) -> list[psutil.Process]:
        """Processes of the cluster with a word in their command."""
        found = []
        for server in self.on.processes[1:]:
            with suppress(psutil.NoSuchProcess):
                found += psutil.Process(server.handle.pid).children(recursive=True)
        return [process for process in found if any(word in part for part in command_of(process))]

    def end_driver(self) -> None:
        assert self.driver is not None
        if self.driver.poll() is None:
            os.killpg(self.driver.pid, signal.SIGKILL)
        self.driver.wait()


def command_of(process: psutil.Process) -> list[str]:
    """A process's command; none where it has ended, whether or not it was waited for."""
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


def kill_first(processes: Iterable[psutil.Process]) -> bool:
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
        return True
    return False


def survive(spark: Any, place: Path, victims: list[Victim], seed: int) -> None:
    """Kill the victims one after another, each after a micro-batch that was done in between."""
    draw = random.Random(seed)
    archive = pack(place / "greta.tar.gz")
    python = bare_python(place / "bare")
    table = trades(60 * (len(victims) + 2), seed=seed, seconds=20.0 * (len(victims) + 2))
    stream = Stream(place / "stream", table.schema)
    stream.add(*random_parts(table, 3 * len(victims) + 3, draw))
    stream.flush()
    (place / "cluster").mkdir()
    with cluster(place / "cluster", python, workers=2) as started:
        run = Run(started, python, archive, stream)
        run.start()
        try:
            for victim in victims:
                run.wait_for_more(run.batches())
                time.sleep(draw.random())
                began = time.monotonic()
                while not run.kill(victim):
                    assert time.monotonic() - began < _PATIENCE, victim
                    time.sleep(0.02)
            assert run.driver is not None
            assert run.driver.wait(timeout=_PATIENCE) == 0, (stream.place / "driver.log").read_text()[-3000:]
        finally:
            run.end_driver()
    assert comparable(stream.rows(spark)) == batch(table, QUERY)
    assert int((stream.place / "graphs").read_text()) > 0


@pytest.mark.slow
def test_an_executor_that_is_killed_loses_nothing(spark: Any, tmp_path: Path) -> None:
    survive(spark, tmp_path, ["executor"], seed=1)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_twenty_one_kills_of_executors_workers_and_drivers_lose_nothing_and_write_nothing_twice(
    spark: Any, tmp_path: Path
) -> None:
    victims: list[Victim] = ["executor", "worker", "python", "driver"] * 5 + ["driver"]
    random.Random(7).shuffle(victims)
    survive(spark, tmp_path, victims, seed=7)
