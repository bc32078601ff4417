"""``--conf KEY=VALUE`` → a setting for Spark, as every command takes it."""

from __future__ import annotations

import typer


def setting(item: str) -> tuple[str, str]:
    """Name and value; names keep their underscores.

    >>> setting("spark.sql.catalog.spark_catalog=a=b")
    ('spark.sql.catalog.spark_catalog', 'a=b')
    """
    name, equals, value = item.partition("=")
    if not equals or "." not in name:
        raise typer.BadParameter(f"{item!r} is not KEY=VALUE, e.g. spark.executor.memory=8g", param_hint="--conf")
    return name, value
