"""The SQL door: a table function whose columns follow from the query."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING

import pytest

import greta
import greta.spark
from greta.datasets import paper, stock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def sql(spark: SparkSession) -> SparkSession:
    greta.spark.register(spark)
    spark.createDataFrame(stock(600, companies=6, rate=5)).createOrReplaceTempView("stock")
    return spark


def test_a_query_in_sql_gives_the_rows_of_the_dataframe_door(sql: SparkSession) -> None:
    answer = sql.sql(f'SELECT * FROM greta_trends(TABLE(stock), query => "{paper.Q1}")')
    assert answer.dtypes == [
        ("window_start", "timestamp"),
        ("window_end", "timestamp"),
        ("sector", "string"),
        ("count", "double"),
    ]
    expected = greta.spark.aggregate(sql.table("stock"), paper.Q1)
    assert answer.count() == expected.count() > 0
    assert answer.exceptAll(expected).count() == 0


def test_a_query_without_groups_and_with_options_works_in_sql(sql: SparkSession) -> None:
    answer = sql.sql("""
        SELECT count FROM greta_trends(
            TABLE(SELECT type AS kind, time AS at FROM stock WHERE company = 'C01'),
            query => 'RETURN COUNT(*) PATTERN Stock{1,2}', time => 'at', type => 'kind', numbers => 'exact')""")
    events = sql.table("stock").where("company = 'C01'").count()
    assert [row["count"] for row in answer.collect()] == [str(events + events * (events - 1) // 2)]


def test_fields_of_structures_and_units_of_time_work_in_sql(sql: SparkSession) -> None:
    answer = sql.sql("""
        SELECT * FROM greta_trends(
            TABLE(SELECT type, unix_millis(time) AS at, struct(price, struct(sector) AS of) AS payload FROM stock),
            query => 'RETURN "payload.of.sector", COUNT(*), MAX(S.payload.price) PATTERN Stock S+
                WHERE ["payload.of.sector"] AND S.payload.price > NEXT(S).payload.price
                GROUP-BY "payload.of.sector" WITHIN 10 seconds',
            time => 'at', time_unit => 'ms')""")
    plain = sql.table("stock").selectExpr("type", "timestamp_millis(unix_millis(time)) AS time", "price", "sector")
    query = (
        "RETURN sector, COUNT(*), MAX(S.price) PATTERN Stock S+ WHERE [sector] AND S.price > NEXT(S).price "
        "GROUP-BY sector WITHIN 10 seconds"
    )
    assert answer.dtypes[0] == ("window_start", "timestamp")
    expected = greta.spark.aggregate(plain, query).collect()
    assert sorted(map(tuple, answer.collect())) == sorted(map(tuple, expected))
    assert expected


@pytest.mark.parametrize("number", ["double('NaN')", "9e300D", "9223372036854775807L"])
def test_a_number_that_is_no_time_is_greta_s_to_refuse_in_sql(sql: SparkSession, number: str) -> None:
    with pytest.raises(Exception, match=r"time column 'time' is NULL"):
        sql.sql(f"""
            SELECT * FROM greta_trends(
                TABLE(SELECT 'A' AS type, {number} AS time), query => 'RETURN COUNT(*) PATTERN A', time_unit => 'ms')
        """).collect()


@pytest.mark.parametrize(
    "query",
    [
        "RETURN COUNT(*) PATTERN SEQ(A+, NOT (B), C)",
        "RETURN company, COUNT(*) PATTERN SEQ(A, C) SEMANTICS contiguous WHERE [company] GROUP-BY company",
        "RETURN company, COUNT(*) PATTERN X+ WHERE [company] AND X.type != 'B' GROUP-BY company",
    ],
)
def test_types_that_a_query_names_or_reads_or_does_not_know_mean_the_same_in_sql(sql: SparkSession, query: str) -> None:
    kinds = Random(1).choices(["A", "B", "C", None, "it's", "X"], k=50)
    events = [
        {"type": kind, "time": datetime(2026, 1, 1, 0, 0, at, tzinfo=UTC), "company": f"C{at % 3}"}
        for at, kind in enumerate(kinds)
    ]
    sql.createDataFrame(events, "type STRING, time TIMESTAMP, company STRING").createOrReplaceTempView("kinds")
    answer = sql.sql(f'SELECT * FROM greta_trends(TABLE(kinds), query => "{query}")')
    expected = greta.aggregate(events, query).to_pylist()
    assert sorted(map(tuple, answer.collect())) == sorted(tuple(row.values()) for row in expected)
    assert expected


def test_types_are_told_apart_whatever_the_collation(sql: SparkSession) -> None:
    from greta.spark.compat import spark_version

    if spark_version(sql) < (4, 1):
        pytest.skip("views have no collation of their own")
    sql.sql("""
        CREATE OR REPLACE TEMPORARY VIEW collated DEFAULT COLLATION UTF8_LCASE AS SELECT count FROM greta_trends(
            TABLE(SELECT * FROM VALUES ('A', timestamp '2026-01-01'), ('a', timestamp '2026-01-02') AS e(type, time)),
            query => 'RETURN COUNT(*) PATTERN A+')""")
    assert [row["count"] for row in sql.table("collated").collect()] == [1.0]


def test_events_reach_the_table_function_in_blobs_where_spark_can_pack_them(sql: SparkSession) -> None:
    from greta.spark.compat import spark_version

    plan = sql.sql(f'EXPLAIN SELECT * FROM greta_trends(TABLE(stock), query => "{paper.Q1}")').collect()[0][0]
    assert ("ArrowEvalPython" in plan and "explode" in plan) == (spark_version(sql) >= (4, 1))


def test_a_task_of_a_query_in_sql_says_when_it_compiles_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import types as T  # noqa: N812 - its usual name
    from pyspark.sql.udtf import AnalyzeArgument

    from greta.spark.sql import Analyzed, PackedTrends, Trends

    told: list[str] = []
    monkeypatch.setattr("greta.spark.sql.tell_of_compilation", lambda: told.append("listens"))
    columns = T.StructType().add("type", T.StringType()).add("time", T.TimestampType())
    events = AnalyzeArgument(columns, value=None, isTable=True, isConstantExpression=False)
    query = AnalyzeArgument(T.StringType(), "RETURN COUNT(*) PATTERN A+", isTable=False, isConstantExpression=True)
    for door in (Trends, PackedTrends):
        analyzed = door.analyze(events, query)
        assert isinstance(analyzed, Analyzed)
        assert not told
        door(analyzed)
        assert told.pop() == "listens"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("TABLE(stock), query => 'RETURN COUNT(*) PATERN Stock S'", "PATTERN"),
        ("TABLE(stock), query => 'RETURN COUNT(*) PATTERN Stock S WHERE S.pirce > 1'", "did you mean price"),
        ("TABLE(stock), query => 'RETURN COUNT(*) PATTERN Stock S', time => 'at'", "no time column"),
        ("TABLE(stock), query => 'RETURN COUNT(*) PATTERN Stock S', time_unit => 'hours'", "must be one of s, ms"),
        ("'stock', query => 'RETURN COUNT(*) PATTERN Stock S'", "must be a table"),
    ],
)
def test_mistakes_are_errors_of_the_sql_text(sql: SparkSession, arguments: str, message: str) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match=message):
        sql.sql(f"SELECT * FROM greta_trends({arguments})")
