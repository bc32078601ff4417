"""How many tasks a stage gets: what Spark can run at once, and more only where more may come."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from greta.spark.sessions.cores import PROBE, parallelism, planned_splits


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


CLUSTER = {
    "spark_dynamicAllocation_enabled": "true",
    "spark_dynamicAllocation_maxExecutors": "50",
    "spark_executor_instances": "5",
    "spark_executor_cores": "4",
    "spark_cores_max": "12",
}


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]"])
def test_on_a_local_master_the_settings_of_a_cluster_do_not_count(master: str) -> None:
    assert parallelism(session(2, spark_master=master, **CLUSTER)) == 2
    assert parallelism(session(2, spark_master=master, **CLUSTER, spark_default_parallelism="7")) == 7


@pytest.mark.parametrize("master", ["yarn", "spark://host:7077", "local-cluster[2,1,1024]"])
def test_on_a_cluster_its_settings_count(master: str) -> None:
    assert parallelism(session(2, spark_master=master, **CLUSTER)) == 200


@pytest.mark.parametrize(("told", "tasks"), [({}, 200), ({"spark_master": "local[2]"}, 3)])
def test_a_server_is_asked_by_the_plan_that_it_makes(told: dict[str, str], tasks: int) -> None:
    # Spark Connect: there is no SparkContext, and the server need not tell its master.
    class Connected(SimpleNamespace):
        pass

    Connected.__module__ = "pyspark.sql.connect.session"
    plan = "== Physical Plan ==\n*(1) Range (0, 1, step=1, splits=3)\n"
    explained = SimpleNamespace(collect=lambda: [(plan,)])
    remote: Any = Connected(conf=session(1, **CLUSTER, **told).conf, sql={PROBE: explained}.get)
    assert parallelism(remote) == tasks


def test_a_plan_without_splits_is_one_task() -> None:
    assert planned_splits("== Physical Plan ==\nLocalTableScan [id#0L]") == 1


@pytest.mark.spark
def test_spark_plans_with_the_cores_that_it_has(spark: Any) -> None:
    assert planned_splits(spark.sql(PROBE).collect()[0][0]) == 2


@pytest.mark.spark
def test_spark_is_asked_without_a_job(spark: Any) -> None:
    before = list(spark.sparkContext.statusTracker().getJobIdsForGroup(None))
    assert parallelism(spark) == 2
    assert list(spark.sparkContext.statusTracker().getJobIdsForGroup(None)) == before
