"""Thousands of events a second of event time, read as fast as it goes: state and memory stay as they were."""

import os
import statistics
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_stream_kill import inside

from greta import datasets
from support import soak as budget
from support.spark_streams import figures

pytest.importorskip("pyspark")
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS_OF_A_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"

QUERY = """\
RETURN sector, COUNT(*) AS trends
PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 30 seconds SLIDE 10 seconds
"""
SECONDS_PER_FILE = 15


def write_trades(place: Path, minutes: float, rate: int) -> int:
    """A file for every so many seconds of event time; returns the number of files."""
    place.mkdir()
    size = rate * SECONDS_PER_FILE
    batches = datasets.stock_batches(int(minutes * 60 * rate), companies=2_000, rate=rate, chunk=size)
    count = 0
    for number, batch in enumerate(batches):
        file = place / f"{number:05}.parquet"
        pq.write_table(pa.Table.from_batches([batch]), file)
        os.utime(file, (1_700_000_000 + number,) * 2)
        count += 1
    return count


def workers_bytes(process: psutil.Process) -> int:
    """Memory of the Python workers that a command has started, the daemon's own pages counted once each."""
    found = 0
    for child in process.children(recursive=True):
        try:
            if "greta.spark.daemon" in child.cmdline():
                found += child.memory_info().rss
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


def soak(place: Path, minutes: float, rate: int) -> None:
    """Run the command in this process, with the session of the tests, and look at its workers all the while."""
    files = write_trades(place / "in", minutes, rate)
    query = place / "query.greta"
    query.write_text(QUERY)
    out = place / "out"
    memory: list[tuple[int, int]] = []
    ended = threading.Event()

    def watch() -> None:
        own, log = psutil.Process(), out / "_greta" / "progress.jsonl"
        while not ended.wait(0.3):
            memory.append((len(log.read_text().splitlines()) if log.is_file() else 0, workers_bytes(own)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        code = inside(
            *(query, "--quiet", "--available-now", "--input", place / "in", "--output", out),
            *("--checkpoint", place / "checkpoint", "--files-per-trigger", "1", "--buckets", "4"),
        )
    finally:
        ended.set()
        watcher.join()
    assert code == 0
    triggers = figures(out)
    with_data = [one for one in triggers if one["events"]]
    assert len(with_data) == files
    # 30 s of WITHIN, 10 s of lateness and the file at hand: from the fifth file on nothing is added for good.
    settled = with_data[5:]
    rows, size = [one["state_rows"] for one in settled], [one["state_bytes"] for one in settled]
    assert max(rows) <= (30 + 10 + 2 * SECONDS_PER_FILE) * rate
    half = len(settled) // 2
    assert max(rows[half:]) <= 1.02 * max(rows[:half])
    assert max(size[half:]) <= 1.05 * max(size[:half])
    middle = [used for done, used in memory if files / 3 <= done < 2 * files / 3]
    last = [used for done, used in memory if 2 * files / 3 <= done < files]
    print(
        f"soak: {sum(one['events'] for one in triggers):,} events, {minutes} min of event time in "
        f"{sum(one['batch_seconds'] for one in triggers):.0f} s; state rows {min(rows):,}-{max(rows):,}, "
        f"bytes {min(size):,}-{max(size):,}; Python memory, median of the middle third "
        f"{statistics.median(middle) / 2**20:.0f} MB, of the last {statistics.median(last) / 2**20:.0f} MB"
    )
    assert statistics.median(last) <= 1.1 * statistics.median(middle)
    assert max(last) <= 1.25 * max(middle)


@pytest.fixture
def long_batches(spark: SparkSession) -> Iterator[None]:
    """Arrow batches of as many rows as users have them: other tests have seven, for the seams."""
    few = spark.conf.get(ROWS_OF_A_BATCH)
    spark.conf.set(ROWS_OF_A_BATCH, "10000")
    yield
    spark.conf.set(ROWS_OF_A_BATCH, few)


@pytest.mark.usefixtures("long_batches")
def test_state_and_memory_are_flat_after_the_first_window(tmp_path: Path) -> None:
    soak(tmp_path, minutes=2.5, rate=2_000)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.usefixtures("long_batches")
def test_state_and_memory_are_flat_over_an_hour_of_event_time(tmp_path: Path) -> None:
    # As many minutes of event time as the share of the budget has quarters of a minute.
    minutes = min(budget.STREAM_MINUTES, max(4.0, budget.seconds("stream") / 15))
    soak(tmp_path, minutes=minutes, rate=10_000)
