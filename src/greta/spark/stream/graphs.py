"""Where the graphs of streams lie on an executor's machine, and who removes them.

They are files among the executor's own, which all of its Python workers know and which go with it. Those of a stream
go when it ends: on the driver's machine at once, on others when another stream comes by (``greta.live.cache``).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from greta.spark.compat import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DIRECTORY = "GRETA_LIVE_DIRECTORY"
"""Environment variable of executors: another place for graphs, e.g. ``/dev/shm``, which is never written to a disk."""

_NAME = "greta-live"


def local_directory(spark: SparkSession) -> str | None:
    """The driver's own directory, where its tasks run beside it; None where they run elsewhere, or nobody knows."""
    if is_connect(spark) or not str(spark.sparkContext.master).startswith("local"):
        return None
    return str(spark.sparkContext._temp_dir)


def graphs_directory(local: str | None) -> Path:
    """Where graphs lie: as the environment says, else in the driver's directory, else in those of the executor."""
    directories = local or os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()
    return Path(os.environ.get(DIRECTORY) or directories.split(",")[0]) / _NAME


class _Ends(StreamingQueryListener):
    """Removes the graphs of a stream that has ended."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Nothing to do."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Nothing to do."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing to do."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Remove the stream's files."""
        shutil.rmtree(self.directory / str(event.id), ignore_errors=True)


_HEARD: set[str] = set()
"""Applications whose streams are listened to."""


def remove_at_the_end(spark: SparkSession) -> None:
    """Have the graphs of this session's streams removed when they end, where tasks run beside the driver."""
    local = local_directory(spark)
    if local is None or spark.sparkContext.applicationId in _HEARD:
        return
    spark.streams.addListener(_Ends(graphs_directory(local)))
    _HEARD.add(spark.sparkContext.applicationId)
