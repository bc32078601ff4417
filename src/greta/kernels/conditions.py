"""Conditions on one pair of events, as data: comparisons of codes and residual programs.

A residual program is postfix code over a small stack of doubles; NaN stands for NULL, so that arithmetic passes
it on by itself. Truth values are 1, 0 and NaN (three-valued logic). Integers that doubles may not hold take several
cells (``exact``).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from greta.kernels import exact
from greta.kernels.compiler import inner
from greta.kernels.layout import (
    EQUALS,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    NOTHING,
    Conditions,
    Operands,
)

STOP = 0
CONSTANT = 1
PREVIOUS = 2
NEXT = 3
ADD = 4
SUBTRACT = 5
MULTIPLY = 6
DIVIDE = 7
REMAINDER = 8
NEGATE = 9
COMPARE = 10
"""Argument: operator. Compares the two topmost numbers."""
COMPARE_CODES = 11
"""Argument: comparison. Compares codes of the two events; takes nothing from the stack."""
AND = 12
OR = 13
NOT = 14

WIDTH = 15
"""Argument: how many digits the exact integers that follow have."""
WIDE_CONSTANT = 16
WIDE_PREVIOUS = 17
WIDE_NEXT = 18
"""Argument: the first of as many constants or columns as a number has cells."""
WIDE_ADD = 19
WIDE_SUBTRACT = 20
WIDE_MULTIPLY = 21
WIDE_REMAINDER = 22
WIDE_NEGATE = 23
WIDE_COMPARE = 24
"""Argument: operator. Leaves a truth value in place of two integers."""

STACK = 2048
"""Cells of the deepest stack that a program may need."""


@inner
def compare(operator: int, left: float, right: float) -> bool:
    """``left op right`` for two numbers, or two codes, that are not NULL."""
    if operator == LESS:
        return left < right
    if operator == LESS_EQUAL:
        return left <= right
    if operator == GREATER:
        return left > right
    if operator == GREATER_EQUAL:
        return left >= right
    if operator == EQUALS:
        return left == right
    return left != right


@inner
def compare_codes(conditions: Conditions, operands: Operands, comparison: int, i: int, j: int) -> float:
    """One comparison between the codes of event ``i`` and the later event ``j``: 1, 0, or NaN for NULL."""
    left = operands.codes[conditions.comparison[comparison, 0], i]
    right = operands.codes[conditions.comparison[comparison, 1], j]
    if left == NOTHING or right == NOTHING:
        return math.nan
    operator = conditions.comparison[comparison, 2]
    if operator == LESS:
        holds = left < right
    elif operator == LESS_EQUAL:
        holds = left <= right
    elif operator == GREATER:
        holds = left > right
    elif operator == GREATER_EQUAL:
        holds = left >= right
    elif operator == EQUALS:
        holds = left == right
    else:
        holds = left != right
    return 1.0 if holds else 0.0


@inner
def residual_holds(
    conditions: Conditions, operands: Operands, start: int, i: int, j: int, stack: NDArray[np.float64]
) -> bool:
    """Run the program at ``start`` for event ``i`` and the later event ``j``."""
    at = start
    top = -1
    width = 0
    while True:
        operation = conditions.program[at]
        argument = conditions.program[at + 1]
        at += 2
        if operation == STOP:
            return bool(stack[0] == 1.0)
        if operation == CONSTANT:
            top += 1
            stack[top] = conditions.constants[argument]
        elif operation == PREVIOUS:
            top += 1
            stack[top] = operands.values[argument, i]
        elif operation == NEXT:
            top += 1
            stack[top] = operands.values[argument, j]
        elif operation == COMPARE_CODES:
            top += 1
            stack[top] = compare_codes(conditions, operands, argument, i, j)
        elif operation == NEGATE:
            stack[top] = -stack[top]
        elif operation == NOT:
            stack[top] = 1.0 - stack[top]
        elif operation == WIDTH:
            width = argument
        elif operation > WIDTH:
            top = _wide_step(conditions, operands, operation, argument, i, j, stack, top, width)
        else:
            right = stack[top]
            top -= 1
            left = stack[top]
            if operation == ADD:
                stack[top] = left + right
            elif operation == SUBTRACT:
                stack[top] = left - right
            elif operation == MULTIPLY:
                stack[top] = left * right
            elif operation == DIVIDE:
                stack[top] = left / right if right != 0.0 else math.nan
            elif operation == REMAINDER:
                stack[top] = np.fmod(left, right) if right != 0.0 else math.nan
            elif operation == COMPARE:
                if math.isnan(left) or math.isnan(right):
                    stack[top] = math.nan
                else:
                    stack[top] = 1.0 if compare(argument, left, right) else 0.0
            elif operation == AND:
                if left == 0.0 or right == 0.0:
                    stack[top] = 0.0
                else:
                    stack[top] = left * right
            elif left == 1.0 or right == 1.0:
                stack[top] = 1.0
            else:
                stack[top] = left + right


@inner
def _wide_step(
    conditions: Conditions,
    operands: Operands,
    operation: int,
    argument: int,
    i: int,
    j: int,
    stack: NDArray[np.float64],
    top: int,
    width: int,
) -> int:
    """One operation on exact integers of so many digits; the new top of the stack."""
    cells = width + 1
    if operation == WIDE_CONSTANT:
        for d in range(cells):
            stack[top + 1 + d] = conditions.constants[argument + d]
        return top + cells
    if operation == WIDE_PREVIOUS or operation == WIDE_NEXT:
        event = i if operation == WIDE_PREVIOUS else j
        for d in range(cells):
            stack[top + 1 + d] = operands.values[argument + d, event]
        return top + cells
    b = top + 1 - cells
    if operation == WIDE_NEGATE:
        exact.negate(stack, b, width)
        return top
    a = b - cells
    if operation == WIDE_COMPARE:
        order = exact.order_of(stack, a, b, width)
        stack[a] = math.nan if math.isnan(order) else (1.0 if compare(argument, order, 0.0) else 0.0)
        return a
    if operation == WIDE_ADD:
        exact.add(stack, a, b, width, 1.0)
    elif operation == WIDE_SUBTRACT:
        exact.add(stack, a, b, width, -1.0)
    elif operation == WIDE_MULTIPLY:
        exact.multiply(stack, a, b, width)
    else:
        exact.take_remainder(stack, a, b, width)
    return b - 1


@inner
def linked(conditions: Conditions, operands: Operands, link: int, i: int, j: int, stack: NDArray[np.float64]) -> bool:
    """Whether event ``i`` may come right before the later event ``j`` along ``link``."""
    for at in range(conditions.ptr[link], conditions.ptr[link + 1]):
        if compare_codes(conditions, operands, conditions.compare[at], i, j) != 1.0:
            return False
    start = conditions.program_start[link]
    return start < 0 or residual_holds(conditions, operands, start, i, j, stack)
