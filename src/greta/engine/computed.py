"""Columns computed from aggregates, and HAVING: expressions over rows of the result.

Numbers are doubles where all operands are doubles, else exact fractions of any size until the end: a logarithm or a
quotient of counts is right where the counts themselves are beyond the range of doubles. NULL comes of NULL, and of what
has no result: a division by zero, the logarithm of a number that is not positive, the root of a negative one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.values import as_double, evaluate
from greta.lang.nodes import (
    And,
    Arithmetic,
    ArithmeticOperator,
    Call,
    Comparison,
    Expression,
    MathFunction,
    Name,
    Negative,
    Not,
    Number,
    Or,
)
from greta.lang.walk import walk

Exact = int | Fraction | float | None
"""A number of any size (a float only where it is infinite), or NULL."""

Numbers = NDArray[Any]
"""A column of numbers: doubles with NaN for NULL, or objects of type ``Exact``."""

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compute(expression: Expression, column: Callable[[str], Numbers], rows: int) -> Numbers:
    """The value of an expression in every row; ``column`` gives the numbers of an output."""
    names = {node.name for node, _ in walk(expression) if isinstance(node, Name)}
    columns = {name: column(name) for name in names}
    if columns and all(values.dtype == np.float64 for values in columns.values()):
        with np.errstate(all="ignore"):
            # Adding zero takes the sign off a zero.
            return np.broadcast_to(_in_doubles(expression, columns), (rows,)).astype(np.float64) + 0.0
    result = np.empty(rows, dtype=object)
    if not columns:
        result[:] = [_exactly(expression, exact)] * rows
        return result
    for row in range(rows):
        values = {name: column[row] for name, column in columns.items()}
        if all(isinstance(value, float) for value in values.values()):
            # A row of doubles is computed in doubles, whatever the size of other rows.
            with np.errstate(all="ignore"):
                number = float(_in_doubles(expression, {name: np.asarray(v) for name, v in values.items()}))
            result[row] = None if math.isnan(number) else number
        else:
            result[row] = _exactly(expression, lambda name, values=values: exact(values[name]))  # type: ignore[misc]
    return result


def to_arrow(values: Numbers) -> pa.Array:
    """A DOUBLE column: fractions are rounded once, what is too large is infinite."""
    values = in_doubles(values)
    return pa.array(values, mask=np.isnan(values))


def in_doubles(values: Numbers) -> NDArray[np.float64]:
    """The nearest doubles, NaN for NULL."""
    if values.dtype == np.float64:
        return values
    return np.array([math.nan if v is None else to_double(v) for v in values.tolist()], dtype=np.float64)


def to_double(value: Any) -> float:
    """The nearest double; infinite beyond their range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def exact(value: Any) -> Exact:
    """A number without rounding; NaN is NULL."""
    if value is None or isinstance(value, int | Fraction):
        return value
    if isinstance(value, Decimal):
        return Fraction(value)
    number = float(value) if not isinstance(value, np.integer) else int(value)
    if isinstance(number, int):
        return number
    if math.isfinite(number):
        return Fraction(number)
    return None if math.isnan(number) else number


def _in_doubles(expression: Expression, columns: dict[str, Numbers]) -> Any:
    match expression:
        case Number(value=value):
            return as_double(value)
        case Name(name=name):
            return columns[name]
        case Negative(operand=operand):
            return -_in_doubles(operand, columns)
        case Arithmetic(operator=sign, left=left, right=right):
            a, b = _in_doubles(left, columns), _in_doubles(right, columns)
            if sign == "/":
                return np.where(b == 0, np.nan, np.divide(a, b))
            return {"+": np.add, "-": np.subtract, "*": np.multiply}[sign](a, b)
        case Call(function=function, operand=operand):
            value = _in_doubles(operand, columns)
            if function == "ABS":
                return np.abs(value)
            if function == "SQRT":
                return np.sqrt(value)
            return np.where(value > 0, {"LOG2": np.log2, "LOG10": np.log10, "LN": np.log}[function](value), np.nan)
        case _:
            raise AssertionError(f"no number: {expression}")


def _exactly(expression: Expression, value_of: Callable[[str], Exact]) -> Exact:
    match expression:
        case Number(value=value):
            return exact(value)
        case Name(name=name):
            return value_of(name)
        case Negative(operand=operand):
            number = _exactly(operand, value_of)
            return None if number is None else -number
        case Arithmetic(operator=sign, left=left, right=right):
            a, b = _exactly(left, value_of), _exactly(right, value_of)
            return None if a is None or b is None else _combined(sign, a, b)
        case Call(function=function, operand=operand):
            number = _exactly(operand, value_of)
            return None if number is None else _applied(function, number)
        case _:
            raise AssertionError(f"no number: {expression}")


