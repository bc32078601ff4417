"""The whole path in one function: events → table → plan → kernels → groups → rows."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pyarrow as pa

from greta.engine.codes import Decoder
from greta.engine.frames import Stream
from greta.engine.planning import plan_for
from greta.engine.results import Groups, Merged, finish, group_partitions, join, merge, merge_block
from greta.engine.run import Execution, Numbers
from greta.engine.tables import Events, require_column, to_table
from greta.errors import GretaError
from greta.lang.nodes import Query
from greta.plan.nodes import Plan, SlotKind


def aggregate(
    events: Events,
    query: Query | str | Plan,
    *,
    time: str = "time",
    type: str = "type",  # noqa: A002
    numbers: Numbers = "double",
) -> pa.Table:
    """Aggregate all trends of a query over a table of events, building none of them.

    Takes an Arrow table, a pandas or Polars frame or a list of dicts, in any order of time; gives an Arrow table
    with ``window_start``, ``window_end``, the returned attributes and the aggregates: a row per group and window
    with at least one trend. ``numbers="exact"`` gives COUNT and integer SUM as digits of any size.

    >>> stream = [{"type": "A", "time": t} for t in (1, 2, 3)]
    >>> aggregate(stream, "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds").to_pylist()
    [{'window_start': 0, 'window_end': 10, 'count': 7.0}]
    """
    if numbers not in get_args(Numbers):
        raise GretaError(f"numbers must be 'double' or 'exact', not {numbers!r}")
    table = to_table(events)
    require_column(table.schema, time, "time", "time")
    require_column(table.schema, type, "type", "type")
    plan = plan_for(query, table.schema, time, type)
    needed = list(dict.fromkeys((time, type, *plan.attributes)))
    stream = Stream.of(plan, table.select(needed), time, type)
    return run(stream, numbers)


def run(stream: Stream, numbers: Numbers) -> pa.Table:
    """All rows of the answer."""
    merged, groups = merged_groups(stream, numbers)
    merged = _sorted(merged)
    return finish(
        stream.plan, stream.clock, merged, groups.attributes, decoders(stream), numbers, floating_sums(stream)
    )


def merged_groups(stream: Stream, numbers: Numbers) -> tuple[Merged, Groups]:
    """Values per group and window, every group and window once."""
    plan = stream.plan
    execution = Execution(stream, numbers)
    groups = group_partitions(stream, execution.frame, execution.scopes)
    parts = [merge_block(plan, block, groups) for block in execution.blocks()]
    if not parts:
        return _nothing(plan), groups
    return (join(parts) if groups.whole or len(parts) == 1 else merge(parts)), groups


def decoders(stream: Stream) -> dict[int, Decoder]:
    """Per extreme slot: the way from codes back to values."""
    return {
        at: stream.columns.extremes(slot.attribute)[1]
        for at, slot in enumerate(stream.plan.slots)
        if slot.kind in (SlotKind.MIN, SlotKind.MAX) and slot.attribute is not None
    }


def floating_sums(stream: Stream) -> set[int]:
    """The sums that stay DOUBLE in exact mode."""
    return {
        at
        for at, slot in enumerate(stream.plan.slots)
        if slot.kind is SlotKind.SUM and slot.attribute is not None and not stream.columns.is_integer(slot.attribute)
    }


def _nothing(plan: Plan) -> Merged:
    none = np.empty(0, dtype=np.int64)
    extreme = (SlotKind.MIN, SlotKind.MAX)
    return Merged(
        none,
        none,
        {at: np.empty(0) for at, slot in enumerate(plan.slots) if slot.kind not in extreme},
        {at: none for at, slot in enumerate(plan.slots) if slot.kind in extreme},
    )


def _sorted(merged: Merged) -> Merged:
    """By window, then group."""
    order = np.lexsort((merged.group, merged.window))
    return Merged(
        merged.group[order],
        merged.window[order],
        {at: column[order] for at, column in merged.adds.items()},
        {at: column[order] for at, column in merged.maxes.items()},
    )
