"""Queries of a stream that keep the same events keep them once."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

import greta
from greta import datasets
from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob, relevant, sharing, with_common_columns
from greta.live import steps
from greta.live.chunks import ChunkCache
from greta.live.steps import Step
from support.spark_streams import Stream, disordered, random_parts, seconds_of
from support.steps import GRAPHS, MemoryStore, step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FALLS = (
    "RETURN company, COUNT(*) AS n, MIN(S.price) AS low PATTERN Stock S+ "
    "WHERE [company] AND S.price > NEXT(S).price GROUP-BY company WITHIN 10 seconds SLIDE 2 seconds"
)
RISES = FALLS.replace("S.price >", "S.price <").replace("MIN(S.price) AS low", "SUM(S.volume) AS sold")
TURNS = FALLS.replace("Stock S+ ", "SEQ(Stock S, Stock T+) ").replace("NEXT(S)", "NEXT(T)")
LONGER = FALLS.replace("WITHIN 10", "WITHIN 12")
DEAR = FALLS.replace("[company]", "[company] AND S.price > 50")
QUERIES = [FALLS, RISES, TURNS, LONGER, DEAR]


def jobs_for(queries: list[str], table: pa.Table) -> tuple[list[StreamJob], tuple[tuple[int, ...], ...]]:
    plain = [StreamJob.of(Job.bind(query, table.schema)) for query in queries]
    return plain, sharing(plain)


def test_windows_types_conditions_and_partitions_tell_who_keeps_events_together() -> None:
    table = datasets.stock(10)
    plain, groups = jobs_for(QUERIES, table)
    assert groups == ((0, 1, 2), (3,), (4,))
    shared = with_common_columns(plain, groups)
    assert {"price", "volume"} <= set(shared[0].schema.names) == set(shared[1].schema.names)
    assert len({job.fingerprint for job in shared[:3]}) == 1
    assert shared[3].schema == plain[3].schema
    # Running totals stand for the events of one query alone.
    counting = "RETURN COUNT(*) PATTERN Stock S+ WITHIN 10 seconds"
    assert jobs_for([counting, counting], table)[1] == ((0,), (1,))


def rows(job: StreamJob, parts: list[pa.Table]) -> list[str]:
    return sorted(map(repr, job.finish(pa.concat_tables(parts)).to_pylist()))


@pytest.mark.parametrize("seed", range(4))
def test_steps_of_several_queries_give_the_rows_of_each_from_one_store(seed: int) -> None:
    draw = random.Random(seed)
    table = datasets.stock(600, companies=4, rate=20, ties=0.2, seed=seed)
    parts = random_parts(disordered(table, 3, draw), 12, draw)
    plain, groups = jobs_for(QUERIES[:3], table)
    shared = with_common_columns(plain, groups)
    store, alone = MemoryStore(), MemoryStore()
    found: list[list[Step]] = []
    seen = 0.0
    for number, part in enumerate([*parts, table.slice(0, 0)]):
        watermark = 10**14 if number == len(parts) else max(0, int((seen - 3) * 1000))
        events = [relevant(shared[0], part)[0]]
        # Another worker has none of the chunks; sometimes there is no cache of graphs either.
        graphs = GRAPHS if draw.random() < 0.8 else None
        found.append(steps.step(shared, store, events, watermark, chunks=ChunkCache(), graphs=graphs, early=True))
        single = step(shared[0], alone, events, watermark, chunks=ChunkCache(), graphs=None, owner="alone/bucket")
        assert [each.bytes for each in found[-1]] == [single.bytes] * 3
        assert all(each.open is not None for each in found[-1])
        seen = max(seen, *seconds_of(part)) if part.num_rows else seen
    assert not store.chunks
    assert store.index is None
    for at, query in enumerate(QUERIES[:3]):
        expected = sorted(map(repr, greta.aggregate(table, query).to_pylist()))
        assert rows(shared[at], [each[at].closed for each in found]) == expected, query


def in_one_order(found: list[dict[str, Any]], columns: list[str]) -> list[str]:
    return sorted(repr([str(row[name]) for name in columns]) for row in found)


@pytest.mark.spark
def test_a_stream_of_two_queries_stores_the_events_of_one(spark: SparkSession, tmp_path: Path) -> None:
    from greta.spark.stream import aggregate_stream

    table = datasets.stock(600, companies=4, rate=20, seed=3)
    stored = {}
    for name, queries in {"one": {"falls": FALLS}, "two": {"falls": FALLS, "rises": RISES}}.items():
        stream = Stream(tmp_path / name, table.schema)
        for part in (table.slice(0, 300), table.slice(300)):
            stream.add(part)
        stream.flush()
        stream.run(aggregate_stream(stream.read(spark), queries, lateness="1 second", buckets=2))
        stored[name] = max(stream.figures("state_rows"))
        answer = stream.rows(spark)
        for label, query in queries.items():
            expected = greta.aggregate(table, query)
            own = [row for row in answer if row["query"] == label]
            columns = [column for column in expected.column_names if not column.startswith("window")]
            assert in_one_order(own, columns) == in_one_order(expected.to_pylist(), columns)
    assert stored["two"] == stored["one"] > 0
