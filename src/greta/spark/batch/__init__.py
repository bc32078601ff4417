"""Batches: a DataFrame of events that are all there → a DataFrame of rows.

The door loads on first use: executors load the modules beside it, and not the door.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from greta.spark.batch.pipeline import aggregate

__all__ = ["aggregate"]


def __getattr__(name: str) -> object:
    if name != "aggregate":
        raise AttributeError(f"module 'greta.spark.batch' has no attribute {name!r}")
    return getattr(import_module("greta.spark.batch.pipeline"), name)
