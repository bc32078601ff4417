"""What a step of Spark's stateful operator costs, without Spark: ``python benchmarks/spark_steps.py``.

One bucket of eight of Q1 at 10,000 events a second and 200 companies, that is 1,250 events and 25 companies, in
micro-batches of a second with 10 seconds of lateness, for several lengths of windows. Each step is that of a worker
which has seen nothing yet: it reads what is stored and maps the graph's file. Steps go on with graphs, then over the
same store without any, when windows are computed as they close. Processor times in milliseconds; writes
``benchmarks/results/spark-steps.json`` with ``--output benchmarks/results``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import process_time

from online import QUERY, Setting, seconds_of

from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob, relevant
from greta.live.cache import Cache
from greta.live.chunks import ChunkCache
from greta.live.steps import step

BUCKETS = 8
LATENESS = 10
SLIDE = 10
MOST_BYTES = 1 << 30


@dataclass
class MemoryStore:
    """A bucket's state in a dictionary."""

    index: bytes | None = None
    chunks: dict[str, bytes] = field(default_factory=dict)

    def read_index(self) -> bytes | None:
        return self.index

    def write_index(self, value: bytes) -> None:
        self.index = value

    def read_chunk(self, key: str) -> bytes:
        return self.chunks[key]

    def write_chunk(self, key: str, value: bytes) -> None:
        self.chunks[key] = value

    def remove_chunk(self, key: str) -> None:
        del self.chunks[key]

    def clear(self) -> None:
        self.index = None


@dataclass(frozen=True)
class Finding:
    """Processor milliseconds of steps, means over those that close a window and the others."""

    within: int
    cents: bool
    closing: float
    slowest_closing: float
    other: float
    rebuilding: float
    """A step that finds no graph, and makes it from what is stored."""
    closing_before: float
    """The same without graphs: windows are computed as they close."""
    other_before: float
    live_megabytes: float
    stored_megabytes: float


def measure(within: int, cents: bool, directory: Path) -> Finding:
    """Fill the windows, then measure both ways."""
    setting = Setting(10_000 // BUCKETS, 200 // BUCKETS, cents, within, SLIDE, measured=LATENESS + 65)
    graphs = Cache(directory, MOST_BYTES)
    store, job = MemoryStore(), None
    times: dict[str, list[float]] = {"closing": [], "other": [], "rebuilding": [], "closing_b": [], "other_b": []}
    full = within + SLIDE + LATENESS
    for second, table in enumerate(seconds_of(setting)):
        if job is None:
            job = StreamJob.of(
                Job.bind(QUERY.format(within=within, slide=SLIDE, semantics=setting.semantics), table.schema)
            )
        events = relevant(job, table)[0]
        watermark = max(0, second - LATENESS) * 1000
        place = second - full
        if place == 40:
            (directory / "stream" / "bucket").unlink()
        with_graph = place <= 40
        began = process_time()
        kept = graphs if with_graph else None
        (found,) = step((job,), store, [events], watermark, chunks=ChunkCache(), graphs=kept)
        took = 1e3 * (process_time() - began)
        assert not with_graph or second < LATENESS + 2 or found.why is None, found.why
        if place < 0:
            continue
        if with_graph:
            live, stored = found.live_bytes, found.bytes
        kind = "closing" if watermark % (SLIDE * 1000) == 0 else "other"
        if place == 40:
            times["rebuilding"].append(took)
        else:
            times[kind if with_graph else f"{kind}_b"].append(took)
    means = {kind: statistics.mean(took) for kind, took in times.items()}
    return Finding(
        within,
        cents,
        means["closing"],
        max(times["closing"]),
        means["other"],
        means["rebuilding"],
        means["closing_b"],
        means["other_b"],
        live / 1e6,
        stored / 1e6,
    )


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, help="directory for spark-steps.json")
    parser.add_argument("--directory", help="where graphs lie; the system's directory for such files by default")
    options = parser.parse_args()
    settings = [(60, True), (600, True), (3600, True), (60, False), (600, False)]
    findings = []
    print("within  prices      closing   other  rebuild | before: closing   other |  live MB  stored MB")
    for within, cents in [(60, True)] + (settings[:1] if options.quick else settings):
        with tempfile.TemporaryDirectory(dir=options.directory) as directory:
            finding = measure(within, cents, Path(directory))
        # The first one loads the kernels.
        if not findings or finding is not findings[-1]:
            findings.append(finding)
        print(
            f"{within:>5}s  {'cents' if cents else 'continuous':<10}  {finding.closing:>7.1f} {finding.other:>7.1f}"
            f"  {finding.rebuilding:>7.0f} | {finding.closing_before:>15.1f} {finding.other_before:>7.1f}"
            f" | {finding.live_megabytes:>8.1f}  {finding.stored_megabytes:>9.2f}",
            flush=True,
        )
    if options.output is not None:
        about = {"python": platform.python_version(), "machine": f"{platform.machine()}, {os.cpu_count()} cores"}
        written = [asdict(finding) for finding in findings[1:]]
        text = json.dumps({"about": about, "findings": written}, indent=2)
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "spark-steps.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
