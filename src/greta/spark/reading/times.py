"""A column of times as it was stored → time stamps: numbers that count from 1970 in a unit, and text."""

from __future__ import annotations

from typing import Literal, get_args

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.errors import DataError, GretaError
from greta.spark.wire.columns import named, quoted

TimeUnit = Literal["s", "ms", "us", "ns"]

_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_MOST_MICROSECONDS = 2**62
"""Times further from 1970 than that are taken for mistakes: windows around them would not fit 64 bits."""


def with_times(df: DataFrame, time: str, unit: TimeUnit | None, *, text: bool = False) -> DataFrame:
    """The time column as time stamps where it is numbers in a unit, or, with ``text``, ISO 8601 text.

    What is no time becomes NULL, and is met as a time that cannot be read: such text, NaN, and numbers that are too
    large.
    """
    if unit is not None and unit not in get_args(TimeUnit):
        raise GretaError(f"time_unit must be one of {', '.join(get_args(TimeUnit))}, not {unit!r}")
    kind = next((field.dataType for field in df.schema.fields if field.name == time), None)
    if isinstance(kind, T.StringType) and text:
        if unit is None:
            return df.withColumn(time, F.try_to_timestamp(named(time)))
        return df.withColumn(time, F.expr(since_1970(f"try_cast({quoted(time)} AS DOUBLE)", T.DoubleType(), unit)))
    if unit is None or kind is None:
        return df
    if not isinstance(kind, T.NumericType):
        raise DataError(
            f"column {time} holds {kind.simpleString()}, and not numbers in a unit",
            hint="leave time_unit (--time-unit) out",
        )
    return df.withColumn(time, F.expr(since_1970(quoted(time), kind, unit)))


def since_1970(number: str, kind: T.DataType, unit: TimeUnit) -> str:
    """A number → a time stamp, cut to microseconds, which is as fine as time gets in Spark; both are SQL text.

    NULL where the number is none, or too large: Spark 4 would fail at it before greta is asked what to do.
    """
    double = f"CAST({number} AS DOUBLE)"
    size = f"abs({double}) / 1000D" if unit == "ns" else f"abs({double}) * {_MICROSECONDS[unit]}D"
    if isinstance(kind, T.IntegralType):
        # Doubles do not hold nanoseconds.
        whole = f"CAST({number} AS BIGINT)"
        below = f"CAST({whole} % 1000L < 0 AS BIGINT)"
        micros = f"{whole} div 1000L - {below}" if unit == "ns" else f"{whole} * {_MICROSECONDS[unit]}L"
    else:
        exact = number if isinstance(kind, T.DecimalType) else double
        micros = f"floor({exact} / 1000)" if unit == "ns" else f"round({exact} * {_MICROSECONDS[unit]})"
        micros = f"CAST({micros} AS BIGINT)"
    # NaN is greater than any number to Spark.
    return f"timestamp_micros(CASE WHEN {size} < {_MOST_MICROSECONDS}D THEN {micros} END)"
