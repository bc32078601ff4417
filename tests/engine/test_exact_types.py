"""Numbers that doubles cannot tell apart stay apart: in equality, order, groups, extremes, and exact sums."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from greta import aggregate
from greta.datasets.loaders import load
from greta.engine.job import Job
from greta.errors import DataError

STRATEGIES = pytest.mark.parametrize("strategy", ["auto", "graph"])
NUMBERS = pytest.mark.parametrize("numbers", ["double", "exact"])
NEAR = [9007199254740993, 9007199254740992, 9007199254740993, 9007199254740992]
"""Two numbers that are one as doubles."""
FAR = [number + 2**63 for number in (1, 0, 1, 0)]
COLUMNS = {
    "decimal(20,0)": pa.array([Decimal(x) for x in NEAR], pa.decimal128(20, 0)),
    "decimal(20,2)": pa.array([Decimal(x) / 100 for x in NEAR], pa.decimal128(20, 2)),
    "decimal beyond 64 bits": pa.array([Decimal(x) * 10**20 for x in NEAR], pa.decimal128(38, 0)),
    "decimal of 256 bits": pa.array([Decimal(x) for x in NEAR], pa.decimal256(60, 10)),
    "unsigned": pa.array(FAR, pa.uint64()),
    "dictionary": pa.array(FAR, pa.uint64()).dictionary_encode(),
}
EVERY_COLUMN = pytest.mark.parametrize("x", COLUMNS.values(), ids=COLUMNS)


def stream(x: pa.Array) -> pa.Table:
    return pa.table({"type": ["A"] * len(x), "time": list(range(len(x))), "x": x})


def column(answer: pa.Table, name: str) -> list[Any]:
    return answer.column(name).to_pylist()


@STRATEGIES
@EVERY_COLUMN
def test_groups_are_as_many_as_there_are_values(x: pa.Array, strategy: Any) -> None:
    query = "RETURN x, COUNT(*) AS n PATTERN A+ WHERE [x] GROUP-BY x"
    answer = aggregate(stream(x), query, strategy=strategy)
    assert column(answer, "n") == [3, 3]
    assert set(column(answer, "x")) == set(x.to_pylist())


@pytest.mark.filterwarnings("ignore:.*always:greta.errors.GretaWarning")
@STRATEGIES
@EVERY_COLUMN
@pytest.mark.parametrize(
    ("rest", "count"),
    [
        ("WHERE [A.x]", 6),
        ("WHERE A.x = NEXT(A).x", 6),
        ("WHERE A.x < NEXT(A).x", 5),
        ("WHERE A.x != NEXT(A).x", 11),
        ("WHERE A.x = A.x", 15),
    ],
)
def test_comparisons_do_not_round(x: pa.Array, rest: str, count: int, strategy: Any) -> None:
    answer = aggregate(stream(x), f"RETURN COUNT(*) AS n PATTERN A+ {rest}", strategy=strategy)
    assert column(answer, "n") == [count]


@STRATEGIES
@NUMBERS
@EVERY_COLUMN
def test_extremes_keep_value_and_type(x: pa.Array, numbers: Any, strategy: Any) -> None:
    query = "RETURN MIN(A.x) AS low, MAX(A.x) AS high PATTERN A+"
    answer = aggregate(stream(x), query, numbers=numbers, strategy=strategy)
    plain = x.dictionary_decode() if pa.types.is_dictionary(x.type) else x
    assert column(answer, "low") == [min(plain.to_pylist())]
    assert column(answer, "high") == [max(plain.to_pylist())]
    assert answer.schema.field("low").type == plain.type
    assert answer.schema == Job.bind(query, stream(x).schema, numbers=numbers).output_schema


@STRATEGIES
@pytest.mark.parametrize("name", ["decimal(20,0)", "decimal beyond 64 bits", "unsigned", "dictionary"])
def test_exact_sums_of_whole_numbers_do_not_round(name: str, strategy: Any) -> None:
    x = COLUMNS[name]
    query = "RETURN SUM(A.x) AS total, AVG(A.x) AS mean PATTERN A{1,2}"
    answer = aggregate(stream(x), query, numbers="exact", strategy=strategy)
    total = sum(int(value) for value in x.to_pylist()) * 4  # each is in a trend alone and in three pairs
    assert column(answer, "total") == [str(total)]
    assert column(answer, "mean") == [float(total // 4) / 4]


def test_exact_sums_reach_the_ends_of_64_bits() -> None:
    x = pa.array([2**63 - 1, -(2**63), None, 2**63 - 1])
    answer = aggregate(stream(x), "RETURN SUM(A.x) AS total PATTERN A", numbers="exact")
    assert column(answer, "total") == [str(2**63 - 2)]


@NUMBERS
@EVERY_COLUMN
def test_partial_rows_do_not_round(x: pa.Array, numbers: Any) -> None:
    events = stream(x)
    query = "RETURN x, COUNT(*) AS n, MAX(A.x) AS high, SUM(A.x) AS total PATTERN A+ WHERE [x] GROUP-BY x"
    job = Job.bind(query, events.schema, numbers=numbers)
    rows = job.run(events)
    parts = pa.concat_tables([job.partials(events.filter(pa.array([True, False] * 2))), job.partials(events)])
    twice = job.finish(parts)
    assert sorted(column(twice, "x")) == sorted(column(rows, "x"))
    assert sorted(map(float, column(twice, "n"))) == [3, 6]
    assert set(column(twice, "high")) == set(column(rows, "high"))


@pytest.mark.parametrize("strategy", ["auto", "graph"])
def test_events_as_mappings_hold_integers_of_any_size(strategy: Any) -> None:
    events = [{"type": "A", "time": at, "x": x} for at, x in enumerate([2**64, 2**64 + 1, 2**64, -(2**63) - 1])]
    answer = aggregate(events, "RETURN x, COUNT(*) AS n PATTERN A+ WHERE [x] GROUP-BY x", strategy=strategy)
    assert sorted(column(answer, "n")) == [1, 1, 3]
    assert set(column(answer, "x")) == {2**64, 2**64 + 1, -(2**63) - 1}


def test_a_decimal_meets_a_float_as_a_double() -> None:
    x = pa.array([Decimal("0.10"), Decimal("0.30")], pa.decimal128(10, 2))
    assert column(aggregate(stream(x), "RETURN COUNT(*) AS n PATTERN A WHERE A.x = 0.1"), "n") == [1]


def test_decimals_of_different_scales_compare_exactly() -> None:
    left = pa.array([Decimal(10) ** 70, Decimal(3)], pa.decimal256(76, 0))
    right = pa.array([Decimal("2.5"), Decimal("3")], pa.decimal128(38, 30))
    events = stream(left).append_column("y", right)
    for where in ("A.x > A.y OR A.x = A.y", "A.x >= NEXT(A).y"):
        assert column(aggregate(events, f"RETURN COUNT(*) AS n PATTERN A+ WHERE {where}"), "n") == [3]


def test_having_and_computed_columns_take_decimals_exactly() -> None:
    x = pa.array([Decimal(x) * 10**20 for x in NEAR], pa.decimal128(38, 0))
    query = "RETURN MAX(A.x) - MIN(A.x) AS spread PATTERN A+ HAVING MAX(A.x) > MIN(A.x)"
    assert column(aggregate(stream(x), query), "spread") == [1e20]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("numbers", [[2**63, 2**63 + 1, 5], [2**64, -1, 2**64 + 1]])
def test_files_keep_integers_beyond_63_bits(tmp_path: Path, ending: str, numbers: list[int]) -> None:
    path = tmp_path / f"events.{ending}"
    if ending == "csv":
        path.write_text("type,time,id,y\n" + "".join(f"A,{at},{x},1.5\n" for at, x in enumerate(numbers)))
    else:
        path.write_text("".join(f'{{"type":"A","time":{at},"id":{x},"y":1.5}}\n' for at, x in enumerate(numbers)))
    events = load(path)
    assert [int(x) for x in column(events, "id")] == numbers
    assert column(events, "y") == [1.5] * 3


@STRATEGIES
@NUMBERS
@pytest.mark.parametrize(
    "x",
    [
        pa.array([1, 2, None], pa.int32()).cast(pa.date32()),
        pa.array([86_400_000, 0, None]).cast(pa.date64()),
        pa.array([0.1, 0.2, None], pa.float32()),
        pa.array([1, 2, None], pa.int16()),
        pa.array([None, None], pa.date32()),
    ],
    ids=lambda x: str(x.type),
)
def test_extremes_keep_the_type_of_dates_and_small_numbers(x: pa.Array, numbers: Any, strategy: Any) -> None:
    query = "RETURN MIN(A.x) AS low, MAX(A.x) AS high PATTERN A+"
    answer = aggregate(stream(x), query, numbers=numbers, strategy=strategy)
    values = [value for value in x.to_pylist() if value is not None]
    assert column(answer, "low") == [min(values, default=None)]
    assert column(answer, "high") == [max(values, default=None)]
    assert answer.schema.types[2:] == [x.type] * 2
    job = Job.bind(query, stream(x).schema, numbers=numbers)
    assert job.finish(job.partials(stream(x))).equals(answer)


def test_values_of_trends_of_large_integers_are_exact_or_refused() -> None:
    query = "RETURN MAX(SUM(A.x)) AS high PATTERN A"
    assert column(aggregate(stream(pa.array([2**61 + 1, 3])), query, numbers="exact"), "high") == [str(2**61 + 1)]
    with pytest.raises(DataError, match="does not fit 64 bits"):
        aggregate(stream(pa.array([2**64 - 1], pa.uint64())), query, numbers="exact")
