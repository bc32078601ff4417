"""The SQL door: ``SELECT * FROM greta_trends(TABLE(stock), query => '…')``, a table function that knows its columns.

Spark asks ``analyze`` for the output columns while it plans, so mistakes in the query are errors of the SQL text.
A table function gets its events row by row, at some 60 µs each. So ``analyze`` asks for them in blobs: Spark deals the
events into buckets, an Arrow function makes a blob of each stretch of a bucket, NULL for all rows of it but the first,
and ``explode`` drops these before they reach the table function. Bucket and event type travel as one
number (``Places``). Spark 4.0 has no Arrow functions: rows travel there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from time import struct_time
from typing import TYPE_CHECKING, Any, ClassVar, cast, get_args

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 - its usual name
from pyspark.sql.functions import udtf

from greta.engine.job import Job, Numbers
from greta.engine.tables import contiguous
from greta.errors import GretaError
from greta.spark.compat import (
    OLDEST_STREAMS,
    SQL,
    AnalyzeArgument,
    AnalyzeResult,
    PartitioningColumn,
    SelectedColumn,
    register_arrow_function,
    require,
    spark_version,
)
from greta.spark.reading.times import TimeUnit, since_1970
from greta.spark.wire.columns import Answer, arrive, arrow_schema, depart, leaves, quoted
from greta.spark.wire.packing import runs
from greta.spark.wire.places import Places, coded_types
from greta.spark.wire.workers import tell_of_compilation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "greta_trends"
_BUCKETS = 32
_CHUNK_ROWS = 1 << 14


@dataclass(frozen=True, slots=True)
class Bound:
    """What the executors need to know, found out while Spark planned."""

    job: Job
    answer: Answer
    places: Places

    @property
    def sent(self) -> list[str]:
        """The columns that go into blobs, after the place."""
        return [name for name in self.job.columns if name != self.job.type or self.places.types is None]


@dataclass
class Analyzed(AnalyzeResult):
    """What Spark asks for, and what it hands to the executors."""

    bound: Bound | None = None


class Instant(datetime):
    """A time in UTC whose fields are worked out once: Spark asks for them in every row, and rows share few times."""

    @cached_property
    def _fields(self) -> struct_time:
        return super().utctimetuple()

    def utctimetuple(self) -> struct_time:
        """The fields of the time."""
        return self._fields


class Trends:
    """The table function, for events that come as rows.

    Arguments: a table, ``query``, and as in Python ``time``, ``type``, ``numbers``, ``time_unit``.
    """

    defaults: ClassVar[dict[str, str]] = {"time": "time", "type": "type", "numbers": "double"}

    def __init__(self, found: Analyzed) -> None:
        assert found.bound is not None
        tell_of_compilation()
        self._bound, self._job, self._answer = found.bound, found.bound.job, found.bound.answer
        self._rows: list[tuple[Any, ...]] = []
        self._batches: list[pa.RecordBatch] = []

    @staticmethod
    def analyze(
        events: AnalyzeArgument,
        query: AnalyzeArgument,
        time: AnalyzeArgument | None = None,
        type: AnalyzeArgument | None = None,  # noqa: A002 - the word that every backend uses
        numbers: AnalyzeArgument | None = None,
        time_unit: AnalyzeArgument | None = None,
    ) -> AnalyzeResult:
        """Columns of the answer, and which columns of the events to hand over, bucket by bucket."""
        return _analyzed(events, query, time, type, numbers, time_unit)[0]

    def eval(self, row: Any, *_rest: Any, **_options: Any) -> None:
        """Keep an event."""
        self._rows.append(tuple(row))
        if len(self._rows) >= _CHUNK_ROWS:
            self._keep()

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """Aggregate the events of a bucket."""
        rows = depart(self._job.run(self._events()), self._answer.travelling)
        columns = [_python(column, final) for column, final in zip(rows.columns, self._answer.final, strict=True)]
        yield from zip(*columns, strict=True)

    def _events(self) -> pa.Table:
        self._keep()
        return pa.Table.from_batches(self._batches, schema=self._job.schema)

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


class PackedTrends(Trends):
    """The same table function, for events that come in blobs."""

    @staticmethod
    def analyze(
        events: AnalyzeArgument,
        query: AnalyzeArgument,
        time: AnalyzeArgument | None = None,
        type: AnalyzeArgument | None = None,  # noqa: A002 - the word that every backend uses
        numbers: AnalyzeArgument | None = None,
        time_unit: AnalyzeArgument | None = None,
    ) -> AnalyzeResult:
        """Columns of the answer, and how to pack the events."""
        found, place = _analyzed(events, query, time, type, numbers, time_unit)
        assert found.bound is not None
        texts = dict(zip(found.bound.job.columns, (column.name for column in found.select), strict=True))
        columns = ", ".join([place, *(texts[name] for name in found.bound.sent)])
        found.select = [SelectedColumn(f"explode({_PACK}({columns}))", "blob")]
        return found

    def eval(self, row: Any, *_rest: Any, **_options: Any) -> None:
        """Keep a blob of events."""
        with pa.ipc.open_stream(row[0]) as reader:
            self._batches += reader

    def _events(self) -> pa.Table:
        places, *columns = pa.Table.from_batches(self._batches).columns
        types = [self._job.schema.field(name).type for name in self._bound.sent]
        arrived = map(arrive, map(contiguous, columns), types)
        events = dict(zip(self._bound.sent, arrived, strict=True))
        if self._bound.places.types is not None:
            _, codes = self._bound.places.split(places.to_numpy())
            events[self._job.type] = self._bound.places.decoded(codes)
        return pa.table(events)


_PACK = f"{NAME}_pack"


def pack_stretches(places: pa.Array, *columns: pa.Array) -> pa.Array:
    """Rows in order of their bucket → per stretch of a bucket its rows as a blob in the first, NULL in the others."""
    blobs: list[list[bytes] | None] = [None] * len(places)
    events = pa.RecordBatch.from_arrays([places, *columns], names=[f"c{at}" for at in range(1 + len(columns))])
    for _, start, stop in runs(places.to_numpy() % _BUCKETS):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, events.schema) as writer:
            writer.write_batch(events.slice(start, stop - start))
        blobs[start] = [sink.getvalue().to_pybytes()]
    return pa.array(blobs, pa.list_(pa.binary()))


def register(spark: SparkSession, name: str = NAME) -> None:
    """Make the table function known to a session's SQL. Raises ``SetupError`` where Spark is older than 4.0.

    Args:
        spark: The session.
        name: What SQL calls the function.

    Examples:
        >>> greta.spark.register(spark)  # doctest: +SKIP
        >>> query = "RETURN COUNT(*) PATTERN A+"
        >>> spark.sql(f"SELECT * FROM greta_trends(TABLE(stock), query => '{query}')")  # doctest: +SKIP
    """
    # Over Spark Connect, the server may be older than this process's Spark.
    require(spark_version(spark), OLDEST_STREAMS, SQL)
    packed = register_arrow_function(spark, _PACK, pack_stretches, "array<binary>")
    # Plain rows: Arrow-optimised table functions turn every batch into pandas and back into the same rows.
    spark.udtf.register(name, udtf(PackedTrends if packed else Trends, useArrow=False))  # type: ignore[arg-type]


def _analyzed(
    events: AnalyzeArgument,
    query: AnalyzeArgument,
    time: AnalyzeArgument | None,
    type_: AnalyzeArgument | None,
    numbers: AnalyzeArgument | None,
    time_unit: AnalyzeArgument | None,
) -> tuple[Analyzed, str]:
    """What Spark asks for, with the events' columns one by one; and the SQL text of an event's place."""
    if not events.isTable or not isinstance(events.dataType, T.StructType):
        raise GretaError("the first argument must be a table", hint=f"{NAME}(TABLE(stock), query => '...')")
    text = _constant("query", query)
    options = {
        name: _constant(name, argument) if argument is not None else Trends.defaults[name]
        for name, argument in (("time", time), ("type", type_), ("numbers", numbers))
    }
    unit = None if time_unit is None else _unit(_constant("time_unit", time_unit))
    columns = leaves(events.dataType)
    kinds = T.StructType([T.StructField(name, kind) for name, (_, kind) in columns.items()])
    texts = {name: ".".join(map(quoted, path)) for name, (path, _) in columns.items()}
    at = options["time"]
    if unit is not None and at in columns and isinstance(columns[at][1], T.NumericType):
        texts[at] = since_1970(texts[at], columns[at][1], unit)
        kinds = T.StructType([T.StructField(f.name, T.TimestampType() if f.name == at else f.dataType) for f in kinds])
    job = Job.bind(
        text, arrow_schema(kinds), time=at, type=options["type"], numbers=cast("Numbers", options["numbers"])
    )
    answer = Answer.of(job, kinds)
    fields = T.StructType([T.StructField(name, type_) for name, type_ in zip(answer.names, answer.final, strict=True)])
    # All partitions of a group must meet, so buckets go by what groups and partitions have in common.
    shared = [name for name in job.plan.partitioning.common if name in job.plan.group]
    bucket = f"pmod(xxhash64({', '.join(texts[name] for name in shared)}), {_BUCKETS})" if shared else "0L"
    selected = [_selected(texts[name], kinds[name].dataType, number) for number, name in enumerate(job.columns)]
    places = Places(_BUCKETS, coded_types([job]))
    analyzed = Analyzed(
        schema=fields,
        withSinglePartition=not shared,
        partitionBy=[PartitioningColumn(bucket)] if shared else [],
        select=selected,
        bound=Bound(job, answer, places),
    )
    return analyzed, _place(bucket, texts[job.type], places)


def _place(bucket: str, type_: str, places: Places) -> str:
    """The SQL text of an event's place."""
    if places.types is None:
        return f"CAST({bucket} AS INT)"
    # In hexadecimal digits, no name can be anything but a name; bytes are equal whatever the collation.
    names = [f"X'{name.encode().hex()}'" for name in places.types]
    whens = " ".join(f"WHEN {name} THEN {code * places.parts}" for code, name in enumerate(names))
    other = len(names) * places.parts
    return f"CAST({bucket} + CASE CAST(CAST({type_} AS STRING) AS BINARY) {whens} ELSE {other} END AS INT)"


