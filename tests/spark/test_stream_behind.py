"""Spark's own operators behind a stream's rows, in the same query."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from test_stream import FALLING, trades

pytest.importorskip("pyspark")
from pyspark.sql import functions as F  # noqa: N812 - its usual name

import greta
from greta.errors import DataError
from greta.spark.stream import aggregate_stream
from greta.spark.stream.behind import WATERMARK, without_watermark
from support.spark_streams import Stream

pytestmark = pytest.mark.spark

HALF = timedelta(seconds=30)


def test_rows_are_aggregated_further_in_the_same_query(spark: Any, tmp_path: Path) -> None:
    table = trades(120, seed=4)
    stream = Stream(tmp_path, table.schema)
    stream.add(table.slice(0, 70), table.slice(70))
    # The first closes greta's windows, the second those behind.
    stream.flush()
    stream.flush()
    rows = aggregate_stream(stream.read(spark), FALLING, lateness="2 seconds", buckets=2)
    halves = rows.withWatermark("window_end", "1 second").groupBy(F.window("window_end", "30 seconds"), "sector")
    stream.run(halves.agg(F.sum("trends").alias("trends")).select("window.start", "sector", "trends"))
    expected: Counter[tuple[datetime, str]] = Counter()
    for row in greta.aggregate(table, FALLING).to_pylist():
        end = row["window_end"].replace(tzinfo=UTC)
        expected[end - (end - datetime.fromtimestamp(0, UTC)) % HALF, row["sector"]] += row["trends"]
    found = {(row["start"].astimezone(UTC), row["sector"]): row["trends"] for row in stream.rows(spark)}
    assert found == dict(expected)


def test_a_second_watermark_is_refused_before_the_stream_starts(spark: Any) -> None:
    events = spark.readStream.format("rate").load().selectExpr("timestamp AS time", "'A' AS type", "value")
    query = "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds"
    rows = aggregate_stream(events, query, lateness="1 second")
    with pytest.raises(DataError, match="they carry the stream's watermark on window_end already"):
        rows.withWatermark("window_start", "1 second")
    assert WATERMARK in rows.schema["window_end"].metadata
    assert WATERMARK not in without_watermark(rows).schema["window_end"].metadata
    numbers = aggregate_stream(events.selectExpr("value AS time", "type"), query, lateness="1 second")
    with pytest.raises(DataError, match="aggregate them in a query of their own"):
        numbers.withWatermark("window_end", "1 second")
    assert without_watermark(numbers) is numbers
