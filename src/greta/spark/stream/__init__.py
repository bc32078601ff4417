"""Streams: a streaming DataFrame of events → a streaming DataFrame of rows, as windows close.

>>> from greta.spark.stream import aggregate_stream  # doctest: +SKIP

The door loads on first use: executors load the modules beside it, and not the door.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from greta.spark.stream.pipeline import aggregate_stream

__all__ = ["aggregate_stream"]


def __getattr__(name: str) -> object:
    if name != "aggregate_stream":
        raise AttributeError(f"module 'greta.spark.stream' has no attribute {name!r}")
    return getattr(import_module("greta.spark.stream.pipeline"), name)
