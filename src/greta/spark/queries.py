"""One query or several: their labels, and the columns that rows of several queries have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.errors import GretaError, SchemaError
from greta.lang.nodes import Query
from greta.plan.nodes import Plan
from greta.spark.columns import Answer

QueryLike = Query | str | Plan
Queries = QueryLike | Sequence[QueryLike | tuple[str, QueryLike]] | Mapping[str, QueryLike]

QUERY = "query"
"""The column that tells the rows of several queries apart."""


def labelled(query: Queries) -> tuple[pa.Array | None, list[QueryLike]]:
    """(labels of several queries or None for one, the queries)"""
    if isinstance(query, Query | str | Plan):
        return None, [query]
    items = list(query.items()) if isinstance(query, Mapping) else list(query)
    if not items:
        raise GretaError("there is no query\nhint: pass one, or a list of at least one")
    if all(isinstance(item, tuple) for item in items):
        names = [item[0] for item in items if isinstance(item, tuple)]
        if len(set(names)) < len(names):
            raise GretaError(f"two queries have the same name, among {', '.join(names)}")
        return pa.array(names, pa.string()), [item[1] for item in items if isinstance(item, tuple)]
    plain = [item for item in items if not isinstance(item, tuple)]
    if len(plain) < len(items):
        raise GretaError("some queries have names and some have not\nhint: name all of them, or none")
    return pa.array(range(len(plain)), pa.int32()), plain


def merged_columns(labels: pa.Array, answers: list[Answer]) -> tuple[pa.Array, pa.Schema, tuple[T.DataType, ...]]:
    """(labels, travelling columns of all queries, their final types)"""
    fields: dict[str, tuple[pa.DataType, T.DataType]] = {}
    for number, answer in enumerate(answers):
        for name, travelling, final in zip(answer.names, answer.travelling.types, answer.final, strict=True):
            known = fields.setdefault(name, (travelling, final))
            if known != (travelling, final) or name == QUERY:
                raise SchemaError(
                    f"column {name} of query {labels[number]} is {final.simpleString()}, and another query has "
                    f"{known[1].simpleString()}"
                    if name != QUERY
                    else f"query {labels[number]} has a column named {QUERY}, which tells the queries apart",
                    hint=f"name it otherwise with AS: COUNT(*) AS {name}_{number}",
                )
    label = T.StringType() if pa.types.is_string(labels.type) else T.IntegerType()
    schema = pa.schema([(QUERY, labels.type), *((name, types[0]) for name, types in fields.items())])
    return labels, schema, (label, *(types[1] for types in fields.values()))
