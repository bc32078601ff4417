"""A Spark of several processes on loopback, whose executors run a Python that never had greta."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from greta.spark.sessions.java import export_java_home

_SECONDS = 120


def bare_python(place: Path) -> Path:
    """A Python with the packages of this one, greta excepted: its installation is a link that paths do not follow."""
    venv.create(place, with_pip=False, symlinks=True)
    packages = next(Path(entry) for entry in sys.path if entry.endswith("site-packages"))
    (next(place.glob("lib/python*/site-packages")) / "packages.pth").write_text(f"{packages}\n")
    python = place / "bin" / "python"
    command = [str(python), "-c", "import numba; import greta"]
    probe = subprocess.run(command, cwd=place, env=_environment(python), capture_output=True, text=True, check=False)
    assert "No module named 'greta'" in probe.stderr, probe.stderr
    return python


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _environment(python: Path, **more: str) -> dict[str, str]:
    export_java_home()
    plain = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")}
    return plain | {"PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"} | more


@dataclass
class Process:
    """A server that was started, and what it has said."""

    log: Path
    handle: subprocess.Popen[bytes]

    def wait_for(self, pattern: str) -> str:
        """What it said that matches."""
        for _ in range(_SECONDS * 10):
            if match := re.search(pattern, self.log.read_text(errors="replace")):
                return match[0]
            assert self.handle.poll() is None, self.log.read_text(errors="replace")[-3000:]
            time.sleep(0.1)
        raise AssertionError(f"{pattern} never came:\n{self.log.read_text(errors='replace')[-3000:]}")

    def kill(self) -> None:
        self.handle.kill()
        self.handle.wait()

    def end(self) -> None:
        """End it with whatever it started: it leads a group of processes of its own."""
        try:
            os.killpg(self.handle.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.handle.wait()


@dataclass
class Cluster:
    """A standalone master with workers of one core each."""

    place: Path
    python: Path
    master: str = ""
    processes: list[Process] = field(default_factory=list)

    def start(self, name: str, *command: str, core: int | None = None, **environment: str) -> Process:
        """Start a server of Spark; where a core is named, it and whatever it starts run on that one alone."""
        log = self.place / f"{name}.log"
        spark_class = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
        bound = () if core is None else ("taskset", "--cpu-list", str(core))
        with log.open("wb") as out:
            handle = subprocess.Popen(
                [*bound, spark_class, *command],
                cwd=self.place,
                env=_environment(self.python, SPARK_NO_DAEMONIZE="1", **environment),
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        process = Process(log, handle)
        self.processes.append(process)
        return process

    def start_worker(self, name: str, core: int | None = None) -> Process:
        return self.start(
            name,
            "org.apache.spark.deploy.worker.Worker",
            *("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0"),
            *("--work-dir", str(self.place / name), self.master),
            core=core,
        )


@contextmanager
def cluster(place: Path, python: Path, workers: int, *, pinned: bool = False) -> Iterator[Cluster]:
    """A running cluster; everything that it started is gone afterwards.

    Spark's *core* is a task at a time, whose Java and Python run side by side. ``pinned`` workers have one real core.
    """
    port = free_port()
    started = Cluster(place, python, f"spark://127.0.0.1:{port}")
    try:
        master = started.start(
            "master",
            "org.apache.spark.deploy.master.Master",
            *("--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"),
        )
        master.wait_for("I have been elected leader")
        for number in range(workers):
            core = number if pinned else None
            started.start_worker(f"worker-{number}", core).wait_for("Successfully registered with master")
        yield started
    finally:
        for process in reversed(started.processes):
            process.end()


@contextmanager
def connect_server(place: Path, python: Path, master: str) -> Iterator[str]:
    """The address of a running Spark Connect server."""
    port = free_port()
    started = Cluster(place, python)
    try:
        server = started.start(
            "connect",
            "org.apache.spark.deploy.SparkSubmit",
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", master),
            *("--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.ui.enabled=false"),
            *("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.sql.shuffle.partitions=2"),
            "spark-internal",
        )
        server.wait_for("Spark Connect server started at")
        yield f"sc://127.0.0.1:{port}"
    finally:
        for process in started.processes:
            process.end()
