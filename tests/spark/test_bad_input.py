"""Files of a stream that change their types or vanish: an error that says so, and nothing lost once they are mended."""

from __future__ import annotations

import json
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
from greta.spark.stream.pending import require_pending_files
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
        stream.run(aggregate_stream(events, FALLING, lateness="2 seconds", buckets=2, checkpoint=stream.checkpoint))

    second = stream.incoming / "00001.parquet"
    with pytest.raises(Exception, match="FAILED_READ_FILE") as caught:
        run()
    told = explained(caught.value)
    assert isinstance(told, DataError)
    assert (
        str(told).splitlines()[0].endswith("00001.parquet: its column price is binary, and bigint in the files before")
    )
    second.unlink()
    with pytest.raises(DataError, match=r"00001\.parquet: it was there, and no longer is\n"):
        run()
    pq.write_table(table.slice(60), second)
    run()
    assert comparable(stream.rows(spark)) == batch(table, FALLING)


def test_files_are_looked_for_in_the_micro_batch_that_was_under_way(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"

    def note(name: str, *lines: str) -> None:
        file = checkpoint / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines))

    def entry(number: int) -> str:
        return json.dumps({"path": f"file://{tmp_path}/{number}.csv", "timestamp": 0, "batchId": number})

    require_pending_files(str(checkpoint))
    note("offsets/0", "v1", "{}", '{"logOffset":8}')
    note("commits/0", "v1", "{}")
    require_pending_files(str(checkpoint))
    # Every tenth file of a source's log holds all entries before it, those of files long gone included.
    note("sources/0/9.compact", "v1", entry(0), entry(9))
    note("sources/0/10", "v1", entry(10))
    note("offsets/1", "v1", "{}", '{"logOffset":10}')
    (tmp_path / "9.csv").touch()
    with pytest.raises(DataError, match=r"10\.csv: it was there"):
        require_pending_files(str(checkpoint))
    (tmp_path / "10.csv").touch()
    require_pending_files(str(checkpoint))
    note("offsets/1", "v1", "{}", "-")
    require_pending_files(str(checkpoint))
    require_pending_files("viewfs://cluster/state")


def test_a_file_that_cannot_be_read_for_any_other_reason_is_named() -> None:
    gone = Failure("x", "FAILED_READ_FILE.FILE_NOT_EXIST", {"path": "a.parquet"})
    assert "a.parquet: it was there, and no longer is" in str(_unreadable(gone, ""))
    damaged = Failure("x", "FAILED_READ_FILE.NO_HINT", {"path": "a.parquet"})
    assert "a.parquet: cannot be read" in str(_unreadable(damaged, ""))
