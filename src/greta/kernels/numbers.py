"""What a vertex holds, as rows of numbers in one arena; they only ever get added.

A row holds the slots of a vertex, each for several windows next to each other: its *lanes*. With 2 additive slots and
3 lanes, row 1 of the store is::

    words   ... | n n n s s s | ...        n: trends of lanes 0 1 2     s: the other slot
                  ^ 1 · words    ^ + slot · width + lane

Extreme slots lie in ``maxima`` in the same way, the additive ones in a store of doubles, integers or numbers of
several words (``stores``).

``Single`` is an arena of doubles without lanes, for one window at a time: the loops over lanes, and over slots where
there are up to three, would take longer than the additions. The operations are one set of names; the compiler picks
the code by the type of the arena, so that every kernel is written once and common cases pay nothing for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels import single
from greta.kernels.compiler import SMALL_OPTIONS, inner, part, small
from greta.kernels.layout import Slots
from greta.kernels.single import Single
from greta.kernels.stores import (
    Store,
    add,
    add_one,
    add_path,
    by_type,
    is_zero,
    new_store,
    nothing_in,
    sum_path,
    wipe,
    word,
    words_of,
    zero,
)

# A row, or its one lane; of the machine's type, since Numba compiles a function anew for every literal.
ROW_0: Any = np.int64(0)
LANE_0: Any = np.int64(0)
ONE_LANE: Any = np.int64(1)


class Rows(NamedTuple):
    """An arena of rows, counted from 0."""

    store: Store
    maxima: NDArray[Any]
    width: int
    """Lanes of a row."""
    adds: int
    maxes: int
    """Slots of a row."""
    carried_adds: int
    carried_maxes: int
    """Slots that indexes hold: the first so many."""
    words: int
    """64-bit words of a row's additive slots."""
    extremes: int
    """Maxima of a row."""


Arena = Rows | Single


class Trace(NamedTuple):
    """The vertices of one window, in the order in which they come about: what there is to walk along afterwards."""

    size: NDArray[np.int64]
    """One number: how many there are."""
    event: NDArray[np.int64]
    state: NDArray[np.int64]
    counts: NDArray[np.float64]
    """[vertex, word of its number of trends]"""
    maxima: NDArray[np.float64]
    """[vertex, extreme slot]"""


def new_trace(vertices: int, words: int, maxes: int) -> Trace:
    """Room for so many vertices; without room, nothing is traced."""
    return Trace(
        np.zeros(1, dtype=np.int64),
        np.empty(vertices, dtype=np.int64),
        np.empty(vertices, dtype=np.int64),
        np.empty((vertices, words)),
        np.empty((vertices, maxes)),
    )


@part
def no_trace() -> Trace:
    """What a kernel hands on that traces nothing."""
    none, nothing = np.empty(0, dtype=np.int64), np.empty((0, 0))
    return Trace(np.zeros(1, dtype=np.int64), none, none, nothing, nothing)


def by_arena(
    function: Callable[..., Any],
    alone: Callable[..., Any],
    rows: Callable[..., Any],
    options: dict[str, Any] = SMALL_OPTIONS,
) -> None:
    """Dispatch on the type of an arena."""
    by_type(function, lambda arena: alone if getattr(arena, "instance_class", None) is Single else rows, options)


@part
def room(blank: Store, maxima: NDArray[Any], count: int, width: int, slots: Slots) -> Rows:
    """An arena of ``count`` rows of unset content, in the representations of ``blank`` and ``maxima``."""
    return Rows(
        new_store(blank, count, width * slots.adds),
        np.empty(count * width * slots.maxes, dtype=maxima.dtype),
        width,
        slots.adds,
        slots.maxes,
        slots.carried_adds,
        slots.carried_maxes,
        width * slots.adds * words_of(blank),
        width * slots.maxes,
    )


