"""Rows → blobs: Arrow batches cut by where they go. Rows are expensive to shuffle, and Arrow buffers are not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.kernels.sorting import argsort, order_by_group

Int = NDArray[np.int64]

CHUNK_ROWS = 1 << 18
"""Rows packed at once: bounds a task's memory."""


def chunks(batches: Iterable[pa.RecordBatch], size: int = CHUNK_ROWS) -> Iterator[pa.Table]:
    """Batches gathered into tables of at least so many rows, the last but one; columns in one piece."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= size:
            yield pa.Table.from_batches(held).combine_chunks()
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held).combine_chunks()


def order_by_part(parts: Int, slabs: Int | None = None) -> Int:
    """The order of rows by part, and within a part by slab; rows that agree stay as they were."""
    if not len(parts):
        return np.empty(0, dtype=np.int64)
    low, width = 0, 1
    if slabs is not None:
        low = int(slabs.min())
        width = int(slabs.max()) - low + 1
    size = width * (int(parts.max()) + 1)
    if size >= 2**62:
        assert slabs is not None
        return np.lexsort((slabs, parts))
    code = parts * width if slabs is None else parts * width + (slabs - low)
    if size <= 4 * len(parts) + 1024:
        return order_by_group(code.astype(np.int32), size, np.arange(len(code)))[1]
    return argsort(code)


def runs(parts: Int) -> Iterator[tuple[int, int, int]]:
    """(part, start, stop) of each run of equal parts, in parts that are sorted."""
    if len(parts):
        for start, stop in pairwise([0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(parts)]):
            yield int(parts[start]), start, stop


def cuts(parts: Int, most: int) -> tuple[Int, Int]:
    """(starts, stops) of runs of equal parts, none longer than ``most`` rows."""
    starts = np.concatenate([np.arange(start, stop, most) for _, start, stop in runs(parts)])
    return starts, np.append(starts[1:], len(parts))


def binary(blobs: list[pa.Buffer]) -> pa.Array:
    """Buffers as a column."""
    sizes = np.array([blob.size for blob in blobs], dtype=np.int64)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    return pa.BinaryArray.from_buffers(
        pa.binary(), len(blobs), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(blobs))]
    )
