"""Integers of many digits on the stack of residual programs, and in columns, against Python's own."""

from __future__ import annotations

import math
import operator as python
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greta import aggregate
from greta.engine.digits import digit_columns, digits_of
from greta.engine.tables import WIDE
from greta.errors import DataError
from greta.kernels import conditions as op
from greta.kernels.layout import (
    DIFFERS,
    EQUALS,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    Conditions,
    Operands,
)

HOLDS = {
    LESS: python.lt,
    LESS_EQUAL: python.le,
    GREATER: python.gt,
    GREATER_EQUAL: python.ge,
    EQUALS: python.eq,
    DIFFERS: python.ne,
}


def run(program: list[int], constants: list[float], stack: Any) -> bool:
    """Whether a program of postfix code over constants leaves true."""
    small = np.zeros(1, dtype=np.int32)
    comparison = np.zeros((0, 3), dtype=np.int32)
    start, code = np.zeros(1, dtype=np.int64), np.array(program, dtype=np.int64)
    conditions = Conditions(small, small, comparison, start, code, np.array(constants))
    operands = Operands(np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1)))
    return op.residual_holds(conditions, operands, 0, 0, 0, stack)


SIZES = st.one_of(
    st.sampled_from((0, 1, 2**24 - 1, 2**24, 2**48 - 1, 2**48, 2**63, 2**64 - 1, 10**38)), st.integers(0, 2**130)
)
WHOLE = st.builds(lambda size, sign: size * sign, SIZES, st.sampled_from((1, -1)))
DIGITS = 12


def on_the_stack(number: int | None) -> list[float]:
    return [math.nan] * (DIGITS + 1) if number is None else digits_of(number, DIGITS)


def read(cells: Any) -> int | None:
    """The number that lies on the stack, in the only form that it has."""
    sign, *digits = cells.tolist()
    if math.isnan(sign):
        return None
    assert all(0 <= digit < 2**24 and digit == int(digit) for digit in digits)
    size = sum(int(digit) << 24 * at for at, digit in enumerate(digits))
    assert sign in (1, -1)
    assert size or sign == 1
    return int(sign) * size


def computed(operation: int, a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return None
    match operation:
        case op.WIDE_ADD:
            return a + b
        case op.WIDE_SUBTRACT:
            return a - b
        case op.WIDE_MULTIPLY:
            return a * b
        case _:
            return None if b == 0 else (abs(a) % abs(b)) * (1 if a >= 0 else -1)


@pytest.mark.parametrize("operation", [op.WIDE_ADD, op.WIDE_SUBTRACT, op.WIDE_MULTIPLY, op.WIDE_REMAINDER])
@example(a=2**130, b=-(2**130))
@example(a=2**24 - 1, b=1)
@example(a=-(2**48), b=2**48 - 1)
@example(a=-7, b=4)
@example(a=7, b=-4)
@example(a=-8, b=4)
@example(a=5, b=0)
@example(a=None, b=3)
@example(a=3, b=None)
@given(WHOLE, WHOLE)
def test_integers_of_many_digits_are_those_of_python(operation: int, a: int | None, b: int | None) -> None:
    program = [op.WIDTH, DIGITS, op.WIDE_CONSTANT, 0, op.WIDE_CONSTANT, DIGITS + 1, operation, 0, op.STOP, 0]
    stack = np.zeros(op.STACK)
    run(program, [*on_the_stack(a), *on_the_stack(b)], stack)
    assert read(stack[: DIGITS + 1]) == computed(operation, a, b)


@pytest.mark.parametrize("divisor", [2**287, 2**287 + 1, 2**288 - 1])
def test_a_divisor_may_fill_all_its_digits(divisor: int) -> None:
    dividend = 2**288 - 2
    program = [op.WIDTH, DIGITS, op.WIDE_CONSTANT, 0, op.WIDE_CONSTANT, DIGITS + 1, op.WIDE_REMAINDER, 0, op.STOP, 0]
    stack = np.zeros(op.STACK)
    run(program, [*on_the_stack(dividend), *on_the_stack(divisor)], stack)
    assert read(stack[: DIGITS + 1]) == dividend % divisor


@pytest.mark.parametrize("operator", HOLDS)
@example(a=2**100, b=2**100)
@example(a=-1, b=0)
@given(WHOLE, WHOLE)
def test_integers_of_many_digits_are_in_order(operator: int, a: int, b: int) -> None:
    program = [
        op.WIDTH,
        DIGITS,
        op.WIDE_CONSTANT,
        0,
        op.WIDE_CONSTANT,
        DIGITS + 1,
        op.WIDE_COMPARE,
        operator,
        op.STOP,
        0,
    ]
    holds = run(program, [*on_the_stack(a), *on_the_stack(b)], np.zeros(op.STACK))
    assert holds == HOLDS[operator](a, b)


@given(st.lists(st.one_of(st.none(), st.integers(-(10**76) + 1, 10**76 - 1)), min_size=1))
def test_columns_of_digits_are_the_digits_of_their_numbers(numbers: list[int | None]) -> None:
    values = pa.array([None if number is None else Decimal(number) for number in numbers], WIDE)
    cells = np.array(digit_columns(values, DIGITS)).T
    assert [read(row) for row in cells] == numbers


STRATEGIES = pytest.mark.parametrize("strategy", ["auto", "graph"])


@STRATEGIES
@pytest.mark.parametrize("large", [1, 2**40, 2**62])
def test_a_large_event_changes_nothing_between_two_others(large: int, strategy: Any) -> None:
    # 2⁵³ + 1 is the product of both factors; as doubles both sides of the comparison were 2⁵³.
    factor = (2**53 + 1) // 3
    events = [
        {"type": "A", "time": 1, "x": factor},
        {"type": "A", "time": 2, "x": 3},
        {"type": "B", "time": 3, "x": large},
    ]
    query = f"RETURN COUNT(*) AS n PATTERN A+ WHERE A.x * NEXT(A).x > {2**53}"
    assert aggregate(events, query, strategy=strategy).column("n").to_pylist() == [3]


def test_a_condition_that_the_stack_has_no_room_for_is_refused() -> None:
    events = [{"type": "A", "time": at, "x": 10**18} for at in range(2)]
    product = " * ".join(["A.x * NEXT(A).x"] * 30)
    for at in range(12):
        product = f"(A.x + {at} * NEXT(A).x) * ({product})"
    query = f"RETURN COUNT(*) AS n PATTERN A+ WHERE {product} > 5"
    with pytest.raises(DataError, match="too long"):
        aggregate(events, query)
    assert aggregate(events, query, strategy="graph").column("n").to_pylist() == [3]
