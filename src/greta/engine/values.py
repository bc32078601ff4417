"""Expressions over whole columns: three-valued, exact in integers, NULL where a division has no result.

NaN is NULL, in a column and as a result (∞ - ∞). Where an integer meets a float, both are doubles. ``/`` always
divides as floating point; ``%`` has the sign of the dividend, as in SQL. Integers that do not fit 64 bits are decimals
of 76 digits, and NULL beyond that. Decimals with a fraction compare exactly and are doubles in arithmetic.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.instants import instants_alike
from greta.engine.tables import WIDE, as_type, contiguous, wide_integers
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
_EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "%": lambda a, b: (abs(a) % abs(b)) * (1 if a >= 0 else -1),
}
_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_FLOATING = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_SAFE = 2.0**62
"""Integers that are smaller than this as doubles fit 64 bits, whatever was rounded."""


_PLAIN = frozenset({type_.id for type_ in (pa.int64(), pa.string(), pa.bool_(), pa.timestamp("us"))})
"""Types whose values are computed with as they are."""


def evaluate(expression: Expression, column: Callable[[str], pa.Array]) -> Value:
    """The value of an expression for every event; ``column`` gives an attribute's values."""
    match expression:
        case Number(value=value):
            return _constant(value)
        case Text(value=text):
            return pa.scalar(text)
        case Boolean(value=truth):
            return pa.scalar(truth)
        case Attribute(name=name) | Name(name=name):
            return column(name)
        case Negative(operand=operand):
            return _arithmetic("-", pa.scalar(0), evaluate(operand, column))
        case Arithmetic(operator=sign, left=left, right=right):
            return _arithmetic(sign, evaluate(left, column), evaluate(right, column))
        case Comparison(operator=sign, left=left, right=right):
            return _compare(sign, evaluate(left, column), evaluate(right, column))
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


def _constant(value: float) -> pa.Scalar:
    if not isinstance(value, int) or abs(value) >= 10**WIDE.precision:
        return pa.scalar(as_double(value))
    return pa.scalar(value) if abs(value) < 2**63 else pa.scalar(Decimal(value), WIDE)


