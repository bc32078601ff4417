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
_DENIED = re.compile(
    r"Permission denied|Access ?Denied|AccessControlException|Operation not permitted|Status Code: 403|403 Forbidden"
)
_DISK = re.compile(
    r"No space left on device|Read-only file system|Mkdirs failed|failed to create|Not a directory|Unable to create"
)
_ACCESS = re.compile(
    r"(?P<write>access=WRITE|FileOutputStream|PutObject|[Mm]kdirs|RawLocalFileSystem\.create|FileOutputCommitter|"
    r"FileFormatWriter|CheckpointFileManager|newByteChannel.*WRITE)"
    r"|(?P<read>access=READ|access=EXECUTE|FileInputStream|RawLocalFileSystem\.open|GetObject|HeadObject|ListObject|"
    r"getFileStatus|listStatus|InMemoryFileIndex|HadoopFSUtils|FileScanRDD|readFooter)"
)
"""Words of a denial, and of the frames beneath it, that tell what was tried."""
_HEADER = re.compile(r"CSV header does not conform to the schema\.\s*Header: (.*)\s*Schema: (.*)")
_HEADER_LENGTH = re.compile(r"Header length: (\d+), schema size: (\d+)")
_CAUSE = re.compile(r"^\s*Caused by: (.*\S)", re.MULTILINE)
_JAVA_MEMORY = re.compile(r"[\w.]*OutOfMemoryError\b.*")
_PYTHON_MEMORY = re.compile(r"^(?:[\w.]+\.)?_?(?:Arrow|Array)?MemoryError\b.*", re.MULTILINE)
_FILE_SYSTEM = re.compile(r'No FileSystem for scheme "?(\w+)|Class org\.apache\.hadoop\.fs\.(\w+)\.\w+ not found')
_KINDS = {kind.__name__: kind for kind in (DataError, SetupError, StateError)}
_LOST = ("java.io.EOFException", "ExecutorLostFailure")
_MAY_READ = "let the user that Spark runs as read it, or give Spark the credentials that may"
_FOR_WORKERS = (
    "give executors more beside Java's heap (--conf spark.executor.memoryOverhead=2g, or on one machine a "
    "smaller spark.driver.memory), run fewer tasks at a time (spark.executor.cores), or cut time more finely "
    "(--cut measure)"
)
_LONGEST = 500
"""Characters of a cause that are shown."""
_BENEATH = 2_000
"""Characters from a denial on in which its own frames stand."""
_NO_SOURCE = ("DATA_SOURCE_NOT_FOUND", "KAFKA_DATA_SOURCE_NOT_ENABLED", "_LEGACY_ERROR_TEMP_1140")
"""The last is what Spark before 4.3 calls the second."""
_NEEDED = ("confluent_kafka", "greta", "google", "lark", "llvmlite", "numba", "numpy", "pandas", "pyarrow")
"""What tasks import."""
_PACKAGES = {"confluent_kafka": "confluent-kafka", "google": "protobuf"}
"""Modules whose package has another name."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One exception of a chain."""

    kind: str
    """Its class, in Python or Java."""
    condition: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    message: str = ""

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
    message = _message(error)
    for name in ("getCondition", "getErrorClass"):
        try:
            condition = getattr(error, name)()
            return Failure(kind, condition or "", dict(error.getMessageParameters() or {}), message)
        except (AttributeError, TypeError, Py4JError):
            continue
    return Failure(kind, message=message)


def _message(error: Any) -> str:
    try:
        return str(error.getMessage() or "")
    except (AttributeError, TypeError, Py4JError):
        return ""


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
    text = "\n".join([text, *(f"Caused by: {failure.kind}: {failure.message}" for failure in failures[1:])])
    memory = _too_little_memory(text)
    if memory is not None:
        return memory
    file = next((failure for failure in failures if failure.meets("FAILED_READ_FILE")), None)
    if file is not None:
        return _unreadable(file, text)
    scheme = _FILE_SYSTEM.search(text)
    if scheme is not None:
        return _no_file_system(scheme[1] or scheme[2])
    denied = _DENIED.search(text)
    if denied is not None:
        return _denied(text, denied.start())
    disk = _DISK.search(text)
    if disk is not None:
        return _unwritable(_line_at(text, disk.start()))
    return _lost_worker() if any(kind in text for kind in _LOST) else None


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
    header = _HEADER.search(text)
    if header is not None:
        return DataError(
            f"{path}: its columns are {header[1].strip()}, and not {header[2].strip()}, as was expected",
            hint="files of one input must have the same columns in the same order",
        )
    count = _HEADER_LENGTH.search(text)
    if count is not None:
        return DataError(
            f"{path}: it has {count[1]} columns, and {count[2]} were expected",
            hint="files of one input must have the same columns in the same order",
        )
    causes = [cause for cause in _CAUSE.findall(text) if "FAILED_READ_FILE" not in cause]
    why = f": {causes[-1][:_LONGEST]}" if causes else ""
    if _DENIED.search(text) is not None:
        return DataError(f"{path}: may not be read{why}", hint=_MAY_READ)
    return DataError(f"{path}: cannot be read{why}", hint="is it damaged, or in another format than its name says?")


def _line_at(text: str, place: int) -> str:
    """The line around a place, without the words that Java puts before a cause."""
    start, stop = text.rfind("\n", 0, place) + 1, text.find("\n", place)
    return text[start : stop if stop >= 0 else None].strip().removeprefix("Caused by: ").removeprefix(": ")[:_LONGEST]


def _no_file_system(scheme: str) -> SetupError:
    return SetupError(
        f"Spark cannot open {scheme}: paths: the package that reads them is not there",
        hint="add it, for s3a with --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:<version of Spark's Hadoop>",
    )


def _denied(text: str, place: int) -> SetupError:
    """What may not be read or written; the first word that tells which of both stands at the denial or beneath it."""
    line = _line_at(text, place)
    start = text.rfind("\n", 0, place) + 1
    access = _ACCESS.search(text, start, start + _BENEATH)
    if access is None:
        return SetupError(
            f"it stopped because access was denied: {line}", hint="mend the permissions, then start it again"
        )
    if access["read"] is not None:
        return SetupError(f"it stopped because a file or directory may not be read: {line}", hint=_MAY_READ)
    return _unwritable(line)


def _unwritable(line: str) -> SetupError:
    return SetupError(
        f"it stopped because a directory cannot be written: {line}",
        hint="make room or mend the permissions, then start it again; a stream goes on from its checkpoint, "
        "where it stopped, and nothing is lost",
    )


def _too_little_memory(text: str) -> SetupError | None:
    """Whose memory ran out, Java's or Python's: more for the one is less for the other."""
    java = _JAVA_MEMORY.search(text)
    if java is not None:
        return SetupError(
            f"Java ran out of memory: {java[0].strip()[:_LONGEST]}",
            hint="give it more (--conf spark.driver.memory=4g on one machine, spark.executor.memory on a cluster), or "
            "run fewer tasks at a time (spark.executor.cores, --master local[2])",
        )
    python = _PYTHON_MEMORY.search(text)
    if python is not None:
        return SetupError(
            f"a Python worker of Spark ran out of memory: {python[0].strip()[:_LONGEST]}", hint=_FOR_WORKERS
        )
    return None


def _lost_worker() -> SetupError:
    return SetupError(
        "a Python worker of Spark ended without a word, as they do when the system takes their memory away",
        hint=_FOR_WORKERS,
    )
