"""One Spark session for all tests of a run: starting one takes longer than most tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Real Spark with two cores, in a zone that nobody expects, so that nothing may depend on it."""
    import greta.spark
    from support.old_spark import speak_arrow

    speak_arrow()

    session = greta.spark.session(
        "local[2]",
        spark_sql_session_timeZone="Asia/Kathmandu",
        spark_sql_shuffle_partitions="3",
        spark_sql_warehouse_dir=str(tmp_path_factory.mktemp("warehouse")),
        spark_sql_execution_arrow_maxRecordsPerBatch="7",
    )
    yield session
    session.stop()
