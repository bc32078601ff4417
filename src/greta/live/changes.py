"""Rows of open windows, as they were and as they are → those that have changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.job import WINDOW, Job
from greta.engine.partitions import number_keys
from greta.engine.values import prepare


def cell_of(job: Job) -> list[str]:
    """The columns that tell partial rows apart: a window, and what its group agrees on."""
    return [WINDOW, *(f"group_{at}" for at in range(len(job.plan.group)))]


def changed(before: pa.Table | None, now: pa.Table, keys: Sequence[str]) -> pa.Table:
    """The rows of ``now`` that are not in ``before``; rows with the same keys are there at most once. O(rows)."""
    if before is None or not before.num_rows or not now.num_rows:
        return now
    both = pa.concat_tables([before, now])
    codes = number_keys([prepare(both.column(name)) for name in keys], both.num_rows, null_is_a_value=True).codes
    place = np.full(int(codes.max()) + 1, -1, dtype=np.int64)
    place[codes[: before.num_rows]] = np.arange(before.num_rows)
    at = place[codes[before.num_rows :]]
    new = at < 0
    old = before.take(pa.array(np.where(new, 0, at)))
    for name in now.column_names:
        if name not in keys:
            new |= _differ(old.column(name), now.column(name))
    return now if new.all() else now.filter(pa.array(new))


def among(rows: pa.Table, others: pa.Table, keys: Sequence[str]) -> pa.Table:
    """The rows with the keys of some of the others. O(rows)."""
    both = pa.concat_tables([others.select(keys), rows.select(keys)])
    codes = number_keys([prepare(both.column(name)) for name in keys], both.num_rows, null_is_a_value=True).codes
    return rows.filter(pa.array(np.isin(codes[others.num_rows :], codes[: others.num_rows])))


def _differ(left: pa.ChunkedArray, right: pa.ChunkedArray) -> NDArray[np.bool_]:
    differ = pc.fill_null(pc.not_equal(left, right), False)
    if left.null_count or right.null_count:
        differ = pc.or_(differ, pc.xor(pc.is_null(left), pc.is_null(right)))
    return np.asarray(differ.to_numpy())
