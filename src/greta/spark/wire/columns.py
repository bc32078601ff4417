"""Spark columns ↔ Arrow columns, without a word from the session: no time zone, no casts by surprise.

Instants (``TIMESTAMP``) travel as microseconds since the epoch in a BIGINT and become timestamps again at either
end; the engine sees them as Arrow timestamps without a zone, meaning UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.engine.job import Job

_INSTANT = pa.timestamp("us")
_UNUSABLE = pa.binary()
"""Stands for the types that a query cannot use; planning such a column is an error on the driver."""

_PLAIN: dict[type[T.DataType], pa.DataType] = {
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.StringType: pa.string(),
    T.CharType: pa.string(),
    T.VarcharType: pa.string(),
    T.DateType: pa.date32(),
    T.TimestampType: _INSTANT,
    T.TimestampNTZType: pa.timestamp("us"),
    T.NullType: pa.null(),
}


def arrow_type(type_: T.DataType) -> pa.DataType:
    """A Spark type as the engine sees it."""
    if isinstance(type_, T.DecimalType):
        return pa.decimal128(type_.precision, type_.scale)
    return _PLAIN.get(type(type_), _UNUSABLE)


def leaves(schema: T.StructType) -> dict[str, tuple[tuple[str, ...], T.DataType]]:
    """All columns, and in place of a structure its fields: by name, the path to each and its type.

    A field is named ``payload.price``, unless a column has this very name.
    """
    flat: dict[str, tuple[tuple[str, ...], T.DataType]] = {
        field.name: ((field.name,), field.dataType) for field in schema.fields if not _is_struct(field)
    }
    for field in schema.fields:
        if isinstance(field.dataType, T.StructType):
            for name, (path, type_) in leaves(field.dataType).items():
                flat.setdefault(f"{field.name}.{name}", ((field.name, *path), type_))
    return flat


def _is_struct(field: T.StructField) -> bool:
    return isinstance(field.dataType, T.StructType)


def opened(df: DataFrame) -> DataFrame:
    """The same rows with the fields of structures as columns; Spark reads those that something asks for."""
    if not any(map(_is_struct, df.schema.fields)):
        return df
    columns = leaves(df.schema).items()
    return df.select(
        *(
            named(name) if path == (name,) else F.col(".".join(map(quoted, path))).alias(name)
            for name, (path, _) in columns
        )
    )


def arrow_schema(schema: T.StructType) -> pa.Schema:
    """All columns of a DataFrame as the engine sees them."""
    return pa.schema([(field.name, arrow_type(field.dataType)) for field in schema.fields])


def named(name: str) -> Column:
    """The column of exactly this name, dots and backticks included."""
    return F.col(quoted(name))


def quoted(name: str) -> str:
    """A name as Spark's SQL reads it, whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


def outgoing(name: str, type_: T.DataType) -> Column:
    """A column on its way to Python."""
    column = named(name)
    match type_:
        case T.TimestampType():
            return F.unix_micros(column)
        case T.StringType():
            return column.cast(T.StringType())
        case T.NullType():
            return column.cast(T.LongType())
        case _:
            return column


def in_seconds(name: str, type_: T.DataType) -> Column:
    """A time column as a number of seconds, fit for differences."""
    match type_:
        case T.TimestampType() | T.TimestampNTZType():
            return F.unix_micros(named(name).cast(T.TimestampType())) / 1_000_000
        case T.DateType():
            return F.unix_date(named(name)) * 86_400.0
        case _:
            return named(name).cast(T.DoubleType())


def spark_type(type_: pa.DataType) -> T.DataType:
    """The Spark type that ``mapInArrow`` must declare for a travelling column."""
    if pa.types.is_decimal(type_):
        return T.DecimalType(type_.precision, type_.scale)
    for kind, arrow in _PLAIN.items():
        if arrow == type_ and kind not in (T.CharType, T.VarcharType, T.TimestampType):
            return kind()
    return T.BinaryType()


@dataclass(frozen=True, slots=True)
class Answer:
    """The columns of an answer: as the engine gives them, as they travel, and as the caller sees them."""

    engine: pa.Schema
    final: tuple[T.DataType, ...]

    @staticmethod
    def of(job: Job, schema: T.StructType) -> Answer:
        """What a job returns over events of a Spark schema; MIN and MAX keep the attribute's type."""
        plan, engine = job.plan, job.output_schema
        attributes = {field.name: field.dataType for field in schema.fields}
        bounds = attributes[job.time]
        if not isinstance(bounds, T.TimestampType):
            bounds = T.TimestampNTZType() if pa.types.is_timestamp(engine.types[0]) else spark_type(engine.types[0])
        final = [bounds, bounds, *(attributes[name] for name in plan.returned)]
        compared = {output.name: plan.measures[output.measures[0]].compared for output in plan.outputs}
        for name, type_ in zip(plan.columns, engine.types[len(final) :], strict=True):
            attribute = compared.get(name)
            final.append(spark_type(type_) if attribute is None else attributes[attribute])
        return Answer(engine, tuple(final))

    @property
    def names(self) -> list[str]:
        """The columns' names, in order."""
        return list(self.engine.names)

    @property
    def travelling(self) -> pa.Schema:
        """Names and types of the rows that leave Python."""
        return pa.schema(
            [
                (name, pa.int64() if isinstance(final, T.TimestampType) else _one_unit(type_))
                for name, type_, final in zip(self.names, self.engine.types, self.final, strict=True)
            ]
        )


def neutral(schema: pa.Schema) -> pa.Schema:
    """The same columns by position: to Spark, names that differ in case alone are one name."""
    return pa.schema([(f"c{at}", type_) for at, type_ in enumerate(schema.types)])


def finished(rows: DataFrame, names: Sequence[str], types: Sequence[T.DataType]) -> DataFrame:
    """Rows that left Python under neutral names, in the caller's names and types."""
    columns = zip(rows.columns, names, types, strict=True)
    return rows.select(*(_arrived(column, type_).alias(name) for column, name, type_ in columns))


def _arrived(name: str, final: T.DataType) -> Column:
    """A travelling column in its final type."""
    column = named(name)
    match final:
        case T.TimestampType():
            return F.timestamp_micros(column)
        case T.StringType():
            return column
        case _:
            return column.cast(final)


def declared(schema: pa.Schema) -> T.StructType:
    """A travelling schema as ``mapInArrow`` wants it."""
    return T.StructType([T.StructField(field.name, spark_type(field.type)) for field in schema])


def _one_unit(type_: pa.DataType) -> pa.DataType:
    return pa.timestamp("us") if pa.types.is_timestamp(type_) else type_


def depart(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """An engine's table in its travelling types."""
    columns = []
    for column, type_ in zip(table.columns, schema.types, strict=True):
        if pa.types.is_timestamp(column.type):
            column = column.cast(_INSTANT)
        columns.append(column.cast(type_))
    return pa.table(columns, schema=schema)


def arrive(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """A travelling column in the engine's type."""
    if column.type == type_:
        return column
    if pa.types.is_timestamp(type_) and pa.types.is_timestamp(column.type):
        # NTZ columns travel as timestamps, whatever unit or label the session gives them.
        return column.cast(pa.timestamp("us", column.type.tz)).view(pa.int64()).view(type_)
    if pa.types.is_timestamp(type_):
        return column.view(type_)
    return column.cast(type_)
