"""Numbers of several words, which only ever get added: see ``numbers`` for what their operations promise.

* SCALED: a double of size [2⁻²⁵⁶, 2²⁵⁶) and its exponent in steps of 512 bits: doubles without an end.
* WIDE: ``width`` 64-bit limbs in two's complement, least significant first, with an overflow flag.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, part

SCALED = 1
WIDE = 3

_STEP = 2.0**512
_LARGE = 2.0**256
_SMALL = 2.0**-256
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_TOP = np.uint64(63)


class Broad(NamedTuple):
    """Several words per value; words of one number lie ``cells`` apart."""

    numbers: NDArray[np.float64]
    integers: NDArray[np.int64]
    limbs: NDArray[np.uint64]
    """The same memory three times."""
    overflow: NDArray[np.uint8]
    """One flag: set when a number did not fit."""
    mode: int
    width: int
    cells: int
    carry: NDArray[np.uint64]
    """Scratch: a word per cell, and a wide number's product."""


def scaled() -> Broad:
    """A store of doubles with an exponent of their own, of no size yet."""
    return _no_room(SCALED, 2)


def wide(width: int) -> Broad:
    """A store of integers of so many limbs, of no size yet."""
    return _no_room(WIDE, width)


def _no_room(mode: int, width: int) -> Broad:
    none = np.empty(0)
    carry = np.empty(0, dtype=np.uint64)
    return Broad(none, none.view(np.int64), none.view(np.uint64), np.zeros(1, dtype=np.uint8), mode, width, 0, carry)


@inner
def words_of(store: Broad) -> int:
    """64-bit words of one number."""
    return store.width


@part
def new_store(store: Broad, count: int, cells: int) -> Broad:
    """Room for so many rows, in the same representation."""
    numbers = np.empty(count * cells * store.width, dtype=np.float64)
    return Broad(
        numbers,
        numbers.view(np.int64),
        numbers.view(np.uint64),
        store.overflow,
        store.mode,
        store.width,
        cells,
        np.empty(cells + store.width + 2, dtype=np.uint64),
    )


@inner
def word(store: Broad, at: int) -> float:
    """One word of the rows."""
    return store.numbers[at]  # type: ignore[no-any-return]


@inner
def put(store: Broad, at: int, value: Any) -> None:
    """Set one word of the rows."""
    store.numbers[at] = value


@inner
def overflowed(store: Broad) -> bool:
    """Whether a number did not fit since the last call; lowers the flag."""
    raised = store.overflow[0] != 0
    store.overflow[0] = 0
    return bool(raised)


@inner
def wipe(store: Broad, first: int, last: int) -> None:
    """Set words to zero."""
    store.numbers[first:last] = 0.0


@inner
def zero(store: Broad, at: int, count: int) -> None:
    """Set neighbouring numbers to zero."""
    for limb in range(store.width):
        own = store.numbers[at + limb * store.cells : at + limb * store.cells + count]
        for i in range(own.shape[0]):
            own[i] = 0.0


@inner
def is_zero(store: Broad, at: int) -> bool:
    """Whether a number is zero."""
    if store.mode == SCALED:
        return bool(store.numbers[at] == 0.0)
    for limb in range(store.width):
        if store.integers[at + limb * store.cells] != 0:
            return False
    return True


@inner
def add(store: Broad, a: int, b: int, count: int) -> None:
    """Add the ``count`` numbers from ``b`` on to those from ``a`` on."""
    if store.mode == SCALED:
        for i in range(count):
            _add_scaled(store, a + i, store.numbers[b + i], store.numbers[b + store.cells + i])
    else:
        _add_wide(store, a, b, count)


@inner
def sum_path(store: Broad, into: int, base: int, count: int, words: int, cells: int) -> None:
    """Add the first ``count`` places of a Fenwick tree whose rows lie ``words`` apart."""
    k = count
    while k > 0:
        add(store, into, base + (k - 1) * words, cells)
        k &= k - 1


@inner
def add_path(store: Broad, row: int, base: int, place: int, size: int, words: int, cells: int) -> None:
    """Add numbers at one place of a Fenwick tree of ``size`` places whose rows lie ``words`` apart."""
    k = place + 1
    while k <= size:
        add(store, base + (k - 1) * words, row, cells)
        k += k & -k


@inner
def copy(store: Broad, a: int, b: int, count: int) -> None:
    """Set the ``count`` numbers from ``a`` on to those from ``b`` on."""
    for limb in range(store.width):
        skip = limb * store.cells
        for i in range(count):
            store.numbers[a + skip + i] = store.numbers[b + skip + i]


@inner
def add_one(store: Broad, at: int, count: int) -> None:
    """Add 1 to neighbouring numbers."""
    for i in range(count):
        cell = at + i
        if store.mode == SCALED:
            _add_scaled(store, cell, 1.0, 0.0)
            continue
        for limb in range(store.width):
            store.limbs[cell] += _ONE
            if store.limbs[cell] != _ZERO:
                if limb == store.width - 1 and store.integers[cell] < 0:
                    store.overflow[0] = 1
                break
            cell += store.cells


