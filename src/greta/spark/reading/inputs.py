"""Event files and tables → one DataFrame of events, with no row lost in silence.

CSV and JSON may hold rows that cannot be read. They are kept apart while Spark reads: an error that names file and
line, or left out and counted, whichever the caller asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import unquote, urlparse

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.datasets.inputs import Input
from greta.errors import DataError, GretaError
from greta.spark.compat import client_version
from greta.spark.failures import explained, met, no_source
from greta.spark.reading.formats import COMPRESSED, CORRUPT, Format, format_in, format_of, text_options
from greta.spark.reading.headers import in_file_order
from greta.spark.reading.parquet import Files
from greta.spark.reading.times import TimeUnit, with_times
from greta.spark.wire.columns import named, opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.readwriter import DataFrameReader

Malformed = Literal["fail", "skip"]

_FILE = "_greta_file"
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Events:
    """The events of all inputs; ``skipped`` tells after a run how many rows could not be read."""

    df: DataFrame
    observations: tuple[Observation, ...] = ()
    files: tuple[Files, ...] | None = None
    """The inputs, where all are Parquet files and hold the events as ``df`` has them: tasks may read them then."""

    @property
    def skipped(self) -> int:
        """Malformed rows that were left out. Ask only after an action over ``df`` has run."""
        return sum(int(observation.get["malformed"] or 0) for observation in self.observations)


def read_events(
    spark: SparkSession,
    sources: Sequence[Input],
    *,
    format: Format | None = None,  # noqa: A002 - the word that Spark uses
    time: str = "time",
    time_unit: TimeUnit | None = None,
    type: str = "type",  # noqa: A002 - the word that every backend uses
    schema: str | None = None,
    malformed: Malformed = "fail",
) -> Events:
    """Read inputs as one DataFrame: columns by name, NULL where an input lacks one.

    With ``malformed="fail"`` CSV and JSON are read once more, before anything else, and a row that cannot be read
    is a ``DataError`` that names its file and line. ``schema`` is for CSV and JSON, in Spark's words: ``price DOUBLE``.
    Times that are text are read as time stamps, numbers as times since 1970 where ``time_unit`` says in which unit.
    """
    parts, observations = [], []
    files: list[Files] | None = []
    for source in sources:
        df, observation = _read(spark, source, format, schema, malformed)
        as_stored = (format or guess_format(source.path)) == "parquet"
        found = Files(df, source.event_type)
        df = opened(df)
        if source.event_type is not None:
            df = df.withColumn(type, F.lit(source.event_type))
        timed = with_times(df, time, time_unit, text=True)
        files = [*files, found] if files is not None and as_stored and timed is df else None
        parts.append(timed)
        if observation is not None:
            observations.append(observation)
    try:
        joined = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), parts)
    except AnalysisException as error:
        raise DataError(f"the inputs do not go together: {_first_line(error)}") from error
    return Events(joined, tuple(observations), None if files is None else tuple(files))


def guess_format(path: str) -> Format | None:
    """The format that a path's ending names, or those of the files in it."""
    found = format_of(path)
    if found is None and Path(path).is_dir():
        return "delta" if (Path(path) / "_delta_log").is_dir() else format_in(Path(path))
    return found


def _read(
    spark: SparkSession, source: Input, format_: Format | None, schema: str | None, malformed: Malformed
) -> tuple[DataFrame, Observation | None]:
    chosen = format_ or guess_format(source.path)
    try:
        if chosen is None and "/" not in source.path and spark.catalog.tableExists(source.path):
            return spark.table(source.path), None
        if chosen in ("csv", "json"):
            return _read_text(spark, source.path, chosen, schema, malformed)
        return spark.read.format(chosen or "parquet").load(source.path), None
    except (PySparkException, Py4JError) as error:
        raise _problem(error, source.path, chosen) from error


def _read_text(
    spark: SparkSession, path: str, format_: str, schema: str | None, malformed: Malformed
) -> tuple[DataFrame, Observation | None]:
    reader = spark.read.format(format_).options(**text_options(format_, path))
    fields = _fields(reader, path, format_, schema)
    columns = [named(name) for name in fields.names]
    df = reader.schema(fields.add(CORRUPT, T.StringType())).load(path)
    if malformed == "fail":
        _refuse_malformed(df)
        return df.drop(CORRUPT), None
    observation = Observation()
    counted = df.observe(
        observation,
        F.count(F.col(CORRUPT)).alias("malformed"),
        # Spark converts only columns that something asks for, and finds wrong values only in these.
        F.max(F.xxhash64(*columns)).alias("judged"),
    )
    return counted.where(F.col(CORRUPT).isNull()).drop(CORRUPT), observation


def _fields(reader: DataFrameReader, path: str, format_: str, schema: str | None) -> T.StructType:
    if schema is not None:
        given = cast("T.StructType", T.StructType.fromDDL(schema))
        return in_file_order(given, reader.load(path).columns) if format_ == "csv" else given
    if format_ == "csv":
        reader = reader.option("inferSchema", True)
    found = [field for field in reader.load(path).schema.fields if field.name != CORRUPT]
    if not found:
        raise DataError(f"{path}: not a single row can be read as {format_}")
    return T.StructType(found)


def _refuse_malformed(df: DataFrame) -> None:
    with_file = df.withColumn(_FILE, F.col("_metadata.file_path"))
    bad = with_file.where(F.col(CORRUPT).isNotNull())
    # Spark refuses to look at the corrupt column alone, so all columns stay in.
    try:
        first = bad.limit(_SHOWN).collect()
    except (PySparkException, Py4JError) as error:
        raise explained(error) or error from None
    if not first:
        return
    lines = [f"  {_place(row[_FILE], row[CORRUPT])}: {row[CORRUPT][:200]}" for row in first]
    raise DataError(
        "the input has rows that cannot be read:\n" + "\n".join(lines),
        hint="mend them, give the columns' types with --schema, or leave such rows out with --malformed skip",
    )


def _place(url: str, record: str) -> str:
    """``file:line`` where the file is at hand, else the file."""
    parsed = urlparse(url)
    file = Path(unquote(parsed.path))
    if parsed.scheme in ("", "file") and file.is_file() and file.suffix not in COMPRESSED:
        wanted = record.strip()
        with file.open(encoding="utf-8", errors="replace") as text:
            for number, line in enumerate(text, start=1):
                if line.strip() == wanted:
                    return f"{file}:{number}"
        return str(file)
    return url


def _problem(error: Exception, path: str, format_: str | None) -> GretaError:
    """What is wrong with an input, and a way out where there is one."""
    if met(error, "PATH_NOT_FOUND"):
        return DataError(f"{path}: there is no such path, nor a table of this name")
    if met(error, "UNABLE_TO_INFER_SCHEMA"):
        return DataError(f"{path}: no {format_ or 'parquet'} files in it", hint="name the format with --format csv")
    if no_source(error):
        return DataError(f"{path}: Spark has no reader for {format_}", hint=package_hint())
    return explained(error) or DataError(f"{path}: {_first_line(error)}")


def package_hint() -> str:
    """How to add a reader or writer that Spark lacks."""
    spark = ".".join(map(str, client_version()))
    return (
        f"add its package for Spark {spark}, "
        f"e.g. --conf spark.jars.packages=io.delta:delta-spark_{spark}_2.13:<version of Delta>"
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    # Py4J puts a line of its own before what Java says.
    return lines[1].lstrip(": ") if isinstance(error, Py4JError) and len(lines) > 1 else lines[0]
