"""``greta.spark.check`` looks at a DataFrame and says where its rows would not be those that were meant."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

import greta.spark
from greta.errors import GretaWarning

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FALLS = "RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price WITHIN 1 minute"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("Trade", 1.0, 5.0), ("Trade", 2.0, 4.0)], "no event has the type Stock: column 'type' holds Trade"),
        ([("Stock", 1_700_000_000_000, 5.0), ("Stock", 1_700_000_000_001, 4.0)], "look like milliseconds since 1970"),
        ([("Stock", 1.0, 5.0), ("Stock", 1.0, 4.0)], "all events have the same time"),
        ([("Stock", 1.0, "10"), ("Stock", 2.0, "9")], "price is text that reads as numbers"),
    ],
)
def test_a_frame_is_checked_before_its_rows_are_trusted(
    spark: SparkSession, rows: list[tuple[object, ...]], said: str
) -> None:
    df = spark.createDataFrame(rows, ["type", "time", "price"])
    with pytest.warns(GretaWarning, match=said):
        greta.spark.check(df, FALLS)
    with pytest.warns(GretaWarning, match=f"query falls: .*{said}"):
        greta.spark.check(df, {"falls": FALLS})


def test_a_frame_that_fits_is_passed_without_a_word(spark: SparkSession) -> None:
    df = spark.createDataFrame([("Stock", 1.7e12, 5.0), ("Stock", 1.7e12 + 1, 4.0)], ["type", "time", "price"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        greta.spark.check(df, FALLS, time_unit="ms")
