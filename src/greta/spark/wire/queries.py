"""Several queries over one DataFrame: the columns of their rows, as they travel and as Spark shows them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.engine.queries import QUERY, Label, common_columns
from greta.spark.wire.columns import Answer

Merged = tuple[pa.Array, pa.Schema, tuple[T.DataType, ...]]


def merged_columns(labels: Sequence[Label], answers: Sequence[Answer]) -> Merged:
    """(labels, travelling columns of all queries, their final types)"""
    columns = [dict(zip(a.names, zip(a.travelling.types, a.final, strict=True), strict=True)) for a in answers]
    common = common_columns(labels, columns, lambda types: types[1].simpleString())
    named = isinstance(labels[0], str)
    array = pa.array(labels, pa.string() if named else pa.int32())
    schema = pa.schema([(QUERY, array.type), *((name, types[0]) for name, types in common.items())])
    return array, schema, (T.StringType() if named else T.IntegerType(), *(types[1] for types in common.values()))
