"""A live feed: event files that appear in a directory one by one, as if the events were happening now."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from greta.datasets.blocks import Ints, block_random, demand
from greta.datasets.files import Format, Progress, format_of, write

_STREAM = 4
_NAME = re.compile(r"events-(\d+)\.")


@dataclass(frozen=True, slots=True)
class Fed:
    """What a feed did: how much it wrote, and how late its latest file was, in seconds."""

    files: int
    events: int
    behind: float


def feed(
    batches: Iterable[pa.RecordBatch],
    directory: str | Path,
    *,
    rate: float | None = None,
    seconds_per_file: float = 1.0,
    seconds: float | None = None,
    speedup: float = 1.0,
    disorder: float = 0.0,
    format: Format = "parquet",  # noqa: A002 - the word everyone looks for
    seed: int = 0,
    progress: Progress | None = None,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Fed:
    """Write a stream, in order of time, as files that become visible when their events have happened.

    A file appears whole or not at all and never changes. File k holds the events of the k-th stretch of
    ``seconds_per_file`` seconds and appears at its end; stretches without events make no file. Numbers go on
    after those of an earlier feed into the same directory. The feed ends with the stream, or after
    ``seconds`` of it.

    - ``rate``: deal out this many events per second instead of going by the events' own times.
    - ``speedup``: let the stream's seconds pass so many times faster than the clock's.
    - ``disorder``: delay each event by a random time of up to this many seconds; no event then comes after
      one that is more than ``disorder`` seconds younger. The delays depend on ``seed`` alone.

    Memory is bounded by the events of a file and of ``disorder`` seconds.
    """
    demand(seconds_per_file > 0, f"seconds_per_file is {seconds_per_file}", "give a number above 0, e.g. 1")
    demand(speedup > 0, f"speedup is {speedup}", "give a number above 0; 1 is real time")
    demand(disorder >= 0, f"disorder is {disorder}", "give seconds, or 0 to keep the order of time")
    demand(rate is None or rate > 0, f"rate is {rate}", "give events per second above 0, e.g. 10000")
    demand(seconds is None or seconds > 0, f"seconds is {seconds}", "give a number above 0")
    directory = Path(directory)
    ending = format_of(directory, format)
    number = _next_number(directory)
    stretches = math.inf if seconds is None else math.ceil(seconds / seconds_per_file)
    per_file = None if rate is None else rate * seconds_per_file
    files = events = 0
    behind = 0.0
    began = now()
    for stretch, table in _stretches(_disordered(batches, disorder, seed), per_file, seconds_per_file):
        if stretch >= stretches:
            break
        wait = began + (stretch + 1) * seconds_per_file / speedup - now()
        if wait > 0:
            sleep(wait)
        else:
            behind = max(behind, -wait)
        write(table, directory / f"events-{number + stretch:08}.{ending}", format=ending)
        files += 1
        events += len(table)
        if progress is not None:
            progress(events)
    return Fed(files, events, behind)


def _next_number(directory: Path) -> int:
    if not directory.is_dir():
        return 0
    taken = [int(found[1]) for found in map(_NAME.match, (path.name for path in directory.iterdir())) if found]
    return max(taken, default=-1) + 1


def _disordered(batches: Iterable[pa.RecordBatch], disorder: float, seed: int) -> Iterator[tuple[pa.Table, Ints]]:
    """The stream in order of arrival, with the times of arrival in microseconds.

    An event is let go once no later one can arrive before it; until then it is held.
    """
    random = block_random(seed, _STREAM)
    held: pa.Table | None = None
    waiting: Ints = np.empty(0, dtype=np.int64)
    for batch in batches:
        if not len(batch):
            continue
        times = event_microseconds(batch.column("time"))
        if not disorder:
            yield pa.Table.from_batches([batch]), times
            continue
        arrivals = times + (random.random(len(batch)) * disorder * 1e6).astype(np.int64)
        new = pa.Table.from_batches([batch])
        held = new if held is None else pa.concat_tables([held, new])
        waiting = np.concatenate([waiting, arrivals])
        order = np.argsort(waiting, kind="stable")
        ready = int(np.searchsorted(waiting[order], times[-1]))
        if ready:
            yield held.take(pa.array(order[:ready])), waiting[order[:ready]]
            # Back in stream order: events that arrive together are sorted alike however batches are cut.
            rest = np.sort(order[ready:])
            held, waiting = held.take(pa.array(rest)), waiting[rest]
    if held is not None:
        order = np.argsort(waiting, kind="stable")
        yield held.take(pa.array(order)), waiting[order]


def event_microseconds(column: pa.Array) -> Ints:
    """Time stamps as microseconds; plain numbers are seconds."""
    if pa.types.is_timestamp(column.type):
        micros: Ints = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64()).to_numpy()
        return micros
    seconds: Ints = np.rint(column.to_numpy() * 1e6).astype(np.int64)
    return seconds


def _stretches(
    arriving: Iterator[tuple[pa.Table, Ints]], per_file: float | None, seconds_per_file: float
) -> Iterator[tuple[int, pa.Table]]:
    """Cut the arriving events into numbered stretches, by count or else by their times of arrival."""
    open_number: int | None = None
    parts: list[pa.Table] = []
    origin: int | None = None
    done = 0
    for table, arrivals in arriving:
        origin = int(arrivals[0]) if origin is None else origin
        if per_file is None:
            numbers = (arrivals - origin) // max(1, round(seconds_per_file * 1e6))
        else:
            numbers = np.floor(np.arange(done, done + len(table)) / per_file).astype(np.int64)
        done += len(table)
        bounds = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(table)]
        for low, high in pairwise(bounds):
            number = int(numbers[low])
            if open_number is not None and number != open_number:
                yield open_number, pa.concat_tables(parts)
                parts = []
            open_number = number
            parts.append(table.slice(low, high - low))
    if open_number is not None:
        yield open_number, pa.concat_tables(parts)
