"""What differs between Spark versions, and nowhere else: in goes what greta asks for, out comes how this Spark says it.

Batches run on Spark 3.5 to 4.3; SQL, streams and the command line on 4.0 to 4.3. A session may be served by another
version than the client's (Spark Connect): what the server must understand is asked of the session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from greta.errors import SetupError
from greta.spark import OLDEST
from greta.spark.wire.buckets import spark_hash

if TYPE_CHECKING:
    from pyspark.sql import GroupedData, Row, SparkSession
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
    from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, PartitioningColumn, SelectedColumn

__all__ = [
    "BOUNDED_SOURCES",
    "OLDEST_STREAMS",
    "SQL",
    "AnalyzeArgument",
    "AnalyzeResult",
    "PartitioningColumn",
    "SelectedColumn",
    "StatefulProcessor",
    "SupportsTriggerAvailableNow",
    "client_version",
    "is_connect",
    "register_arrow_function",
    "repartition_by_id",
    "require",
    "spark_version",
    "to_arrow",
    "transform_with_state",
]

OLDEST_STREAMS = (4, 0)
"""The first Spark with state in pieces for Python, table functions that say their columns, and Arrow tables."""
_BY_ID = (4, 1)
"""The first Spark with ``repartitionById``."""
_STATE_BY_ROW = (4, 1)
"""The first Spark with ``transformWithState`` over rows; before, there is one over pandas alone, on Connect none."""

_ARROW_FUNCTIONS = (4, 1)
"""The first Spark with functions over Arrow columns."""
BOUNDED_SOURCES = (4, 2)
"""The first Spark that asks a source in Python for a part of what there is, and tells it when a stream is to end."""

SQL = "queries in SQL"
"""What they are called where Spark is too old for them."""

_STATEFUL = ("pyspark.sql.streaming.stateful_processor", "streams")
_ANALYSIS = ("pyspark.sql.udtf", SQL)
_CLASSES = {
    "AnalyzeArgument": _ANALYSIS,
    "AnalyzeResult": _ANALYSIS,
    "PartitioningColumn": _ANALYSIS,
    "SelectedColumn": _ANALYSIS,
    "StatefulProcessor": _STATEFUL,
}
"""Spark's classes that came with ``OLDEST_STREAMS``: where they are, and what needs them."""
_AVAILABLE_NOW = "SupportsTriggerAvailableNow"


def __getattr__(name: str) -> object:
    """A class of Spark, where this Spark has it; a ``SetupError`` where it is too old.

    The one for sources that are told when a stream is to end is an empty class where Spark never tells them.
    """
    if name == _AVAILABLE_NOW:
        if client_version() < BOUNDED_SOURCES:
            return type(name, (), {})
        return getattr(import_module("pyspark.sql.streaming.datasource"), name)
    if name not in _CLASSES:
        raise AttributeError(f"module 'greta.spark.compat' has no attribute {name!r}")
    module, what = _CLASSES[name]
    require(client_version(), OLDEST_STREAMS, what)
    return getattr(import_module(module), name)


@lru_cache
def numbers_of(text: str) -> tuple[int, int]:
    """The first two numbers of a version.

    >>> numbers_of("4.1.0-preview2")
    (4, 1)
    """
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def client_version() -> tuple[int, int]:
    """The version of PySpark in this process."""
    return numbers_of(version_of("pyspark"))


def version_of(distribution: str) -> str:
    """A package's version, as pip or as the package itself tells it: Spark's own archive of PySpark has no pip."""
    try:
        return version(distribution)
    except ModuleNotFoundError:
        return str(import_module(distribution).__version__)


def spark_version(spark: SparkSession) -> tuple[int, int]:
    """The version that a session's DataFrames must be written for: the older of client and server."""
    return min(client_version(), numbers_of(spark.version))


def require(version: tuple[int, int], oldest: tuple[int, int], what: str) -> None:
    """Raise a ``SetupError`` where a version is older than what is asked of it needs."""
    if version < oldest:
        raise SetupError(
            f"{what} need Spark {oldest[0]}.{oldest[1]} or later, and this is Spark {version[0]}.{version[1]}",
            hint="run the query over a DataFrame that is read as a whole, with greta.spark.aggregate"
            if version >= OLDEST
            else f"pip install 'pyspark>={oldest[0]}.{oldest[1]}'",
        )


