"""Every way from events and a query to rows, as one list: a new engine is one more door.

    for door in DOORS: assert door.rows(events, query, numbers) == ...

A door takes an Arrow table, a query with or without windows, and the mode of numbers; it gives rows as dicts. Doors
that only take queries with windows say so. Spark has the same interface in ``tests/spark/test_spark_doors.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

import greta
from greta.engine.job import Job
from greta.engine.stream_jobs import StreamJob, relevant
from greta.live.chunks import ChunkCache
from greta.live.stream import open_stream
from support.steps import GRAPHS, MemoryStore, step

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Door:
    """One way to the rows of a query."""

    name: str
    rows: Callable[[pa.Table, str, Any], Rows]
    windows_only: bool = False

    def takes(self, query: str) -> bool:
        """Whether the query may go through this door."""
        return not self.windows_only or "WITHIN" in query


def _kernels(events: pa.Table, query: str, numbers: Any) -> Rows:
    return greta.aggregate(events, query, numbers=numbers).to_pylist()  # type: ignore[no-any-return]


def _graph(events: pa.Table, query: str, numbers: Any) -> Rows:
    return greta.aggregate(events, query, numbers=numbers, strategy="graph").to_pylist()  # type: ignore[no-any-return]


def _partials(events: pa.Table, query: str, numbers: Any) -> Rows:
    """Partitions computed in three processes, as Spark does, and their partial rows merged."""
    job = Job.bind(query, events.schema, numbers=numbers)
    common = job.plan.partitioning.common
    keys = events.select(list(common)).to_pylist() if common else [{}] * events.num_rows
    places = {key: at % 3 for at, key in enumerate(dict.fromkeys(_key(row) for row in keys))}
    parts: list[list[int]] = [[], [], []]
    for row, values in enumerate(keys):
        parts[places[_key(values)]].append(row)
    partials = [job.partials(events.take(pa.array(rows, pa.int64()))) for rows in parts]
    return job.finish(pa.concat_tables(partials)).to_pylist()  # type: ignore[no-any-return]


def _key(values: dict[str, Any]) -> str:
    """Equal for values that a query takes for one: 0.0 and -0.0."""
    return repr([value + 0.0 if isinstance(value, float) else value for value in values.values()])


def _pieces(events: pa.Table) -> Iterator[pa.Table]:
    """The events by time in pieces of 1, 2, 3, … rows."""
    order = sorted(range(events.num_rows), key=lambda row: events.column("time")[row].as_py())
    at, size = 0, 1
    while at < len(order):
        yield events.take(pa.array(order[at : at + size], pa.int64()))
        at, size = at + size, size + 1


def _steps(events: pa.Table, query: str, numbers: Any) -> Rows:
    """Micro-batches of a stream over a store of its state, without Spark."""
    job = StreamJob.of(Job.bind(query, events.schema, numbers=numbers))
    store, parts, watermark = MemoryStore(), [], None
    for piece in _pieces(events):
        times = job.clock.read(piece.column("time"), "time") // job.clock.per_millisecond
        watermark = int(times.min()) if watermark is None else watermark
        kept = relevant(job, piece)[0]
        parts.append(step(job, store, [kept], watermark, chunks=ChunkCache(), graphs=GRAPHS).closed)
        watermark = max(watermark, int(times.max()))
    if watermark is not None:
        assert job.plan.window is not None
        end = watermark + job.plan.window.within + 1
        parts.append(step(job, store, [], end, chunks=ChunkCache(), graphs=GRAPHS).closed)
    parts.append(job.partial_schema.empty_table())
    assert store.index is None
    return job.finish(pa.concat_tables(parts)).to_pylist()  # type: ignore[no-any-return]


def _live(events: pa.Table, query: str, numbers: Any) -> Rows:
    """``greta.stream``, pushed in pieces."""
    stream = open_stream(query, schema=events.schema, numbers=numbers, lateness=0)
    rows: Rows = []
    for piece in _pieces(events):
        rows += stream.push(piece).to_pylist()
    return rows + stream.close().to_pylist()


DOORS = [
    Door("kernels", _kernels),
    Door("graph", _graph),
    Door("partials", _partials),
    Door("steps", _steps, windows_only=True),
    Door("live", _live, windows_only=True),
]


def differences(got: Sequence[dict[str, Any]], expected: Sequence[dict[str, Any]]) -> list[str]:
    """What differs between rows in any order: doubles to 11 digits, everything else to the last one."""
    mine, theirs = _by_place(got), _by_place(expected)
    found = [f"there is {place}" for place in mine if place not in theirs]
    found += [f"there is no {place}" for place in theirs if place not in mine]
    for place in mine.keys() & theirs.keys():
        for name, value in mine[place].items():
            if not alike(value, theirs[place][name]):
                found.append(f"{place}: {name} is {value!r}, not {theirs[place][name]!r}")
    return found


def _by_place(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rows by window and group, of which there is one each."""
    places = [repr([_place(row["window_start"]), _place(row.get("g"))]) for row in rows]
    assert len(set(places)) == len(places)
    return dict(zip(places, rows, strict=True))


def _place(value: Any) -> Any:
    """The same for whole seconds and seconds, for 0.0 and -0.0, and for all instants that are one."""
    if isinstance(value, datetime):
        return value.timestamp() if value.tzinfo else value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def alike(got: Any, expected: Any) -> bool:
    """Whether a value is the expected one: exact digits and extremes exactly, doubles as far as they are rounded."""
    if isinstance(got, str) and got.lstrip("-").isdigit():
        got = int(got)
    if isinstance(got, float) and isinstance(expected, int | float) and not isinstance(expected, bool):
        try:
            expected = float(expected)
        except OverflowError:
            expected = math.inf if expected > 0 else -math.inf
        return math.isclose(got, expected, rel_tol=1e-11, abs_tol=5e-324)
    return bool(got == expected)
