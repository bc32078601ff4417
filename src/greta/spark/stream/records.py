"""JSON records → Arrow columns, decoded by PyArrow where that cannot differ from Spark's decoder; else their text.

Records come in chunks. A chunk of plain records (one object each, values of the declared kinds, times as ISO 8601
writes them) is decoded as a whole. Any other chunk passes as text in the column ``greta_json``, and Spark decodes it:
what is a bad record, and what a number in a text column means, is decided by Spark alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.spark.reading.formats import CORRUPT
from greta.spark.wire.columns import named

TEXT = "greta_json"
"""The column with the text of records that are not decoded yet."""

_KINDS: dict[type[T.DataType], pa.DataType] = {
    T.BooleanType: pa.bool_(),
    T.LongType: pa.int64(),
    T.IntegerType: pa.int32(),
    T.DoubleType: pa.float64(),
    T.StringType: pa.string(),
    # As text: Spark knows its own zone.
    T.TimestampType: pa.string(),
}
"""What PyArrow decodes; a schema with any other type is left to Spark."""
_INSTANT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})?$"


@dataclass(frozen=True, slots=True)
class Records:
    """Decodes chunks of records with declared columns."""

    kinds: pa.Schema | None
    """The columns as PyArrow decodes them; None: Spark decodes all."""
    instants: tuple[str, ...] = ()
    """Those that are times."""

    @staticmethod
    def of(schema: T.StructType | None) -> Records:
        """For the columns that a user has declared."""
        if schema is None or any(type(field.dataType) not in _KINDS for field in schema.fields):
            return Records(None)
        names = [field.name for field in schema.fields]
        # Spark looks names up as they are written, and takes the last of two; Arrow would refuse.
        if len(set(names)) < len(names) or TEXT in names:
            return Records(None)
        kinds = pa.schema([(field.name, _KINDS[type(field.dataType)]) for field in schema.fields])
        instants = (field.name for field in schema.fields if isinstance(field.dataType, T.TimestampType))
        return Records(kinds, tuple(instants))

    @property
    def columns(self) -> T.StructType:
        """The columns that come out, in Spark's words."""
        plain = {arrow: kind() for kind, arrow in _KINDS.items() if kind is not T.TimestampType}
        columns = [T.StructField(field.name, plain[field.type]) for field in self.kinds or ()]
        return T.StructType([T.StructField(TEXT, T.BinaryType()), *columns])

    @property
    def schema(self) -> pa.Schema:
        """The columns that come out."""
        decoded = self.kinds if self.kinds is not None else pa.schema([])
        return pa.schema([pa.field(TEXT, pa.binary()), *decoded])

    def decode(self, values: Sequence[bytes]) -> pa.RecordBatch:
        """A chunk's columns, or its text."""
        columns = self._columns(values)
        if columns is None:
            nothing = [pa.nulls(len(values), field.type) for field in self.kinds or ()]
            return pa.RecordBatch.from_arrays([pa.array(values, pa.binary()), *nothing], schema=self.schema)
        return pa.RecordBatch.from_arrays([pa.nulls(len(values), pa.binary()), *columns], schema=self.schema)

    def _columns(self, values: Sequence[bytes]) -> list[pa.Array] | None:
        # With an object's braces at both ends of every record and no line break inside, a chunk has as many lines as
        # records, and no object can begin in one record and end in another.
        if self.kinds is None or not all(value[:1] == b"{" and value[-1:] == b"}" for value in values):
            return None
        text = b"\n".join(values)
        if text.count(b"\n") != len(values) - 1 or not _is_utf8(text):
            return None
        options = pj.ParseOptions(explicit_schema=self.kinds, unexpected_field_behavior="ignore")
        reading = pj.ReadOptions(use_threads=False, block_size=max(len(text) + 1, 1024))
        try:
            table = pj.read_json(pa.BufferReader(text), reading, options)
        except pa.ArrowInvalid:
            return None
        if table.num_rows != len(values):
            return None
        columns = [table.column(name).combine_chunks() for name in self.kinds.names]
        for name in self.instants:
            plain = pc.match_substring_regex(columns[self.kinds.names.index(name)], _INSTANT)
            if pc.all(plain, min_count=0).as_py() is False:
                return None
        return columns


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def decoded(rows: DataFrame, schema: T.StructType) -> DataFrame:
    """Text in ``greta_json``, or what ``Records`` gives → the declared columns, and ``greta_corrupt_record``.

    Spark decodes what is still text.
    """
    options = {"columnNameOfCorruptRecord": CORRUPT}
    text = F.col(TEXT).cast("string")
    whole = T.StructType(list(schema.fields)).add(CORRUPT, "string")
    event = F.from_json(text, whole, options).alias("greta_event")
    kinds = {field.name: field.dataType for field in schema.fields}
    if rows.columns == [TEXT]:
        return rows.select(event).select("greta_event.*")
    texts = [named(name) for name, kind in kinds.items() if isinstance(kind, T.TimestampType)]
    unread = F.lit(None).cast("string")
    for column in reversed(texts):
        unread = F.when(column.isNotNull() & _instant(column).isNull(), column).otherwise(unread)
    columns = [
        F.coalesce(_of_event(name), _instant(named(name)) if isinstance(kind, T.TimestampType) else named(name))
        for name, kind in kinds.items()
    ]
    return rows.select("*", event).select(
        *(column.alias(name) for column, name in zip(columns, kinds, strict=True)),
        F.coalesce(_of_event(CORRUPT), unread).alias(CORRUPT),
    )


def _of_event(name: str) -> Column:
    return F.col("greta_event").getField(name)


def _instant(text: Column) -> Column:
    return text.try_cast("timestamp")
