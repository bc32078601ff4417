"""Spark Connect: the same call, without a SparkContext in reach."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import os, sys
from greta.spark.sessions.java import export_java_home
export_java_home()
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
import greta, greta.spark
from greta.datasets import paper, stock
from greta.spark.sessions.cores import PROBE, parallelism, planned_splits

if __name__ == "__main__":
    spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    assert "connect" in type(spark).__module__
    assert parallelism(spark) == planned_splits(spark.sql(PROBE).collect()[0][0]) == 2
    events = stock(2_000, companies=8, rate=8)
    rows = spark.createDataFrame(events.to_pandas()).transform(greta.spark.aggregate, paper.Q1)
    found = {(row.window_start.isoformat(), row.sector): row["count"] for row in rows.collect()}
    expected = greta.aggregate(events, paper.Q1).num_rows
    assert len(found) == expected > 0, (len(found), expected)
    greta.spark.register(spark)
    spark.createDataFrame(events.to_pandas()).createOrReplaceTempView("stock")
    answer = spark.sql('SELECT * FROM greta_trends(TABLE(stock), query => "' + paper.Q1 + '")')
    assert answer.count() == expected
    print("answered", expected)
    spark.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
def test_the_same_call_works_over_spark_connect() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=600, check=False)
    assert "answered" in done.stdout, done.stderr[-3000:]
