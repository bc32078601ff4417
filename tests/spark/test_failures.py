"""Failures of Spark in greta's words, by class and condition."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from greta.errors import DataError, GretaError, QueryMeaningError, SetupError, StateError
from greta.spark.failures import explained, met, missing, no_source

pytestmark = pytest.mark.spark


def failure(work: Any) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever Spark raises
        work()
    return caught.value


def test_a_file_that_cannot_be_read_is_named(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("PAR1 is not enough")
    error = explained(failure(lambda: spark.read.schema("a int").parquet(str(tmp_path)).collect()))
    assert isinstance(error, DataError)
    assert f"{tmp_path}/a.parquet: cannot be read" in str(error)


def test_conditions_are_met_wherever_spark_raises_them(spark: Any, tmp_path: Path) -> None:
    missing_path = failure(lambda: spark.read.parquet(str(tmp_path / "nowhere")))
    assert met(missing_path, "PATH_NOT_FOUND") is not None
    assert not no_source(missing_path)
    assert no_source(failure(lambda: spark.read.format("nosuchformat").load()))
    assert no_source(failure(lambda: spark.range(1).write.format("nosuchformat").save(str(tmp_path / "out"))))


@pytest.mark.parametrize("kind", [DataError, SetupError, StateError, GretaError])
def test_an_error_of_greta_in_a_task_comes_back_as_itself(spark: Any, kind: type[GretaError]) -> None:
    def refuse(_: Iterator[Any]) -> Iterator[Any]:
        raise kind("this is wrong", hint="mend it")
        yield

    error = explained(failure(lambda: spark.range(1).mapInArrow(refuse, "id BIGINT").collect()))
    assert type(error) is kind
    assert (error.message, error.hint) == ("this is wrong", "mend it")


def test_what_spark_adds_to_an_error_of_a_stream_is_left_out() -> None:
    text = (
        "Job aborted\ngreta.errors.DataError: an event has no readable time\nhint: mend or remove the record\n"
        " SQLSTATE: 38000\n=== Streaming Query ===\nIdentifier: greta q.greta [id = c68a3fb6]\n"
    )
    error = explained(RuntimeError(text))
    assert type(error) is DataError
    assert (error.message, error.hint) == ("an event has no readable time", "mend or remove the record")


def test_an_error_of_a_query_in_a_task_keeps_its_words(spark: Any) -> None:
    def refuse(_: Iterator[Any]) -> Iterator[Any]:
        raise QueryMeaningError("x is wrong", hint="write y")
        yield

    error = explained(failure(lambda: spark.range(1).mapInArrow(refuse, "id BIGINT").collect()))
    assert type(error) is GretaError
    assert str(error) == "query: x is wrong\nhint: write y"


def test_a_worker_that_is_killed_is_said_to_lack_memory(spark: Any) -> None:
    def die(_: Iterator[Any]) -> Iterator[Any]:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)
        yield

    error = explained(failure(lambda: spark.range(1).mapInArrow(die, "id BIGINT").collect()))
    assert isinstance(error, SetupError)
    assert "spark.executor.memoryOverhead" in str(error)


def test_a_failure_of_another_kind_is_left_as_it_is(spark: Any) -> None:
    error = failure(lambda: spark.sql("SELECT * FROM nowhere_at_all").collect())
    assert explained(error) is None


@pytest.mark.parametrize(
    ("module", "word"),
    [("greta", "greta.spark.ship(spark)"), ("google.protobuf", "no protobuf"), ("numba.core", "no numba")],
)
def test_what_executors_lack_is_named_with_what_to_do(module: str, word: str) -> None:
    error: GretaError = missing(module)
    assert word in str(error)
    assert "executor" in str(error)


def test_what_spark_raises_during_greta_run_comes_in_a_paragraph() -> None:
    from pyspark.errors import PySparkException

    from greta.cli.run_spark import told

    with pytest.raises(GretaError, match=r"Spark stopped: Caused by: java\.lang\.Strange: boom") as failure, told():
        raise PySparkException("Job aborted.\n\tat machinery\nCaused by: java.lang.Strange: boom\n\tat machinery")
    assert "machinery" not in str(failure.value)
    with pytest.raises(DataError, match="mine"), told():
        raise DataError("mine")
    with pytest.raises(ZeroDivisionError), told():
        _ = 1 / 0
