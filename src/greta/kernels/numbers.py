"""Rows of numbers in one arena, in several representations, that only ever get added.

A row holds ``cells`` additive values (aggregate-major, then lane) and ``extremes`` maxima. ``Plain`` rows hold one
machine number per value: doubles, which saturate at infinity, or 64-bit integers, which raise the overflow flag.
``Broad`` rows hold numbers of several words:

* SCALED: a double and its exponent in steps of 512 bits: doubles that cannot overflow.
* WIDE: ``width`` 64-bit limbs in two's complement, least significant first; raises the flag too.

The operations are one set of names; the compiler picks the code by the type of the rows, so that each kernel is
compiled once per representation and the common one pays nothing for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel

SCALED = 1
WIDE = 3

NOTHING = np.int64(-(2**63))
"""An extreme that no value has reached yet, and the code of NULL."""

_STEP = 2.0**512
_LARGE = 2.0**256
_SMALL = 2.0**-256
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_TOP = np.uint64(63)

_LARGEST_INTEGER = 2**56
"""Integers beyond this raise the flag: a sum of as many as one query reads still fits 64 bits."""


class Plain(NamedTuple):
    """One machine number per value."""

    numbers: NDArray[Any]
    """float64 or int64"""
    maxima: NDArray[np.int64]
    overflow: NDArray[np.uint8]
    """One flag: set when a number did not fit."""
    limit: float
    """Numbers beyond this do not fit; infinite for doubles."""
    cells: int
    words: int
    """64-bit words of a row."""
    extremes: int


class Broad(NamedTuple):
    """Several words per value; words of one number lie ``cells`` apart."""

    numbers: NDArray[np.float64]
    integers: NDArray[np.int64]
    limbs: NDArray[np.uint64]
    """The same memory three times."""
    maxima: NDArray[np.int64]
    overflow: NDArray[np.uint8]
    mode: int
    width: int
    cells: int
    words: int
    extremes: int
    carry: NDArray[np.uint64]
    """Scratch: a word per cell, and a wide number's product."""


Rows = Plain | Broad


def doubles() -> Plain:
    """Rows of doubles, of no size yet."""
    return Plain(np.empty(0), np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.uint8), np.inf, 0, 0, 0)


def integers() -> Plain:
    """Rows of 64-bit integers, of no size yet."""
    none = np.empty(0, dtype=np.int64)
    return Plain(none, none.copy(), np.zeros(1, dtype=np.uint8), float(_LARGEST_INTEGER), 0, 0, 0)


def scaled() -> Broad:
    """Rows of doubles with an exponent of their own, of no size yet."""
    return _no_rows(SCALED, 2)


def wide(width: int) -> Broad:
    """Rows of integers of so many limbs, of no size yet."""
    return _no_rows(WIDE, width)


def _no_rows(mode: int, width: int) -> Broad:
    none = np.empty(0)
    flag = np.zeros(1, dtype=np.uint8)
    maxima = np.empty(0, dtype=np.int64)
    carry = np.empty(0, dtype=np.uint64)
    return Broad(none, none.view(np.int64), none.view(np.uint64), maxima, flag, mode, width, 0, 0, 0, carry)


def _by_rows(function: Callable[..., Any], plain: Callable[..., Any], broad: Callable[..., Any]) -> None:
    """Let compiled code that calls ``function`` use ``plain`` or ``broad``, by the type of its first argument."""

    @overload(function, strict=False, jit_options={"error_model": "numpy", "nogil": True})
    def choose(rows: Any, *rest: Any) -> Callable[..., Any]:  # noqa: ARG001
        chosen = plain if rows.instance_class is Plain else broad
        return lambda rows, *rest: chosen(rows, *rest)  # noqa: PLW0108


def room(rows: Rows, count: int, cells: int, extremes: int) -> Rows:
    """An arena of ``count`` rows of unset content, in the same representation."""
    return (
        _plain_room(rows, count, cells, extremes)
        if isinstance(rows, Plain)
        else _broad_room(rows, count, cells, extremes)
    )


@kernel
def _plain_room(rows: Plain, count: int, cells: int, extremes: int) -> Plain:
    return Plain(
        np.empty(count * cells, dtype=rows.numbers.dtype),
        np.empty(count * extremes, dtype=np.int64),
        rows.overflow,
        rows.limit,
        cells,
        cells,
        extremes,
    )


