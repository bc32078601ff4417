"""Events in the engine's types → which can play a part, judged here: ``filters`` for what Spark has not read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.columns import Columns
from greta.engine.tables import contiguous
from greta.lang.nodes import Expression, Semantics
from greta.plan.nodes import Plan
from greta.spark.wire.places import Places

Rows = NDArray[np.bool_]
Conditions = tuple[Expression, ...]


def useful_rows(plans: Sequence[Plan], type_: str, events: Mapping[str, pa.Array], rows: int) -> Rows | None:
    """Where a row can play a part in one of the queries; None where all rows can.

    Under ``contiguous`` every event of a partition stands between others, so only rows without a partition go.
    """
    columns = Columns(pa.table(dict(events)))
    alike: dict[tuple[str, ...], list[Plan]] = {}
    for plan in plans:
        alike.setdefault(plan.partitioning.common, []).append(plan)
    useful: Rows | None = None
    for common, members in alike.items():
        kept = np.ones(rows, dtype=bool)
        for name in common:
            if events[name].null_count:
                kept &= contiguous(events[name]).is_valid().to_numpy(zero_copy_only=False)
        if all(plan.semantics is not Semantics.CONTIGUOUS for plan in members):
            kept &= _of_some_variable(members, type_, columns, events)
        useful = kept if useful is None else useful | kept
    return None if useful is None or useful.all() else useful


def kept_rows(events: dict[str, pa.Array], rows: Rows | None) -> dict[str, pa.Array]:
    """These rows of the events; all where ``rows`` is None."""
    return events if rows is None else {name: column.filter(pa.array(rows)) for name, column in events.items()}


def _of_some_variable(plans: Sequence[Plan], type_: str, columns: Columns, events: Mapping[str, pa.Array]) -> Rows:
    """Where some variable takes a row: its type is the variable's, and the local predicates hold."""
    takes = variables_by_type(plans)
    codes = Places(1, tuple(takes)).codes(events[type_])
    kept = codes < len(takes)
    for code, choices in enumerate(takes.values()):
        if () in choices:
            continue
        some = np.zeros(len(kept), dtype=bool)
        for conditions in choices:
            every = np.ones(len(kept), dtype=bool)
            for condition in conditions:
                every &= columns.holds(condition)
            some |= every
        kept &= some | (codes != code)
    return kept


def variables_by_type(plans: Sequence[Plan]) -> dict[str, dict[Conditions, None]]:
    """Per event type the local predicates of each variable that takes it; () for one without any."""
    takes: dict[str, dict[Conditions, None]] = {}
    for plan in plans:
        for variable in plan.variables:
            takes.setdefault(variable.event_type, {})[plan.local_conditions(variable.name)] = None
    return takes
