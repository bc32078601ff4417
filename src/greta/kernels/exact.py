"""Integers of any size on the stack of a residual program: products and remainders over two events, not rounded.

A number takes ``width + 1`` cells: its sign (1 or -1, NaN for NULL), then its digits to the base 2²⁴, the least
significant first. Digits are doubles, as all cells are: a product of two of them and what is carried fit 53 bits.
Zero has the sign 1. The width is that of the largest number a program can come to, so nothing overflows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner

BASE = 2.0**24
_PER_BASE = 2.0**-24
_BITS = 24

Stack = NDArray[np.float64]


@inner
def add(stack: Stack, a: int, b: int, width: int, sign: float) -> None:
    """``a += sign × b``."""
    if math.isnan(stack[a]) or math.isnan(stack[b]):
        stack[a] = math.nan
        return
    other = stack[b] * sign
    carry = 0.0
    if stack[a] == other:
        for d in range(1, width + 1):
            total = stack[a + d] + stack[b + d] + carry
            carry = 1.0 if total >= BASE else 0.0
            stack[a + d] = total - carry * BASE
        return
    order = _compare_digits(stack, a, b, width)
    for d in range(1, width + 1):
        rest = stack[a + d] - stack[b + d] if order >= 0 else stack[b + d] - stack[a + d]
        rest -= carry
        carry = 1.0 if rest < 0.0 else 0.0
        stack[a + d] = rest + carry * BASE
    if order == 0:
        stack[a] = 1.0
    elif order < 0:
        stack[a] = other


@inner
def multiply(stack: Stack, a: int, b: int, width: int) -> None:
    """``a *= b``; what lies behind ``b`` on the stack is scratch."""
    if math.isnan(stack[a]) or math.isnan(stack[b]):
        stack[a] = math.nan
        return
    product = b + width + 1
    for d in range(width):
        stack[product + d] = 0.0
    for p in range(width):
        digit = stack[a + 1 + p]
        if digit == 0.0:
            continue
        carry = 0.0
        for q in range(width - p):
            total = stack[product + p + q] + digit * stack[b + 1 + q] + carry
            carry = math.floor(total * _PER_BASE)
            stack[product + p + q] = total - carry * BASE
    zero = True
    for d in range(width):
        stack[a + 1 + d] = stack[product + d]
        zero = zero and stack[product + d] == 0.0
    stack[a] = 1.0 if zero else stack[a] * stack[b]


@inner
def take_remainder(stack: Stack, a: int, b: int, width: int) -> None:
    """``a %= b`` with the sign of the dividend, NULL for a divisor of 0; what lies behind ``b`` is scratch.

    Bit by bit: the remainder so far is doubled, takes the next bit of the dividend, and is reduced. It is never
    larger than the bits taken so far, so that it keeps within its digits.
    """
    if _is_zero(stack, b, width) or math.isnan(stack[a]) or math.isnan(stack[b]):
        stack[a] = math.nan
        return
    rest = b + width + 1
    for d in range(width + 1):
        stack[rest + d] = 0.0
    for d in range(width, 0, -1):
        left = int(stack[a + d])
        for bit in range(_BITS - 1, -1, -1):
            carry = float(left >> bit & 1)
            for e in range(1, width + 1):
                twice = 2.0 * stack[rest + e] + carry
                carry = 1.0 if twice >= BASE else 0.0
                stack[rest + e] = twice - carry * BASE
            if _compare_digits(stack, rest, b, width) >= 0:
                carry = 0.0
                for e in range(1, width + 1):
                    less = stack[rest + e] - stack[b + e] - carry
                    carry = 1.0 if less < 0.0 else 0.0
                    stack[rest + e] = less + carry * BASE
    for d in range(1, width + 1):
        stack[a + d] = stack[rest + d]
    if _is_zero(stack, a, width):
        stack[a] = 1.0


@inner
def negate(stack: Stack, a: int, width: int) -> None:
    """``a = -a``."""
    if not _is_zero(stack, a, width):
        stack[a] = -stack[a]


@inner
def order_of(stack: Stack, a: int, b: int, width: int) -> float:
    """-1, 0 or 1 as ``a`` is less than, equal to or greater than ``b``; NaN where one of them is NULL."""
    if math.isnan(stack[a]) or math.isnan(stack[b]):
        return math.nan
    if stack[a] != stack[b]:
        return float(stack[a])
    return float(stack[a] * _compare_digits(stack, a, b, width))


@inner
def _compare_digits(stack: Stack, a: int, b: int, width: int) -> float:
    for d in range(width, 0, -1):
        if stack[a + d] != stack[b + d]:
            return -1.0 if stack[a + d] < stack[b + d] else 1.0
    return 0.0


@inner
def _is_zero(stack: Stack, a: int, width: int) -> bool:
    for d in range(1, width + 1):
        if stack[a + d] != 0.0:
            return False
    return True
