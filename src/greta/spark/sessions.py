"""A Spark session with everything found: Java, this Python for the workers, kernels loaded before the first task."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from greta.spark import require_pyspark
from greta.spark.java import export_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DEFAULTS = {
    "spark.app.name": "greta",
    "spark.driver.memory": "2g",
    "spark.log.level": "ERROR",
    "spark.python.daemon.module": "greta.spark.daemon",
    # Batches are bounded by rows; measuring them in bytes too would cost a quarter of the way into Arrow, row by row.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
if hasattr(socket, "AF_UNIX"):
    # Over TCP, a task's last few bytes wait 40 ms for an acknowledgement that the other side delays.
    _DEFAULTS["spark.python.unix.domain.socket.enabled"] = "true"
_LOCAL_DEFAULTS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def session(master: str = "local[*]", **conf: str) -> SparkSession:
    """The running session, or a new one on ``master``.

    Settings are Spark's with underscores for dots: ``session(spark_driver_memory="4g")``. A session that is
    already running is returned as it is. Raises ``SetupError`` where PySpark or Java is missing.
    """
    require_pyspark()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    export_java_home()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    quiet = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
    settings = _DEFAULTS | {"spark.driver.extraJavaOptions": quiet}
    if master.startswith("local"):
        settings |= _LOCAL_DEFAULTS
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings |= {name.replace("_", "."): value for name, value in conf.items()}
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
