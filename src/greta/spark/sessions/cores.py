"""Session → how many tasks it runs at once, asked of Spark: no job, for classic Spark and Spark Connect alike."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from greta.spark.compat import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHUFFLE = "spark.sql.shuffle.partitions"
_SPLITS = re.compile(r"splits=(?:Some\()?(\d+)")


def parallelism(spark: SparkSession) -> int:
    """How many tasks a stage should have: as many as can run at once.

    ``spark.default.parallelism`` is obeyed where it is set. Otherwise Spark tells the cores that it has now; executors
    that were asked for and have not come yet, and those that dynamic allocation may add, count too. Where it may add
    any number, stages have as many tasks as Spark's own, ``spark.sql.shuffle.partitions``.
    """
    if (fixed := _number(spark, "spark.default.parallelism")) is not None:
        return max(1, fixed)
    cores = _number(spark, "spark.executor.cores") or 1
    if spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        executors = _number(spark, "spark.dynamicAllocation.maxExecutors")
        most = executors * cores if executors is not None else _number(spark, _SHUFFLE) or 200
        return max(_cores_now(spark), most)
    asked = (_number(spark, "spark.executor.instances") or 0) * cores
    return max(1, _cores_now(spark), asked, _number(spark, "spark.cores.max") or 0)


def choose_state_partitions(spark: SparkSession, buckets: int) -> None:
    """Let a stream's state have as many parts as can be worked on at once, where nobody has set another number.

    Spark would make 200, and visit each of them in every micro-batch.
    """
    if _SHUFFLE not in spark.conf.getAll:
        spark.conf.set(_SHUFFLE, str(max(1, min(buckets, parallelism(spark)))))


def _number(spark: SparkSession, name: str) -> int | None:
    value = spark.conf.get(name, None)
    return int(value) if value is not None and value.isdigit() else None


def _cores_now(spark: SparkSession) -> int:
    if not is_connect(spark):
        return spark.sparkContext.defaultParallelism
    # A server does not tell its parallelism, but plans with it.
    plan = spark.sql("EXPLAIN SELECT * FROM range(1)").collect()[0][0]
    splits = _SPLITS.search(plan)
    return int(splits[1]) if splits is not None else 1
