"""Whole numbers → digits to the base 2²⁴ in columns of doubles, for ``kernels.exact``, and how many are needed.

The largest number that an expression over two events can come to is known before a pair is looked at: from the largest
values of the columns. Up to 2⁵³ doubles do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.columns import sides
from greta.engine.tables import WIDE, contiguous
from greta.lang.nodes import Arithmetic, Expression, Negative, Number

_BITS = 24
_LIMBS = 4
"""64-bit words of a wide decimal."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The size of an expression's largest value, and of the largest number on the way to it."""

    value: int
    on_the_way: int

    @property
    def needs_digits(self) -> bool:
        """Whether a double may not hold a number on the way."""
        return self.on_the_way > 2**53


class Measured(Protocol):
    """Values of expressions over one event; of ``evaluate``, the largest and the smallest alone matter."""

    def is_whole(self, expression: Expression) -> bool:
        """Whether an expression's values are integers."""
        ...

    def evaluate(self, expression: Expression) -> pa.Array:
        """An expression's values."""
        ...


def bound_of(expression: Expression, columns: Measured) -> Bound | None:
    """How large an expression over two events can become; None where it is not computed in integers."""
    match expression:
        case Number(value=int(value)):
            return Bound(abs(value), abs(value))
        case _ if len(sides(expression)) <= 1:
            if not columns.is_whole(expression):
                return None
            extremes = pc.min_max(columns.evaluate(expression))
            largest = max(abs(int(extremes[end].as_py() or 0)) for end in ("min", "max"))
            return Bound(largest, largest)
        case Negative(operand=operand):
            return bound_of(operand, columns)
        case Arithmetic(operator="+" | "-" | "*" | "%" as operator, left=left, right=right):
            a, b = bound_of(left, columns), bound_of(right, columns)
            if a is None or b is None:
                return None
            value = {"*": a.value * b.value, "%": min(a.value, b.value)}.get(operator, a.value + b.value)
            return Bound(value, max(value, a.on_the_way, b.on_the_way))
        case _:
            return None


def digits_in(number: int) -> int:
    """How many digits a number of that size has, at least one.

    >>> digits_in(0), digits_in(2**24 - 1), digits_in(2**24)
    (1, 1, 2)
    """
    return max(1, -(-number.bit_length() // _BITS))


def digits_of(number: int, width: int) -> list[float]:
    """Sign and digits of a constant.

    >>> digits_of(-(2**24) - 3, 3)
    [-1.0, 3.0, 1.0, 0.0]
    """
    size = abs(number)
    return [-1.0 if number < 0 else 1.0, *(float(size >> _BITS * at & 2**_BITS - 1) for at in range(width))]


def digit_columns(values: pa.Array, width: int) -> list[NDArray[np.float64]]:
    """Sign (NaN for NULL) and digits of whole numbers."""
    array = contiguous(values.cast(WIDE))
    known = array.is_valid().to_numpy(zero_copy_only=False)
    words = np.frombuffer(array.buffers()[1], dtype=np.uint64).reshape(-1, _LIMBS)
    words = words[array.offset : array.offset + len(array)]
    below = known & (words[:, -1] >> np.uint64(63) != 0)
    size = [np.where(known, words[:, limb], np.uint64(0)) for limb in range(_LIMBS)]
    lend = below.astype(np.uint64)
    for limb in range(_LIMBS):
        # Two's complement: all bits flipped, plus one.
        flipped = np.where(below, ~size[limb], size[limb])
        size[limb] = flipped + lend
        lend = np.where((lend != 0) & (size[limb] == 0), np.uint64(1), np.uint64(0))
    sign = np.where(known, np.where(below, -1.0, 1.0), np.nan)
    return [sign, *(_digit(size, at) for at in range(width))]


def _digit(size: list[NDArray[np.uint64]], at: int) -> NDArray[np.float64]:
    limb, shift = divmod(_BITS * at, 64)
    if limb >= _LIMBS:
        return np.zeros(len(size[0]))
    bits = size[limb] >> np.uint64(shift)
    if shift > 64 - _BITS and limb + 1 < _LIMBS:
        bits |= size[limb + 1] << np.uint64(64 - shift)
    return (bits & np.uint64(2**_BITS - 1)).astype(np.float64)
