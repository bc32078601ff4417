"""What Spark raised → what went wrong, in greta's words: by error condition and class, which outlive Spark's sentences.

A failed job is a chain of exceptions, in Python and in Java behind it. Each has a class, and most have a *condition*
(``PATH_NOT_FOUND``) with named parameters. Only where a worker or the operating system spoke is its text read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from greta.errors import DataError, GretaError, SetupError, StateError

_DEEPEST = 12
"""Exceptions behind each other that are looked at."""
_RAISED = re.compile(
    r"^(greta\.[\w.]+Error): (.*?)(?=^\S*\s*at |^\n|^\s*SQLSTATE: |^=== Streaming Query|\Z)", re.MULTILINE | re.DOTALL
)
_MODULE = re.compile(r"No module named '?([\w.]+)")
_DISK = re.compile(
    r"No space left on device|Permission denied|Read-only file system|Mkdirs failed|failed to create|"
    r"AccessDenied|Operation not permitted|Not a directory|Unable to create"
)
_KINDS = {kind.__name__: kind for kind in (DataError, SetupError, StateError)}
_LOST = ("java.io.EOFException", "ExecutorLostFailure", "java.lang.OutOfMemoryError")
_NO_SOURCE = ("DATA_SOURCE_NOT_FOUND", "KAFKA_DATA_SOURCE_NOT_ENABLED", "_LEGACY_ERROR_TEMP_1140")
"""The last is what Spark before 4.3 calls the second."""
_NEEDED = ("greta", "google", "lark", "llvmlite", "numba", "numpy", "pandas", "pyarrow")
"""What tasks import."""
_PACKAGES = {"google": "protobuf"}
"""Modules whose package has another name."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One exception of a chain."""

    kind: str
    """Its class, in Python or Java."""
    condition: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)

    def meets(self, condition: str) -> bool:
        """Whether it has this condition or a sub-condition of it."""
        return self.condition == condition or self.condition.startswith(f"{condition}.")


def chain(error: BaseException) -> list[Failure]:
    """What was raised, then what caused it."""
    failures = []
    if isinstance(error, PySparkException):
        failures.append(_failure(type(error).__name__, error))
    java = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    while java is not None and len(failures) < _DEEPEST:
        failures.append(_failure(str(java.getClass().getName()), java))
        java = java.getCause()
    return failures


def _failure(kind: str, error: Any) -> Failure:
    """Spark 4.0 renamed the condition, which 3.5 calls the error class; what is not Spark's has none."""
    for name in ("getCondition", "getErrorClass"):
        try:
            condition = getattr(error, name)()
            return Failure(kind, condition or "", dict(error.getMessageParameters() or {}))
        except (AttributeError, TypeError, Py4JError):
            continue
    return Failure(kind)


def met(error: BaseException, *conditions: str) -> Failure | None:
    """The first exception of a chain with one of these conditions."""
    found = (failure for failure in chain(error) if any(failure.meets(condition) for condition in conditions))
    return next(found, None)


def no_source(error: BaseException) -> bool:
    """Whether Spark lacks the reader or writer that was asked for."""
    return met(error, *_NO_SOURCE) is not None


def explained(error: BaseException) -> GretaError | None:
    """A failed job as an error that says where and what to do, where the cause is one that greta knows."""
    text = str(error)
    raised = _RAISED.search(text)
    if raised is not None:
        return _of_worker(raised[1].rpartition(".")[2], raised[2].strip())
    module = _MODULE.search(text)
    if module is not None and module[1].partition(".")[0] in _NEEDED:
        return missing(module[1])
    failures = chain(error)
    file = next((failure for failure in failures if failure.meets("FAILED_READ_FILE")), None)
    if file is not None:
        return _unreadable(file, text)
    disk = next((line.strip() for line in text.splitlines() if _DISK.search(line)), None)
    if disk is not None:
        return SetupError(
            f"it stopped because a directory cannot be written: {disk}",
            hint="make room or mend the permissions, then start it again; a stream goes on from its checkpoint, "
            "where it stopped, and nothing is lost",
        )
    if any(failure.kind in _LOST for failure in failures) or any(kind in text for kind in _LOST):
        return _out_of_memory()
    return None


def _of_worker(kind: str, text: str) -> GretaError:
    """An error that greta raised in a worker, of which Spark keeps the text: its kind, its words and its way out.

    An error in a query has its text with the place marked; it comes back in these words, as a ``GretaError``.
    """
    message, _, hint = text.partition("\nhint: ")
    return _KINDS.get(kind, GretaError)(message, hint=hint or None)


def told(error: BaseException, what: str, hint: str) -> GretaError:
    """A failed job as an error in any case: in greta's words where the cause is known, else in its last cause's."""
    known_cause = explained(error)
    if known_cause is not None:
        return known_cause
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = next((line for line in lines if line.startswith("Caused by:")), lines[0] if lines else "no reason given")
    return GretaError(f"{what} stopped: {cause[:500]}", hint=hint)


def of_spark(error: BaseException) -> bool:
    """Whether Spark raised it."""
    return isinstance(error, PySparkException | Py4JError)


def missing(module: str) -> SetupError:
    """What to do where the workers lack a module."""
    top = module.partition(".")[0]
    if top == "greta":
        return SetupError(
            "greta is not installed where Spark's tasks run: this process has it, the executors' Python has not",
            hint="hand it over with greta.spark.ship(spark) (greta run --ship), or install greta-trends on every "
            "executor; with an archive of your own: greta pack, then --conf spark.archives=greta.tar.gz#greta",
        )
    package = _PACKAGES.get(top, top)
    return SetupError(
        f"the Python of Spark's executors has no {package}, which greta needs there",
        hint=f"install {package} on every executor, or name a Python that has it with "
        "--conf spark.pyspark.python=/path/to/python",
    )


def _unreadable(file: Failure, text: str) -> DataError:
    """What is wrong with a file, by the sub-condition that Spark gives."""
    path = file.parameters.get("path", "a file")
    if file.meets("FAILED_READ_FILE.FILE_NOT_EXIST"):
        return DataError(
            f"{path}: it was there, and no longer is",
            hint="put it back and start again, and nothing is lost; to go on without its events, add "
            "--conf spark.sql.files.ignoreMissingFiles=true",
        )
    if file.meets("FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH"):
        column, expected, actual = (
            file.parameters.get(name, "?").strip("[]`") for name in ("column", "expectedType", "actualType")
        )
        return DataError(
            f"{path}: its column {column} is {actual.lower()}, and {expected.lower()} in the files before",
            hint="files of one input must have the same types; replace it by one that has, or read other files as an "
            "input of their own",
        )
    header = re.search(r"CSV header does not conform to the schema\.\s*Header: (.*)\s*Schema: (.*)", text)
    if header is not None:
        return DataError(
            f"{path}: its columns are {header[1].strip()}, those of the first file {header[2].strip()}",
            hint="files of one input must have the same columns in the same order",
        )
    return DataError(f"{path}: cannot be read", hint="is it damaged, or in another format than its name says?")


def _out_of_memory() -> SetupError:
    return SetupError(
        "a Python worker of Spark ended without a word, as they do when the system takes their memory away",
        hint="give executors more beside Java's heap (--conf spark.executor.memoryOverhead=2g, or on one machine a "
        "smaller spark.driver.memory), run fewer tasks at a time (spark.executor.cores), or cut time more finely "
        "(--cut measure)",
    )
