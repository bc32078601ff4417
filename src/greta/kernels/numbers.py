"""Rows of numbers in one arena, in several representations, that only ever get added.

A row holds several lanes next to each other; a lane holds the additive values of one window, its count first, and
beside them its maxima. The additive values lie in a store of one of three kinds:

* an array of doubles, which saturate at infinity;
* an array of 64-bit integers; its last cell is set when a number did not fit;
* numbers of several words (``broad``).

The operations are one set of names; the compiler picks the code by the type of the store, so that each kernel is
compiled once per representation and the common one pays nothing for the others. They take the store and offsets
rather than a tuple of all that belongs to it: a call that hands over a dozen arrays costs more than the addition.
Loops run over slices, not over positions in the arena: only then do they become vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from greta.kernels import broad
from greta.kernels.broad import Broad
from greta.kernels.compiler import inner, kernel

NOTHING = np.int64(-(2**63))
"""An extreme that no value has reached yet, and the code of NULL."""

LARGEST_INTEGER = 2**56
"""Integers beyond this raise the flag: a sum of as many as one query reads still fits 64 bits."""


Store = NDArray[Any] | Broad


class Rows(NamedTuple):
    """An arena of rows, counted from 0."""

    store: Store
    maxima: NDArray[np.int64]
    adds: int
    maxes: int
    """Values of a lane."""
    words: int
    """64-bit words of a row's additive values."""
    extremes: int
    """Maxima of a row."""


class Span(NamedTuple):
    """Some neighbouring lanes of every row."""

    words: int
    skip: int
    cells: int
    """Within the words of a row: the cells of the lanes."""
    extremes: int
    skip_extremes: int
    count_extremes: int


def doubles() -> Store:
    """A store of doubles, of no size yet."""
    return np.zeros(1)


def integers() -> Store:
    """A store of 64-bit integers, of no size yet."""
    return np.zeros(1, dtype=np.int64)


def _by_store(
    function: Callable[..., Any], doubles: Callable[..., Any], integers: Callable[..., Any], several: Callable[..., Any]
) -> None:
    """Let compiled code that calls ``function`` use one of the others, by the type of its first argument."""

    @overload(function, strict=False, jit_options={"error_model": "numpy", "nogil": True})
    def choose(store: Any, *rest: Any) -> Callable[..., Any]:  # noqa: ARG001
        chosen = several
        if isinstance(store, types.Array):
            chosen = doubles if store.dtype is types.float64 else integers
        return lambda store, *rest: chosen(store, *rest)  # noqa: PLW0108


def _chosen(
    store: Store, doubles: Callable[..., Any], integers: Callable[..., Any], several: Callable[..., Any]
) -> Any:
    """What ``_by_store`` chooses, for code that is not compiled."""
    if isinstance(store, Broad):
        return several
    return doubles if store.dtype == np.float64 else integers


@kernel
def room(blank: Store, count: int, lanes: int, adds: int, maxes: int) -> Rows:
    """An arena of ``count`` rows of unset content, in the representation of ``blank``."""
    return Rows(
        _new_store(blank, count, lanes * adds),
        np.empty(count * lanes * maxes, dtype=np.int64),
        adds,
        maxes,
        lanes * adds * words_of(blank),
        lanes * maxes,
    )


def words_of(store: Store) -> int:
    """64-bit words of one number."""
    return int(_chosen(store, _one_word, _one_word, broad.words_of)(store))


@inner
def _one_word(store: NDArray[Any]) -> int:  # noqa: ARG001
    return 1


def _new_store(store: Store, count: int, cells: int) -> Any:
    return _chosen(store, _new_plain, _new_plain, broad.new_store)(store, count, cells)


@kernel
def _new_plain(store: NDArray[Any], count: int, cells: int) -> NDArray[Any]:
    new = np.empty(count * cells + 1, dtype=store.dtype)
    new[count * cells] = 0
    return new


def word(store: Store, at: int) -> Any:
    """One word of the rows."""
    return _chosen(store, _plain_word, _plain_word, broad.word)(store, at)


@inner
def _plain_word(store: NDArray[Any], at: int) -> Any:
    return store[at]


def put(store: Store, at: int, value: Any) -> None:
    """Set one word of the rows."""
    _chosen(store, _plain_put, _plain_put, broad.put)(store, at, value)


@inner
def _plain_put(store: NDArray[Any], at: int, value: Any) -> None:
    store[at] = value


def overflowed(store: Store) -> bool:
    """Whether a number did not fit since the last call; lowers the flag."""
    return bool(_chosen(store, _never, _integer_overflowed, broad.overflowed)(store))


@inner
def _never(store: NDArray[np.float64]) -> bool:  # noqa: ARG001
    return False


@inner
def _integer_overflowed(store: NDArray[np.int64]) -> bool:
    raised = store[store.shape[0] - 1] != 0
    store[store.shape[0] - 1] = 0
    return bool(raised)


@inner
def span(rows: Rows, low: int, high: int) -> Span:
    """The lanes ``[low, high)``."""
    return Span(
        rows.words,
        low * rows.adds,
        (high - low) * rows.adds,
        rows.extremes,
        low * rows.maxes,
        (high - low) * rows.maxes,
    )


@inner
def clear(rows: Rows, first: int, last: int) -> None:
    """Set the rows ``[first, last)`` to zero and nothing."""
    _wipe(rows.store, first * rows.words, last * rows.words)
    rows.maxima[first * rows.extremes : last * rows.extremes] = NOTHING


def _wipe(store: Store, first: int, last: int) -> None:
    _chosen(store, _plain_wipe, _plain_wipe, broad.wipe)(store, first, last)


@inner
def _plain_wipe(store: NDArray[Any], first: int, last: int) -> None:
    store[first:last] = 0


