"""Session → how many tasks it runs at once, asked of Spark: no job, for classic Spark and Spark Connect alike."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from greta.spark.compat import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHUFFLE = "spark.sql.shuffle.partitions"
PROBE = "EXPLAIN SELECT * FROM range(1)"
"""A query whose plan tells how many tasks Spark runs at once."""
_SPLITS = re.compile(r"splits=(?:Some\()?(\d+)")


def parallelism(spark: SparkSession) -> int:
    """How many tasks a stage should have: as many as can run at once.

    ``spark.default.parallelism`` is obeyed where it is set. Otherwise Spark tells the cores that it has now; executors
    that were asked for and have not come yet, and those that dynamic allocation may add, count too. Where it may add
    any number, stages have as many tasks as Spark's own, ``spark.sql.shuffle.partitions``. On a local master no
    executors ever come, whatever the settings of a cluster ask for.
    """
    if (fixed := _number(spark, "spark.default.parallelism")) is not None:
        return max(1, fixed)
    if _is_local(spark.conf.get("spark.master", None)):
        return max(1, _cores_now(spark))
    cores = _number(spark, "spark.executor.cores") or 1
    if spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        executors = _number(spark, "spark.dynamicAllocation.maxExecutors")
        most = executors * cores if executors is not None else _number(spark, SHUFFLE) or 200
        return max(_cores_now(spark), most)
    asked = (_number(spark, "spark.executor.instances") or 0) * cores
    return max(1, _cores_now(spark), asked, _number(spark, "spark.cores.max") or 0)


def _is_local(master: str | None) -> bool:
    """Whether tasks run in the driver; a server of Spark Connect may not tell.

    >>> _is_local("local"), _is_local("local[2]"), _is_local("local-cluster[2,1,1024]"), _is_local(None)
    (True, True, False, False)
    """
    return master is not None and (master == "local" or master.startswith("local["))


def _number(spark: SparkSession, name: str) -> int | None:
    value = spark.conf.get(name, None)
    return int(value) if value is not None and value.isdigit() else None


def _cores_now(spark: SparkSession) -> int:
    if not is_connect(spark):
        return spark.sparkContext.defaultParallelism
    # A server does not tell its parallelism, but plans with it.
    return planned_splits(spark.sql(PROBE).collect()[0][0])


def planned_splits(plan: str) -> int:
    """Into how many splits a plan cuts a range; 1 where it does not say.

    >>> planned_splits("*(1) Range (0, 1, step=1, splits=8)"), planned_splits("Range (0, 1, step=1, splits=Some(4))")
    (8, 4)
    """
    splits = _SPLITS.search(plan)
    return int(splits[1]) if splits is not None else 1
