"""The stream cut into partitions: by common attributes first, then by the values of each scope."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.limits import require_rows
from greta.engine.tables import as_type
from greta.kernels.sorting import argsort, is_sorted, number_densely, number_integers, order_by_group

Int = NDArray[np.int64]
Mask = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Keys:
    """Dense numbers for the combinations of some columns' values; -1 where one of them is NULL."""

    codes: NDArray[np.int32]
    count: int
    example: Int
    """Per number: a row that has it."""
    parts: tuple[NDArray[np.integer], ...] = ()
    """Per column: a number for each row's value, 0 for NULL too."""


def number_keys(columns: list[pa.Array], rows: int, null_is_a_value: bool = False) -> Keys:
    """Number the combinations of values. O(rows)."""
    if not columns:
        return Keys(np.zeros(rows, dtype=np.int32), 1 if rows else 0, np.zeros(1 if rows else 0, dtype=np.int64))
    null = np.zeros(rows, dtype=bool)
    parts: list[NDArray[np.integer]] = []
    sizes: list[int] = []
    for column in columns:
        if pa.types.is_int64(column.type) and not column.null_count:
            codes, distinct = number_integers(column.to_numpy())
            if distinct >= 0:
                parts.append(codes)
                sizes.append(max(1, distinct))
                continue
        encoded = _encoded(column)
        distinct = max(1, len(encoded.dictionary))
        indices = encoded.indices
        if indices.null_count and null_is_a_value:
            indices, distinct = pc.fill_null(indices.cast(pa.int64()), distinct), distinct + 1
        elif indices.null_count:
            null |= indices.is_null().to_numpy(zero_copy_only=False)
            indices = pc.fill_null(indices, 0)
        parts.append(indices.to_numpy(zero_copy_only=False))
        sizes.append(distinct)
    return _combined(parts, sizes, null)


def join_keys(keys: Keys, places: list[int], rows: Int) -> Keys:
    """Number the combinations that some rows have of some of the columns that keys were made of."""
    parts = [keys.parts[place][rows] for place in places]
    return _combined(parts, [int(part.max(initial=0)) + 1 for part in parts], np.zeros(len(rows), dtype=bool))


def _combined(parts: list[NDArray[np.integer]], sizes: list[int], null: NDArray[np.bool_]) -> Keys:
    """Keys of rows that have a number below each of the sizes; NULL where ``null`` says so."""
    combined, size = parts[0].astype(np.int64), sizes[0]
    for part, distinct in zip(parts[1:], sizes[1:], strict=True):
        combined = combined * distinct + part
        size *= distinct
        if size > 2**31:
            combined, size = _renumber(combined)
    return Keys(*_dense(combined, null, size), tuple(parts))


def _encoded(column: pa.Array) -> pa.Array:
    """A dictionary of the values; to Arrow 0.0 and -0.0 are two, to a query one."""
    if pa.types.is_dictionary(column.type):
        return column
    if pa.types.is_floating(column.type):
        column = pc.add(as_type(column, pa.float64()), 0.0)
    return column.dictionary_encode()


def _renumber(codes: Int) -> tuple[Int, int]:
    values, inverse = np.unique(codes, return_inverse=True)
    return inverse.astype(np.int64), len(values)


def _dense(codes: Int, null: NDArray[np.bool_], size: int) -> tuple[NDArray[np.int32], int, Int]:
    """Numbers without gaps, in the order of the codes."""
    if size > 4 * len(codes) + 1024:
        codes, size = _renumber(codes)
    return number_densely(codes, null, size)


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows of events by (partition, time), and what each partition is.

    An event of a free variable stands in every partition of a scope, so rows may repeat.
    """

    offsets: Int
    rows: Int
    mask: Mask
    common: Int
    """Per partition: its number among the common partitions."""
    scope_values: Int
    """[scope, partition]: code of the scope's value; -1 where a partition has none."""
    required: Int
    """Per partition: bit i set where it has a value of scope i."""


def order_events(time: Int, keys: Keys) -> tuple[Int, Int]:
    """(offsets per common partition, rows by partition and time); rows without a key vanish."""
    order = np.arange(len(time)) if is_sorted(time) else argsort(time)
    return order_by_group(keys.codes, keys.count, order)


