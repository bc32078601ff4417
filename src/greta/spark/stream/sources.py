"""Where a stream comes from and goes to, by name: directories, rate, socket, Kafka, console.

DIR                        event files as they appear: Parquet, CSV or JSON lines
rate, rate:5000            made-up stock trades, so many per second
socket:HOST:PORT           JSON objects, one per line
kafka:HOST:PORT/TOPIC      JSON objects as values, through Spark's own connector where it is, else confluent-kafka
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyspark
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.errors import DataError, SetupError
from greta.spark.compat import BOUNDED_SOURCES, spark_version
from greta.spark.failures import met, no_source
from greta.spark.reading.formats import CORRUPT, format_in, format_of, text_options
from greta.spark.reading.headers import in_file_order
from greta.spark.reading.paths import local_path
from greta.spark.reading.times import with_times
from greta.spark.stream.behind import without_watermark
from greta.spark.stream.records import TEXT, decoded
from greta.spark.wire.columns import named, opened
from greta.spark.wire.records import BadRecords

if TYPE_CHECKING:
    from pyspark.sql.readwriter import DataFrameReader
    from pyspark.sql.streaming.readwriter import DataStreamWriter

Format = Literal["parquet", "csv", "json"]

KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13"
"""Spark's connector; its version is Spark's own."""


@dataclass(frozen=True, slots=True)
class Source:
    """How to read a stream of events."""

    place: str
    format: Format | None = None
    schema: str | None = None
    """Columns in Spark's words, e.g. ``type STRING, time TIMESTAMP, price DOUBLE``."""
    time: str = "time"
    files_per_trigger: int | None = None
    bad_records: BadRecords = "stop"
    records_per_trigger: int | None = None
    kafka: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Settings of Kafka's client; they may be secret."""

    def read(self, spark: SparkSession) -> DataFrame:
        """The stream; a record that cannot be read has no time, and is met by ``bad_records``."""
        kind, _, rest = self.place.partition(":")
        match kind:
            case "rate":
                return _trades(spark, _rate(rest))
            case "socket":
                host, _, port = rest.rpartition(":")
                lines = spark.readStream.format("socket").option("host", host).option("port", port).load()
                return self._judged(decoded(lines.select(F.col("value").alias(TEXT)), self._declared()))
            case "kafka":
                columns = self._declared()
                records = _topic(spark, rest, columns, self.records_per_trigger, self.kafka)
                return self._judged(decoded(records, columns))
            case _:
                return self._files(spark)

    def _files(self, spark: SparkSession) -> DataFrame:
        directory = local_path(self.place)
        if directory is not None and not directory.is_dir():
            raise DataError(f"there is no directory {directory}", hint="create it first; files may come later")
        form = self.format or _format_in(directory, self.place)
        options = {"recursiveFileLookup": "true"} | text_options(form, self.place, nested=True)
        options |= {"ignoreCorruptFiles": str(self.bad_records == "skip").lower()} if form == "parquet" else {}
        schema = self._schema(spark.read.options(**options).format(form), form)
        text = form != "parquet"
        reader = spark.readStream.options(**options).format(form)
        if text:
            schema = T.StructType([f for f in schema if f.name != CORRUPT]).add(CORRUPT, "string")
        if self.files_per_trigger:
            reader = reader.option("maxFilesPerTrigger", self.files_per_trigger)
        df = reader.schema(schema).load(self.place)
        if text and "_metadata" not in schema.names:
            file = F.col("_metadata.file_path")
            df = df.withColumn(CORRUPT, F.concat(file, F.lit(": "), F.col(CORRUPT)))
        return self._judged(df)

    def _schema(self, reader: DataFrameReader, form: Format) -> T.StructType:
        """The columns of the files that are there; the declared ones where there is none yet."""
        if self.schema is None:
            found = {"inferSchema": "true", "inferTimestamp": "true", "mode": "DROPMALFORMED"}
            return reader.options(**found).load(self.place).schema
        given = _columns(self.schema)
        header = _header(reader, self.place) if form == "csv" else []
        return in_file_order(given, header) if header else given

    def _declared(self) -> T.StructType:
        if self.schema is None:
            raise DataError(
                f"a stream from {self.place.partition(':')[0]} has no columns by itself",
                hint="name them with --schema 'type STRING, time TIMESTAMP, price DOUBLE'",
            )
        return _columns(self.schema)

    def _judged(self, df: DataFrame) -> DataFrame:
        """Times as time stamps; a record that cannot be read has none, and keeps its text in the column ``CORRUPT``."""
        df = opened(df)
        kinds = {field.name: field.dataType for field in df.schema.fields}
        if self.time not in kinds:
            return df.drop(CORRUPT)
        df = with_times(df, self.time, None, text=True)
        if CORRUPT in kinds:
            df = df.withColumn(self.time, F.when(F.col(CORRUPT).isNull(), named(self.time)))
        return df


def _header(reader: DataFrameReader, place: str) -> list[str]:
    """The columns of the CSV files in a directory, as one of them has them; none where there is no file yet."""
    try:
        return reader.load(place).columns
    except AnalysisException as error:
        if met(error, "UNABLE_TO_INFER_SCHEMA"):
            return []
        raise


