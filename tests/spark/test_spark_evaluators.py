"""Conditions on one event, which Spark filters by before the engine judges, agree with brute force on one matrix."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

import greta.spark
from support.evaluators import COMPARISONS, Pairs, conditions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::greta.GretaWarning")]

KINDS = [("int64", "float64"), ("decimal(38,0)", "int64"), ("float32", "float64"), ("text", "text")]


def answers(spark: SparkSession, pairs: Pairs, asked: list[str]) -> dict[str, list[int]]:
    """Per condition the pairs that it holds for; all conditions in one job."""
    queries = [f"RETURN id PATTERN A WHERE [id] AND ({text.format(x='A.x', y='A.y')}) GROUP-BY id" for text in asked]
    rows = greta.spark.aggregate(spark.createDataFrame(pairs.in_one_event()), queries).collect()
    return {text: sorted(row["id"] for row in rows if row["query"] == at) for at, text in enumerate(asked)}


@pytest.mark.parametrize("kinds", KINDS, ids=" and ".join)
def test_filters_drop_no_pair_that_a_condition_holds_for(spark: SparkSession, kinds: tuple[str, str]) -> None:
    pairs = Pairs.of(kinds)
    asked = conditions(kinds)
    assert answers(spark, pairs, asked) == {text: pairs.judged(text) for text in asked}


def test_filters_compare_decimals_as_exactly_as_the_engine(spark: SparkSession) -> None:
    near = [Decimal("90071992547409.9200000001"), Decimal("90071992547409.9200000002"), None]
    x = pa.array([a for a in near for _ in near], pa.decimal128(38, 10))
    y = pa.array([b for _ in near for b in near], pa.decimal128(38, 12))
    pairs = Pairs(x, y)
    for text in COMPARISONS[:4]:
        operator = text.split()[1]
        holds = {"=": [0, 4], "!=": [1, 3], "<": [1], "<=": [0, 1, 4]}[operator]
        assert answers(spark, pairs, [text]) == {text: holds}
