"""Event streams to try and measure greta on: generated ones, the paper's own, and those in your files.

``stock``, ``traffic`` and ``cluster`` make tables, their ``…_batches`` streams in bounded memory; ``write``
and ``feed`` put them into files, at once or as time passes; ``load`` reads files of any origin.
``greta.datasets.paper`` has the paper's examples and queries. The names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from greta.datasets.cluster_monitoring import CLUSTER_SCHEMA, cluster, cluster_batches
    from greta.datasets.files import write
    from greta.datasets.linear_road import TRAFFIC_SCHEMA, traffic, traffic_batches
    from greta.datasets.live import Fed, feed
    from greta.datasets.loaders import load
    from greta.datasets.stock_market import STOCK_SCHEMA, stock, stock_batches

__all__ = [
    "CLUSTER_SCHEMA",
    "STOCK_SCHEMA",
    "TRAFFIC_SCHEMA",
    "Fed",
    "cluster",
    "cluster_batches",
    "feed",
    "load",
    "stock",
    "stock_batches",
    "traffic",
    "traffic_batches",
    "write",
]

_HOME = {
    "CLUSTER_SCHEMA": "greta.datasets.cluster_monitoring",
    "STOCK_SCHEMA": "greta.datasets.stock_market",
    "TRAFFIC_SCHEMA": "greta.datasets.linear_road",
    "Fed": "greta.datasets.live",
    "cluster": "greta.datasets.cluster_monitoring",
    "cluster_batches": "greta.datasets.cluster_monitoring",
    "feed": "greta.datasets.live",
    "load": "greta.datasets.loaders",
    "stock": "greta.datasets.stock_market",
    "stock_batches": "greta.datasets.stock_market",
    "traffic": "greta.datasets.linear_road",
    "traffic_batches": "greta.datasets.linear_road",
    "write": "greta.datasets.files",
}
"""The module that each name lives in."""


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'greta.datasets' has no attribute {name!r}")
    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
