"""Query × Arrow schema → plan. Needs no kernels, so that the paper's graph plans as the engine does."""

from __future__ import annotations

import pyarrow as pa

from greta.engine.tables import attribute_type, schema_of
from greta.errors import DataError, SchemaError
from greta.lang.nodes import Query
from greta.plan.analyze import analyze
from greta.plan.nodes import Plan


def plan_for(query: Query | str | Plan, schema: pa.Schema, time: str, type_: str) -> Plan:
    """The plan of a query for events of an Arrow schema."""
    if isinstance(query, Plan):
        query = query.query
    for name in (time, type_):
        if schema.names.count(name) > 1:
            raise DataError(f"the events have several columns named {name!r}")
    try:
        return analyze(query, schema_of(schema))
    except SchemaError as error:
        unusable = [f"{field.name} ({field.type})" for field in schema if attribute_type(field.type) is None]
        if unusable:
            error.hint = f"{error.hint}; queries cannot use columns of these types: {', '.join(unusable[:20])}"
        raise
