"""Rows of doubles without lanes, for one window at a time: what ``numbers`` promises, written for this case alone.

Loops over lanes, and over slots where there are up to three, would take longer than the additions. What does not
concern a single lane (``low`` and ``high``) is taken and left alone, so that callers need not know.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import part, small
from greta.kernels.layout import Slots

_ROW_0: Any = np.int64(0)
"""Of the machine's type, since Numba compiles a function anew for every literal."""
_ONE = np.uint64(1)
_TWO = np.uint64(2)
# Positions without a sign need no look at whether they count from the end.


class Single(NamedTuple):
    """An arena of rows of doubles with one lane; laid out as ``Rows`` of width 1 are."""

    store: NDArray[np.float64]
    maxima: NDArray[np.float64]
    adds: int
    maxes: int
    carried_adds: int
    carried_maxes: int


@part
def room_for_one(count: int, slots: Slots) -> Single:
    """An arena of ``count`` rows of one lane, of unset content."""
    return Single(
        np.empty(count * slots.adds),
        np.empty(count * slots.maxes),
        slots.adds,
        slots.maxes,
        slots.carried_adds,
        slots.carried_maxes,
    )


@small
def clear(single: Single, row: int, low: int, high: int) -> None:  # noqa: ARG001
    """Set a row to zero and nothing."""
    at = row * single.adds
    for slot in range(single.adds):
        single.store[at + slot] = 0
    at = row * single.maxes
    for slot in range(single.maxes):
        single.maxima[at + slot] = -np.inf


@small
def start(
    single: Single,
    row: int,
    low: int,  # noqa: ARG001
    high: int,  # noqa: ARG001
    adds: NDArray[np.uint8],
    maxes: NDArray[np.uint8],
) -> None:
    """A trend starts in a cleared row."""
    for slot in range(single.adds):
        single.store[row * single.adds + slot] = adds[slot]
    for slot in range(single.maxes):
        if maxes[slot] != 0:
            single.maxima[row * single.maxes + slot] = 0


@small
def is_alive(single: Single, row: int, low: int, high: int) -> bool:  # noqa: ARG001
    """Whether a trend reaches the row."""
    return bool(single.store[row * single.adds] != 0)


@small
def add_row(single: Single, into: int, row: int, low: int, high: int) -> None:  # noqa: ARG001
    """Add the carried slots of a row to another."""
    add_slots(single, into, row, single.carried_adds, single.carried_maxes)


@small
def add_result(single: Single, row: int, low: int, high: int) -> None:  # noqa: ARG001
    """Add all slots of a row to row 0."""
    add_slots(single, _ROW_0, row, single.adds, single.maxes)


@small
def add_slots(single: Single, into: int, row: int, adds: int, maxes: int) -> None:
    """Add the first ``adds`` slots and raise the first ``maxes`` extremes."""
    for slot in range(adds):
        single.store[into * single.adds + slot] += single.store[row * single.adds + slot]
    for slot in range(maxes):
        at = into * single.maxes + slot
        single.maxima[at] = max(single.maxima[at], single.maxima[row * single.maxes + slot])


@small
def first_extreme(single: Single, row: int) -> float:
    """The first extreme of a row."""
    return float(single.maxima[row * single.maxes])


@small
def record(single: Single, row: int, trace: Any, event: int, state: int) -> None:
    """Never asked for: who traces wants numbers of any size."""


@small
def sum_tree(single: Single, into: int, base: int, count: int, low: int, high: int) -> None:  # noqa: ARG001
    """Add to a row the first ``count`` places of a Fenwick tree; up to three slots in registers."""
    store, adds, carried = single.store, single.adds, single.carried_adds
    at = into * adds
    k = count
    if carried == 1:
        total = store[at]
        while k > 0:
            total += store[(base + k - 1) * adds]
            k &= k - 1
        store[at] = total
    elif carried == 2:
        total, second = store[at], store[at + 1]
        while k > 0:
            node = np.uint64((base + k - 1) * adds)
            total += store[node]
            second += store[node + _ONE]
            k &= k - 1
        store[at], store[at + 1] = total, second
    elif carried == 3:
        total, second, third = store[at], store[at + 1], store[at + 2]
        while k > 0:
            node = np.uint64((base + k - 1) * adds)
            total += store[node]
            second += store[node + _ONE]
            third += store[node + _TWO]
            k &= k - 1
        store[at], store[at + 1], store[at + 2] = total, second, third
    else:
        while k > 0:
            _add_carried(single, into, base + k - 1)
            k &= k - 1
    if single.carried_maxes > 0:
        k = count
        while k > 0:
            _raise_one_row(single, into, base + k - 1)
            k &= k - 1


@small
def _add_carried(single: Single, into: int, row: int) -> None:
    """Add the carried slots of a row to another."""
    a, b = np.uint64(into * single.adds), np.uint64(row * single.adds)
    for slot in range(np.uint64(single.carried_adds)):
        single.store[a + slot] += single.store[b + slot]


@small
def _raise_one_row(single: Single, into: int, row: int) -> None:
    """Raise the carried extremes of a row to those of another."""
    for slot in range(single.carried_maxes):
        at = into * single.maxes + slot
        single.maxima[at] = max(single.maxima[at], single.maxima[row * single.maxes + slot])


@small
def add_to_tree(
    single: Single,
    row: int,
    base: int,
    place: int,
    size: int,
    low: int,  # noqa: ARG001
    high: int,  # noqa: ARG001
) -> None:
    """Add a row at one place of a Fenwick tree of ``size`` places."""
    store, adds, carried = single.store, single.adds, single.carried_adds
    at = row * adds
    k = place + 1
    if carried == 1:
        value = store[at]
        while k <= size:
            store[(base + k - 1) * adds] += value
            k += k & -k
    elif carried == 2:
        value, second = store[at], store[at + 1]
        while k <= size:
            node = np.uint64((base + k - 1) * adds)
            store[node] += value
            store[node + _ONE] += second
            k += k & -k
    elif carried == 3:
        value, second, third = store[at], store[at + 1], store[at + 2]
        while k <= size:
            node = np.uint64((base + k - 1) * adds)
            store[node] += value
            store[node + _ONE] += second
            store[node + _TWO] += third
            k += k & -k
    else:
        while k <= size:
            _add_carried(single, base + k - 1, row)
            k += k & -k
    if single.carried_maxes > 0:
        k = place + 1
        while k <= size:
            _raise_one_row(single, base + k - 1, row)
            k += k & -k
