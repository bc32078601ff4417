"""Rows of numbers in one arena, in four representations, that only ever get added.

A row holds ``cells`` additive values (aggregate-major, then lane) and ``extremes`` maxima. Additive values are

* DOUBLE: one float64. Saturates at infinity.
* SCALED: a float64 and its exponent in steps of 512 bits: doubles that cannot overflow.
* INTEGER: one int64; raises the overflow flag instead of wrapping.
* WIDE: ``limbs`` 64-bit limbs in two's complement, least significant first; raises the flag too.

All representations share one block of memory, seen as float64, int64 and uint64, so that one compiled kernel
serves them all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inlined, kernel

DOUBLE = 0
SCALED = 1
INTEGER = 2
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


class Rows(NamedTuple):
    """The arena and how its rows are laid out."""

    doubles: NDArray[np.float64]
    integers: NDArray[np.int64]
    limbs: NDArray[np.uint64]
    maxima: NDArray[np.int64]
    mode: int
    width: int
    """Limbs of a WIDE number."""
    cells: int
    words: int
    """64-bit words of a row."""
    extremes: int
    overflow: NDArray[np.uint8]
    """One flag: set when a number did not fit."""
    carry: NDArray[np.uint64]
    """Scratch: one word per cell, and a wide number's product."""


@inlined
def words_of(mode: int, width: int) -> int:
    """64-bit words of one number."""
    if mode == WIDE:
        return width
    return 2 if mode == SCALED else 1


@kernel
def new_rows(
    count: int, mode: int, width: int, cells: int, extremes: int, overflow: NDArray[np.uint8]
) -> Rows:
    """An arena of ``count`` rows of unset content."""
    words = cells * words_of(mode, width)
    doubles = np.empty(count * words, dtype=np.float64)
    maxima = np.empty(count * extremes, dtype=np.int64)
    carry = np.empty(cells + width + 2, dtype=np.uint64)
    return Rows(
        doubles,
        doubles.view(np.int64),
        doubles.view(np.uint64),
        maxima,
        mode,
        width,
        cells,
        words,
        extremes,
        overflow,
        carry,
    )


@inlined
def clear(rows: Rows, first: int, last: int) -> None:
    """Set the rows ``[first, last)`` to zero and nothing."""
    rows.integers[first * rows.words : last * rows.words] = 0
    rows.maxima[first * rows.extremes : last * rows.extremes] = NOTHING


@inlined
def is_zero(rows: Rows, row: int, cell: int) -> bool:
    """Whether a cell that only ever held counts is zero."""
    base = row * rows.words + cell
    if rows.mode == WIDE:
        for limb in range(rows.width):
            if rows.integers[base + limb * rows.cells] != 0:
                return False
        return True
    return rows.integers[base] == 0


@inlined
def add_row(rows: Rows, into: int, row: int) -> None:
    """Add one whole row, maxima included, to another."""
    add_cells(rows, into, row, 0, rows.cells)
    a = into * rows.extremes
    b = row * rows.extremes
    for i in range(rows.extremes):
        if rows.maxima[b + i] > rows.maxima[a + i]:
            rows.maxima[a + i] = rows.maxima[b + i]


@inlined
def add_cells(rows: Rows, into: int, row: int, first: int, last: int) -> None:
    """Add the cells ``[first, last)`` of one row to those of another."""
    a = into * rows.words
    b = row * rows.words
    if rows.mode == DOUBLE:
        for i in range(first, last):
            rows.doubles[a + i] += rows.doubles[b + i]
    elif rows.mode == INTEGER:
        over = np.int64(0)
        for i in range(first, last):
            x = rows.integers[a + i]
            y = rows.integers[b + i]
            z = x + y
            over |= (x ^ z) & (y ^ z)
            rows.integers[a + i] = z
        if over < 0:
            rows.overflow[0] = 1
    elif rows.mode == SCALED:
        for i in range(first, last):
            _add_scaled(rows, a + i, rows.doubles[b + i], rows.doubles[b + rows.cells + i])
    else:
        _add_wide(rows, a, b, first, last)


@inlined
def _add_scaled(rows: Rows, at: int, mantissa: float, exponent: float) -> None:
    own = rows.doubles[at]
    own_exponent = rows.doubles[at + rows.cells]
    if own == 0.0:
        own, own_exponent = mantissa, exponent
    elif mantissa != 0.0:
        if own_exponent == exponent:
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
    rows.doubles[at] = own
    rows.doubles[at + rows.cells] = own_exponent


@inlined
def _add_wide(rows: Rows, a: int, b: int, first: int, last: int) -> None:
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
            if final and ((x ^ z) & (y ^ z)) >> np.uint64(63) != _ZERO:
                rows.overflow[0] = 1


@inlined
def add_one(rows: Rows, row: int, first: int, last: int) -> None:
    """Add 1 to the cells ``[first, last)``: a trend starts in these lanes."""
    base = row * rows.words
    if rows.mode == DOUBLE:
        for i in range(first, last):
            rows.doubles[base + i] += 1.0
    elif rows.mode == SCALED:
        for i in range(first, last):
            _add_scaled(rows, base + i, 1.0, 0.0)
    elif rows.mode == INTEGER:
        for i in range(first, last):
            rows.integers[base + i] += 1
            if rows.integers[base + i] < 0:
                rows.overflow[0] = 1
    else:
        for i in range(first, last):
            at = base + i
            for limb in range(rows.width):
                rows.limbs[at] += _ONE
                if rows.limbs[at] != _ZERO:
                    if limb == rows.width - 1 and rows.integers[at] < 0:
                        rows.overflow[0] = 1
                    break
                at += rows.cells


@inlined
def add_product(rows: Rows, row: int, slot: int, lanes: int, double: float, integer: int) -> None:
    """Add weight × count to a slot of the same row, lane by lane; slot 0 holds the counts.

    A zero weight adds nothing, so that an infinite count cannot turn into NaN.
    """
    base = row * rows.words
    to = base + slot * lanes
    if rows.mode == DOUBLE:
        if double != 0.0:
            for i in range(lanes):
                if rows.doubles[base + i] != 0.0:
                    rows.doubles[to + i] += double * rows.doubles[base + i]
    elif rows.mode == SCALED:
        if double != 0.0:
            shift = 0.0
            while abs(double) >= _LARGE:
                double /= _STEP
                shift += 1.0
            for i in range(lanes):
                if rows.doubles[base + i] != 0.0:
                    mantissa = rows.doubles[base + i] * double
                    exponent = rows.doubles[base + rows.cells + i] + shift
                    if abs(mantissa) >= _LARGE:
                        mantissa /= _STEP
                        exponent += 1.0
                    _add_scaled(rows, to + i, mantissa, exponent)
    elif rows.mode == INTEGER:
        if integer != 0:
            for i in range(lanes):
                count = rows.integers[base + i]
                if abs(float(integer)) * float(count) >= 2.0**62:
                    rows.overflow[0] = 1
                else:
                    x = rows.integers[to + i]
                    y = integer * count
                    z = x + y
                    if (x ^ z) & (y ^ z) < 0:
                        rows.overflow[0] = 1
                    rows.integers[to + i] = z
    elif integer != 0:
        for i in range(lanes):
            _add_wide_product(rows, to + i, base + i, integer)


@inlined
def _add_wide_product(rows: Rows, to: int, count: int, weight: int) -> None:
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
    if carried != _ZERO or top >> np.uint64(63) != _ZERO:
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
        if limb == rows.width - 1 and ((x ^ z) & (y ^ z)) >> np.uint64(63) != _ZERO:
            rows.overflow[0] = 1
