"""Open windows as running totals: all that a plan without edge predicates needs of events before the watermark.

Such a plan has one total per transition and window, whatever events made it. So a dense stream keeps, per partition and
open window, a row of numbers, and no event that the watermark has passed:

    watermark          ▼
    W0  [-----------)          closed: its row is the answer
    W1       [-----------)     row: totals of what is before the watermark
    kept               ● ●     events after it
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.frames import Cut, Stream
from greta.engine.job import WINDOW
from greta.engine.merging import merge
from greta.engine.partials import write_partials
from greta.engine.partitions import number_keys
from greta.engine.results import Merged
from greta.engine.run import Execution, Runs
from greta.engine.stream_jobs import StreamJob
from greta.engine.tables import contiguous, plain_type
from greta.engine.values import prepare
from greta.plan.nodes import Plan


def row_bytes(plan: Plan) -> int:
    """Size of a row of totals, about."""
    sources = {(transition.source, transition.link) for transition in plan.templates[0].transitions}
    return 8 * (2 + len(plan.measures) * (1 + len(sources)))


def count_partitions(job: StreamJob, events: pa.Table) -> int:
    """How many partitions some events are of."""
    return number_keys([prepare(events.column(name)) for name in job.common], events.num_rows).count


def fold(
    job: StreamJob, totals: pa.Table | None, events: pa.Table, first: int, due: int, last: int = 2**62
) -> tuple[pa.Table, pa.Table | None]:
    """(partial rows of the windows before ``due``, totals of those from it to ``last``), past some more events.

    ``events`` are all that came after those in ``totals`` and up to some instant: a tick must not be cut. Windows
    before ``first`` are over already.
    """
    if totals is not None:
        # Those of windows that are over stay stored while events alone are added.
        windows = totals.column(WINDOW).to_numpy()
        totals = totals.filter(pa.array((windows >= first) & (windows < last)))
    if events.num_rows:
        totals = _past(job, totals, events, Cut(first, last))
    if totals is None:
        return job.partial_schema.empty_table(), None
    over = totals.column(WINDOW).to_numpy() < due
    closed, open_ = totals.filter(pa.array(over)), totals.filter(pa.array(~over))
    return _partials(job, closed), open_ if open_.num_rows else None


def _past(job: StreamJob, totals: pa.Table | None, events: pa.Table, cut: Cut) -> pa.Table:
    stream = Stream.of(job, events, cut)
    execution = Execution(stream, job.numbers)
    runs = execution.separate_runs()
    carried = np.zeros((len(runs.first_window), execution.totals))
    example = stream.keys.example
    left = None
    if totals is not None and totals.num_rows:
        at, found = _places(job, totals, events.take(pa.array(example)), runs)
        carried[at[found]] = _words(totals)[found]
        left = totals.filter(pa.array(~found))
    execution.go_on(runs, carried)
    # A row of zeros says what no row says.
    some = carried.any(axis=1)
    rows, carried = pa.array(example[runs.partition[some]]), carried[some]
    columns: dict[str, Any] = {
        f"key_{at}": contiguous(events.column(name).take(rows)).cast(plain_type(job.schema.field(name).type))
        for at, name in enumerate(job.common)
    }
    columns[WINDOW] = pa.array(runs.first_window[some])
    columns |= {f"total_{at}": pa.array(column) for at, column in enumerate(carried.T)}
    new = pa.table(columns)
    return new if left is None else pa.concat_tables([left, new]).combine_chunks()


def _places(
    job: StreamJob, totals: pa.Table, examples: pa.Table, runs: Runs
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Per row of totals: the run that it goes on in, and whether there is one. ``examples``: an event per partition."""
    keys = number_keys(
        [
            prepare(pa.chunked_array([*totals.column(f"key_{at}").chunks, *_plain(examples.column(name)).chunks]))
            for at, name in enumerate(job.common)
        ],
        totals.num_rows + examples.num_rows,
    )
    stored, own = keys.codes[: totals.num_rows], keys.codes[totals.num_rows :]
    partition_of = np.full(keys.count, -1, dtype=np.int64)
    partition_of[own] = np.arange(len(own))
    partition, window = partition_of[stored], totals.column(WINDOW).to_numpy()
    if not len(runs.first_window):
        return np.zeros(len(window), dtype=np.int64), np.zeros(len(window), dtype=bool)
    low = min(int(window.min()), int(runs.first_window.min()))
    span = max(int(window.max()), int(runs.first_window.max())) - low + 1
    there = runs.partition * span + (runs.first_window - low)
    wanted = partition * span + (window - low)
    at = np.minimum(np.searchsorted(there, wanted), len(there) - 1)
    return at, (partition >= 0) & (there[at] == wanted)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(plain_type(column.type))


def _words(totals: pa.Table) -> NDArray[np.float64]:
    names = [name for name in totals.column_names if name.startswith("total_")]
    return np.stack([totals.column(name).to_numpy() for name in names], axis=1)


def _partials(job: StreamJob, closed: pa.Table) -> pa.Table:
    plan = job.plan
    closed = closed.filter(pa.array(closed.column("total_0").to_numpy() != 0))
    values = {name: contiguous(closed.column(f"key_{job.common.index(name)}")) for name in plan.group}
    keys = number_keys([prepare(pa.chunked_array([column])) for column in values.values()], closed.num_rows)
    merged = merge(
        [
            Merged(
                keys.codes.astype(np.int64),
                closed.column(WINDOW).to_numpy(),
                {at: closed.column(f"total_{at}").to_numpy() for at in range(len(plan.measures))},
                {},
            )
        ]
    )
    attributes = {name: column.take(pa.array(keys.example)) for name, column in values.items()}
    return write_partials(job, merged, attributes, {})
