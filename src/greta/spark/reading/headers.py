"""Columns that a user declared → the same in the order of a CSV file's header: Spark reads CSV by position."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.errors import DataError


def in_file_order(given: T.StructType, header: Sequence[str]) -> T.StructType:
    """The given columns as the file has them; ``DataError`` where it has others."""
    fields = {field.name: field for field in given.fields}
    if set(fields) != set(header):
        raise DataError(
            f"the file has the columns {', '.join(header)}, and the schema names {', '.join(fields)}",
            hint="name every column of the file in --schema, in any order",
        )
    return T.StructType([fields[name] for name in header])