@inner
def clear_rows(rows: Rows, count: int, lanes: int) -> None:
    """Set the first lanes of the rows ``[0, count)`` to zero and NOTHING."""
    if lanes == rows.width:
        wipe(rows.store, 0, count * rows.words)
        rows.maxima[: count * rows.extremes] = nothing_in(rows.maxima)
    else:
        for row in range(count):
            clear(rows, row, 0, lanes)


def clear(arena: Arena, row: int, low: int, high: int) -> None:
    """Set the lanes ``[low, high)`` of a row to zero and NOTHING."""
    (single.clear if isinstance(arena, Single) else _rows_clear)(arena, row, low, high)  # type: ignore[arg-type]


@small
def _rows_clear(rows: Rows, row: int, low: int, high: int) -> None:
    for slot in range(rows.adds):
        zero(rows.store, row * rows.words + slot * rows.width + low, high - low)
    for slot in range(rows.maxes):
        at = row * rows.extremes + slot * rows.width
        rows.maxima[at + low : at + high] = nothing_in(rows.maxima)


def start(arena: Arena, row: int, low: int, high: int, adds: NDArray[np.uint8], maxes: NDArray[np.uint8]) -> None:
    """A trend starts in some lanes of a cleared row: some slots become 1, or 0 for extremes."""
    chosen: Any = single.start if isinstance(arena, Single) else _rows_start
    chosen(arena, row, low, high, adds, maxes)


@small
def _rows_start(rows: Rows, row: int, low: int, high: int, adds: NDArray[np.uint8], maxes: NDArray[np.uint8]) -> None:
    for slot in range(rows.adds):
        if adds[slot] != 0:
            add_one(rows.store, row * rows.words + slot * rows.width + low, high - low)
    for slot in range(rows.maxes):
        if maxes[slot] != 0:
            at = row * rows.extremes + slot * rows.width
            rows.maxima[at + low : at + high] = 0


def is_alive(arena: Arena, row: int, low: int, high: int) -> bool:
    """Whether a trend reaches the row in one of the lanes."""
    return bool((single.is_alive if isinstance(arena, Single) else _rows_alive)(arena, row, low, high))  # type: ignore[arg-type]


@small
def _rows_alive(rows: Rows, row: int, low: int, high: int) -> bool:
    for lane in range(low, high):
        if not is_zero(rows.store, row * rows.words + lane):
            return True
    return False


def add_row(arena: Arena, into: int, row: int, low: int, high: int) -> None:
    """Add the carried slots of a row to another, in the lanes ``[low, high)``."""
    (single.add_row if isinstance(arena, Single) else _rows_add)(arena, into, row, low, high)  # type: ignore[arg-type]


@small
def _rows_add(rows: Rows, into: int, row: int, low: int, high: int) -> None:
    _add_slots(rows, into, row, low, high, rows.carried_adds, rows.carried_maxes)


def add_result(arena: Arena, row: int, low: int, high: int) -> None:
    """Add all slots of a row to row 0, which collects the results."""
    (single.add_result if isinstance(arena, Single) else _rows_result)(arena, row, low, high)  # type: ignore[arg-type]


@small
def _rows_result(rows: Rows, row: int, low: int, high: int) -> None:
    _add_slots(rows, ROW_0, row, low, high, rows.adds, rows.maxes)


@small
def _add_slots(rows: Rows, into: int, row: int, low: int, high: int, adds: int, maxes: int) -> None:
    """Add the first ``adds`` slots and raise the first ``maxes`` extremes; whole rows in one go."""
    width = rows.width
    a = into * rows.words
    b = row * rows.words
    if high - low == width:
        add(rows.store, a, b, adds * width)
    else:
        for slot in range(adds):
            add(rows.store, a + slot * width + low, b + slot * width + low, high - low)
    for slot in range(maxes):
        a = into * rows.extremes + slot * width
        b = row * rows.extremes + slot * width
        target = rows.maxima[a + low : a + high]
        source = rows.maxima[b + low : b + high]
        for i in range(target.shape[0]):
            target[i] = max(target[i], source[i])


