"""Stores: where the additive numbers of an arena lie, in one of three representations; they only ever get added.

* an array of doubles, which saturate at infinity;
* an array of 64-bit integers; its last cell is set when a number did not fit;
* numbers of several words (``broad``).

The operations are one set of names; the compiler picks the code by the type of the store, so that every kernel is
written once. Loops run over slices, not over positions in the store: only then do they become vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from greta.kernels import broad
from greta.kernels.broad import Broad
from greta.kernels.compiler import INNER_OPTIONS, PART_OPTIONS, inner, part
from greta.kernels.layout import NOTHING

LARGEST_INTEGER = 2**56
"""Integers beyond this raise the flag: a sum of as many as one query reads still fits 64 bits."""

Store = NDArray[Any] | Broad


def doubles() -> Store:
    """A store of doubles, of no size yet."""
    return np.zeros(1)


def integers() -> Store:
    """A store of 64-bit integers, of no size yet."""
    return np.zeros(1, dtype=np.int64)


def by_type(
    function: Callable[..., Any], choose: Callable[[Any], Callable[..., Any]], options: dict[str, Any] = INNER_OPTIONS
) -> None:
    """Let compiled code that calls ``function`` use what ``choose`` picks by the type of the first argument."""

    @overload(function, strict=False, jit_options=options)  # type: ignore[arg-type]
    def pick(first: Any, *rest: Any) -> Callable[..., Any]:  # noqa: ARG001
        chosen = choose(first)
        return getattr(chosen, "py_func", chosen)


def by_store(
    function: Callable[..., Any],
    doubles: Callable[..., Any],
    integers: Callable[..., Any],
    several: Callable[..., Any],
    options: dict[str, Any] = INNER_OPTIONS,
) -> None:
    """Dispatch on the type of a store."""

    def choose(store: Any) -> Callable[..., Any]:
        if isinstance(store, types.Array):
            return doubles if store.dtype is types.float64 else integers
        return several

    by_type(function, choose, options)


def _chosen(
    store: Store, doubles: Callable[..., Any], integers: Callable[..., Any], several: Callable[..., Any]
) -> Any:
    """What ``by_store`` chooses, for code that is not compiled."""
    if isinstance(store, Broad):
        return several
    return doubles if store.dtype == np.float64 else integers


def words_of(store: Store) -> int:
    """64-bit words of one number."""
    return int(_chosen(store, _one_word, _one_word, broad.words_of)(store))


@inner
def _one_word(store: NDArray[Any]) -> int:  # noqa: ARG001
    return 1


def new_store(store: Store, count: int, cells: int) -> Any:
    """Room for ``count`` rows of ``cells`` numbers, of unset content, in the representation of ``store``."""
    return _chosen(store, _new_plain, _new_plain, broad.new_store)(store, count, cells)


@part
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


def zero(store: Store, at: int, count: int) -> None:
    """Set neighbouring numbers to zero."""
    _chosen(store, _plain_zero, _plain_zero, broad.zero)(store, at, count)


@inner
def _plain_zero(store: NDArray[Any], at: int, count: int) -> None:
    cells = store[at : at + count]
    for i in range(cells.shape[0]):
        cells[i] = 0


def copy(store: Store, a: int, b: int, count: int) -> None:
    """Set the ``count`` numbers from ``a`` on to those from ``b`` on."""
    _chosen(store, _plain_copy, _plain_copy, broad.copy)(store, a, b, count)


@inner
def _plain_copy(store: NDArray[Any], a: int, b: int, count: int) -> None:
    target = store[a : a + count]
    source = store[b : b + count]
    for i in range(target.shape[0]):
        target[i] = source[i]


def is_zero(store: Store, at: int) -> bool:
    """Whether a number is zero."""
    return bool(_chosen(store, _plain_is_zero, _plain_is_zero, broad.is_zero)(store, at))


@inner
def _plain_is_zero(store: NDArray[Any], at: int) -> bool:
    return bool(store[at] == 0)


def add(store: Store, a: int, b: int, count: int) -> None:
    """Add the ``count`` numbers from ``b`` on to those from ``a`` on."""
    _chosen(store, _double_add, _integer_add, broad.add)(store, a, b, count)


@inner
def _double_add(store: NDArray[np.float64], a: int, b: int, count: int) -> None:
    target = store[a : a + count]
    source = store[b : b + count]
    for i in range(target.shape[0]):
        target[i] += source[i]


@inner
def _integer_add(store: NDArray[np.int64], a: int, b: int, count: int) -> None:
    target = store[a : a + count]
    source = store[b : b + count]
    bits = 0
    for i in range(target.shape[0]):
        z = target[i] + source[i]
        target[i] = z
        bits |= z ^ (z >> 63)
    if bits >= LARGEST_INTEGER:
        store[store.shape[0] - 1] = 1


def add_one(store: Store, at: int, count: int) -> None:
    """Add 1 to neighbouring numbers."""
    _chosen(store, _plain_add_one, _plain_add_one, broad.add_one)(store, at, count)


@inner
def _plain_add_one(store: NDArray[Any], at: int, count: int) -> None:
    cells = store[at : at + count]
    for i in range(cells.shape[0]):
        cells[i] += 1


def add_product(store: Store, a: int, b: int, count: int, double: float, integer: int) -> None:
    """Add weight × the numbers from ``b`` on to those from ``a`` on, the weight in the store's representation.

    A zero on either side adds nothing, so that an infinite number cannot turn into NaN.
    """
    _chosen(store, _double_product, _integer_product, broad.add_product)(store, a, b, count, double, integer)


@inner
def _double_product(
    store: NDArray[np.float64],
    a: int,
    b: int,
    count: int,
    double: float,
    integer: int,  # noqa: ARG001
) -> None:
    if double == 0.0:
        return
    target = store[a : a + count]
    source = store[b : b + count]
    if abs(double) < np.inf:
        for i in range(target.shape[0]):
            target[i] += double * source[i]
    else:
        for i in range(target.shape[0]):
            if source[i] != 0:
                target[i] += double * source[i]


@inner
def _integer_product(
    store: NDArray[np.int64],
    a: int,
    b: int,
    count: int,
    double: float,  # noqa: ARG001
    integer: int,
) -> None:
    if integer == 0:
        return
    target = store[a : a + count]
    source = store[b : b + count]
    for i in range(target.shape[0]):
        if abs(float(integer) * float(source[i])) > LARGEST_INTEGER:
            store[store.shape[0] - 1] = 1
        else:
            target[i] += integer * source[i]
            if abs(target[i]) > LARGEST_INTEGER:
                store[store.shape[0] - 1] = 1


def nothing_in(maxima: NDArray[Any]) -> Any:
    """The extreme of no trend at all."""
    return -np.inf if maxima.dtype == np.float64 else NOTHING


@inner
def _no_double(maxima: NDArray[np.float64]) -> float:  # noqa: ARG001
    return -np.inf


@inner
def _no_integer(maxima: NDArray[np.int64]) -> np.int64:  # noqa: ARG001
    return NOTHING


def wipe(store: Store, first: int, last: int) -> None:
    """Set the words ``[first, last)`` to zero."""
    _chosen(store, _plain_wipe, _plain_wipe, broad.wipe)(store, first, last)


@inner
def _plain_wipe(store: NDArray[Any], first: int, last: int) -> None:
    store[first:last] = 0


def sum_path(store: Store, into: int, base: int, count: int, words: int, cells: int) -> None:
    """Add to ``cells`` numbers the first ``count`` places of a Fenwick tree whose rows lie ``words`` apart.

    One call for a whole path: a call for each of its nodes took longer than the additions.
    """
    _chosen(store, _double_sum_path, _integer_sum_path, broad.sum_path)(store, into, base, count, words, cells)


@inner
def _double_sum_path(store: NDArray[np.float64], into: int, base: int, count: int, words: int, cells: int) -> None:
    target = store[into : into + cells]
    k = count
    while k > 0:
        at = base + (k - 1) * words
        source = store[at : at + cells]
        for i in range(target.shape[0]):
            target[i] += source[i]
        k &= k - 1


@inner
def _integer_sum_path(store: NDArray[np.int64], into: int, base: int, count: int, words: int, cells: int) -> None:
    target = store[into : into + cells]
    bits = 0
    k = count
    while k > 0:
        at = base + (k - 1) * words
        source = store[at : at + cells]
        for i in range(target.shape[0]):
            z = target[i] + source[i]
            target[i] = z
            bits |= z ^ (z >> 63)
        k &= k - 1
    if bits >= LARGEST_INTEGER:
        store[store.shape[0] - 1] = 1


def add_path(store: Store, row: int, base: int, place: int, size: int, words: int, cells: int) -> None:
    """Add ``cells`` numbers at one place of a Fenwick tree of ``size`` places whose rows lie ``words`` apart."""
    _chosen(store, _double_add_path, _integer_add_path, broad.add_path)(store, row, base, place, size, words, cells)


@inner
def _double_add_path(
    store: NDArray[np.float64], row: int, base: int, place: int, size: int, words: int, cells: int
) -> None:
    source = store[row : row + cells]
    k = place + 1
    while k <= size:
        at = base + (k - 1) * words
        target = store[at : at + cells]
        for i in range(source.shape[0]):
            target[i] += source[i]
        k += k & -k


@inner
def _integer_add_path(
    store: NDArray[np.int64], row: int, base: int, place: int, size: int, words: int, cells: int
) -> None:
    source = store[row : row + cells]
    bits = 0
    k = place + 1
    while k <= size:
        at = base + (k - 1) * words
        target = store[at : at + cells]
        for i in range(source.shape[0]):
            z = target[i] + source[i]
            target[i] = z
            bits |= z ^ (z >> 63)
        k += k & -k
    if bits >= LARGEST_INTEGER:
        store[store.shape[0] - 1] = 1


by_store(words_of, _one_word, _one_word, broad.words_of)
by_store(new_store, _new_plain, _new_plain, broad.new_store, PART_OPTIONS)
by_store(word, _plain_word, _plain_word, broad.word)
by_store(put, _plain_put, _plain_put, broad.put)
by_store(overflowed, _never, _integer_overflowed, broad.overflowed)
by_store(wipe, _plain_wipe, _plain_wipe, broad.wipe)
by_store(zero, _plain_zero, _plain_zero, broad.zero)
by_store(copy, _plain_copy, _plain_copy, broad.copy)
by_store(is_zero, _plain_is_zero, _plain_is_zero, broad.is_zero)
by_store(add, _double_add, _integer_add, broad.add)
by_store(sum_path, _double_sum_path, _integer_sum_path, broad.sum_path)
by_store(add_path, _double_add_path, _integer_add_path, broad.add_path)
by_store(add_one, _plain_add_one, _plain_add_one, broad.add_one)
by_store(add_product, _double_product, _integer_product, broad.add_product)
by_store(nothing_in, _no_double, _no_integer, _no_integer)
