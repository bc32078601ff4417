"""Greta on Spark: the only package that imports pyspark.

>>> import greta.spark
>>> rows = greta.spark.aggregate(df, "RETURN COUNT(*) PATTERN Stock S+ WITHIN 1 minute")  # doctest: +SKIP

The names load on first use: without PySpark they raise a ``SetupError`` that says what to install.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from greta.errors import SetupError

if TYPE_CHECKING:
    from greta.spark.batch.cautions import check
    from greta.spark.batch.files import aggregate_files
    from greta.spark.batch.pipeline import aggregate
    from greta.spark.batch.trends import trends
    from greta.spark.sessions.building import session
    from greta.spark.sessions.shipping import pack, ship
    from greta.spark.sql import register

__all__ = ["aggregate", "aggregate_files", "check", "pack", "register", "session", "ship", "trends"]

_HOME = {
    "aggregate": "batch.pipeline",
    "aggregate_files": "batch.files",
    "check": "batch.cautions",
    "pack": "sessions.shipping",
    "register": "sql",
    "session": "sessions.building",
    "ship": "sessions.shipping",
    "trends": "batch.trends",
}


OLDEST = (3, 5)
"""The first Spark that greta runs on."""


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'greta.spark' has no attribute {name!r}")
    require_pyspark()
    value: object = getattr(import_module(f"greta.spark.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def require_pyspark() -> None:
    """Raise a ``SetupError`` that says what to install unless a PySpark is there that greta runs on."""
    try:
        pyspark = import_module("pyspark")
    except ImportError as error:
        raise SetupError(
            "PySpark is not installed",
            hint="pip install 'greta-trends[spark]' brings it; "
            "add the extra java where there is no Java either: pip install 'greta-trends[spark,java]'",
        ) from error
    if tuple(int(part) for part in pyspark.__version__.split(".")[:2]) < OLDEST:
        raise SetupError(
            f"greta runs on Spark 3.5 or later, and this is PySpark {pyspark.__version__}",
            hint="batches run on Spark 3.5, streams, SQL and the command line on 4.0 or later: "
            "pip install 'pyspark>=4.0,<4.4'",
        )
