"""Columns that are structures → their fields as columns of their own, under names like ``payload.price``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Path = tuple[str, ...]
"""The way to a field: the column, then fields of fields."""


def leaves(fields: Iterable[pa.Field]) -> dict[str, Path]:
    """All columns, and in place of a structure its fields: by name, the path to each.

    A column that has the very name of a field stands for itself.

    >>> leaves(pa.schema([("id", pa.int64()), ("payload", pa.struct([("price", pa.float64())]))]))
    {'id': ('id',), 'payload.price': ('payload', 'price')}
    """
    listed = list(fields)
    flat: dict[str, Path] = {field.name: (field.name,) for field in listed if not pa.types.is_struct(field.type)}
    for field in listed:
        if pa.types.is_struct(field.type):
            for name, path in leaves(field.type).items():
                flat.setdefault(f"{field.name}.{name}", (field.name, *path))
    return flat


def opened(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """These columns, fields of structures among them; NULL where the structure is."""
    paths = leaves(table.schema)
    return pa.table({name: _field(table, paths[name]) for name in names})


def _field(table: pa.Table, path: Path) -> pa.ChunkedArray:
    column, *fields = path
    values = table.column(column)
    return pc.struct_field(values, fields) if fields else values


def nested(fields: Mapping[Path, pa.DataType]) -> pa.Schema:
    """The columns that hold these fields: what ``leaves`` takes apart, put together.

    >>> nested({("id",): pa.int64(), ("payload", "price"): pa.float64()}).types
    [DataType(int64), StructType(struct<price: double>)]
    """
    parts: dict[str, dict[Path, pa.DataType]] = {}
    plain: dict[str, pa.DataType] = {}
    for (column, *rest), type_ in fields.items():
        if rest:
            parts.setdefault(column, {})[tuple(rest)] = type_
        else:
            plain[column] = type_
    return pa.schema([*plain.items(), *((column, pa.struct(list(nested(part)))) for column, part in parts.items())])


def flattened(row: Mapping[str, Any]) -> dict[Path, Any]:
    """The values of an object of JSON by their paths; an object in it is not a value, its members are.

    >>> flattened({"id": 1, "payload": {"price": 2.5}})
    {('id',): 1, ('payload', 'price'): 2.5}
    """
    values: dict[Path, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            values |= {(name, *path): inner for path, inner in flattened(value).items()}
        else:
            values[(name,)] = value
    return values
