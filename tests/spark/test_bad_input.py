"""Files of a stream that change their types or vanish: an error that says so, and nothing lost once they are mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_stream import FALLING, batch, comparable, trades

pytest.importorskip("pyspark")

from greta.errors import DataError
from greta.spark.failures import Failure, _unreadable
from greta.spark.stream import aggregate_stream
from greta.spark.stream.run import explained
from support.spark_streams import Stream

pytestmark = pytest.mark.spark


def test_a_file_of_other_types_and_one_that_vanished_end_the_stream_and_nothing_is_lost(
    spark: Any, tmp_path: Path
) -> None:
    table = trades(120, seed=6)
    stream = Stream(tmp_path, table.schema)
    changed = table.slice(60).set_column(4, "price", table.slice(60).column("price").cast(pa.string()))
    stream.add(table.slice(0, 60), changed)
    stream.flush()
    schema = spark.read.parquet(str(stream.incoming / "00000.parquet")).schema

    def run() -> None:
        events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(stream.incoming))
        stream.run(aggregate_stream(events, FALLING, lateness="2 seconds", buckets=2))

    second = stream.incoming / "00001.parquet"
    with pytest.raises(Exception, match="FAILED_READ_FILE") as caught:
        run()
    told = explained(caught.value)
    assert isinstance(told, DataError)
    assert (
        str(told).splitlines()[0].endswith("00001.parquet: its column price is binary, and bigint in the files before")
    )
    second.unlink()
    with pytest.raises(Exception, match="FAILED_READ_FILE") as caught:
        run()
    told = explained(caught.value)
    assert isinstance(told, DataError)
    assert "00001.parquet: it was there, and no longer is\n" in str(told)
    pq.write_table(table.slice(60), second)
    run()
    assert comparable(stream.rows(spark)) == batch(table, FALLING)


def test_a_file_that_cannot_be_read_for_any_other_reason_is_named() -> None:
    damaged = Failure("x", "FAILED_READ_FILE.NO_HINT", {"path": "a.parquet"})
    assert "a.parquet: cannot be read" in str(_unreadable(damaged, ""))
