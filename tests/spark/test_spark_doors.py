"""A sample of the cases of every door, through Spark."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings

pytest.importorskip("pyspark")

import greta.spark
from greta.errors import QueryMeaningError
from greta.spark.compat import to_arrow
from greta_research import brute_force
from support.doors import differences
from support.edges import EdgeCase, edge_cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::greta.GretaWarning")]


def for_spark(events: pa.Table) -> pa.Table:
    """The same values in types that Spark has: unsigned numbers are decimals there."""
    for at, field in enumerate(events.schema):
        if pa.types.is_uint64(field.type):
            whole = events.column(at).cast(pa.decimal128(20, 0))
            events = events.set_column(at, field.name, whole)
    return events


def check(spark: SparkSession, case: EdgeCase) -> None:
    numbers: Any = case.numbers
    # Spark takes time stamps without a zone as of the session's zone; brute force has none.
    assume(not any(pa.types.is_timestamp(field.type) and field.type.tz is None for field in case.events.schema))
    try:
        rows = greta.spark.aggregate(spark.createDataFrame(for_spark(case.events)), case.query, numbers=numbers)
    except QueryMeaningError:
        assume(False)
    expected = brute_force.aggregate(case.for_brute_force(), case.query)
    assert differences(to_arrow(rows).to_pylist(), expected) == [], case.query


_SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=8, suppress_health_check=_SHARED)
@given(case=edge_cases())
def test_values_at_the_edges_give_the_rows_of_brute_force_on_spark(spark: SparkSession, case: EdgeCase) -> None:
    check(spark, case)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@settings(max_examples=500, suppress_health_check=_SHARED)
@given(case=edge_cases())
def test_many_values_at_the_edges_give_the_rows_of_brute_force_on_spark(spark: SparkSession, case: EdgeCase) -> None:
    check(spark, case)


def test_extremes_keep_dates_and_single_precision_on_spark(spark: SparkSession) -> None:
    events = pa.table(
        {
            "type": ["A", "A"],
            "time": [1, 2],
            "d": pa.array([date(1, 1, 1), date(9999, 12, 31)]),
            "f": pa.array([0.1, 3e38], pa.float32()),
        }
    )
    query = "RETURN MIN(A.d) AS first, MAX(A.f) AS high PATTERN A+"
    rows = greta.spark.aggregate(spark.createDataFrame(events), query)
    assert dict(rows.dtypes)["first"] == "date"
    assert dict(rows.dtypes)["high"] == "float"
    [row] = to_arrow(rows).to_pylist()
    assert row["first"] == date(1, 1, 1)
    assert row["high"] == events.column("f")[1].as_py()


def test_ids_beyond_doubles_are_groups_of_their_own_on_spark(spark: SparkSession) -> None:
    near = [Decimal(9007199254740993), Decimal(9007199254740992)] * 2
    events = pa.table({"type": ["A"] * 4, "time": range(4), "x": pa.array(near, pa.decimal128(20, 0))})
    query = "RETURN x, COUNT(*) AS n, SUM(A.x) AS total, MIN(A.x) AS low PATTERN A+ WHERE [x] GROUP-BY x"
    rows = to_arrow(greta.spark.aggregate(spark.createDataFrame(events), query, numbers="exact")).to_pylist()
    assert {row["x"]: (row["n"], row["total"], row["low"]) for row in rows} == {
        x: ("3", str(4 * int(x)), x) for x in near[:2]
    }
