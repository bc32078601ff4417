"""The tasks of a batch one after the other, without Spark: events packed, shuffled, aggregated and finished."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

pytest.importorskip("pyspark")

from greta.engine.queries import bind_all
from greta.spark.batch.files import pack_piece
from greta.spark.batch.jobs import SparkJob
from greta.spark.batch.pipeline import share_out
from greta.spark.batch.tasks import BLOBS, aggregate_events, finish_groups

CASES = [
    case
    for name in ("paper", "core")
    for case in json.loads((Path(__file__).parents[1] / "conformance" / f"{name}.json").read_text())
][::6]
"""Some of the worked cases: Spark answers all of them in another test."""


def shuffled(blobs: Iterable[pa.RecordBatch], job: SparkJob) -> Iterator[list[pa.RecordBatch]]:
    """Per task its blobs, as Spark sorts them."""
    table = pa.Table.from_batches(list(blobs), schema=BLOBS)
    for task in range(job.tasks):
        part = table.filter(pc.equal(table["task"], task))
        yield part.sort_by([("channel", "ascending"), ("slab", "ascending")]).to_batches()


def answer(events: pa.Table, queries: list[str], tasks: int, pieces: int) -> list[list[dict[str, Any]]]:
    """Per query its rows, through all steps of a batch."""
    jobs = tuple(bind_all(None, queries[:1], events.schema, time="time", type="type", numbers="double"))
    for query in queries[1:]:
        jobs += tuple(bind_all(None, [query], events.schema, time="time", type="type", numbers="double"))
    job = share_out(jobs, tasks, direct=False, cut=None)
    size = -(-len(events) // pieces)
    packed = []
    for at in range(0, len(events), size):
        piece = events.slice(at, size).combine_chunks()
        columns = {name: piece.column(name).chunk(0) for name in job.schema.names}
        packed += list(pack_piece(columns, job, "events"))
    partial = [blob for part in shuffled(packed, job) for blob in aggregate_events(part, job)]
    rows: list[list[dict[str, Any]]] = [[] for _ in queries]
    for number, one in enumerate(jobs):
        own = [batch.filter(pc.equal(batch.column(1), number)) for batch in partial]
        for part in shuffled([batch for batch in own if batch.num_rows], job):
            for batch in finish_groups(part, job, [j.output_schema for j in jobs], None, one.output_schema):
                rows[number] += pa.table(batch.columns, names=one.output_schema.names).to_pylist()
    return rows


def comparable(value: Any) -> Any:
    return float(f"{value:.11e}") if isinstance(value, int | float) and not isinstance(value, bool) else value


def test_worked_cases_are_answered_by_the_tasks_of_a_batch() -> None:
    for number, case in enumerate(CASES):
        tasks, pieces = 1 + number % 3, 1 + number % 4
        names = dict.fromkeys(name for event in case["events"] for name in event)
        events = pa.table({name: [event.get(name) for event in case["events"]] for name in names})
        (found,) = answer(events, [case["query"]], tasks, pieces)
        given = sorted(repr([comparable(row[name]) for name in case["columns"]]) for row in found)
        assert given == sorted(repr([comparable(value) for value in row]) for row in case["expected"]), case["query"]
