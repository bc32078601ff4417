"""What a stream reads: CSV by the names of its columns, and sources that cannot be opened."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from test_stream_kill import inside

from greta.errors import DataError, GretaError
from support.spark_streams import Stream

pytest.importorskip("pyspark")

from greta.spark.stream import aggregate_stream
from greta.spark.stream.run import explained
from greta.spark.stream.sources import Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

BIDS = "RETURN COUNT(*) AS quotes, SUM(Q.bid) AS bids PATTERN Quote Q WITHIN 10 seconds"
SCHEMA = "ask BIGINT, bid BIGINT, type STRING, time TIMESTAMP"
"""The columns of the quotes below, in another order than in the files."""


@pytest.fixture
def quotes(tmp_path: Path) -> Callable[..., list[object]]:
    """Writes files of quotes, and gives the command that reads them one by one."""
    place, query = tmp_path / "in", tmp_path / "query.greta"
    place.mkdir()
    query.write_text(BIDS)

    def write(*options: object, **files: str) -> list[object]:
        for at, (name, text) in enumerate(files.items()):
            file = place / name.replace("_", ".")
            file.write_text(text)
            os.utime(file, (1_700_000_000 + at,) * 2)
        fixed = ("-i", place, "-o", tmp_path / "out", "--checkpoint", tmp_path / "state", "--lateness", "0 seconds")
        return [query, *fixed, "--files-per-trigger", 1, "--buckets", 2, "--available-now", "--quiet", *options]

    return write


def rows(spark: SparkSession, place: Path) -> list[tuple[Any, ...]]:
    return [(row["quotes"], row["bids"]) for row in spark.read.parquet(str(place / "out")).collect()]


FIRST = "type,time,bid,ask\nQuote,2026-01-05T09:30:00Z,1,10\nQuote,2026-01-05T09:30:01Z,2,20\n"
LAST = "type,time,bid,ask\nNothing,2030-01-01T00:00:00Z,,\n"


def test_csv_with_columns_in_the_order_of_the_header_is_read_by_name_whatever_the_schema_says(
    spark: SparkSession, tmp_path: Path, quotes: Callable[..., list[object]]
) -> None:
    assert inside(*quotes("--schema", SCHEMA, a_csv=FIRST, z_csv=LAST)) == 0
    assert rows(spark, tmp_path) == [(2.0, 3)]


SWAPPED = "type,time,ask,bid\nQuote,2026-01-05T09:30:02Z,30,3\n"


@pytest.mark.usefixtures("spark")
def test_a_csv_file_with_two_columns_swapped_ends_the_stream_with_an_error_that_names_it(
    quotes: Callable[..., list[object]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert inside(*quotes("--schema", SCHEMA, a_csv=FIRST, b_csv=SWAPPED, z_csv=LAST)) == 1
    errors = capsys.readouterr().err
    assert "b.csv: its columns are type, time, ask, bid, and not type, time, bid, ask" in errors
    assert "Traceback" not in errors


def test_a_csv_file_that_comes_later_with_two_columns_swapped_ends_the_stream_too(
    spark: SparkSession, tmp_path: Path, quotes: Callable[..., list[object]]
) -> None:
    quotes(a_csv=FIRST)
    events = Source(str(tmp_path / "in"), files_per_trigger=1).read(spark)
    quotes(a_csv=FIRST, b_csv=SWAPPED, z_csv=LAST)
    stream = Stream(tmp_path, pa.schema([]))
    with pytest.raises(Exception, match="FAILED_READ_FILE") as failure:
        stream.run(aggregate_stream(events, BIDS, lateness="0 seconds", buckets=2))
    assert "b.csv: its columns are type, time, ask, bid" in str(explained(failure.value))


@pytest.mark.usefixtures("spark")
def test_a_csv_file_with_a_column_more_is_refused_by_name(
    quotes: Callable[..., list[object]], capsys: pytest.CaptureFixture[str]
) -> None:
    more = "type,time,bid,ask,size\nQuote,2026-01-05T09:30:02Z,3,30,1\n"
    assert inside(*quotes("--schema", SCHEMA, a_csv=FIRST, b_csv=more)) == 1
    assert "b.csv: it has 5 columns, and 4 were expected" in capsys.readouterr().err


def test_tabs_separate_the_columns_of_tsv_files_in_streams_and_in_directories(
    spark: SparkSession, tmp_path: Path, quotes: Callable[..., list[object]]
) -> None:
    from greta.datasets.inputs import Input
    from greta.spark.reading.inputs import read_events

    first, last = (text.replace(",", "\t") for text in (FIRST, LAST))
    assert inside(*quotes(a_tsv=first, z_tsv=last)) == 0
    assert rows(spark, tmp_path) == [(2.0, 3)]
    for place in (tmp_path / "in", f"file://{tmp_path}/in", tmp_path / "in" / "a.tsv"):
        events = read_events(spark, [Input(str(place), None)], format="csv")
        assert events.df.columns == ["type", "time", "bid", "ask"]


def test_csv_files_may_come_later_than_the_stream_starts(spark: SparkSession, tmp_path: Path) -> None:
    assert Source(str(tmp_path), "csv", SCHEMA).read(spark).columns[:4] == ["ask", "bid", "type", "time"]
    (tmp_path / "a.csv").write_text("type,time,bid\n")
    with pytest.raises(DataError, match="the file has the columns type, time, bid, and the schema names"):
        Source(str(tmp_path), "csv", SCHEMA).read(spark)


@pytest.mark.usefixtures("spark")
def test_what_spark_raises_before_a_stream_starts_is_told_in_a_few_words(
    tmp_path: Path, quotes: Callable[..., list[object]], capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*options: object) -> str:
        assert inside(*quotes(*options)) == 1
        errors = capsys.readouterr().err
        assert "Traceback" not in errors
        assert "\tat " not in errors
        return errors

    assert "hadoop-aws" in said("-i", "s3a://bucket/in")
    (tmp_path / "in" / "a.parquet").write_text("PAR1 is not enough")
    assert "a.parquet: cannot be read" in said()
    (tmp_path / "in" / "a.parquet").unlink()
    (tmp_path / "in" / "a.csv").write_text(FIRST)
    assert "lateness 'soon' is no length of time" in said("--lateness", "soon")
    assert "rate:many names no number" in said("-i", "rate:many")


def test_lateness_that_is_no_length_of_time_is_refused(spark: SparkSession) -> None:
    events = spark.readStream.format("rate").load().selectExpr("timestamp AS time", "'A' AS type")
    with pytest.raises(GretaError, match="lateness 'soon' is no length of time"):
        aggregate_stream(events, "RETURN COUNT(*) PATTERN A WITHIN 1 second", lateness="soon")


@pytest.mark.parametrize(
    ("name", "record"), [("b_csv", "Quote,2026-01-05T09:30:02Z,cheap,30"), ("b_json", "this is no record")]
)
@pytest.mark.usefixtures("spark")
def test_a_record_that_cannot_be_read_is_shown_with_its_file(
    quotes: Callable[..., list[object]], capsys: pytest.CaptureFixture[str], name: str, record: str
) -> None:
    header = "type,time,bid,ask\n" if name == "b_csv" else ""
    options = quotes("--schema", SCHEMA, **{name: f"{header}{record}\n"})
    assert inside(*options) == 1
    errors = capsys.readouterr().err
    assert "an event has no readable time in column 'time': file:" in errors
    assert f"/in/{name.replace('_', '.')}: {record}\n" in errors
