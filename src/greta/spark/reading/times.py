"""A column of times as it was stored → time stamps: numbers that count from 1970 in a unit, and text."""

from __future__ import annotations

from typing import Literal, get_args

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.errors import DataError, GretaError
from greta.spark.wire.columns import named

TimeUnit = Literal["s", "ms", "us", "ns"]

_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def with_times(df: DataFrame, time: str, unit: TimeUnit | None, *, text: bool = False) -> DataFrame:
    """The time column as time stamps where it is numbers in a unit, or, with ``text``, ISO 8601 text.

    Text that is no time becomes NULL, and is met as a time that cannot be read.
    """
    if unit is not None and unit not in get_args(TimeUnit):
        raise GretaError(f"time_unit must be one of {', '.join(get_args(TimeUnit))}, not {unit!r}")
    kind = next((field.dataType for field in df.schema.fields if field.name == time), None)
    if isinstance(kind, T.StringType) and text:
        if unit is None:
            return df.withColumn(time, F.try_to_timestamp(named(time)))
        return df.withColumn(time, since_1970(named(time).try_cast("double"), T.DoubleType(), unit))
    if unit is None or kind is None:
        return df
    if not isinstance(kind, T.NumericType):
        raise DataError(
            f"column {time} holds {kind.simpleString()}, and not numbers in a unit",
            hint="leave time_unit (--time-unit) out",
        )
    return df.withColumn(time, since_1970(named(time), kind, unit))


def since_1970(number: Column, kind: T.DataType, unit: TimeUnit) -> Column:
    """Time stamps, cut to microseconds: that is as fine as time gets in Spark."""
    if unit == "ns":
        whole = F.floor(number / 1_000)
        if isinstance(kind, T.IntegralType):
            # Division goes through doubles, which do not hold nanoseconds.
            whole = (number - F.pmod(number, F.lit(1_000))) / 1_000
        return F.timestamp_micros(whole.cast("bigint"))
    return F.timestamp_micros(F.round(number * _MICROSECONDS[unit]).cast("bigint"))