def _columns(text: str) -> T.StructType:
    try:
        schema = T.StructType.fromDDL(text)
    except ParseException as error:
        raise DataError(f"--schema {text!r} is no list of columns", hint="'type STRING, time TIMESTAMP'") from error
    assert isinstance(schema, T.StructType)
    return schema


def _format_in(directory: Path | None, place: str) -> Format:
    """The format of a directory's files, where they are on this machine; Parquet elsewhere."""
    found = format_of(place) if directory is None else format_in(directory, nested=True)
    if found == "parquet" or found == "csv" or found == "json":
        return found
    if directory is None:
        return "parquet"
    raise DataError(
        f"{directory} has no .parquet, .csv, .json or .jsonl file to learn the columns from",
        hint="name them with --format and --schema, e.g. --format json --schema 'type STRING, time TIMESTAMP'",
    )


def _rate(text: str) -> int:
    if text and not text.isdecimal():
        raise DataError(f"rate:{text} names no number of trades per second", hint="rate:5000")
    return int(text or 1000)


def _trades(spark: SparkSession, rate: int) -> DataFrame:
    """Stock trades out of Spark's rate source: prices that wander, the same for the same row number."""
    rows = spark.readStream.format("rate").option("rowsPerSecond", rate).load()
    company = F.pmod(F.xxhash64("value"), F.lit(500))
    return rows.select(
        F.lit("Stock").alias("type"),
        F.col("timestamp").alias("time"),
        F.concat(F.lit("C"), company).alias("company"),
        F.concat(F.lit("S"), F.pmod(company, F.lit(10))).alias("sector"),
        (F.pmod(F.xxhash64("value", F.lit(1)), F.lit(10_000)) / 100).alias("price"),
        F.pmod(F.xxhash64("value", F.lit(2)), F.lit(1_000)).alias("volume"),
    )


def _topic(
    spark: SparkSession, place: str, columns: T.StructType, records: int | None, kafka: Mapping[str, str]
) -> DataFrame:
    """A topic's records, decoded or as text: through Spark's connector where it is, else through Python."""
    servers, topic = _address(place)
    if _has_connector(spark):
        options = {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest"}
        options = _client_options(kafka) | options
        if records is not None:
            options["maxOffsetsPerTrigger"] = str(records)
        return spark.readStream.format("kafka").options(**options).load().select(F.col("value").alias(TEXT))
    if records is not None and spark_version(spark) < BOUNDED_SOURCES:
        oldest = ".".join(map(str, BOUNDED_SOURCES))
        raise SetupError(
            f"a micro-batch from Kafka can be bounded on Spark {oldest} or later, and this is Spark {spark.version}",
            hint="leave --records-per-trigger out, or let Spark download its own connector with "
            f"--package {KAFKA}:{pyspark.__version__}",
        )
    options = {"servers": servers, "topic": topic, "columns": columns.json(), "recordsPerTrigger": str(records or 0)}
    return spark.readStream.format(_python_source(spark)).options(**_client_options(kafka), **options).load()


def _client_options(kafka: Mapping[str, str]) -> dict[str, str]:
    """Settings of Kafka's client as options, for Spark's connector and the source in Python alike."""
    return {f"kafka.{name}": value for name, value in kafka.items()}


def _address(place: str) -> tuple[str, str]:
    servers, _, topic = place.rpartition("/")
    if not servers or not topic:
        raise DataError(f"kafka:{place} names no topic", hint="kafka:HOST:PORT/TOPIC")
    return servers, topic


def _has_connector(spark: SparkSession) -> bool:
    try:
        spark.readStream.format("kafka").option("kafka.bootstrap.servers", "x").option("subscribe", "x").load()
    except Exception as error:
        if no_source(error):
            return False
        raise
    return True


def _python_source(spark: SparkSession) -> str:
    """The name of the source that needs no connector, known to the session."""
    from greta.spark.stream.kafka import FORMAT, KafkaTopic, available

    if not available():
        raise no_connector()
    spark.dataSource.register(KafkaTopic)
    return FORMAT


def no_connector() -> SetupError:
    """What to do where nothing reads Kafka."""
    return SetupError(
        "nothing here reads Kafka: neither confluent-kafka nor Spark's own connector is installed",
        hint="pip install 'greta-trends[kafka]', or let Spark download its connector with "
        f"--package {KAFKA}:{pyspark.__version__}",
    )


def write_to(place: str, rows: DataFrame, format_: Format, kafka: Mapping[str, str] | None = None) -> DataStreamWriter:
    """A writer into a directory, ``console`` or ``kafka:HOST:PORT/TOPIC``, in append mode."""
    kind, _, rest = place.partition(":")
    if kind == "console":
        return rows.writeStream.format("console").option("truncate", "false")
    if kind == "kafka":
        servers, topic = _address(rest)
        client = _client_options(kafka or {})
        values = rows.select(F.to_json(F.struct("*")).alias("value"))
        if _has_connector(rows.sparkSession):
            writer = values.writeStream.format("kafka").options(**client).option("kafka.bootstrap.servers", servers)
        else:
            writer = values.writeStream.format(_python_source(rows.sparkSession)).options(**client)
            writer = writer.option("servers", servers)
        return writer.option("topic", topic)
    return without_watermark(rows).writeStream.format(format_).option("path", place)
