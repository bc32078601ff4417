"""Failures of Spark in greta's words, by class and condition."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from greta.errors import DataError, GretaError, QueryMeaningError, SetupError, StateError
from greta.spark.failures import Failure, _unreadable, explained, met, missing, no_source

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
    [
        ("confluent_kafka", "no confluent-kafka"),
        ("greta", "greta.spark.ship(spark)"),
        ("google.protobuf", "no protobuf"),
        ("numba.core", "no numba"),
    ],
)
def test_what_executors_lack_is_named_with_what_to_do(module: str, word: str) -> None:
    error: GretaError = missing(module)
    assert word in str(error)
    assert "executor" in str(error)


@pytest.mark.parametrize("module", ["confluent_kafka", "google.protobuf", "numba"])
def test_a_module_that_a_task_does_not_find_is_named_as_its_package(spark: Any, module: str) -> None:
    def look(_: Iterator[Any]) -> Iterator[Any]:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        yield

    error = explained(failure(lambda: spark.range(1).mapInArrow(look, "id BIGINT").collect()))
    assert isinstance(error, SetupError)
    assert str(error) == str(missing(module))


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


WRITING = "make room or mend the permissions"
READING = "let the user that Spark runs as read it"


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        (
            "Job aborted due to stage failure: Task 0 failed: java.lang.OutOfMemoryError: Java heap space\n\tat a.B",
            "Java ran out of memory: java.lang.OutOfMemoryError: Java heap space",
            "spark.driver.memory=4g",
        ),
        (
            "o1.collect\n: org.apache.spark.memory.SparkOutOfMemoryError: [UNABLE_TO_ACQUIRE_MEMORY] 65536 bytes",
            "Java ran out of memory: org.apache.spark.memory.SparkOutOfMemoryError: [UNABLE_TO_ACQUIRE_MEMORY]",
            "give it more",
        ),
        (
            "Traceback:\n  File x\npyarrow.lib.ArrowMemoryError: malloc of size 64 failed\n\n\tat a.B",
            "a Python worker of Spark ran out of memory: pyarrow.lib.ArrowMemoryError: malloc of size 64 failed",
            "spark.executor.memoryOverhead",
        ),
        (
            "Traceback (most recent call last):\n  File x\nMemoryError\n\n\tat a.B\njava.io.EOFException",
            "a Python worker of Spark ran out of memory: MemoryError",
            "spark.executor.memoryOverhead",
        ),
        (
            "Job aborted\nnumpy._core._exceptions._ArrayMemoryError: Unable to allocate 8.00 GiB for an array",
            "_ArrayMemoryError: Unable to allocate 8.00 GiB",
            "spark.executor.memoryOverhead",
        ),
        (
            (
                "Caused by: java.io.FileNotFoundException: /in/a.csv (Permission denied)\n"
                "\tat java.io.FileInputStream.open0(Native Method)\nCaused by: x\n\tat FileFormatWriter"
            ),
            "a file or directory may not be read: java.io.FileNotFoundException: /in/a.csv (Permission denied)",
            READING,
        ),
        (
            (
                ": java.nio.file.AccessDeniedException: s3a://b/in: getFileStatus on s3a://b/in: Forbidden (Service: "
                "S3, Status Code: 403, Request ID: 1)"
            ),
            "a file or directory may not be read: java.nio.file.AccessDeniedException: s3a://b/in",
            READING,
        ),
        (
            "org.apache.hadoop.security.AccessControlException: Permission denied: user=eve, access=READ, inode=/in",
            "a file or directory may not be read",
            READING,
        ),
        (
            "org.apache.hadoop.security.AccessControlException: Permission denied: user=eve, access=WRITE, inode=/out",
            "a directory cannot be written",
            WRITING,
        ),
        (
            "java.io.FileNotFoundException: /out/a (Permission denied)\n\tat java.io.FileOutputStream.open0(Native)",
            "a directory cannot be written",
            WRITING,
        ),
        ("OSError: [Errno 28] No space left on device", "a directory cannot be written", WRITING),
        ("PermissionError: [Errno 13] Permission denied: 'x'", "access was denied: PermissionError", "mend the perm"),
        ("java.io.EOFException\n\tat a.B", "ended without a word", "spark.executor.memoryOverhead"),
        ('No FileSystem for scheme "gs"', "Spark cannot open gs: paths", "spark.jars.packages"),
    ],
)
def test_whose_memory_and_which_permission_is_lacking_is_told_apart(text: str, says: str, hint: str) -> None:
    error = explained(RuntimeError(text))
    assert isinstance(error, SetupError)
    assert says in error.message
    assert hint in str(error.hint)


def test_a_file_that_may_not_be_read_is_not_called_damaged() -> None:
    file = Failure("x", "FAILED_READ_FILE.NO_HINT", {"path": "a.parquet"})
    causes = (
        "FAILED_READ_FILE\nCaused by: java.io.IOException: outer\nCaused by: java.nio.file.AccessDeniedException: a"
    )
    error = _unreadable(file, causes)
    assert error.message == "a.parquet: may not be read: java.nio.file.AccessDeniedException: a"
    assert READING in str(error.hint)
    error = _unreadable(
        file, "FAILED_READ_FILE\nCaused by: java.lang.RuntimeException: a is not a Parquet file\n\tat b"
    )
    assert error.message == "a.parquet: cannot be read: java.lang.RuntimeException: a is not a Parquet file"
    assert "damaged" in str(error.hint)