def _constant(name: str, argument: AnalyzeArgument) -> str:
    if not isinstance(argument.value, str):
        raise GretaError(f"{name} must be a constant text", hint=f"{name} => '...'")
    return argument.value


def _unit(text: str) -> TimeUnit:
    for unit in get_args(TimeUnit):
        if unit == text:
            return cast("TimeUnit", unit)
    raise GretaError(f"time_unit must be one of {', '.join(get_args(TimeUnit))}, not {text!r}")


def _selected(text: str, type_: T.DataType, at: int) -> SelectedColumn:
    match type_:
        case T.TimestampType():
            text = f"unix_micros({text})"
        case T.StringType():
            # Without the collation that a column may have.
            text = f"CAST({text} AS STRING)"
        case T.NullType():
            text = f"CAST({text} AS BIGINT)"
        case _:
            pass
    return SelectedColumn(text, f"c{at}")


def _python(column: pa.ChunkedArray, final: T.DataType) -> list[Any]:
    """Values as Spark's rows take them."""
    if isinstance(final, T.TimestampType):
        # A time with a zone takes Arrow some microseconds, and the rows of a window all have the same.
        coded = contiguous(column.cast(pa.timestamp("us", "UTC"))).dictionary_encode()
        values = [*(Instant.combine(time.date(), time.timetz()) for time in coded.dictionary.to_pylist()), None]
        return [values[code] for code in coded.indices.fill_null(len(values) - 1).to_pylist()]
    if isinstance(final, T.DateType) and pa.types.is_timestamp(column.type):
        return cast("list[Any]", column.cast(pa.date32()).to_pylist())
    if isinstance(final, T.DecimalType) and not pa.types.is_decimal(column.type):
        column = column.cast(pa.decimal128(38, final.scale))
    return cast("list[Any]", column.to_pylist())