@kernel
def _broad_room(rows: Broad, count: int, cells: int, extremes: int) -> Broad:
    words = cells * rows.width
    numbers = np.empty(count * words, dtype=np.float64)
    return Broad(
        numbers,
        numbers.view(np.int64),
        numbers.view(np.uint64),
        np.empty(count * extremes, dtype=np.int64),
        rows.overflow,
        rows.mode,
        rows.width,
        cells,
        words,
        extremes,
        np.empty(cells + rows.width + 2, dtype=np.uint64),
    )


@inner
def clear(rows: Rows, first: int, last: int) -> None:
    """Set the rows ``[first, last)`` to zero and nothing."""
    numbers = rows.numbers
    for i in range(first * rows.words, last * rows.words):
        numbers[i] = 0
    maxima = rows.maxima
    for i in range(first * rows.extremes, last * rows.extremes):
        maxima[i] = NOTHING


def is_zero(rows: Rows, row: int, cell: int) -> bool:
    """Whether a cell that only ever held counts is zero."""
    return bool(_plain_is_zero(rows, row, cell) if isinstance(rows, Plain) else _broad_is_zero(rows, row, cell))


@inner
def _plain_is_zero(rows: Plain, row: int, cell: int) -> bool:
    return bool(rows.numbers[row * rows.words + cell] == 0)


@inner
def _broad_is_zero(rows: Broad, row: int, cell: int) -> bool:
    base = row * rows.words + cell
    if rows.mode == SCALED:
        return bool(rows.numbers[base] == 0.0)
    for limb in range(rows.width):
        if rows.integers[base + limb * rows.cells] != 0:
            return False
    return True


@inner
def add_row(rows: Rows, into: int, row: int) -> None:
    """Add one whole row, maxima included, to another."""
    add_cells(rows, into, row, 0, rows.cells)
    if rows.extremes > 0:
        _raise_maxima(rows.maxima, into * rows.extremes, row * rows.extremes, rows.extremes)


@inner
def _raise_maxima(maxima: NDArray[np.int64], a: int, b: int, count: int) -> None:
    for i in range(count):
        maxima[a + i] = max(maxima[a + i], maxima[b + i])


def add_cells(rows: Rows, into: int, row: int, first: int, last: int) -> None:
    """Add the cells ``[first, last)`` of one row to those of another."""
    chosen: Any = _plain_add_cells if isinstance(rows, Plain) else _broad_add_cells
    chosen(rows, into, row, first, last)


@inner
def _plain_add_cells(rows: Plain, into: int, row: int, first: int, last: int) -> None:
    numbers = rows.numbers
    a = into * rows.words
    b = row * rows.words
    beyond = False
    for i in range(first, last):
        z = numbers[a + i] + numbers[b + i]
        numbers[a + i] = z
        beyond |= abs(z) > rows.limit
    if beyond:
        rows.overflow[0] = 1


@inner
def _broad_add_cells(rows: Broad, into: int, row: int, first: int, last: int) -> None:
    a = into * rows.words
    b = row * rows.words
    if rows.mode == SCALED:
        for i in range(first, last):
            _add_scaled(rows, a + i, rows.numbers[b + i], rows.numbers[b + rows.cells + i])
    else:
        _add_wide(rows, a, b, first, last)


def add_one(rows: Rows, row: int, first: int, last: int) -> None:
    """Add 1 to the cells ``[first, last)``: a trend starts in these lanes."""
    chosen: Any = _plain_add_one if isinstance(rows, Plain) else _broad_add_one
    chosen(rows, row, first, last)


@inner
def _plain_add_one(rows: Plain, row: int, first: int, last: int) -> None:
    numbers = rows.numbers
    base = row * rows.words
    for i in range(first, last):
        numbers[base + i] += 1


@inner
def _broad_add_one(rows: Broad, row: int, first: int, last: int) -> None:
    base = row * rows.words
    for i in range(first, last):
        at = base + i
        if rows.mode == SCALED:
            _add_scaled(rows, at, 1.0, 0.0)
            continue
        for limb in range(rows.width):
            rows.limbs[at] += _ONE
            if rows.limbs[at] != _ZERO:
                if limb == rows.width - 1 and rows.integers[at] < 0:
                    rows.overflow[0] = 1
                break
            at += rows.cells


def add_product(rows: Rows, row: int, slot: int, lanes: int, double: float, integer: int) -> None:
    """Add weight × count to a slot of the same row, lane by lane; slot 0 holds the counts.

    A zero weight adds nothing, so that an infinite count cannot turn into NaN.
    """
    chosen: Any = _plain_add_product if isinstance(rows, Plain) else _broad_add_product
    chosen(rows, row, slot, lanes, double, integer)


