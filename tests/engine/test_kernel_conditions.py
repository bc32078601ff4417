"""Residual conditions by themselves: three-valued logic and arithmetic as the tables say, and the walk's scales."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from greta.kernels import conditions as op
from greta.kernels.draw import _relative
from greta.kernels.layout import EQUALS, Conditions, Operands

T, F, N = 1.0, 0.0, math.nan
TRUTH = {"true": T, "false": F, "null": N}


def holds(program: list[int], constants: list[float]) -> bool:
    """Whether a program of postfix code over constants leaves true."""
    small = np.zeros(1, dtype=np.int32)
    conditions = Conditions(
        small,
        small,
        np.zeros((0, 3), dtype=np.int32),
        np.zeros(1, dtype=np.int64),
        np.array([*program, op.STOP, 0], dtype=np.int64),
        np.array(constants),
    )
    operands = Operands(np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1)))
    return op.residual_holds(conditions, operands, 0, 0, 0, np.empty(op.STACK))


def truth(program: list[int], constants: list[float]) -> str:
    """true, false or null: of a condition and its contrary, one holds or neither does."""
    if holds(program, constants):
        return "true"
    return "false" if holds([*program, op.NOT, 0], constants) else "null"


CONSTANTS = [op.CONSTANT, 0, op.CONSTANT, 1]


@pytest.mark.parametrize("left", TRUTH)
@pytest.mark.parametrize("right", TRUTH)
def test_and_and_or_know_three_values(left: str, right: str) -> None:
    both = "false" if "false" in (left, right) else "null" if "null" in (left, right) else "true"
    one = "true" if "true" in (left, right) else "null" if "null" in (left, right) else "false"
    constants = [TRUTH[left], TRUTH[right]]
    assert truth([*CONSTANTS, op.AND, 0], constants) == both
    assert truth([*CONSTANTS, op.OR, 0], constants) == one


@pytest.mark.parametrize(
    ("operation", "left", "right", "result"),
    [
        (op.ADD, 7.0, -2.0, 5.0),
        (op.SUBTRACT, 7.0, -2.0, 9.0),
        (op.MULTIPLY, 7.0, -2.0, -14.0),
        (op.DIVIDE, 7.0, -2.0, -3.5),
        (op.DIVIDE, 7.0, 0.0, None),
        (op.REMAINDER, 7.0, -2.0, 1.0),
        (op.REMAINDER, -7.0, 2.0, -1.0),
        (op.REMAINDER, 7.0, 0.0, None),
        (op.REMAINDER, N, 2.0, None),
        (op.ADD, 7.0, N, None),
    ],
)
def test_arithmetic_has_the_sign_of_its_left_side_and_null_where_there_is_no_result(
    operation: int, left: float, right: float, result: float | None
) -> None:
    program = [*CONSTANTS, operation, 0, op.CONSTANT, 2, op.COMPARE, EQUALS]
    expected = 0.0 if result is None else result
    assert truth(program, [left, right, expected]) == ("null" if result is None else "true")
    assert truth(program, [left, right, expected + 1]) == ("null" if result is None else "false")


@pytest.mark.parametrize("mantissa", [1.0, 2.0**-256, 1.75 * 2.0**255])
@pytest.mark.parametrize("exponent", [-1.0, 0.0, 1.0, 5.0])
def test_a_count_weighs_the_same_in_the_unit_of_another(mantissa: float, exponent: float) -> None:
    assert _relative(mantissa, exponent, exponent) == mantissa
    below = Fraction(mantissa) / Fraction(2) ** 512
    assert Fraction(_relative(mantissa, exponent, exponent + 1)) == below
    assert _relative(mantissa, exponent, exponent + 2) == 0.0