@inner
def clear_span(store: Store, maxima: NDArray[np.int64], lanes: Span, row: int) -> None:
    """Set some lanes of a row to zero and nothing."""
    _zero(store, row * lanes.words + lanes.skip, lanes.cells)
    if lanes.extremes > 0:
        at = row * lanes.extremes + lanes.skip_extremes
        own = maxima[at : at + lanes.count_extremes]
        for i in range(own.shape[0]):
            own[i] = NOTHING


def _zero(store: Store, at: int, count: int) -> None:
    _chosen(store, _plain_zero, _plain_zero, broad.zero)(store, at, count)


@inner
def _plain_zero(store: NDArray[Any], at: int, count: int) -> None:
    own = store[at : at + count]
    for i in range(own.shape[0]):
        own[i] = 0


@inner
def add_span(store: Store, maxima: NDArray[np.int64], lanes: Span, into: int, row: int) -> None:
    """Add some lanes of one row, maxima included, to those of another."""
    add(store, into * lanes.words + lanes.skip, row * lanes.words + lanes.skip, lanes.cells)
    if lanes.extremes > 0:
        raise_span(maxima, lanes, into, row)


@inner
def raise_span(maxima: NDArray[np.int64], lanes: Span, into: int, row: int) -> None:
    """Raise the maxima of some lanes of one row to those of another."""
    a = into * lanes.extremes + lanes.skip_extremes
    b = row * lanes.extremes + lanes.skip_extremes
    own = maxima[a : a + lanes.count_extremes]
    other = maxima[b : b + lanes.count_extremes]
    for i in range(own.shape[0]):
        own[i] = max(own[i], other[i])


def is_zero(store: Store, at: int) -> bool:
    """Whether a count is zero."""
    return bool(_chosen(store, _plain_is_zero, _plain_is_zero, broad.is_zero)(store, at))


@inner
def _plain_is_zero(store: NDArray[Any], at: int) -> bool:
    return bool(store[at] == 0)


def add(store: Store, a: int, b: int, count: int) -> None:
    """Add the ``count`` numbers from ``b`` on to those from ``a`` on."""
    _chosen(store, _double_add, _integer_add, broad.add)(store, a, b, count)


@inner
def _double_add(store: NDArray[np.float64], a: int, b: int, count: int) -> None:
    own = store[a : a + count]
    other = store[b : b + count]
    for i in range(own.shape[0]):
        own[i] += other[i]


@inner
def _integer_add(store: NDArray[np.int64], a: int, b: int, count: int) -> None:
    own = store[a : a + count]
    other = store[b : b + count]
    bits = 0
    for i in range(own.shape[0]):
        z = own[i] + other[i]
        own[i] = z
        bits |= z ^ (z >> 63)
    if bits >= LARGEST_INTEGER:
        store[store.shape[0] - 1] = 1


def add_one(store: Store, at: int, lanes: int, adds: int) -> None:
    """Add 1 to the counts of so many lanes, ``adds`` cells apart: a trend starts there."""
    _chosen(store, _plain_add_one, _plain_add_one, broad.add_one)(store, at, lanes, adds)


@inner
def _plain_add_one(store: NDArray[Any], at: int, lanes: int, adds: int) -> None:
    own = store[at : at + lanes * adds]
    if adds == 1:
        for i in range(own.shape[0]):
            own[i] += 1
    else:
        for lane in range(lanes):
            own[lane * adds] += 1


def add_product(store: Store, at: int, lanes: int, adds: int, slot: int, double: float, integer: int) -> None:
    """Add weight × count to one value of so many lanes, ``adds`` cells apart.

    A zero weight adds nothing, so that an infinite count cannot turn into NaN.
    """
    chosen = _chosen(store, _double_product, _integer_product, broad.add_product)
    chosen(store, at, lanes, adds, slot, double, integer)


@inner
def _double_product(
    store: NDArray[np.float64],
    at: int,
    lanes: int,
    adds: int,
    slot: int,
    double: float,
    integer: int,  # noqa: ARG001
) -> None:
    if double == 0.0:
        return
    own = store[at : at + lanes * adds]
    for lane in range(lanes):
        count = own[lane * adds]
        if count != 0:
            own[lane * adds + slot] += double * count


@inner
def _integer_product(
    store: NDArray[np.int64],
    at: int,
    lanes: int,
    adds: int,
    slot: int,
    double: float,  # noqa: ARG001
    integer: int,
) -> None:
    if integer == 0:
        return
    own = store[at : at + lanes * adds]
    for lane in range(lanes):
        count = own[lane * adds]
        if abs(float(integer)) * float(count) > LARGEST_INTEGER:
            store[store.shape[0] - 1] = 1
        else:
            own[lane * adds + slot] += integer * count
            if abs(own[lane * adds + slot]) > LARGEST_INTEGER:
                store[store.shape[0] - 1] = 1


_by_store(words_of, _one_word, _one_word, broad.words_of)
_by_store(_new_store, _new_plain, _new_plain, broad.new_store)
_by_store(word, _plain_word, _plain_word, broad.word)
_by_store(put, _plain_put, _plain_put, broad.put)
_by_store(overflowed, _never, _integer_overflowed, broad.overflowed)
_by_store(_wipe, _plain_wipe, _plain_wipe, broad.wipe)
_by_store(_zero, _plain_zero, _plain_zero, broad.zero)
_by_store(is_zero, _plain_is_zero, _plain_is_zero, broad.is_zero)
_by_store(add, _double_add, _integer_add, broad.add)
_by_store(add_one, _plain_add_one, _plain_add_one, broad.add_one)
_by_store(add_product, _double_product, _integer_product, broad.add_product)