def _combined(sign: ArithmeticOperator, a: Fraction | float, b: Fraction | float) -> Exact:
    if isinstance(a, float) or isinstance(b, float):
        # One of them is infinite; all that matters of the other is its sign.
        a, b = to_double(a), to_double(b)
    match sign:
        case "+":
            return exact(a + b) if isinstance(a, float) else a + b
        case "-":
            return exact(a - b) if isinstance(a, float) else a - b
        case "*":
            return exact(a * b) if isinstance(a, float) else a * b
        case "/":
            if b == 0:
                return None
            return exact(a / b) if isinstance(a, float) else Fraction(a) / Fraction(b)
        case _:
            raise AssertionError("a remainder of aggregates is refused before")


def _applied(function: MathFunction, value: Fraction | float) -> Exact:
    match function:
        case "ABS":
            return -value if value < 0 else value
        case "SQRT":
            return square_root(value)
        case "LOG2" | "LOG10" | "LN":
            if value <= 0:
                return None
            logarithm = {"LOG2": math.log2, "LOG10": math.log10, "LN": math.log}[function]
            if isinstance(value, Fraction):
                return exact(_log_of_fraction(value, logarithm))
            return exact(logarithm(value))
        case _:
            assert_never(function)


def _log_of_fraction(value: Fraction, logarithm: Callable[[Any], float]) -> float:
    """Near 1 the quotient is a double like any other; far from it the parts are logarithms without a loss."""
    if 2.0**-500 < value < 2**500:
        return logarithm(float(value))
    return logarithm(value.numerator) - logarithm(value.denominator)


def square_root(value: Fraction | float) -> Exact:
    """The root to the last digits of a double, also of what is beyond their range; NULL for negative numbers."""
    if value < 0:
        return None
    if isinstance(value, float) or value == 0:
        return exact(math.sqrt(value))
    fraction = Fraction(value)
    # An even power of two brings the number near 1, where doubles are at home.
    half = (fraction.numerator.bit_length() - fraction.denominator.bit_length()) // 2
    root = Fraction(math.sqrt(fraction / Fraction(4) ** half))
    return root * Fraction(2) ** half


def keeps(
    condition: Expression, numbers: Callable[[str], Numbers | None], column: Callable[[str], pa.Array], rows: int
) -> NDArray[np.bool_]:
    """The rows in which HAVING is true.

    ``numbers`` gives the exact numbers of an output or computed column, None for anything else; ``column`` its values.
    """
    truth, known = _truth(condition, numbers, column, rows)
    return truth & known


def _truth(
    condition: Expression, numbers: Callable[[str], Numbers | None], column: Callable[[str], pa.Array], rows: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(whether it is true, whether it is known): three-valued logic."""
    match condition:
        case And(parts=parts) | Or(parts=parts):
            either = isinstance(condition, Or)
            truths = [_truth(part, numbers, column, rows) for part in parts]
            decided = np.logical_or.reduce([known & (truth == either) for truth, known in truths])
            all_known = np.logical_and.reduce([known for _, known in truths])
            return np.where(decided, either, not either), decided | all_known
        case Not(operand=operand):
            truth, known = _truth(operand, numbers, column, rows)
            return ~truth, known
        case Comparison(operator=sign, left=left, right=right) if _numeric(left, numbers) and _numeric(right, numbers):

            def of(name: str) -> Numbers:
                values = numbers(name)
                assert values is not None
                return values

            return _compared(sign, compute(left, of, rows), compute(right, of, rows))
        case _:
            value = evaluate(condition, column)
            if isinstance(value, pa.Scalar):
                value = pa.repeat(value, rows)
            known = pc.is_valid(value).to_numpy(zero_copy_only=False)
            return pc.fill_null(value, False).to_numpy(zero_copy_only=False), known


def _numeric(expression: Expression, numbers: Callable[[str], Numbers | None]) -> bool:
    """Whether an expression is made of outputs and numbers alone."""
    for node, _ in walk(expression):
        if isinstance(node, Name):
            if numbers(node.name) is None:
                return False
        elif not isinstance(node, Number | Arithmetic | Negative | Call):
            return False
    return True


def _compared(sign: str, left: Numbers, right: Numbers) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Exact numbers compare exactly; where a double meets one, both are doubles."""
    compare = _COMPARE[sign]
    if left.dtype == np.float64 or right.dtype == np.float64:
        left, right = (side if side.dtype == np.float64 else in_doubles(side) for side in (left, right))
        return compare(left, right), ~(np.isnan(left) | np.isnan(right))
    pairs = [_alike(a, b) for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    known = np.array([a is not None and b is not None for a, b in pairs], dtype=bool)
    truth = np.array([bool(compare(a, b)) if k else False for (a, b), k in zip(pairs, known, strict=True)], dtype=bool)
    return truth, known


def _alike(a: Any, b: Any) -> tuple[Exact, Exact]:
    """Two numbers that can be compared: both exact, or both doubles if one of them is."""
    if a is None or b is None:
        return None, None
    if isinstance(a, float) or isinstance(b, float):
        a, b = to_double(a), to_double(b)
        return (None, None) if math.isnan(a) or math.isnan(b) else (a, b)
    return exact(a), exact(b)
