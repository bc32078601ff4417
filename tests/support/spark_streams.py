"""Streams for tests on real Spark: events cut into files, one file per micro-batch."""

from __future__ import annotations

import itertools
import json
import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def seconds_of(table: pa.Table) -> list[float]:
    """The times as numbers of seconds."""
    return [
        value.timestamp() if hasattr(value, "timestamp") else float(value) for value in table.column("time").to_pylist()
    ]


def disordered(table: pa.Table, lateness: float, draw: random.Random) -> pa.Table:
    """The events in an order in which none comes more than ``lateness`` seconds after a younger one."""
    times = seconds_of(table)
    return table.take(sorted(range(len(times)), key=lambda row: times[row] + draw.random() * lateness))


def random_parts(table: pa.Table, parts: int, draw: random.Random) -> list[pa.Table]:
    """The table cut at random places."""
    cuts = [0, *sorted(draw.sample(range(1, table.num_rows), parts - 1)), table.num_rows]
    return [table.slice(low, high - low) for low, high in itertools.pairwise(cuts)]


def figures(output: Path) -> list[dict[str, Any]]:
    """What a command has written of its micro-batches beside its rows; the last line says how it ended."""
    lines = [json.loads(line) for line in (output / "_greta" / "progress.jsonl").read_text().splitlines()]
    return [line for line in lines if "ended" not in line]


@dataclass
class Stream:
    """A directory with a stream, and all that grows from it."""

    place: Path
    schema: pa.Schema
    files: int = 0
    progress: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.place / "in").mkdir(parents=True, exist_ok=True)

    @property
    def incoming(self) -> Path:
        return self.place / "in"

    @property
    def checkpoint(self) -> str:
        return str(self.place / "checkpoint")

    def add(self, *tables: pa.Table) -> None:
        """Append a file per table; Spark reads files in the order of their times."""
        for table in tables:
            file = self.incoming / f"{self.files:05}.parquet"
            draft = self.incoming / f".{self.files:05}"
            pq.write_table(table, draft)
            os.utime(draft, (1_700_000_000 + self.files,) * 2)
            draft.rename(file)
            self.files += 1

    def flush(self, **changes: Any) -> None:
        """An event of no query far in the future: it closes all windows."""
        last = max(seconds_of(pq.read_table(self.incoming, filters=pc.field("time").is_valid())))
        time: Any = int(last) + 100_000
        if pa.types.is_timestamp(self.schema.field("time").type):
            time *= 1_000_000
        row = dict.fromkeys(self.schema.names) | {"type": "Nothing", "time": time} | changes
        columns = [pa.array([row[f.name]]).cast(f.type) for f in self.schema]
        self.add(pa.table(columns, schema=self.schema))

    def read(self, spark: SparkSession) -> DataFrame:
        """One file per micro-batch."""
        schema = spark.read.parquet(str(self.incoming)).schema
        return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self.incoming))

    def run(self, rows: DataFrame, output: str = "out") -> None:
        """Run until all files are read; the rows go into Parquet files."""
        writer = rows.writeStream.format("parquet").option("path", str(self.place / output))
        self.run_writer(writer)

    def run_writer(self, writer: Any) -> None:
        query = writer.option("checkpointLocation", self.checkpoint).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            self.progress = [json.loads(report.json) for report in query.recentProgress]

    def rows(self, spark: SparkSession, output: str = "out") -> list[dict[str, Any]]:
        """All rows that came out."""
        return [row.asDict() for row in spark.read.parquet(str(self.place / output)).collect()]

    def figures(self, name: str) -> list[Any]:
        """A figure of every micro-batch."""
        return [progress["observedMetrics"]["greta"][name] for progress in self.progress]
