"""One query or several over the same events: their labels, and the columns that their rows have in common.

query  window_start  count  longest
falls            0     12     NULL
rises            0   NULL        4
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

import pyarrow as pa

from greta.engine.job import Job, Numbers
from greta.errors import DataError, GretaError, QueryError, SchemaError, warn
from greta.lang.nodes import Query
from greta.plan.nodes import Plan

QueryLike = Query | str | Plan
Queries = QueryLike | Sequence[QueryLike | tuple[str, QueryLike]] | Mapping[str, QueryLike]
Label = str | int
"""The name of a query among several, or its position where none has a name."""

QUERY = "query"
"""The column that tells the rows of several queries apart."""

ColumnType = TypeVar("ColumnType")


def labelled(query: Queries) -> tuple[list[Label] | None, list[QueryLike]]:
    """(labels of several queries or None for one, the queries)"""
    if isinstance(query, Query | str | Plan):
        return None, [query]
    if not isinstance(query, Mapping | Sequence):
        raise GretaError(
            f"a query is a text, a Query or a Plan, not {type(query).__name__}",
            hint="several are a list of them, or a mapping of names to them",
        )
    items = list(query.items()) if isinstance(query, Mapping) else list(query)
    if not items:
        raise GretaError("there is no query", hint="pass one, or a list of at least one")
    if all(isinstance(item, tuple) for item in items):
        names: list[Label] = [item[0] for item in items if isinstance(item, tuple)]
        if not all(isinstance(name, str) for name in names):
            raise GretaError("the names of queries must be texts", hint="pass a list to number them from 0")
        if len(set(names)) < len(names):
            raise GretaError(f"two queries have the same name, among {', '.join(map(str, names))}")
        return names, [item[1] for item in items if isinstance(item, tuple)]
    plain = [item for item in items if not isinstance(item, tuple)]
    if len(plain) < len(items):
        raise GretaError("some queries have names and some have not", hint="name all of them, or none")
    return list(range(len(plain))), plain


@contextmanager
def naming(label: Label | None) -> Iterator[None]:
    """Let errors say which of several queries they are about."""
    try:
        yield
    except QueryError as error:
        if label is not None:
            error.locate(None, f"query {label}")
        raise
    except DataError as error:
        if label is not None:
            raise DataError(f"query {label}: {error.message}", hint=error.hint) from error
        raise


def bind_all(
    labels: Sequence[Label] | None,
    queries: Sequence[QueryLike],
    schema: pa.Schema,
    *,
    time: str,
    type: str,  # noqa: A002 - the word that every door uses
    numbers: Numbers,
) -> list[Job]:
    """A job per query; errors, and warnings of conditions that decide nothing, name the query among several."""
    jobs = []
    names: Sequence[Label | None] = labels or [None]
    for label, query in zip(names, queries, strict=True):
        with naming(label):
            jobs.append(Job.bind(query, schema, time=time, type=type, numbers=numbers))
            for caution in jobs[-1].idle_conditions:
                warn(caution.about(label))
    return jobs


def common_columns(
    labels: Sequence[Label], columns: Sequence[Mapping[str, ColumnType]], show: Callable[[ColumnType], str]
) -> dict[str, ColumnType]:
    """Names and types of all queries' columns, in the order in which they first come.

    Raises ``SchemaError`` where a name has two types, or is that of the column which tells queries apart.
    """
    common: dict[str, ColumnType] = {}
    for number, (label, mapping) in enumerate(zip(labels, columns, strict=True)):
        for name, type_ in mapping.items():
            if name == QUERY:
                raise SchemaError(
                    f"query {label} has a column named {QUERY}, which tells the queries apart",
                    hint=f"name it otherwise with AS: COUNT(*) AS {name}_{number}",
                )
            if common.setdefault(name, type_) != type_:
                bound = name in ("window_start", "window_end")
                raise SchemaError(
                    f"column {name} of query {label} is {show(type_)}, and another query has {show(common[name])}",
                    hint="ask the queries whose windows have fractions of seconds apart"
                    if bound
                    else f"name it otherwise with AS: COUNT(*) AS {name}_{number}",
                )
    return common


def spread(rows: pa.Table, label: pa.Scalar, schema: pa.Schema) -> pa.Table:
    """One query's rows under the columns of all: its label in front, NULL where it has no such column."""
    columns = [pa.repeat(label, rows.num_rows)]
    for name, type_ in zip(schema.names[1:], schema.types[1:], strict=True):
        columns.append(rows.column(name) if name in rows.column_names else pa.nulls(rows.num_rows, type_))
    return pa.table(columns, schema=schema)


def common_schema(labels: Sequence[Label], schemas: Sequence[pa.Schema]) -> pa.Schema:
    """The columns of several queries' rows, the label in front."""
    columns = [dict(zip(schema.names, schema.types, strict=True)) for schema in schemas]
    label_type = pa.string() if isinstance(labels[0], str) else pa.int64()
    return pa.schema([(QUERY, label_type), *common_columns(labels, columns, str).items()])


def gathered(labels: Sequence[Label], tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of several queries, one query after another."""
    schema = common_schema(labels, [rows.schema for rows in tables])
    label_type = schema.field(0).type
    return pa.concat_tables(
        [spread(rows, pa.scalar(label, label_type), schema) for label, rows in zip(labels, tables, strict=True)]
    )
