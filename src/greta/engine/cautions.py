"""Events and a job → warnings where the answer is probably not the one that was meant.

Each is one look at what the job computes anyway, or at the first events. No event, or one, is no ground for any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from greta.engine.job import Job
from greta.engine.prepared import Prepared
from greta.engine.tables import plain_type
from greta.engine.times import epoch_unit, read_as
from greta.errors import GretaWarning
from greta.plan.nodes import Plan

_SHOWN = 12
_NEARLY = 0.8
"""How alike two names of types are where one is taken for a slip: from 0 to 1, as difflib measures it."""
_MANY_PAIRS = 3e9
_PAIRS_PER_SECOND = 5e7
"""What a kernel decides of a usual condition on a usual machine."""
_LOOKED_AT = 1_000
"""Events whose text is read as numbers."""


def cautions(job: Job, prepared: Prepared) -> Iterator[GretaWarning]:
    """Every warning about these events under this job, each with its way out."""
    if prepared.table.num_rows:
        yield from absent_types(job, prepared)
        yield from small_units(job, prepared)
        yield from equal_times(job, prepared)
        yield from ordered_text(job, prepared.table)
        yield from long_scans(job, prepared)


def absent_types(job: Job, prepared: Prepared) -> Iterator[GretaWarning]:
    """No event has any type that the query names, or one of them is nearly one that is there and not named."""
    yield from only_types(job, [name for name in prepared.types.names if name is not None])


def only_types(job: Job, there: Sequence[str]) -> Iterator[GretaWarning]:
    """The warnings for events of these types only."""
    if set(job.plan.event_types) & set(there):
        yield from _misspelt_types(job, there)
        return
    some = ", ".join(sorted(there)[:_SHOWN]) + (", …" if len(there) > _SHOWN else "")
    yield GretaWarning(
        f"no event has the type {' or '.join(job.plan.event_types)}: column {job.type!r} holds {some or 'only NULL'}",
        hint="name one of these types in PATTERN, or another column as the type",
    )


def _misspelt_types(job: Job, there: Sequence[str]) -> Iterator[GretaWarning]:
    """``NOT Accidnt A`` where there are Accident events: the other types that are named hide the mistake."""
    named = job.plan.event_types
    others = {name.lower(): name for name in there if name not in named}
    for name in named:
        near = [] if name in there else get_close_matches(name.lower(), list(others), n=1, cutoff=_NEARLY)
        if near:
            yield GretaWarning(
                f"no event has the type {name}, and the query does not name {others[near[0]]}",
                hint=f"did you mean {others[near[0]]}?",
            )


def small_units(job: Job, prepared: Prepared) -> Iterator[GretaWarning]:
    """Times are numbers that look like milliseconds since 1970, and count as seconds."""
    if job.clock.kind == "timestamp":
        return
    first = int(prepared.instants.min()) / (1_000 * job.clock.per_millisecond)
    unit = epoch_unit(first)
    if unit is not None:
        yield GretaWarning(
            f"time column {job.time!r} holds numbers such as {first:.0f}, which count as seconds and look like "
            f"{unit[1]} since 1970",
            hint=read_as(unit[0]),
        )


def equal_times(job: Job, prepared: Prepared) -> Iterator[GretaWarning]:
    """All times are the same, where trends may have several events."""
    instants = prepared.instants
    if len(instants) > 1 and instants[0] == instants[-1] and _links(job.plan) and instants.min() == instants.max():
        yield GretaWarning(
            f"all events have the same time, so none comes after another (column {job.time!r})",
            hint="name the column that tells when they happened, or read it in a finer unit",
        )


def ordered_text(job: Job, table: pa.Table) -> Iterator[GretaWarning]:
    """An order is asked of text that reads as numbers: as text, '10' comes before '9'."""
    for name in job.ordered_texts:
        if _reads_as_numbers(table, name):
            yield GretaWarning(
                f"{name} is text that reads as numbers, and text is ordered letter by letter: '10' comes before '9'",
                hint=f"make the column {name} a number first, e.g. by a cast",
            )


def long_scans(job: Job, prepared: Prepared) -> Iterator[GretaWarning]:
    """A condition is decided for each pair of events, and there are so many pairs that it takes minutes."""
    conditions = job.scanned_conditions
    if not conditions or prepared.table.num_rows**2 < 2 * _MANY_PAIRS:
        return
    pairs = _pairs(job, prepared)
    if pairs < _MANY_PAIRS:
        return
    minutes = max(1, round(pairs / _PAIRS_PER_SECOND / 60))
    yield GretaWarning(
        f"{' and '.join(conditions)} is decided for each pair of events of a window: {pairs:.1e} pairs, about "
        f"{f'{minutes} minutes' if minutes < 120 else f'{minutes // 60} hours'}",
        hint="say it by comparisons without OR that have one event on each side, let events agree on an attribute "
        "([company]), or shorten the window",
    )


def _pairs(job: Job, prepared: Prepared) -> float:
    """About how many pairs of events lie in one window and partition, each counted once."""
    rows = prepared.partitions(job.plan.partitioning.common, None)
    events = np.diff(rows.offsets).astype(np.float64)
    if job.plan.window is None:
        return float((events**2).sum() / 2)
    first, last = (rows.order[place] for place in (rows.offsets[:-1][events > 0], rows.offsets[1:][events > 0] - 1))
    span = (prepared.instants[last] - prepared.instants[first]).astype(np.float64)
    share = np.minimum(1.0, job.clock.units(job.plan.window)[0] / np.maximum(span, 1.0))
    return float((events[events > 0] ** 2 * share).sum() / 2)


def _links(plan: Plan) -> bool:
    return any(template.transitions for template in plan.templates)


def _reads_as_numbers(table: pa.Table, name: str) -> bool:
    """Whether all of the first values do; digits of one length are in order as they are, such as years."""
    column = table.column(name).slice(0, _LOOKED_AT)
    words = column.cast(plain_type(column.type)).cast(pa.string()).unique().drop_null()
    if not len(words) or (pc.all(pc.utf8_is_digit(words)).as_py() and len(pc.utf8_length(words).unique()) == 1):
        return False
    try:
        words.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
