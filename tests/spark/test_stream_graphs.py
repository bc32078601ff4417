"""Graphs of streams on real Spark: files damaged between micro-batches change no row, and go with the stream."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import greta
from greta.spark.stream import aggregate_stream
from greta.spark.stream.graphs import DIRECTORY, graphs_directory, local_directory
from support.live_streams import as_a_bag
from support.spark_streams import Stream

pytestmark = pytest.mark.spark

QUERY = """
RETURN company, COUNT(*) AS trends
PATTERN Stock S+
WHERE [company] AND S.price > NEXT(S).price
GROUP-BY company
WITHIN 60 seconds SLIDE 10 seconds
"""
LISTED = QUERY.replace("S.price > NEXT(S).price", "S.price > NEXT(S).price AND S.price < NEXT(S).price + 20")
LASTING = """
RETURN company, COUNT(*) AS trends
PATTERN SEQ(Stock S+, NOT SEQ(Stock T, Stock U), Stock V)
WHERE [company] AND S.price > NEXT(S).price AND T.price < 9 AND T.price > NEXT(U).price
GROUP-BY company
WITHIN 60 seconds SLIDE 10 seconds
"""
START = datetime(2026, 1, 5, tzinfo=UTC)


def trades(begin: int, end: int) -> pa.Table:
    """Two trades a second."""
    draw = random.Random(begin)
    halves = range(2 * begin, 2 * end)
    times = pa.array([START + timedelta(seconds=half / 2) for half in halves], pa.timestamp("us", "UTC"))
    companies = [f"c{draw.randrange(4)}" for _ in halves]
    prices = pa.array([draw.randrange(40) for _ in halves], pa.int64())
    return pa.table({"type": ["Stock"] * len(halves), "time": times, "company": companies, "price": prices})


@pytest.mark.parametrize("query", [QUERY, LISTED, LASTING], ids=["indexes", "lists", "graphs in graphs"])
def test_files_that_are_damaged_between_micro_batches_change_no_row_and_go_with_the_stream(
    query: str, spark: SparkSession, tmp_path: Path
) -> None:
    # The first micro-batch fills a window; each of the others is a twentieth of one, so that graphs pay.
    tables = [trades(0, 61), *(trades(second, second + 3) for second in range(61, 73, 3))]
    stream = Stream(tmp_path, tables[0].schema)
    stream.add(*tables)
    stream.flush()
    place = graphs_directory(local_directory(spark))
    before = set(place.iterdir()) if place.is_dir() else set()
    draw, found, own = random.Random(3), [], set()

    def damage(rows: DataFrame, number: int) -> None:
        found.extend(row.asDict() for row in rows.collect())
        own.update(set(place.iterdir()) - before if place.is_dir() else ())
        for file in [file for run in own for file in sorted(run.glob("*"))]:
            match draw.choice(("nothing", "nothing", "removed", "shorter", "garbled")):
                case "removed":
                    file.unlink()
                case "shorter":
                    with file.open("r+b") as out:
                        out.truncate(draw.randrange(file.stat().st_size))
                case "garbled":
                    with file.open("r+b") as out:
                        out.seek(4096 + 8 * draw.randrange(64))
                        out.write(draw.randbytes(64))

    rows = aggregate_stream(stream.read(spark), query, lateness="0 seconds", buckets=2)
    stream.run_writer(rows.writeStream.foreachBatch(damage))
    assert max(stream.figures("live_bytes")) > 0
    assert 0 in stream.figures("buckets_at_close")
    assert len(own) == 1
    expected = greta.aggregate(pa.concat_tables(tables), query).to_pylist()
    assert as_a_bag([plain(row) for row in found]) == as_a_bag([plain(row) for row in expected])
    waited = time.monotonic() + 20
    while any(run.exists() for run in own) and time.monotonic() < waited:
        time.sleep(0.1)
    assert not any(run.exists() for run in own)


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """Instants as seconds, columns in one order."""
    values = {name: v.astimezone(UTC).timestamp() if isinstance(v, datetime) else v for name, v in row.items()}
    return dict(sorted(values.items()))


def test_graphs_lie_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DIRECTORY, raising=False)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/one,/two")
    assert graphs_directory(None) == Path("/one/greta-live")
    assert graphs_directory("/driver") == Path("/driver/greta-live")
    monkeypatch.setenv(DIRECTORY, "/dev/shm")
    assert graphs_directory("/driver") == Path("/dev/shm/greta-live")
