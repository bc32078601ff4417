"""``--conf KEY=VALUE`` → a setting for Spark, as every command takes it; ``--kafka`` → settings of Kafka's client."""

from __future__ import annotations

from collections.abc import Sequence

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


def client_settings(items: Sequence[str]) -> dict[str, str]:
    """Settings by name; an error never repeats what was given, which may be a password.

    >>> client_settings(["security.protocol=SASL_SSL", "sasl.password=a=b"])
    {'security.protocol': 'SASL_SSL', 'sasl.password': 'a=b'}
    """
    pairs = [item.partition("=") for item in items]
    for number, (name, equals, _) in enumerate(pairs, 1):
        if not name or not equals:
            raise typer.BadParameter(
                f"number {number} is not KEY=VALUE, e.g. security.protocol=SASL_SSL", param_hint="--kafka"
            )
    return {name: value for name, _, value in pairs}
