"""``--schema 'price DOUBLE, account BIGINT'`` → Arrow types of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    import pyarrow as pa


def read_types(text: str | None) -> dict[str, pa.DataType]:
    """Names and types; a usage error for a type that lines cannot have.

    >>> read_types("price DOUBLE, account BIGINT")
    {'price': DataType(double), 'account': DataType(int64)}
    """
    import pyarrow as pa

    known = {
        "STRING": pa.string(),
        "DOUBLE": pa.float64(),
        "BIGINT": pa.int64(),
        "BOOLEAN": pa.bool_(),
        "TIMESTAMP": pa.timestamp("us", "UTC"),
    }
    types = {}
    for item in (text or "").split(","):
        if not item.strip():
            continue
        name, _, word = item.strip().rpartition(" ")
        if not name or word.upper() not in known:
            raise typer.BadParameter(
                f"{item.strip()!r} is not a column and one of {', '.join(known)}", param_hint="--schema"
            )
        types[name.strip()] = known[word.upper()]
    return types
