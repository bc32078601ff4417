"""Settings of a running session that greta chooses where nobody has: a session of the user's own works as greta's does.

They are seen by other queries of the same session, so there are few, and whoever sets one keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from greta.spark.sessions.cores import SHUFFLE, parallelism

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
UNBOUNDED = str(2**31 - 1)

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_STORES = "RocksDB"
"""What the classes have in their names that can keep the state of a stream: Spark's own, and those of vendors."""
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_CHANGES = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


def choose_arrow_batches(spark: SparkSession) -> None:
    """Let Spark bound the batches that it hands to Python by rows alone, as it did before 4.0.

    Measuring them in bytes too, row by row, costs a quarter of the way into Arrow.
    """
    # Spark 3.5 does not tell what has been set, and has no such bound.
    if hasattr(spark.conf, "getAll"):
        _choose(spark, BATCH_BYTES, UNBOUNDED)


def choose_state(spark: SparkSession, buckets: int) -> None:
    """Let a stream's state have as many parts as can be worked on at once, in stores that write what changed.

    Spark would make 200 parts, visit each of them in every micro-batch, and write all files of their stores.
    """
    if _STORES not in (spark.conf.get(_PROVIDER, None) or ""):
        spark.conf.set(_PROVIDER, _ROCKSDB)
    _choose(spark, _CHANGES, "true")
    _choose(spark, SHUFFLE, str(max(1, min(buckets, parallelism(spark)))))


def _choose(spark: SparkSession, name: str, value: str) -> None:
    if name not in spark.conf.getAll:
        spark.conf.set(name, value)
