"""Streams in this process for tests: events cut and put out of order at random, and the rows that must come of them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from greta.engine.stream_jobs import StreamJob
from greta.live.stream import Stream, open_stream
from greta.live.windows import Windows

Make = Callable[[StreamJob], Windows]


def disordered(events: pa.Table, lateness: float, draw: random.Random) -> list[int]:
    """The rows in an order in which none comes after one that is more than ``lateness`` seconds younger."""
    times = events.column("time").to_pylist()
    return sorted(range(len(times)), key=lambda row: times[row] + draw.random() * lateness)


def cuts(rows: Sequence[int], draw: random.Random) -> Iterator[list[int]]:
    """The rows in pieces of random sizes."""
    at = 0
    while at < len(rows):
        size = draw.choice((1, 1, 2, 3, 5, 20))
        yield list(rows[at : at + size])
        at += size


def in_some_form(events: pa.Table, draw: random.Random) -> Any:
    """A table as one of the things that a stream takes."""
    form = draw.choice(("table", "batch", "dicts", "dict"))
    if form == "table":
        return events
    if form == "batch":
        return events.combine_chunks().to_batches()[0]
    dicts = events.to_pylist()
    if draw.random() < 0.5:
        dicts = [{name: value for name, value in event.items() if value is not None} for event in dicts]
    return dicts[0] if form == "dict" and len(dicts) == 1 else dicts


def streamed(
    query: Any, events: pa.Table, lateness: float, make: Make, draw: random.Random, *, restore: bool, **options: Any
) -> list[dict[str, Any]]:
    """All rows of a stream over the events, cut and put out of order; ``restore`` goes on from a snapshot at each."""
    options = {"lateness": lateness, **options}
    # Half of them take in events with every push, the others when windows end.
    eager = draw.random() < 0.5
    stream = _patient(open_stream(query, schema=events.schema, windows=make, **options), eager)
    rows: list[dict[str, Any]] = []
    for piece in cuts(disordered(events, lateness, draw), draw):
        rows += stream.push(in_some_form(events.take(pa.array(piece, pa.int64())), draw)).to_pylist()
        if restore:
            stream = _patient(open_stream(query, snapshot=stream.snapshot(), windows=make), eager)
    figures = stream.figures
    assert (figures.events, figures.late_events) == (events.num_rows, 0)
    rows += stream.close().to_pylist()
    assert stream.figures.rows == len(rows)
    return rows


def _patient(stream: Stream, eager: bool) -> Stream:
    if eager:
        stream.few = stream.enough = 1
    return stream


def canonical(value: Any) -> Any:
    """Numbers to 12 digits, exact digits as numbers: sums of doubles may be rounded at other places."""
    if isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    if isinstance(value, float):
        return value if not math.isfinite(value) else float(f"{value:.11e}")
    return value


def as_a_bag(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Rows that can be compared in any order."""
    return sorted(repr([(name, canonical(value)) for name, value in row.items()]) for row in rows)


def taken_in(events: Sequence[tuple[float, Any]], pieces: Sequence[int], lateness: float) -> list[Any]:
    """The events (time and whatever) that are not late, by the definition: pieces are pushed one after another."""
    watermark, at, kept = -math.inf, 0, []
    for size in pieces:
        piece = events[at : at + size]
        in_time = [event for event in piece if event[0] >= watermark]
        kept += [event[1] for event in in_time]
        watermark = max([watermark, *(time - lateness for time, _ in in_time)])
        at += size
    return kept


__all__ = ["Make", "Stream", "as_a_bag", "cuts", "disordered", "in_some_form", "streamed", "taken_in"]
