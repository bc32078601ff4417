"""The engine: a plan over columns of events, computed in this process; Spark's executors run the same code."""

from greta.engine.aggregate import aggregate

__all__ = ["aggregate"]
