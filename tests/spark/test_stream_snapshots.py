"""Steps of a stream without Spark: any cut into steps gives the rows of a batch, and stores keep only what is open."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import greta
from greta.engine.aggregate import plan_for
from greta.engine.partials import finish_partials
from greta.engine.snapshots import (
    ChunkCache,
    Index,
    StateError,
    Step,
    StreamJob,
    from_bytes,
    relevant,
    step,
    stored_schema,
    to_bytes,
)

CASES = [
    case
    for file in sorted((Path(__file__).parent.parent / "conformance").glob("*.json"))
    for case in json.loads(file.read_text("utf-8"))
]


@dataclass
class MemoryStore:
    """A store in a dictionary that counts its traffic."""

    index: bytes | None = None
    chunks: dict[str, bytes] = field(default_factory=dict)
    written: int = 0
    read: int = 0

    def read_index(self) -> bytes | None:
        return self.index

    def write_index(self, value: bytes) -> None:
        self.index = value

    def read_chunk(self, key: str) -> bytes:
        self.read += 1
        return self.chunks[key]

    def write_chunk(self, key: str, value: bytes) -> None:
        assert key not in self.chunks
        self.written += 1
        self.chunks[key] = value

    def remove_chunk(self, key: str) -> None:
        del self.chunks[key]

    def clear(self) -> None:
        self.index = None
        assert not self.chunks


def job_for(query: str, table: pa.Table, numbers: Any = "double") -> StreamJob:
    plan = plan_for(query, table.schema, "time", "type")
    return StreamJob(plan, stored_schema(plan, table.schema, "time", "type"), "time", "type", numbers)


def finished(job: StreamJob, parts: list[pa.Table]) -> list[tuple[Any, ...]]:
    table = finish_partials(job.plan, job.schema, pa.concat_tables(parts), time=job.time, numbers=job.numbers)
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def batch_rows(query: str, table: pa.Table, numbers: Any = "double") -> list[tuple[Any, ...]]:
    rows = greta.aggregate(table, query, numbers=numbers).to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


def random_steps(table: pa.Table, lateness: float, draw: random.Random) -> Iterator[tuple[pa.Table, int]]:
    """The events in an order that no event lags by more than ``lateness`` seconds, cut anywhere, with watermarks."""
    times = table.column("time").to_pylist()
    order = sorted(range(len(times)), key=lambda row: times[row] + draw.random() * lateness)
    seen, at = 0.0, 0
    while at < len(order):
        size = draw.choice((1, 1, 2, 3, 5, 20))
        rows = order[at : at + size]
        yield table.take(rows), max(0, int((seen - lateness) * 1000))
        seen, at = max(seen, *(times[row] for row in rows)), at + size
    yield table.slice(0, 0), 10**9


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("part", range(6))
def test_any_cut_of_a_disordered_stream_gives_the_rows_of_the_batch(part: int, numbers: str) -> None:
    draw = random.Random(part)
    for case in CASES[part::6]:
        table = pa.Table.from_pylist(case["events"]) if case["events"] else None
        if table is None:
            continue
        job = job_for(case["query"], table, numbers)
        store, cache, parts = MemoryStore(), ChunkCache(), []
        for events, watermark in random_steps(table, draw.choice((0, 1, 3, 10)), draw):
            if draw.random() < 0.3:
                cache = ChunkCache()
            found = step(job, store, [relevant(job, events)[0]], watermark, cache=cache)
            assert not found.late.num_rows
            parts.append(found.closed)
        assert finished(job, parts) == batch_rows(case["query"], table, numbers), case["name"]
        assert store.index is None
        assert not store.chunks