def prepare(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One contiguous array of a plain type, with NaN as NULL.

    Whole numbers are int64 if all of them fit, else ``WIDE``; decimals with a fraction stay decimals.
    """
    array = contiguous(column)
    if array.type.id in _PLAIN:
        return array
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_float16(array.type) or pa.types.is_float32(array.type):
        array = array.cast(pa.float64())
    if pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type):
        array = array.cast(pa.string())
    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("ms"))
    if pa.types.is_null(array.type):
        array = array.cast(pa.int64())
    if pa.types.is_uint64(array.type) or (pa.types.is_decimal(array.type) and array.type.scale <= 0):
        array = _narrow(array)
    elif pa.types.is_integer(array.type):
        array = as_type(array, pa.int64())
    return _known(array) if pa.types.is_floating(array.type) else array


def _narrow(array: pa.Array) -> pa.Array:
    """Whole numbers in int64 where all of them fit."""
    extremes = pc.min_max(array)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    if low is None or (low >= -(2**63) and high < 2**63):
        return array.cast(pa.int64())
    return array.cast(pa.decimal128(20, 0)).cast(WIDE) if pa.types.is_uint64(array.type) else array.cast(WIDE)


def is_whole(type_: pa.DataType) -> bool:
    """Whether prepared values of a type are integers, in 64 bits or wider."""
    return bool(pa.types.is_integer(type_) or (pa.types.is_decimal(type_) and type_.scale <= 0))


def _known(value: Value) -> Value:
    """NaN as NULL."""
    if not isinstance(value, pa.Scalar) and not value.null_count and not np.isnan(value.to_numpy()).any():
        return value
    nan = pc.is_nan(value)
    some = pc.any(nan) if not isinstance(nan, pa.Scalar) else nan
    return pc.if_else(nan, pa.scalar(None, value.type), value) if some.as_py() else value


def _compare(sign: str, left: Value, right: Value) -> Value:
    if left.type != right.type and (pa.types.is_timestamp(left.type) or pa.types.is_timestamp(right.type)):
        left, right = instants_alike(left, right)
        return _COMPARE[sign](left, right)
    if pa.types.is_floating(left.type) != pa.types.is_floating(right.type):
        left, right = _double(left), _double(right)
    elif pa.types.is_decimal(left.type) or pa.types.is_decimal(right.type):
        return _compare_decimals(sign, left, right)
    return _COMPARE[sign](left, right)


def _compare_decimals(sign: str, left: Value, right: Value) -> Value:
    """Decimals and integers, without rounding either: in one scale, or one by one where no type holds both."""
    common = pa.decimal256(WIDE.precision, max(getattr(side.type, "scale", 0) for side in (left, right)))
    try:
        return _COMPARE[sign](left.cast(common), right.cast(common))
    except pa.ArrowInvalid:
        return _one_by_one(sign, left, right, pa.bool_())


def _one_by_one(sign: str, left: Value, right: Value, type_: pa.DataType) -> Value:
    """The exact result per pair of numbers, NULL where one is NULL or where no number of that type is the result."""
    if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
        return _one_by_one(sign, pa.array([left.as_py()], left.type), right, type_)[0]
    length = len(right if isinstance(left, pa.Scalar) else left)
    pairs = zip(_numbers(left, length), _numbers(right, length), strict=True)
    results = [None if a is None or b is None else _EXACT[sign](a, b) for a, b in pairs]
    return wide_integers(results) if type_ == WIDE else pa.array(results, type=type_)


def _numbers(value: Value, length: int) -> list[Any]:
    if isinstance(value, pa.Scalar):
        return [_number(value.as_py())] * length
    return [_number(item) for item in value.to_pylist()]


def _number(value: Any) -> Any:
    """Whole decimals as integers, which Python computes with exactly."""
    return int(value) if isinstance(value, Decimal) and value == value.to_integral_value() else value


def _arithmetic(sign: str, left: Value, right: Value) -> Value:
    whole = is_whole(left.type) and is_whole(right.type)
    wide = whole and (pa.types.is_decimal(left.type) or pa.types.is_decimal(right.type))
    if sign == "/":
        return _known(pc.divide(_double(left), _no_zero(_double(right))))
    if sign == "%":
        right = _no_zero(right)
        return _widened(sign, left, right) if wide else _remainder(left, right, whole)
    if wide:
        return _widened(sign, left, right)
    if whole or pa.types.is_temporal(left.type) or pa.types.is_temporal(right.type):
        try:
            return _CHECKED[sign](left, right)
        except pa.ArrowInvalid:
            return _widened(sign, left, right)
    return _known(_FLOATING[sign](_double(left), _double(right)))


def _widened(sign: str, left: Value, right: Value) -> pa.Array:
    """Exact integers of up to 76 digits, NULL beyond that; only what does not fit 64 bits is computed one by one."""
    if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
        return _one_by_one(sign, left, right, WIDE)
    length = len(right if isinstance(left, pa.Scalar) else left)
    a, b = (pa.repeat(side, length) if isinstance(side, pa.Scalar) else contiguous(side) for side in (left, right))
    x, y = _approximately(a), _approximately(b)
    with np.errstate(all="ignore"):
        size = np.abs(x) + np.abs(y)
        if sign == "*":
            # A product with 0 is small, and its other factor may be large all the same.
            size = np.maximum(size, np.abs(x * y))
    known = ~(np.isnan(x) | np.isnan(y))
    large = ~(size < _SAFE) & known
    # A value beside NULL may be as large as it likes: it has no result, and must not be cast.
    near = pa.array(~large & known)
    p, q = (pc.if_else(near, side, pa.scalar(1).cast(side.type)).cast(pa.int64()) for side in (a, b))
    result = (_remainder(p, q, whole=True) if sign == "%" else _CHECKED[sign](p, q)).cast(WIDE)
    result = pc.if_else(pa.array(known), result, pa.scalar(None, WIDE))
    if not large.any():
        return result
    far = pa.array(large)
    return pc.replace_with_mask(result, far, _one_by_one(sign, a.filter(far), b.filter(far), WIDE))


def _approximately(array: pa.Array) -> NDArray[np.float64]:
    """Doubles, NaN for NULL."""
    return np.asarray(_double(array).to_numpy(zero_copy_only=False))


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
    sides = (v.cast(type_, safe=whole) for v in (left, right))
    a, b = (pa.repeat(side, length) if isinstance(side, pa.Scalar) else side for side in sides)
    valid = pc.and_(pc.is_valid(a), pc.is_valid(b))
    x = pc.fill_null(a, 0).to_numpy(zero_copy_only=False)
    y = pc.fill_null(b, 1).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        remainder = np.fmod(x, y)
    # An infinite dividend has no remainder.
    valid = pc.and_(valid, pa.array(~np.isnan(remainder)))
    return pc.if_else(valid, pa.array(remainder, type=type_), pa.scalar(None, type_))
