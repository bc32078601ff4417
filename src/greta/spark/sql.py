"""The SQL door: ``SELECT * FROM greta_trends(TABLE(stock), query => '…')``, a table function that knows its columns.

Spark asks ``analyze`` for the output columns while it plans, so mistakes in the query are errors of the SQL text.
Events reach a table function row by row, which costs far more than the DataFrame door: use that one where speed
matters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 - its usual name
from pyspark.sql.functions import udtf
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, PartitioningColumn, SelectedColumn

from greta.engine.job import Job, Numbers
from greta.errors import GretaError
from greta.spark.wire.columns import Answer, arrow_schema, depart

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "greta_trends"
_BUCKETS = 64
_CHUNK_ROWS = 1 << 14


@dataclass
class Analyzed(AnalyzeResult):
    """What the executors need to know, found out while Spark planned."""

    job: Job | None = None
    answer: Answer | None = None


class Trends:
    """The table function. Arguments: a table, ``query``, and as in Python ``time``, ``type``, ``numbers``."""

    defaults: ClassVar[dict[str, str]] = {"time": "time", "type": "type", "numbers": "double"}

    def __init__(self, found: Analyzed) -> None:
        assert found.job is not None
        assert found.answer is not None
        self._job, self._answer = found.job, found.answer
        self._rows: list[tuple[Any, ...]] = []
        self._batches: list[pa.RecordBatch] = []

    @staticmethod
    def analyze(
        events: AnalyzeArgument,
        query: AnalyzeArgument,
        time: AnalyzeArgument | None = None,
        type: AnalyzeArgument | None = None,  # noqa: A002 - the word that every backend uses
        numbers: AnalyzeArgument | None = None,
    ) -> AnalyzeResult:
        """Columns of the answer, and which columns of the events to hand over, bucket by bucket."""
        if not events.isTable or not isinstance(events.dataType, T.StructType):
            raise GretaError("the first argument must be a table", hint=f"{NAME}(TABLE(stock), query => '...')")
        text = _constant("query", query)
        options = {
            name: _constant(name, argument) if argument is not None else Trends.defaults[name]
            for name, argument in (("time", time), ("type", type), ("numbers", numbers))
        }
        kind = cast("Numbers", options["numbers"])
        schema = arrow_schema(events.dataType)
        job = Job.bind(text, schema, time=options["time"], type=options["type"], numbers=kind)
        answer = Answer.of(job, events.dataType)
        fields = T.StructType(
            [T.StructField(name, type_) for name, type_ in zip(answer.names, answer.final, strict=True)]
        )
        # All partitions of a group must meet, so buckets go by what groups and partitions have in common.
        shared = [name for name in job.plan.partitioning.common if name in job.plan.group]
        bucket = f"pmod(xxhash64({', '.join(map(_quoted, shared))}), {_BUCKETS})"
        return Analyzed(
            schema=fields,
            withSinglePartition=not shared,
            partitionBy=[PartitioningColumn(bucket)] if shared else [],
            select=[_selected(name, events.dataType[name].dataType, at) for at, name in enumerate(job.columns)],
            job=job,
            answer=answer,
        )

    def eval(self, row: Any, *_rest: Any, **_options: Any) -> None:
        """Keep an event."""
        self._rows.append(tuple(row))
        if len(self._rows) >= _CHUNK_ROWS:
            self._keep()

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """Aggregate the events of a bucket."""
        self._keep()
        table = pa.Table.from_batches(self._batches, schema=self._job.schema)
        rows = depart(self._job.run(table), self._answer.travelling)
        columns = [_python(column, final) for column, final in zip(rows.columns, self._answer.final, strict=True)]
        yield from zip(*columns, strict=True)

    def _keep(self) -> None:
        if not self._rows:
            return
        columns = [
            pa.array(list(values), type=pa.int64()).view(type_)
            if pa.types.is_timestamp(type_) and isinstance(next((v for v in values if v is not None), None), int)
            else pa.array(list(values), type=type_)
            for values, type_ in zip(zip(*self._rows, strict=True), self._job.schema.types, strict=True)
        ]
        self._batches.append(pa.RecordBatch.from_arrays(columns, schema=self._job.schema))
        self._rows = []


def register(spark: SparkSession, name: str = NAME) -> None:
    """Make the table function known to a session's SQL.

    Args:
        spark: The session.
        name: What SQL calls the function.

    Examples:
        >>> greta.spark.register(spark)  # doctest: +SKIP
        >>> query = "RETURN COUNT(*) PATTERN A+"
        >>> spark.sql(f"SELECT * FROM greta_trends(TABLE(stock), query => '{query}')")  # doctest: +SKIP
    """
    # Plain rows: Arrow-optimised table functions turn every batch into pandas and back into the same rows.
    spark.udtf.register(name, udtf(Trends, useArrow=False))  # type: ignore[arg-type]


def _constant(name: str, argument: AnalyzeArgument) -> str:
    if not isinstance(argument.value, str):
        raise GretaError(f"{name} must be a constant text", hint=f"{name} => '...'")
    return argument.value


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _selected(name: str, type_: T.DataType, at: int) -> SelectedColumn:
    text = f"unix_micros({_quoted(name)})" if isinstance(type_, T.TimestampType) else _quoted(name)
    return SelectedColumn(text, f"c{at}")


def _python(column: pa.ChunkedArray, final: T.DataType) -> list[Any]:
    """Values as Spark's rows take them."""
    if isinstance(final, T.TimestampType):
        return cast("list[Any]", column.cast(pa.timestamp("us", "UTC")).to_pylist())
    if isinstance(final, T.DateType) and pa.types.is_timestamp(column.type):
        return cast("list[Any]", column.cast(pa.date32()).to_pylist())
    if isinstance(final, T.DecimalType) and not pa.types.is_decimal(column.type):
        column = column.cast(pa.decimal128(38, final.scale))
    return cast("list[Any]", column.to_pylist())