def first_extreme(arena: Arena, row: int) -> float:
    """The first extreme of a row's first lane."""
    return float(arena.maxima[row * (arena.maxes if isinstance(arena, Single) else arena.extremes)])


@small
def _rows_extreme(rows: Rows, row: int) -> float:
    return float(rows.maxima[row * rows.extremes])


def record(arena: Arena, row: int, trace: Trace, event: int, state: int) -> None:
    """Add a row, the vertex of an event in a state, to a trace: its first lane, and of additive slots the first."""
    if isinstance(arena, Rows):
        _rows_record(arena, row, trace, event, state)


@small
def _rows_record(rows: Rows, row: int, trace: Trace, event: int, state: int) -> None:
    at = trace.size[0]
    trace.event[at] = event
    trace.state[at] = state
    for limb in range(trace.counts.shape[1]):
        trace.counts[at, limb] = word(rows.store, row * rows.words + limb * rows.width * rows.adds)
    for slot in range(rows.maxes):
        trace.maxima[at, slot] = rows.maxima[row * rows.extremes + slot * rows.width]
    trace.size[0] = at + 1


def sum_tree(arena: Arena, into: int, base: int, count: int, low: int, high: int) -> None:
    """Add to a row the first ``count`` places of a Fenwick tree that starts at row ``base``. O(log count)."""
    chosen: Any = single.sum_tree if isinstance(arena, Single) else _rows_sum_tree
    chosen(arena, into, base, count, low, high)


@small
def _rows_sum_tree(rows: Rows, into: int, base: int, count: int, low: int, high: int) -> None:
    width, words = rows.width, rows.words
    if high - low == width:
        sum_path(rows.store, into * words, base * words, count, words, rows.carried_adds * width)
    else:
        for slot in range(rows.carried_adds):
            skip = slot * width + low
            sum_path(rows.store, into * words + skip, base * words + skip, count, words, high - low)
    for slot in range(rows.carried_maxes):
        skip = slot * width + low
        target = rows.maxima[into * rows.extremes + skip : into * rows.extremes + skip + high - low]
        k = count
        while k > 0:
            at = (base + k - 1) * rows.extremes + skip
            for i in range(target.shape[0]):
                target[i] = max(target[i], rows.maxima[at + i])
            k &= k - 1


def add_to_tree(arena: Arena, row: int, base: int, place: int, size: int, low: int, high: int) -> None:
    """Add a row at one place of a Fenwick tree of ``size`` places. O(log size)."""
    chosen: Any = single.add_to_tree if isinstance(arena, Single) else _rows_add_to_tree
    chosen(arena, row, base, place, size, low, high)


@small
def _rows_add_to_tree(rows: Rows, row: int, base: int, place: int, size: int, low: int, high: int) -> None:
    width, words = rows.width, rows.words
    if high - low == width:
        add_path(rows.store, row * words, base * words, place, size, words, rows.carried_adds * width)
    else:
        for slot in range(rows.carried_adds):
            skip = slot * width + low
            add_path(rows.store, row * words + skip, base * words + skip, place, size, words, high - low)
    for slot in range(rows.carried_maxes):
        skip = slot * width + low
        source = rows.maxima[row * rows.extremes + skip : row * rows.extremes + skip + high - low]
        k = place + 1
        while k <= size:
            at = (base + k - 1) * rows.extremes + skip
            for i in range(source.shape[0]):
                rows.maxima[at + i] = max(rows.maxima[at + i], source[i])
            k += k & -k


by_arena(clear, single.clear, _rows_clear)
by_arena(start, single.start, _rows_start)
by_arena(is_alive, single.is_alive, _rows_alive)
by_arena(add_row, single.add_row, _rows_add)
by_arena(add_result, single.add_result, _rows_result)
by_arena(sum_tree, single.sum_tree, _rows_sum_tree)
by_arena(add_to_tree, single.add_to_tree, _rows_add_to_tree)
by_arena(first_extreme, single.first_extreme, _rows_extreme)
by_arena(record, single.record, _rows_record)
