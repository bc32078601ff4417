"""A query over a source → rows in an Arrow file, with progress on the way.

Large streams are cut into stretches of time: the windows that begin in a stretch see every event they hold,
so each stretch is computed by itself, and the answer is that of the whole. That is what progress counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from time import monotonic
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather

from greta.engine.cautions import equal_times, ordered_text, small_units
from greta.engine.job import Job, Numbers
from greta.engine.prepared import Prepared
from greta.errors import on_one_line
from greta.plan.nodes import Window
from greta.studio import sources

Progress = Callable[[str, float | None], None]
"""Told the phase, and the share of it that is done where that is known."""

_STRETCH_EVENTS = 200_000
_MOST_STRETCHES = 24
_FEWEST_WINDOWS = 4
"""A stretch is at least this many times as long as a window, so that little is computed twice."""


def run(query: str, source: dict[str, Any], numbers: Numbers, result: str, progress: Progress) -> dict[str, Any]:
    """Compute all rows into the file ``result``; returns what the page says about them."""
    began = monotonic()
    progress("reading events", None)
    events = sources.load(source)
    job = Job.bind(query, events.schema, numbers=numbers)
    plan = job.plan
    progress("computing", 0.0)
    parts = []
    stretches = list(_stretches(events, plan.window))
    for done, (low, high) in enumerate(stretches, start=1):
        parts.append(_stretch(events, job, low, high))
        progress("computing", done / len(stretches))
    rows = pa.concat_tables(parts, promote_options="permissive")
    progress("writing", None)
    pyarrow.feather.write_feather(rows, result, compression="uncompressed")
    return {
        "rows": len(rows),
        "events": len(events),
        "seconds": round(monotonic() - began, 3),
        "groups": list(plan.returned),
        "aggregates": [output.name for output in plan.outputs if not output.hidden],
        "windowed": plan.window is not None,
        "slide": None if plan.window is None else plan.window.slide / 1_000,
        "notes": _notes(events, job),
    }


def _stretches(events: pa.Table, window: Window | None) -> Iterator[tuple[Any, Any]]:
    """Bounds on where windows begin, in the type of the time column; None is no bound."""
    count = min(_MOST_STRETCHES, len(events) // _STRETCH_EVENTS)
    if window is None or count < 2:
        yield None, None
        return
    extremes = pc.min_max(events.column("time"))
    low, high = extremes["min"], extremes["max"]
    timestamps = pa.types.is_timestamp(low.type)
    first, last = (x.cast(pa.timestamp("us", "UTC")).value if timestamps else x.as_py() for x in (low, high))
    within = window.within * (1_000 if timestamps else 0.001)
    count = min(count, max(1, int((last - first) / (within * _FEWEST_WINDOWS))))
    cuts = [first + (last - first) * i / count for i in range(1, count)]
    kind = pa.timestamp("us", "UTC") if timestamps else pa.float64()
    bounds = [None, *(pa.scalar(int(cut) if timestamps else float(cut), kind) for cut in cuts), None]
    yield from pairwise(bounds)


def _stretch(events: pa.Table, job: Job, low: Any, high: Any) -> pa.Table:
    """The rows of the windows that begin in ``[low, high)``."""
    window = job.plan.window
    assert window is not None or (low is None and high is None)
    time = events.column("time")
    if low is not None:
        events = events.filter(pc.greater_equal(time, low))
        time = events.column("time")
    if high is not None and window is not None:
        within = pa.scalar(window.within * 1_000, pa.duration("us"))
        reach = pc.add(high, within if pa.types.is_timestamp(high.type) else window.within / 1_000)
        events = events.filter(pc.less(time, reach))
    rows = job.run(events)
    for bound, holds in ((low, pc.greater_equal), (high, pc.less)):
        if bound is not None:
            rows = rows.filter(holds(rows.column("window_start"), bound))
    return rows


def _notes(events: pa.Table, job: Job) -> list[str]:
    """What explains a result without the rows one hoped for, or with other rows."""
    doubts = [*job.idle_conditions, *ordered_text(job, events)]
    if len(events):
        prepared = Prepared(job, events)
        doubts += [*small_units(job, prepared), *equal_times(job, prepared)]
    there = {str(value) for value in pc.unique(events.column("type")).to_pylist()}
    missing = [name for name in job.plan.event_types if name not in there]
    notes = [on_one_line(doubt) for doubt in doubts]
    if missing:
        some = ", ".join(sorted(there)[:12]) + (", …" if len(there) > 12 else "")
        notes.insert(0, f"No event has the type {' or '.join(missing)}. Types in the data: {some or 'none'}.")
    return notes