def is_connect(spark: SparkSession) -> bool:
    """Whether a session talks to a Spark Connect server: it has no SparkContext then."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def repartition_by_id(df: DataFrame, tasks: int, column: str) -> DataFrame:
    """Rows with the number ``k`` in an INT column go to partition ``k`` of ``tasks``.

    Spark before 4.1 deals rows out by a hash alone, so there every number is replaced by a key with that hash.
    """
    if spark_version(df.sparkSession) >= _BY_ID:
        return df.repartitionById(tasks, F.col(column))
    keys = F.array(*(F.lit(key) for key in _keys(tasks)))
    return df.repartition(tasks, _at(keys, F.col(column)))


def _at(array: Column, place: Column) -> Column:
    return F.element_at(array, place + F.lit(1))


@lru_cache
def _keys(tasks: int) -> tuple[int, ...]:
    """Per partition an INT that Spark's hash sends there.

    >>> (spark_hash(np.array(_keys(7))) % 7).tolist()
    [0, 1, 2, 3, 4, 5, 6]
    """
    keys: dict[int, int] = {}
    first = 0
    while len(keys) < tasks:
        block = np.arange(first, first + 16 * tasks)
        for key, place in zip(block.tolist(), (spark_hash(block) % tasks).tolist(), strict=True):
            keys.setdefault(place, key)
        first += len(block)
    return tuple(keys[place] for place in range(tasks))


def transform_with_state(groups: GroupedData, processor: StatefulProcessor, schema: str) -> DataFrame:
    """Rows of groups through a stateful processor over rows, in append mode and event time.

    The processor's state is the same on every version: a stream may go on under a newer Spark.
    """
    if hasattr(groups, "transformWithState"):
        return groups.transformWithState(processor, schema, "Append", "EventTime")
    if not hasattr(groups, "transformWithStateInPandas"):
        require(client_version(), _STATE_BY_ROW, "streams over Spark Connect")
    return groups.transformWithStateInPandas(_over_pandas(processor, schema), schema, "Append", "EventTime")


def _over_pandas(processor: StatefulProcessor, schema: str) -> StatefulProcessor:
    """A processor over rows as one over pandas frames, as Spark 4.0 wants it."""
    import pandas as pd
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    names = [part.split()[0] for part in schema.split(", ")]

    def frames(rows: Iterable[Row]) -> Iterator[Any]:
        # Objects keep NULLs and integers as they are; numbers in a frame would become doubles where one is NULL.
        columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
        yield pd.DataFrame({n: pd.Series(c, dtype=object) for n, c in zip(names, columns, strict=True)})

    def rows_of(parts: Iterable[Any]) -> Iterator[Row]:
        for part in parts:
            row = Row(*part.columns)
            yield from (row(*values) for values in part.itertuples(index=False))

    class OverPandas(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            processor.init(handle)

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            yield from frames(cast("Iterable[Row]", processor.handleInputRows(key, rows_of(rows), timerValues)))

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
            out = processor.handleExpiredTimer(key, timerValues, expiredTimerInfo)
            yield from frames(cast("Iterable[Row]", out))

        def close(self) -> None:
            processor.close()

    return OverPandas()


def register_arrow_function(spark: SparkSession, name: str, function: Callable[..., pa.Array], returns: str) -> bool:
    """Make a function over Arrow columns known to a session's SQL; False where this Spark has none."""
    if spark_version(spark) < _ARROW_FUNCTIONS:
        return False
    from pyspark.sql.pandas.functions import arrow_udf

    spark.udf.register(name, arrow_udf(function, returns))  # type: ignore[call-overload]
    return True


def to_arrow(df: DataFrame) -> pa.Table:
    """All rows as an Arrow table."""
    if client_version() >= OLDEST_STREAMS:
        return df.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema

    batches = df._collect_as_arrow()  # type: ignore[operator]
    return pa.Table.from_batches(batches) if batches else to_arrow_schema(df.schema).empty_table()