def plain_frame(offsets: Int, order: Int, mask: Mask, variables: int, keep_all: bool) -> Frame:
    """The rows that may take one of the variables, still by partition and time; ``mask`` is by place in the order."""
    taken = mask & np.uint64(variables)
    # NumPy counts and finds truth values many times as fast as numbers.
    there = taken != 0
    if not keep_all and np.count_nonzero(there) < len(taken):
        places = np.flatnonzero(there)
        offsets = np.searchsorted(places, offsets)
        order, taken = order[places], taken[places]
    count = len(offsets) - 1
    return Frame(
        offsets,
        order,
        taken,
        np.arange(count, dtype=np.int64),
        np.empty((0, count), dtype=np.int64),
        np.zeros(count, dtype=np.int64),
    )


def split_by_scope(
    frame: Frame,
    bit: int,
    scope: int,
    values: NDArray[np.int32],
    bound_types: NDArray[np.bool_] | None,
    met: set[int] | None = None,
    others: tuple[Int, Int] | None = None,
) -> Frame:
    """Cut every partition further by one scope: one part per value, and one for trends that never meet it.

    ``scope`` has the bits of the scope's variables; ``values`` are the codes of the scope's attribute per row, -1
    for NULL. Rows that can only take these variables go to the part of their value, all others to every part,
    where they keep the scope's variables only if the value is theirs. ``bound_types`` is given where events that
    take no variable matter too: it marks the rows whose type has only the scope's variables. ``met`` are the sets
    of scopes, as bits up to this one, whose parts are kept: of n scopes that every trend meets, one set instead of 2ⁿ.
    ``others`` are parts (partition, code of the value) that there are besides those of the rows' own values.
    """
    count = len(frame.offsets) - 1
    partition = np.repeat(np.arange(count), np.diff(frame.offsets))
    value = values[frame.rows].astype(np.int64)
    scoped = (frame.mask & np.uint64(scope)) != 0
    only_scoped = scoped & ((frame.mask & ~np.uint64(scope)) == 0)
    bound = only_scoped if bound_types is None else bound_types[frame.rows]
    spread = np.flatnonzero(~bound)
    known_parts, known_values = (np.empty(0, dtype=np.int64),) * 2 if others is None else others
    width = max(int(values.max(initial=-1)), int(known_values.max(initial=-1))) + 2
    # The parts of a partition: value -1 for "none", then its values in order.
    own = np.unique(partition[scoped & (value >= 0)] * width + value[scoped & (value >= 0)] + 1)
    own = np.union1d(own, known_parts * width + known_values + 1)
    parts = np.union1d(own, np.arange(count) * width)
    part_partition, part_value = parts // width, parts % width - 1
    required = frame.required[part_partition] | np.where(part_value >= 0, np.int64(1 << bit), np.int64(0))
    if met is not None:
        kept = np.isin(required, np.array(sorted(met), dtype=np.int64))
        parts, part_partition, part_value, required = (
            array[kept] for array in (parts, part_partition, part_value, required)
        )
    per_partition = np.searchsorted(part_partition, np.arange(count + 1))
    copies = np.diff(per_partition)[partition[spread]]
    require_rows(
        int(copies.sum()),
        "every value of a scope such as [A.x] needs a copy of the events that have no say in it",
        "write [x] instead of [A.x] where all events have the attribute, or shorten the stream",
    )
    source = np.repeat(spread, copies)
    first = np.repeat(per_partition[partition[spread]], copies)
    step = np.arange(len(source)) - np.repeat(np.cumsum(copies) - copies, copies)
    spread_part = first + step
    fixed = np.flatnonzero(bound & (value >= 0))
    wanted = partition[fixed] * width + value[fixed] + 1
    at = np.minimum(np.searchsorted(parts, wanted), len(parts) - 1)
    known = parts[at] == wanted if len(parts) else np.zeros(len(wanted), dtype=bool)
    fixed, fixed_part = fixed[known], at[known]
    rows_at = np.concatenate((source, fixed))
    part = np.concatenate((spread_part, fixed_part))
    keep_scope = part_value[part] == value[rows_at]
    keep_scope &= value[rows_at] >= 0
    mask = np.where(keep_scope, frame.mask[rows_at], frame.mask[rows_at] & ~np.uint64(scope))
    if bound_types is None:
        useful = mask != 0
        rows_at, part, mask = rows_at[useful], part[useful], mask[useful]
    by_time = np.argsort(rows_at, kind="stable")
    offsets, order = order_by_group(part.astype(np.int32), len(parts), by_time)
    return Frame(
        offsets,
        frame.rows[rows_at[order]],
        mask[order],
        frame.common[part_partition],
        np.vstack((frame.scope_values[:, part_partition], part_value[None, :])),
        required,
    )
