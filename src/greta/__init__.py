"""Event trend aggregation: count and sum over all trends of a stream without building one.

The public names load on first use, so that ``import greta`` brings in neither Numba nor Spark.

>>> import greta
>>> query = greta.parse("RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price")
>>> print(query.pattern)
Stock S+
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from greta import datasets, graph, spark
    from greta.api import aggregate, stream
    from greta.engine.trends import trends
    from greta.errors import (
        DataError,
        GretaError,
        GretaWarning,
        QueryError,
        QueryMeaningError,
        QuerySyntaxError,
        SchemaError,
        SetupError,
        StateError,
    )
    from greta.lang.nodes import Query
    from greta.lang.parser import parse
    from greta.live.stream import Stream
    from greta.plan.analyze import analyze
    from greta.plan.explain import explain
    from greta.plan.nodes import Plan

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "GretaError",
    "GretaWarning",
    "Plan",
    "Query",
    "QueryError",
    "QueryMeaningError",
    "QuerySyntaxError",
    "SchemaError",
    "SetupError",
    "StateError",
    "Stream",
    "__version__",
    "aggregate",
    "analyze",
    "datasets",
    "explain",
    "graph",
    "parse",
    "spark",
    "stream",
    "trends",
]

_HOME = {
    "DataError": "greta.errors",
    "GretaError": "greta.errors",
    "GretaWarning": "greta.errors",
    "Plan": "greta.plan.nodes",
    "Query": "greta.lang.nodes",
    "QueryError": "greta.errors",
    "QueryMeaningError": "greta.errors",
    "QuerySyntaxError": "greta.errors",
    "SchemaError": "greta.errors",
    "SetupError": "greta.errors",
    "StateError": "greta.errors",
    "Stream": "greta.live.stream",
    "aggregate": "greta.api",
    "analyze": "greta.plan.analyze",
    "explain": "greta.plan.explain",
    "parse": "greta.lang.parser",
    "stream": "greta.api",
    "trends": "greta.engine.trends",
}
"""The module that each lazy public name lives in."""

_PACKAGES = ("datasets", "graph", "spark")
"""Packages for users that load on first use."""


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f"greta.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'greta' has no attribute {name!r}")
    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: object) -> None:
    """``%load_ext greta``: gives a notebook the magic ``%%greta``."""
    # By name: nothing below the notebook knows it.
    import_module("greta.notebook").load(shell)
