"""Loads of mappers under jobs: the stream of Q2, as the paper's table of attribute values has it (§10.1).

Mapper and job are uniform over 0–10, CPU and memory uniform over 0–1k, load is Poisson with λ = 100, and 3k
events come per second. Each (job, mapper) goes through one job run after another: Start, measurements, End.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import numpy as np
import pyarrow as pa

from greta.datasets.blocks import (
    BLOCK,
    START,
    TIME,
    Clock,
    Grouped,
    Ints,
    Resolution,
    block_random,
    check_size,
    cut,
    demand,
    words,
)

CLUSTER_SCHEMA = pa.schema(
    [
        pa.field("type", pa.string(), nullable=False),
        pa.field("time", TIME, nullable=False),
        ("job", pa.int64()),
        ("mapper", pa.int64()),
        ("cpu", pa.int64()),
        ("memory", pa.int64()),
        ("load", pa.int64()),
    ]
)

_STREAM = 3
_TYPES = ("Measurement", "Start", "End")


def cluster(
    events: int,
    *,
    mappers: int = 11,
    jobs: int = 11,
    rate: float = 3000.0,
    measurements: int = 50,
    start: datetime = START,
    seed: int = 0,
    ties: float = 0.0,
    resolution: Resolution = "us",
) -> pa.Table:
    """Cluster measurements as one table; ``cluster_batches`` explains the arguments."""
    batches = cluster_batches(
        events,
        mappers=mappers,
        jobs=jobs,
        rate=rate,
        measurements=measurements,
        start=start,
        seed=seed,
        ties=ties,
        resolution=resolution,
    )
    return pa.Table.from_batches(batches, schema=CLUSTER_SCHEMA)


def cluster_batches(
    events: int,
    *,
    mappers: int = 11,
    jobs: int = 11,
    rate: float = 3000.0,
    measurements: int = 50,
    start: datetime = START,
    seed: int = 0,
    ties: float = 0.0,
    resolution: Resolution = "us",
    chunk: int = BLOCK,
) -> Iterator[pa.RecordBatch]:
    """Cluster events in batches of ``chunk``, in order of time; the paper's three hours are 32.4M events.

    The same arguments give the same events whatever ``chunk`` is, and fewer events are the beginning of more.

    Args:
        events: How many events.
        mappers: How many mappers; identifiers count from 0, so 11 of them are the paper's 0–10.
        jobs: How many jobs, likewise.
        rate: Events per second.
        measurements: Mean number of measurements between a Start and its End. The number is drawn once per (job,
            mapper), from half to one and a half times the mean. Start and End are NULL in cpu, memory, load.
        start: The time from which events come.
        seed: Another seed gives other events.
        ties: Share of events that have their time stamp in common with another event.
        resolution: ``"s"`` cuts time stamps to whole seconds, as in the paper's data.
        chunk: Events per batch.
    """
    check_size(events, chunk)
    demand(mappers >= 1 and jobs >= 1, f"{mappers} mappers, {jobs} jobs", "ask for at least one of each")
    demand(measurements >= 1, f"measurements is {measurements}", "put at least one between Start and End")
    clock = Clock(start, rate, ties, resolution)
    return cut(_blocks(clock, mappers, jobs, measurements, seed), CLUSTER_SCHEMA, events, chunk)


def _blocks(clock: Clock, mappers: int, jobs: int, measurements: int, seed: int) -> Iterator[pa.RecordBatch]:
    pairs = mappers * jobs
    lengths = block_random(seed, _STREAM, 0).integers(
        (measurements + 1) // 2, measurements + measurements // 2, pairs, endpoint=True
    )
    seen: Ints = np.zeros(pairs, dtype=np.int64)
    block = 0
    while True:
        random = block_random(seed, _STREAM, 1, block)
        pair = random.integers(0, pairs, BLOCK)
        times = clock.times(random, BLOCK)
        grouped = Grouped.by(pair, pairs)
        age = grouped.restore(seen[grouped.keys][grouped.run] + grouped.ranks())
        seen[grouped.keys] += grouped.last - grouped.first + 1
        place = age % (lengths[pair] + 2)
        kind = np.where(place == 0, 1, np.where(place == lengths[pair] + 1, 2, 0)).astype(np.int8)
        unmeasured = kind != 0
        columns = [
            words(kind, _TYPES),
            pa.array(times).cast(TIME),
            pa.array(pair // mappers),
            pa.array(pair % mappers),
            pa.array(random.integers(0, 1000, BLOCK, endpoint=True), mask=unmeasured),
            pa.array(random.integers(0, 1000, BLOCK, endpoint=True), mask=unmeasured),
            pa.array(random.poisson(100, BLOCK), mask=unmeasured),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=CLUSTER_SCHEMA)
        block += 1
