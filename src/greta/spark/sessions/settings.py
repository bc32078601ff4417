"""Which settings Spark has before a session starts: ``spark-submit``, ``spark-defaults.conf`` → names and values.

greta's own settings are only for what nobody has set: whoever runs a cluster has reasons for theirs.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

_LINE = re.compile(r"\s*([^\s#!=:][^\s=:]*)\s*[=:\s]\s*(.*?)\s*")
_OPTIONS = {
    "--master": "spark.master",
    "--name": "spark.app.name",
    "--driver-memory": "spark.driver.memory",
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--executor-memory": "spark.executor.memory",
    "--executor-cores": "spark.executor.cores",
    "--num-executors": "spark.executor.instances",
    "--total-executor-cores": "spark.cores.max",
    "--packages": "spark.jars.packages",
    "--archives": "spark.archives",
    "--py-files": "spark.submit.pyFiles",
}
"""Options of ``spark-submit`` and the settings that they stand for."""


def given_settings(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Settings that the session to come will have whatever greta does; those of the command line win over the file's.

    Under ``spark-submit`` Java has them all already and is asked.
    """
    environment = os.environ if environment is None else environment
    if "PYSPARK_GATEWAY_PORT" in environment:
        return _of_running_java()
    return _of_file(_defaults_file(environment)) | of_arguments(environment.get("PYSPARK_SUBMIT_ARGS", ""))


def _of_running_java() -> dict[str, str]:
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def _defaults_file(environment: Mapping[str, str]) -> Path | None:
    if directory := environment.get("SPARK_CONF_DIR"):
        return Path(directory) / "spark-defaults.conf"
    if home := environment.get("SPARK_HOME"):
        return Path(home) / "conf" / "spark-defaults.conf"
    return None


def _of_file(file: Path | None) -> dict[str, str]:
    if file is None or not file.is_file():
        return {}
    return of_defaults(file.read_text("utf-8", errors="replace"))


def of_defaults(text: str) -> dict[str, str]:
    r"""The settings in a ``spark-defaults.conf``.

    >>> of_defaults("# memory\nspark.driver.memory  4g\nspark.ui.port=4050")
    {'spark.driver.memory': '4g', 'spark.ui.port': '4050'}
    """
    found = (_LINE.fullmatch(line) for line in text.splitlines())
    return {line[1]: line[2] for line in found if line is not None}


def of_arguments(text: str) -> dict[str, str]:
    """The settings in options of ``spark-submit``, as in ``PYSPARK_SUBMIT_ARGS``.

    >>> of_arguments("--master yarn --conf spark.ui.port=4050 pyspark-shell")
    {'spark.master': 'yarn', 'spark.ui.port': '4050'}
    """
    settings = {}
    words = iter(shlex.split(text))
    for word in words:
        option, equals, value = word.partition("=")
        if option in ("--conf", "-c"):
            name, _, value = (value if equals else next(words, "")).partition("=")
            settings[name] = value
        elif option in _OPTIONS:
            settings[_OPTIONS[option]] = value if equals else next(words, "")
    return settings
