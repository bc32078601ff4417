"""``greta.spark.trends`` shows the trends that ``greta.trends`` shows of the same events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import greta
import greta.spark
from greta.cli import main
from greta.datasets import stock
from greta.errors import GretaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FALLS = (
    "RETURN sector, COUNT(*) AS falls PATTERN Stock S+ WHERE [company, sector] AND S.price > NEXT(S).price "
    "GROUP-BY sector HAVING COUNT(*) > 3 WITHIN 20 seconds SLIDE 10 seconds"
)


def events(table: pa.Table) -> list[Any]:
    """What is shown, with time stamps as instants."""
    return [
        tuple(value.astimezone(UTC) if isinstance(value, datetime) else value for value in row.values())
        for row in table.to_pylist()
    ]


def test_trends_are_those_of_this_process(spark: SparkSession) -> None:
    table = stock(400, companies=3)
    df = spark.createDataFrame(table).repartition(3)
    rows = greta.aggregate(table, FALLS).to_pylist()
    some = rows[len(rows) // 2]
    of_window, of_sector = {"window": some["window_start"]}, {"group": {"sector": some["sector"]}}
    picks = ("longest", "MIN(LAST(S.price) - FIRST(S.price))")
    for choice, pick in (
        ({}, picks[0]),
        (of_window, picks[1]),
        (of_sector, picks[0]),
        (of_window | of_sector, picks[1]),
    ):
        there = greta.spark.trends(df, FALLS, n=3, pick=pick, **choice)
        # Rows of Spark have no order of their own: the first is that of the first window and group.
        fitting = [
            row
            for row in rows
            if ("window" not in choice or row["window_start"] == some["window_start"])
            and ("group" not in choice or row["sector"] == some["sector"])
        ]
        first = min(fitting, key=lambda row: (row["window_start"], row["sector"]))
        here = greta.trends(
            table, FALLS, n=3, pick=pick, window=first["window_start"], group={"sector": first["sector"]}
        )
        assert there.column_names == here.column_names
        assert events(there) == events(here) != []


def test_a_window_may_be_what_collect_gives(spark: SparkSession) -> None:
    # #  A . A . . . . . . . A A     one window of ten seconds, then another
    start = datetime(2024, 1, 2, 9, 30, tzinfo=UTC)
    table = pa.table({"type": ["A"] * 4, "time": [start + timedelta(seconds=s) for s in (0, 2, 10, 11)]})
    df = spark.createDataFrame(table)
    query = "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds"
    for row in greta.spark.aggregate(df, query).collect():
        shown = greta.spark.trends(df, query, window=row.window_start, n=9)
        assert len(set(shown.column("trend").to_pylist())) == row["count"]
    with pytest.raises(GretaError, match="no row of the answer has"):
        greta.spark.trends(df, query, window=start + timedelta(seconds=50))


def test_numbers_as_times_and_events_without_a_say(spark: SparkSession) -> None:
    table = pa.table({"type": ["A", "B", "A", "A"], "time": [1, 2, 3, 12], "g": [1, None, 1, 1]})
    query = "RETURN COUNT(*) PATTERN SEQ(A a+, B b) WHERE [a.g] GROUP-BY a.g WITHIN 10 seconds"
    here = greta.trends(table, query, window=0, group={"g": 1})
    there = greta.spark.trends(spark.createDataFrame(table), query, window=0, group={"g": 1})
    assert events(there) == events(here) != []


def test_fields_of_structures_and_units_of_time_are_taken_as_for_aggregate(spark: SparkSession) -> None:
    # milliseconds after half past nine: two windows of ten seconds, two sectors in the first
    rows = [("A", 0, 3.0, "x"), ("A", 2_500, 2.0, "x"), ("A", 3_000, 5.0, "y"), ("A", 11_000, 1.0, "x")]
    begin = 1_704_187_800_000
    df = spark.createDataFrame(
        [(kind, begin + at, (price, (sector,))) for kind, at, price, sector in rows],
        "type STRING, at BIGINT, payload STRUCT<price: DOUBLE, of: STRUCT<sector: STRING>>",
    )
    query = (
        'RETURN "payload.of.sector", COUNT(*) PATTERN A+ WHERE ["payload.of.sector"] AND A.payload.price > '
        'NEXT(A).payload.price GROUP-BY "payload.of.sector" WITHIN 10 seconds'
    )
    answer = greta.spark.aggregate(df, query, time="at", time_unit="ms").collect()
    assert sorted(row["count"] for row in answer) == [1, 1, 3]
    for row in answer:
        group = {"payload.of.sector": row["payload.of.sector"]}
        shown = greta.spark.trends(df, query, n=9, window=row.window_start, group=group, time="at", time_unit="ms")
        assert len(set(shown.column("trend").to_pylist())) == row["count"]
    first = greta.spark.trends(df, query, pick="longest", n=1, time="at", time_unit="ms")
    assert first.column("payload.price").to_pylist() == [3.0, 2.0]
    assert [event["at"].timestamp() * 1_000 - begin for event in first.to_pylist()] == [0, 2_500]
    assert set(first.column("group_payload.of.sector").to_pylist()) == {"x"}


def test_what_cannot_be_shown_is_said_before_any_job(spark: SparkSession) -> None:
    df = spark.createDataFrame(pa.table({"type": ["A"], "time": [1]}))
    with pytest.raises(GretaError, match="did you mean longest"):
        greta.spark.trends(df, "RETURN COUNT(*) PATTERN A+", pick="longst")
    with pytest.raises(GretaError, match="this DataFrame is a stream"):
        greta.spark.trends(spark.readStream.format("rate").load(), "RETURN COUNT(*) PATTERN A+")
    assert greta.spark.trends(df, "RETURN COUNT(*) PATTERN B+").num_rows == 0


def test_the_command_shows_trends_on_spark(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trades.csv"
    file.write_text("type,time,price,trade\nA,1,3,7\nA,2,2,8\nA,3,1,9\n")
    shown = []
    for engine in ("spark", "local"):
        query = "RETURN COUNT(*) PATTERN A+ WHERE A.price > NEXT(A).price"
        with pytest.raises(SystemExit, match="0"):
            main(["run", query, "-i", str(file), "--trends", "2", "--pick", "longest", "--engine", engine, "--json"])
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] != ""
