"""JSON records decoded by PyArrow mean what they mean to Spark."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")
from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.spark.stream.records import TEXT, Records, decoded

SCHEMA = T.StructType(
    [
        T.StructField("type", T.StringType()),
        T.StructField("time", T.TimestampType()),
        T.StructField("price", T.DoubleType()),
        T.StructField("size", T.LongType()),
        T.StructField("lot", T.IntegerType()),
        T.StructField("open", T.BooleanType()),
    ]
)
PLAIN = [
    {"type": "Stock", "time": "2026-01-05T09:30:00Z", "price": 1.5, "size": 3, "lot": 1, "open": True},
    {"type": "Stück \u2028 \"'", "time": "2026-01-05 09:30:00.123456+05:45", "price": 2, "more": {"a": [1]}},
    {"time": "2026-01-05T09:30:00", "price": None, "size": -(2**63)},
    {},
]
STRANGE = [
    b'{"time": "2026-13-05T09:30:00Z"}',
    b'{"time": "05/01/2026"}',
    b'{"time": "2026-01-05T09:30:00GMT+01:00"}',
    b'{"time": "2026-01-05"}',
    b'{"time": 1767605400}',
    b'{"price": "1.5"}',
    b'{"price": NaN}',
    b'{"price": 1e400}',
    b'{"size": 1.5}',
    b'{"size": 99999999999999999999}',
    b'{"lot": 3000000000}',
    b'{"size": true}',
    b'{"type": 5}',
    b'{"type": {"a": 1}}',
    b'{"type": "a", "type": "b"}',
    b'{"TYPE": "a"}',
    b'{"type": "\xff"}',
    b'{"type": "\\ud800"}',
    b'{"type": "a"} {"type": "b"}',
    b'{"type": "a"\n, "price": 1}',
    b'{"type": "a",}',
    b'{"type": "a"',
    b'{"a": {}',
    b"[]",
    b"   ",
    b"",
    b"null",
]


def texts(values: list[bytes]) -> pa.RecordBatch:
    return Records(None).decode(values)


def is_text(batch: pa.RecordBatch) -> bool:
    return batch.column(TEXT).null_count == 0


def test_plain_records_are_decoded_as_a_chunk() -> None:
    batch = Records.of(SCHEMA).decode([json.dumps(record).encode() for record in PLAIN])
    assert batch.column(TEXT).null_count == len(PLAIN)
    assert batch.column("price").to_pylist() == [1.5, 2.0, None, None]
    assert batch.column("time").to_pylist()[0] == "2026-01-05T09:30:00Z"


def test_a_chunk_with_one_strange_record_is_left_to_spark() -> None:
    plain = json.dumps(PLAIN[0]).encode()
    for strange in (b'{"price": "1.5"}', b"{", b"", b'{"type": "\xff"}', b'{}{"size": 1}', b'{"time": "yesterday"}'):
        assert is_text(Records.of(SCHEMA).decode([plain, strange, plain])), strange


def test_records_that_only_together_have_the_right_number_are_left_to_spark() -> None:
    assert is_text(Records.of(SCHEMA).decode([b'{"size": 1}{"size": 2}', b""]))
    assert is_text(Records.of(SCHEMA).decode([b'{"size":', b"1}", b'{"size": 2}{"size": 3}']))


def test_types_that_pyarrow_reads_otherwise_are_left_to_spark() -> None:
    assert Records.of(T.StructType().add("price", T.DecimalType(10, 2))).kinds is None
    assert Records.of(T.StructType().add("a", T.LongType()).add("a", T.LongType())).kinds is None
    assert Records.of(None).columns.simpleString() == f"struct<{TEXT}:binary>"


@pytest.mark.spark
def test_every_record_means_what_spark_takes_it_for(spark: Any) -> None:
    values = [json.dumps(record).encode() for record in PLAIN] + STRANGE

    def rows(batches: list[pa.RecordBatch], records: Records) -> list[tuple[Any, ...]]:
        # As the source hands them over: Arrow, in the columns that it declares.
        schema, parts = records.columns, [(batch.to_pydict(),) for batch in batches]
        lines = [tuple(part[name][at] for name in schema.names) for (part,) in parts for at in range(len(part[TEXT]))]
        return [tuple(row) for row in decoded(spark.createDataFrame(lines, schema), SCHEMA).collect()]

    expected = rows([texts(values)], Records(None))
    records = Records.of(SCHEMA)
    found = rows([records.decode([value]) for value in values], records)
    for value, one, other in zip(values, found, expected, strict=True):
        assert repr(one[:-1]) == repr(other[:-1]), value
        assert (one[-1] is None) == (other[-1] is None), value
    assert sum(is_text(records.decode([value])) for value in values) < len(values)
