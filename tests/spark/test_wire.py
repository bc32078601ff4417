"""The wire: what Spark works out and what is worked out here agree, and rows are cut where they go."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from greta.spark.wire.packing import cuts, order_by_part, runs
from greta.spark.wire.places import Places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = ["", "a", "abcd", "Zoë 😀", "eight by", "thirteen char", "x" * 31, "y" * 32, "z" * 77, None]
COLUMNS: dict[str, list[Any]] = {
    "text STRING": TEXTS,
    "whole BIGINT": [0, 1, -1, 2**63 - 1, -(2**63), 42, 7, 8, 9, None],
    "short SMALLINT": [0, 1, -1, 2**15 - 1, -(2**15), 42, 7, 8, 9, None],
    "plain INT": [0, 1, -1, 2**31 - 1, -(2**31), 42, 7, 8, 9, None],
    "number DOUBLE": [0.0, -0.0, 1.5, -1e300, float("inf"), float("nan"), 7.0, 8.0, 9.0, None],
    "narrow FLOAT": [0.0, -0.0, 1.5, -1e30, float("inf"), float("nan"), 7.0, 8.0, 9.0, None],
    "truth BOOLEAN": [True, False, True, False, True, True, False, True, False, None],
    "day DATE": [date(1970, 1, 1), date(2024, 2, 29), date(1900, 1, 1), *[date(2000, 1, d) for d in range(1, 7)], None],
    "moment TIMESTAMP_NTZ": [
        *[datetime.fromisoformat(f"1960-01-{day:02}T03:04:05.678901") for day in range(1, 10)],
        None,
    ],
}


@pytest.mark.spark
def test_rows_are_hashed_here_as_spark_hashes_them(spark: SparkSession) -> None:
    from pyspark.sql.functions import xxhash64 as by_spark

    from greta.spark.wire.columns import arrow_type
    from greta.spark.wire.hashing import can_hash, xxhash64

    df = spark.createDataFrame(list(zip(*COLUMNS.values(), strict=True)), ", ".join(COLUMNS)).coalesce(1)
    names = df.columns
    hashed = df.select(
        *(by_spark(name).alias(name) for name in names),
        by_spark("text", "whole").alias("two"),
        by_spark(*names).alias("all"),
    ).collect()
    types = {field.name: arrow_type(field.dataType) for field in df.schema}
    columns = {
        name: pa.array(values, types[name], from_pandas=False)
        for name, values in zip(names, COLUMNS.values(), strict=True)
    }
    assert all(can_hash(type_) for type_ in types.values())
    asked = {name: [name] for name in names} | {"two": ["text", "whole"], "all": names}
    for label, members in asked.items():
        here = xxhash64([columns[name] for name in members], len(TEXTS))
        assert here.tolist() == [row[label] for row in hashed], label
        encoded = [columns[name].dictionary_encode() for name in members]
        assert xxhash64(encoded, len(TEXTS)).tolist() == here.tolist(), label


@pytest.mark.spark
def test_places_are_the_same_wherever_they_are_worked_out(spark: SparkSession) -> None:
    keys = [f"k{number}" for number in range(50)]
    types = ["A", "B", "C", None, "D"] * 10
    df = spark.createDataFrame(list(zip(types, keys, strict=True)), "type STRING, key STRING").coalesce(1)
    events = {"type": pa.array(types), "key": pa.array(keys)}
    for places in (Places(8, ("A", "B")), Places(256, None), Places(3, ("D",))):
        for common in ((), ("key",), ("key", "type")):
            there = [row[0] for row in df.select(places.column(common, "type")).collect()]
            here = places.numbers(events, len(keys), common, "type")
            assert here.tolist() == there
            part, code = places.split(here)
            assert part.min() >= 0
            assert part.max() < places.parts
            if places.types is not None:
                named = places.decoded(code).to_pylist()
                assert named == [name if name in places.types else None for name in types]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-(2**40), 2**40)), max_size=60), st.integers(1, 5))
def test_rows_are_ordered_by_part_and_slab_and_cut_where_the_part_changes(
    rows: list[tuple[int, int]], most: int
) -> None:
    parts = np.array([part for part, _ in rows], dtype=np.int64)
    slabs = np.array([slab for _, slab in rows], dtype=np.int64)
    order = order_by_part(parts, slabs)
    assert [rows[at] for at in order] == sorted(rows)
    ordered = parts[order_by_part(parts)]
    assert [part for part, start, stop in runs(ordered) for _ in range(start, stop)] == sorted(parts.tolist())
    if rows:
        starts, stops = cuts(ordered, most)
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            assert 0 < stop - start <= most
            assert len(set(ordered[start:stop].tolist())) == 1
        assert (starts[0], stops[-1]) == (0, len(rows))


def test_only_what_is_hashed_as_in_spark_is_hashed_here() -> None:
    from greta.spark.wire.hashing import can_hash

    assert not can_hash(pa.decimal128(20, 2))
    assert not can_hash(pa.timestamp("ns"))
