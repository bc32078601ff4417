"""Long streams cut into ranges of windows, so that lengths of time are counted from an event nearby.

A length of time is a difference of two times since some event, and the sum of squares of many such lengths one of very
large numbers, where that event was long ago: after a month of windows of ten seconds four digits are left. So where a
query adds lengths of time, each range of windows is a partition of its own, and counts from its own first event.

    ranges   [---- 0 ----)[---- 1 ----)
    events    .  . .  .  x.  .    .          x is in windows of both, and in the table twice
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from greta.engine.frames import Cut
from greta.engine.job import Job
from greta.engine.prepared import Prepared

_FAR = 256
"""Windows: of a variance of lengths of time, eleven digits are left."""
_RANGE = "range of windows"


def counted_from_nearby(
    job: Job, events: pa.Table | Prepared, cut: Cut | None
) -> tuple[pa.Table | Prepared, Cut | None]:
    """The events as they are, or in ranges where a query adds lengths of time and they go on for long.

    A ``cut`` that has ranges of its own is left as it is.
    """
    window = job.plan.window
    if window is None or not job.adds_times or (cut is not None and cut.column is not None):
        return events, cut
    prepared = events if isinstance(events, Prepared) else Prepared(job, events)
    instants, (within, slide) = prepared.instants, job.clock.units(window)
    if not len(instants) or int(instants.max()) - int(instants.min()) <= _FAR * within:
        return prepared, cut
    windows = _FAR * window.per_event
    first = np.maximum((instants - within) // slide + 1, job.clock.lowest_window) // windows
    last = instants // slide // windows
    again = np.flatnonzero(first < last)
    name = _RANGE
    while name in prepared.table.column_names:
        name += "'"
    table = pa.concat_tables(
        [
            prepared.table.append_column(name, pa.array(last)),
            prepared.table.take(pa.array(again)).append_column(name, pa.array(first[again])),
        ]
    )
    return table, replace(cut or Cut(), column=name, windows=windows)
