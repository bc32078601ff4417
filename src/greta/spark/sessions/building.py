"""A Spark session with everything found: Java, this Python for the workers, kernels loaded before the first task."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from greta.spark import require_pyspark
from greta.spark.sessions.choices import BATCH_BYTES, UNBOUNDED
from greta.spark.sessions.java import export_java_home
from greta.spark.sessions.settings import given_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DEFAULTS = {
    "spark.app.name": "greta",
    "spark.log.level": "ERROR",
    BATCH_BYTES: UNBOUNDED,
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
}
_LOCAL_DEFAULTS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    # Executors elsewhere may have no greta to load; here they have this one.
    "spark.python.daemon.module": "greta.spark.daemon",
    "spark.ui.enabled": "false",
}

_LONGEST_SOCKET = 103
"""Bytes of a Unix domain socket's path on the system that takes the fewest."""
_SOCKET_NAME = len("/.01234567-89ab-cdef-0123-456789abcdef.sock")
"""What Spark adds to the directory."""


def session(master: str | None = None, **conf: str) -> SparkSession:
    """The running session, or a new one on ``master``.

    A session that is already running is returned as it is. Raises ``SetupError`` where PySpark or Java is missing.

    Args:
        master: By default the one that ``spark-submit``, ``spark-defaults.conf`` or ``SPARK_REMOTE`` names, else
            ``local[*]``; ``sc://host:15002`` is a Spark Connect server.
        **conf: Spark's settings, with underscores for dots where a name has no dot:
            ``session(spark_driver_memory="4g")`` and ``session(**{"spark.sql.catalog.spark_catalog": "…"})``. They
            win over those of ``spark-defaults.conf``, which win over greta's own.
    """
    require_pyspark()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    settings = {name if "." in name else name.replace("_", "."): value for name, value in conf.items()}
    if remote := _remote(master):
        return _built(SparkSession.builder.remote(remote), settings)
    export_java_home()
    given = given_settings() | settings
    master = master or given.get("spark.master") or "local[*]"
    local = master.startswith("local")
    _choose_python(local, given)
    ours = _DEFAULTS | (_local_settings() if local else {})
    ours = {name: value for name, value in ours.items() if name not in given}
    return _built(SparkSession.builder.master(master), ours | settings)


def _remote(master: str | None) -> str | None:
    """The address of a Spark Connect server, where one is meant."""
    if master is not None:
        return master if master.startswith("sc://") else None
    return os.environ.get("SPARK_REMOTE")


def _built(builder: SparkSession.Builder, settings: Mapping[str, str]) -> SparkSession:
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _choose_python(local: bool, given: Mapping[str, str]) -> None:
    """Workers on this machine run this Python, executors elsewhere the one that they were given, or their own."""
    workers = given.get("spark.pyspark.python") or (sys.executable if local else None)
    if workers is not None:
        os.environ.setdefault("PYSPARK_PYTHON", workers)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _local_settings() -> dict[str, str]:
    """What a session on this machine gets beside the settings of any."""
    settings = dict(_LOCAL_DEFAULTS)
    quiet = Path(__file__).with_name("log4j2.properties").as_uri()
    settings["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={quiet}"
    if directory := _socket_directory():
        # Over TCP a task with little data takes some 30 ms longer.
        settings["spark.python.unix.domain.socket.enabled"] = "true"
        settings["spark.python.unix.domain.socket.dir"] = directory
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return settings


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
