"""Keys of buckets against Spark's own hash."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from pyspark.sql import SparkSession

from greta.errors import StateError
from greta.spark.stream.state import OpenWindows
from greta.spark.wire.buckets import bucket_keys, spark_hash


def test_the_hash_is_that_of_spark(spark: SparkSession) -> None:
    values = [0, 1, -1, 7, 839, 2**31 - 1, -(2**31)]
    rows = spark.createDataFrame([(value,) for value in values], "value INT").selectExpr("value", "hash(value) AS h")
    assert {row.value: row.h for row in rows.collect()} == dict(zip(values, spark_hash(np.array(values)), strict=True))


@pytest.mark.parametrize("count", [1, 8, 24, 64, 1000])
@pytest.mark.parametrize("tasks", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 32, 64])
def test_every_task_gets_as_many_buckets_as_any_other_or_one_more(count: int, tasks: int) -> None:
    dealt = Counter((spark_hash(np.array(bucket_keys(count))) % tasks).tolist())
    assert max(dealt.values()) - min(dealt[task] for task in range(tasks)) <= 1


def test_no_two_buckets_have_the_same_key() -> None:
    assert len(set(bucket_keys(1000))) == 1000


def test_eight_buckets_go_to_eight_tasks_of_two_hundred() -> None:
    assert len(set((spark_hash(np.array(bucket_keys(8))) % 200).tolist())) == 8


def test_state_under_a_key_that_no_bucket_has_is_refused() -> None:
    windows = OpenWindows((), (), 8, early=False, late_events=None)
    windows.places = {key: place for place, key in enumerate(bucket_keys(8))}
    with pytest.raises(StateError, match="another version of greta, or was stored with other buckets"):
        next(windows._step(3, [], 0, 0, fired=1))
