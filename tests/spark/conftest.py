"""One Spark session for all tests of a run: starting one takes longer than most tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STREAMING = "org.apache.spark.sql.execution.streaming"
FEW_ROWS = {
    # Streams of a few events spend a quarter of their time on what pays for many: Java code for every plan, and a
    # process (chmod, readlink) for every file of a checkpoint. Tests that start a command of its own keep all of it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}


def _file_manager() -> dict[str, str]:
    """The one without processes, by the name that this version of Spark has for it."""
    from greta.spark.compat import client_version

    place = f"{_STREAMING}.checkpointing" if client_version() >= (4, 1) else _STREAMING
    return {"spark.sql.streaming.checkpointFileManagerClass": f"{place}.FileSystemBasedCheckpointFileManager"}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Real Spark with two cores, in a zone that nobody expects, so that nothing may depend on it."""
    import greta.spark
    from support.old_spark import speak_arrow

    speak_arrow()

    session = greta.spark.session(
        "local[2]",
        spark_sql_session_timeZone="Asia/Kathmandu",
        spark_sql_shuffle_partitions="2",
        spark_sql_warehouse_dir=str(tmp_path_factory.mktemp("warehouse")),
        spark_sql_execution_arrow_maxRecordsPerBatch="7",
        **FEW_ROWS,
        **_file_manager(),
    )
    yield session
    session.stop()
