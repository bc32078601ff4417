"""What tests take for granted and Spark 3.5 lacks: DataFrames from Arrow tables and back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from greta.spark.compat import to_arrow


def speak_arrow() -> None:
    """Teach an old Spark's sessions and DataFrames to speak Arrow, in this process."""
    if hasattr(DataFrame, "toArrow"):
        return
    plain = SparkSession.createDataFrame

    def create(spark: SparkSession, data: Any, *arguments: Any, **options: Any) -> DataFrame:
        if isinstance(data, pa.Table):
            return plain(spark, data.to_pylist(), from_arrow_schema(data.schema))
        return plain(spark, data, *arguments, **options)

    SparkSession.createDataFrame = create
    DataFrame.toArrow = to_arrow
