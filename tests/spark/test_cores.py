"""How many tasks a stage gets: what Spark can run at once, and more only where more may come."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from greta.spark.sessions.cores import parallelism


def session(cores: int, **settings: str) -> Any:
    """A session that has so many cores now, and these settings."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return SimpleNamespace(
        conf=SimpleNamespace(get=lambda name, default=None: named.get(name, default)),
        sparkContext=SimpleNamespace(defaultParallelism=cores),
    )


def test_a_stage_has_as_many_tasks_as_spark_has_cores() -> None:
    assert parallelism(session(2, spark_sql_shuffle_partitions="200")) == 2


def test_a_number_that_somebody_set_is_obeyed() -> None:
    assert parallelism(session(2, spark_default_parallelism="7")) == 7


def test_executors_that_have_not_come_yet_count() -> None:
    assert parallelism(session(2, spark_executor_instances="5", spark_executor_cores="4")) == 20
    assert parallelism(session(2, spark_cores_max="12")) == 12


def test_dynamic_allocation_counts_what_it_may_add() -> None:
    dynamic = {"spark_dynamicAllocation_enabled": "true", "spark_executor_cores": "4"}
    assert parallelism(session(2, **dynamic, spark_dynamicAllocation_maxExecutors="10")) == 40
    assert parallelism(session(2, **dynamic, spark_sql_shuffle_partitions="64")) == 64


@pytest.mark.spark
def test_spark_is_asked_without_a_job(spark: Any) -> None:
    before = list(spark.sparkContext.statusTracker().getJobIdsForGroup(None))
    assert parallelism(spark) == 2
    assert list(spark.sparkContext.statusTracker().getJobIdsForGroup(None)) == before
