"""A Spark session with everything found: Java, this Python for the workers, kernels loaded before the first task."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import sys
import tempfile
from functools import cache
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
_LOCAL_DEFAULTS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}

_LONGEST_SOCKET = 103
"""Bytes of a Unix domain socket's path on the system that takes the fewest."""
_SOCKET_NAME = len("/.01234567-89ab-cdef-0123-456789abcdef.sock")
"""What Spark adds to the directory."""


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
        if directory := _socket_directory():
            # Over TCP a task with little data takes some 30 ms longer.
            settings["spark.python.unix.domain.socket.enabled"] = "true"
            settings["spark.python.unix.domain.socket.dir"] = directory
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings |= {name.replace("_", "."): value for name, value in conf.items()}
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@cache
def _socket_directory() -> str | None:
    """A directory for this process's sockets to its workers, gone when it ends; None where none can be had.

    Spark would leave sockets behind in the system's directory, and fail where that has a long name.
    """
    if not hasattr(socket, "AF_UNIX"):
        return None
    for parent in (tempfile.gettempdir(), "/tmp"):
        try:
            directory = tempfile.mkdtemp(prefix="greta-", dir=parent)
        except OSError:
            continue
        if len(os.fsencode(directory)) + _SOCKET_NAME <= _LONGEST_SOCKET:
            atexit.register(shutil.rmtree, directory, ignore_errors=True)
            return directory
        Path(directory).rmdir()
    return None
