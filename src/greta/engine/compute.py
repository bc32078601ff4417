"""A stream under its job → values per group and window → rows: what every door's rows come from."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from greta.engine.codes import Decoder
from greta.engine.frames import Stream
from greta.engine.merging import join, merge, merge_block, require_result
from greta.engine.results import Groups, Merged, finish, group_partitions
from greta.engine.run import Execution
from greta.kernels.sorting import is_sorted
from greta.plan.measures import Combine
from greta.plan.nodes import Plan


def rows(stream: Stream) -> pa.Table:
    """All rows of the answer, by window and group."""
    merged, groups = merged_groups(stream)
    return finish(stream.job, _sorted(merged), groups.attributes, decoders(stream))


def merged_groups(stream: Stream) -> tuple[Merged, Groups]:
    """Values per group and window, every group and window once."""
    plan = stream.plan
    execution = Execution(stream, stream.job.numbers)
    groups = group_partitions(stream, execution.frame, execution.scopes)
    parts: list[Merged] = []
    for block in execution.blocks():
        parts.append(merge_block(plan, block, groups))
        if len(parts) > 1:
            require_result(sum(len(part.window) for part in parts))
    if not parts:
        return _nothing(plan), groups
    return (join(parts) if groups.whole or len(parts) == 1 else merge(parts, plan)), groups


def decoders(stream: Stream) -> dict[int, Decoder]:
    """Per extreme of an attribute: the way from codes back to values."""
    double = stream.job.numbers == "double" and not stream.plan.conjunction
    return {
        at: stream.columns.extremes(measure.compared, double)[1]
        for at, measure in enumerate(stream.plan.measures)
        if measure.compared is not None
    }


def _nothing(plan: Plan) -> Merged:
    none = np.empty(0, dtype=np.int64)
    measures = list(enumerate(plan.measures))
    return Merged(
        none,
        none,
        {at: np.empty(0) for at, measure in measures if measure.combine is Combine.ADD},
        {at: none for at, measure in measures if measure.combine is Combine.MAX},
    )


def _sorted(merged: Merged) -> Merged:
    """By window, then group; values come by group, then window."""
    if is_sorted(merged.window):
        return merged
    order = np.lexsort((merged.group, merged.window))
    return Merged(
        merged.group[order],
        merged.window[order],
        {at: column[order] for at, column in merged.adds.items()},
        {at: column[order] for at, column in merged.maxes.items()},
    )