@inner
def add_product(store: Broad, a: int, b: int, count: int, double: float, integer: int) -> None:
    """Add weight × the numbers from ``b`` on to those from ``a`` on."""
    if store.mode == SCALED:
        if double == 0.0:
            return
        shift = 0.0
        while _LARGE <= abs(double) < np.inf:
            double /= _STEP
            shift += 1.0
        while abs(double) < _SMALL:
            double *= _STEP
            shift -= 1.0
        for i in range(count):
            if store.numbers[b + i] != 0.0:
                mantissa = store.numbers[b + i] * double
                exponent = store.numbers[b + i + store.cells] + shift
                if abs(mantissa) >= _LARGE:
                    mantissa /= _STEP
                    exponent += 1.0
                elif abs(mantissa) < _SMALL:
                    mantissa *= _STEP
                    exponent -= 1.0
                _add_scaled(store, a + i, mantissa, exponent)
    elif integer != 0:
        for i in range(count):
            _add_wide_product(store, a + i, b + i, integer)


@inner
def _add_scaled(store: Broad, at: int, mantissa: float, exponent: float) -> None:
    own = store.numbers[at]
    own_exponent = store.numbers[at + store.cells]
    if own == 0.0:
        own, own_exponent = mantissa, exponent
    elif mantissa != 0.0:
        if own_exponent == exponent or not (abs(own) < np.inf and abs(mantissa) < np.inf):
            own += mantissa
        elif own_exponent > exponent:
            if own_exponent - exponent < 2.0:
                own += mantissa / _STEP
        else:
            own = mantissa + own / _STEP if exponent - own_exponent < 2.0 else mantissa
            own_exponent = exponent
    if abs(own) >= _LARGE:
        own /= _STEP
        own_exponent += 1.0
    # A difference of two numbers may be smaller than both by far.
    while own != 0.0 and abs(own) < _SMALL:
        own *= _STEP
        own_exponent -= 1.0
    if own == 0.0:
        own_exponent = 0.0
    store.numbers[at] = own
    store.numbers[at + store.cells] = own_exponent


@inner
def _add_wide(store: Broad, a: int, b: int, count: int) -> None:
    for i in range(count):
        store.carry[i] = _ZERO
    for limb in range(store.width):
        p = a + limb * store.cells
        q = b + limb * store.cells
        final = limb == store.width - 1
        for i in range(count):
            x = store.limbs[p + i]
            y = store.limbs[q + i]
            z = x + y
            out = _ONE if z < x else _ZERO
            z += store.carry[i]
            if z < store.carry[i]:
                out = _ONE
            store.carry[i] = out
            store.limbs[p + i] = z
            if final and ((x ^ z) & (y ^ z)) >> _TOP != _ZERO:
                store.overflow[0] = 1


@inner
def _add_wide_product(store: Broad, to: int, factor: int, weight: int) -> None:
    """Schoolbook multiplication of a wide number by a 64-bit weight, without signs, then one wide addition."""
    below = store.integers[factor + (store.width - 1) * store.cells] < 0
    lend = _ONE
    magnitude = np.uint64(weight) if weight >= 0 else _ZERO - np.uint64(weight)
    low = magnitude & _LOW
    high = magnitude >> _HALF
    scratch = store.cells
    carried = _ZERO
    for limb in range(store.width):
        x = store.limbs[factor + limb * store.cells]
        if below:
            flipped = ~x
            x = flipped + lend
            lend = _ONE if x < flipped else _ZERO
        x0 = x & _LOW
        x1 = x >> _HALF
        p00 = x0 * low
        p01 = x0 * high
        p10 = x1 * low
        middle = (p00 >> _HALF) + (p01 & _LOW) + (p10 & _LOW)
        product = (p00 & _LOW) | (middle << _HALF)
        above = x1 * high + (p01 >> _HALF) + (p10 >> _HALF) + (middle >> _HALF)
        product += carried
        if product < carried:
            above += _ONE
        store.carry[scratch + limb] = product
        carried = above
    top = store.carry[scratch + store.width - 1]
    if carried != _ZERO or top >> _TOP != _ZERO:
        store.overflow[0] = 1
    if (weight < 0) != below:
        borrow = _ONE
        for limb in range(store.width):
            flipped = ~store.carry[scratch + limb]
            value = flipped + borrow
            borrow = _ONE if value < flipped else _ZERO
            store.carry[scratch + limb] = value
    carry = _ZERO
    for limb in range(store.width):
        at = to + limb * store.cells
        x = store.limbs[at]
        y = store.carry[scratch + limb]
        z = x + y
        out = _ONE if z < x else _ZERO
        z += carry
        if z < carry:
            out = _ONE
        carry = out
        store.limbs[at] = z
        if limb == store.width - 1 and ((x ^ z) & (y ^ z)) >> _TOP != _ZERO:
            store.overflow[0] = 1
