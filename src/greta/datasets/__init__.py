"""Event streams to try and measure greta on: generated ones, the paper's own, and those in your files.

``stock``, ``traffic`` and ``cluster`` make tables, their ``…_batches`` streams in bounded memory; ``write``
and ``feed`` put them into files, at once or as time passes; ``load`` reads files of any origin.
``greta.datasets.paper`` has the paper's examples and queries.
"""

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
