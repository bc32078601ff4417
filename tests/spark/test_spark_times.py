"""Times that are numbers in a unit since 1970, in batches and streams."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_stream import FALLING, batch, comparable, trades
from test_stream_kill import command, inside

import greta.spark
from greta.errors import DataError, GretaError
from support.spark_streams import Stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("unit", "per_second"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
def test_numbers_in_a_unit_are_times_since_1970(
    spark: SparkSession, tmp_path: Path, unit: Any, per_second: int
) -> None:
    from datetime import UTC, datetime

    first = 1_700_000_000
    table = pa.table({"type": ["A"] * 4, "time": [(first + at) * per_second + (unit == "ns") for at in range(4)]})
    pq.write_table(table, tmp_path / "a.parquet")
    query = "RETURN COUNT(*), MIN(A.time) AS first PATTERN A+ WITHIN 1 minute"
    df = spark.read.parquet(str(tmp_path))
    for answer in (
        greta.spark.aggregate(df, query, time_unit=unit),
        greta.spark.aggregate_files(spark, tmp_path, query, time_unit=unit),
    ):
        (row,) = answer.toArrow().to_pylist()
        assert row["count"] == 15.0
        assert row["first"].astimezone(UTC) == datetime.fromtimestamp(first, UTC)
    with pytest.raises(GretaError, match="must be one of"):
        greta.spark.aggregate(df, query, time_unit="hours")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="not numbers in a unit"):
        greta.spark.aggregate(df.selectExpr("type", "timestamp_seconds(0) AS time"), query, time_unit="s")


@pytest.mark.parametrize(
    ("unit", "numbers"),
    [
        ("s", pa.array([1.0, float("nan"), 2.5, float("inf"), -1e300])),
        ("ns", pa.array([1e9, float("nan"), 2.5e9, float("-inf"), 1e300])),
        ("ms", pa.array([1_000, None, 2_500, 2**62, -(2**63)])),
        ("ns", pa.array([10**9, None, 25 * 10**8, None, None])),
        ("us", pa.array([Decimal(10**6), None, Decimal(2_500_000), Decimal(10**37), -Decimal(10**37)])),
    ],
)
def test_numbers_in_a_unit_that_are_no_times_are_refused_or_skipped_and_counted(
    spark: SparkSession, tmp_path: Path, unit: Any, numbers: pa.Array
) -> None:
    from pyspark.sql import Observation

    pq.write_table(pa.table({"type": ["A"] * 5, "time": numbers}), tmp_path / "a.parquet")
    query = "RETURN COUNT(*), MAX(A.time) AS last PATTERN A+ WITHIN 1 minute"
    df = spark.read.parquet(str(tmp_path))
    observation = Observation()
    rows = greta.spark.aggregate(df, query, time_unit=unit, bad_records="skip", observation=observation)
    (row,) = rows.toArrow().to_pylist()
    assert (row["count"], row["last"].timestamp()) == (3.0, 2.5)
    assert observation.get["bad_records"] == 3
    with pytest.raises(Exception, match="an event has no readable time in column 'time'"):
        greta.spark.aggregate(df, query, time_unit=unit).collect()


@pytest.mark.parametrize("unit", ["s", None])
def test_numbers_that_are_no_times_are_counted_and_do_not_move_time_on(
    spark: SparkSession, tmp_path: Path, unit: Any
) -> None:
    from greta.spark.stream import aggregate_stream

    table = pa.table({"type": ["A"] * 7, "time": [1.0, float("nan"), 2.0, float("inf"), 1e300, 3.0, 4.0]})
    stream = Stream(tmp_path, table.schema)
    stream.add(table.slice(0, 5), table.slice(5))
    stream.add(pa.table({"type": ["Nothing"], "time": [1e6]}))
    query = "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds"
    events = stream.read(spark)
    stream.run(aggregate_stream(events, query, time_unit=unit, lateness="0 seconds", buckets=2, bad_records="skip"))
    assert sum(stream.figures("bad_records")) == 3
    assert [row["count"] for row in stream.rows(spark)] == [15.0]


@pytest.mark.parametrize("door", ["aggregate", "command"])
def test_a_stream_reads_times_that_are_numbers_in_their_unit(spark: SparkSession, tmp_path: Path, door: str) -> None:
    table = trades(80, seed=31)
    instants = table.column("time").cast(pa.timestamp("ms", "UTC"), safe=False)
    millis = table.set_column(1, "time", instants.cast(pa.int64()))
    stream = Stream(tmp_path, millis.schema)
    stream.add(millis.slice(0, 40), millis.slice(40))
    stream.flush()
    if door == "command":
        assert inside(*command(stream, "--time-unit", "ms")[4:]) == 0
    else:
        events = stream.read(spark)
        stream.run(greta.spark.aggregate(events, FALLING, time_unit="ms", lateness="0 seconds", buckets=2))
    assert comparable(stream.rows(spark)) == batch(table.set_column(1, "time", instants), FALLING)