@inner
def _plain_add_product(rows: Plain, row: int, slot: int, lanes: int, double: float, integer: int) -> None:
    numbers = rows.numbers
    base = row * rows.words
    to = base + slot * lanes
    if rows.limit == np.inf:
        if double != 0.0:
            for i in range(lanes):
                if numbers[base + i] != 0:
                    numbers[to + i] += double * numbers[base + i]
    elif integer != 0:
        for i in range(lanes):
            if abs(float(integer)) * float(numbers[base + i]) > rows.limit:
                rows.overflow[0] = 1
            else:
                numbers[to + i] += integer * numbers[base + i]
                if abs(numbers[to + i]) > rows.limit:
                    rows.overflow[0] = 1


@inner
def _broad_add_product(rows: Broad, row: int, slot: int, lanes: int, double: float, integer: int) -> None:
    base = row * rows.words
    to = base + slot * lanes
    if rows.mode == SCALED:
        if double == 0.0:
            return
        shift = 0.0
        while _LARGE <= abs(double) < np.inf:
            double /= _STEP
            shift += 1.0
        for i in range(lanes):
            if rows.numbers[base + i] != 0.0:
                mantissa = rows.numbers[base + i] * double
                exponent = rows.numbers[base + rows.cells + i] + shift
                if abs(mantissa) >= _LARGE:
                    mantissa /= _STEP
                    exponent += 1.0
                _add_scaled(rows, to + i, mantissa, exponent)
    elif integer != 0:
        for i in range(lanes):
            _add_wide_product(rows, to + i, base + i, integer)


@inner
def _add_scaled(rows: Broad, at: int, mantissa: float, exponent: float) -> None:
    own = rows.numbers[at]
    own_exponent = rows.numbers[at + rows.cells]
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
    elif own != 0.0 and abs(own) < _SMALL and own_exponent > 0.0:
        own *= _STEP
        own_exponent -= 1.0
    if own == 0.0:
        own_exponent = 0.0
    rows.numbers[at] = own
    rows.numbers[at + rows.cells] = own_exponent


@inner
def _add_wide(rows: Broad, a: int, b: int, first: int, last: int) -> None:
    cells = rows.cells
    for i in range(first, last):
        rows.carry[i] = _ZERO
    for limb in range(rows.width):
        p = a + limb * cells
        q = b + limb * cells
        final = limb == rows.width - 1
        for i in range(first, last):
            x = rows.limbs[p + i]
            y = rows.limbs[q + i]
            z = x + y
            out = _ONE if z < x else _ZERO
            z += rows.carry[i]
            if z < rows.carry[i]:
                out = _ONE
            rows.carry[i] = out
            rows.limbs[p + i] = z
            if final and ((x ^ z) & (y ^ z)) >> _TOP != _ZERO:
                rows.overflow[0] = 1


@inner
def _add_wide_product(rows: Broad, to: int, count: int, weight: int) -> None:
    """Schoolbook multiplication of a wide count by a 64-bit weight, then one wide addition."""
    magnitude = np.uint64(weight) if weight >= 0 else _ZERO - np.uint64(weight)
    low = magnitude & _LOW
    high = magnitude >> _HALF
    scratch = rows.cells
    carried = _ZERO
    for limb in range(rows.width):
        x = rows.limbs[count + limb * rows.cells]
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
        rows.carry[scratch + limb] = product
        carried = above
    top = rows.carry[scratch + rows.width - 1]
    if carried != _ZERO or top >> _TOP != _ZERO:
        rows.overflow[0] = 1
    if weight < 0:
        borrow = _ONE
        for limb in range(rows.width):
            flipped = ~rows.carry[scratch + limb]
            value = flipped + borrow
            borrow = _ONE if value < flipped else _ZERO
            rows.carry[scratch + limb] = value
    carry = _ZERO
    for limb in range(rows.width):
        at = to + limb * rows.cells
        x = rows.limbs[at]
        y = rows.carry[scratch + limb]
        z = x + y
        out = _ONE if z < x else _ZERO
        z += carry
        if z < carry:
            out = _ONE
        carry = out
        rows.limbs[at] = z
        if limb == rows.width - 1 and ((x ^ z) & (y ^ z)) >> _TOP != _ZERO:
            rows.overflow[0] = 1


_by_rows(room, _plain_room, _broad_room)
_by_rows(is_zero, _plain_is_zero, _broad_is_zero)
_by_rows(add_cells, _plain_add_cells, _broad_add_cells)
_by_rows(add_one, _plain_add_one, _broad_add_one)
_by_rows(add_product, _plain_add_product, _broad_add_product)
