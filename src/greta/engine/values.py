"""Expressions over whole columns: three-valued, exact in integers, NULL where a division has no result.

NaN is NULL, in a column and as a result (∞ - ∞). Where an integer meets a float, both are doubles. ``/`` always
divides as floating point; ``%`` has the sign of the dividend, as in SQL.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from greta.engine.tables import as_type, contiguous
from greta.errors import DataError
from greta.lang.nodes import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Boolean,
    Call,
    Comparison,
    Expression,
    Name,
    Negative,
    Not,
    Number,
    Or,
    Text,
    TrendAggregate,
)

Value = Any
"""An Arrow array, or a scalar where an expression is constant."""

_COMPARE: dict[str, Callable[..., Any]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_FLOATING = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


def evaluate(expression: Expression, column: Callable[[str], pa.Array]) -> Value:
    """The value of an expression for every event; ``column`` gives an attribute's values."""
    match expression:
        case Number(value=value):
            return pa.scalar(value) if isinstance(value, int) and abs(value) < 2**63 else pa.scalar(as_double(value))
        case Text(value=text):
            return pa.scalar(text)
        case Boolean(value=truth):
            return pa.scalar(truth)
        case Attribute(name=name) | Name(name=name):
            return column(name)
        case Negative(operand=operand):
            return _arithmetic("-", pa.scalar(0), evaluate(operand, column))
        case Arithmetic(operator=operator, left=left, right=right):
            return _arithmetic(operator, evaluate(left, column), evaluate(right, column))
        case Comparison(operator=operator, left=left, right=right):
            return _compare(operator, evaluate(left, column), evaluate(right, column))
        case And(parts=parts):
            return reduce(pc.and_kleene, (evaluate(part, column) for part in parts))
        case Or(parts=parts):
            return reduce(pc.or_kleene, (evaluate(part, column) for part in parts))
        case Not(operand=operand):
            return pc.invert(evaluate(operand, column))
        case Aggregate() | TrendAggregate():
            raise DataError("an aggregate has no value for a single event")
        case Call():
            raise AssertionError("functions are applied to aggregates alone")
        case _:
            assert_never(expression)


def as_double(value: float) -> float:
    """The nearest double of a constant of any size; infinite beyond their range.

    >>> as_double(-(10**400))
    -inf
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def prepare(column: pa.ChunkedArray) -> pa.Array:
    """One contiguous array of a plain type, with NaN as NULL."""
    array = contiguous(column)
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_decimal(array.type) or pa.types.is_float16(array.type) or pa.types.is_float32(array.type):
        array = array.cast(pa.float64())
    if pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type):
        array = array.cast(pa.string())
    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("ms"))
    if pa.types.is_null(array.type):
        array = array.cast(pa.int64())
    if pa.types.is_uint64(array.type):
        largest = pc.max(array).as_py()
        array = array.cast(pa.int64()) if largest is None or largest < 2**63 else _double(array)
    elif pa.types.is_integer(array.type):
        array = as_type(array, pa.int64())
    return _known(array) if pa.types.is_floating(array.type) else array


def _known(value: Value) -> Value:
    """NaN as NULL."""
    if not isinstance(value, pa.Scalar) and not value.null_count and not np.isnan(value.to_numpy()).any():
        return value
    nan = pc.is_nan(value)
    some = pc.any(nan) if not isinstance(nan, pa.Scalar) else nan
    return pc.if_else(nan, pa.scalar(None, value.type), value) if some.as_py() else value


def _compare(operator: str, left: Value, right: Value) -> Value:
    if pa.types.is_timestamp(left.type) and pa.types.is_string(right.type):
        right = right.cast(left.type)
    elif pa.types.is_timestamp(right.type) and pa.types.is_string(left.type):
        left = left.cast(right.type)
    elif pa.types.is_floating(left.type) != pa.types.is_floating(right.type):
        left, right = _double(left), _double(right)
    return _COMPARE[operator](left, right)


def _arithmetic(operator: str, left: Value, right: Value) -> Value:
    whole = pa.types.is_integer(left.type) and pa.types.is_integer(right.type)
    if operator in _CHECKED:
        if whole or pa.types.is_temporal(left.type) or pa.types.is_temporal(right.type):
            try:
                return _CHECKED[operator](left, right)
            except pa.ArrowInvalid:
                # Beyond 64 bits the result is a double rather than wrapped.
                return _FLOATING[operator](_double(left), _double(right))
        return _known(_FLOATING[operator](_double(left), _double(right)))
    if operator == "/":
        return _known(pc.divide(_double(left), _no_zero(_double(right))))
    return _remainder(left, _no_zero(right), whole)


def _double(value: Value) -> Value:
    """Whole numbers beyond 2⁵³ round, as everywhere in floating point."""
    return value.cast(pa.float64(), safe=False)


def _no_zero(value: Value) -> Value:
    return pc.if_else(pc.equal(value, 0), pa.scalar(None, value.type), value)


def _remainder(left: Value, right: Value, whole: bool) -> Value:
    type_ = pa.int64() if whole else pa.float64()
    if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
        return _remainder(pa.array([left.as_py()], type_), right, whole)[0]
    length = len(right if isinstance(left, pa.Scalar) else left)
    a, b = (pa.repeat(v.cast(type_), length) if isinstance(v, pa.Scalar) else v.cast(type_) for v in (left, right))
    valid = pc.and_(pc.is_valid(a), pc.is_valid(b))
    x = pc.fill_null(a, 0).to_numpy(zero_copy_only=False)
    y = pc.fill_null(b, 1).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        remainder = np.fmod(x, y)
    # An infinite dividend has no remainder.
    valid = pc.and_(valid, pa.array(~np.isnan(remainder)))
    return pc.if_else(valid, pa.array(remainder, type=type_), pa.scalar(None, type_))
