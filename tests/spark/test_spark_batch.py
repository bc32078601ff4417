"""Spark answers as the engine does, however the events are spread over files, tasks and time."""

from __future__ import annotations

import json
import random
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import greta
import greta.spark
from greta.datasets import cluster, paper, stock, traffic
from greta.engine.job import Job
from greta.errors import GretaError, QuerySyntaxError, SchemaError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

WORKED = Path(__file__).parents[1] / "conformance"
ERA = 25_200
"""Seconds between the cases in one stream: a multiple of every slide, longer than any case."""


def comparable(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return float(f"{value:.11e}") if isinstance(value, int | float) and not isinstance(value, bool) else value


def rows(table: pa.Table) -> list[str]:
    """Rows in one order; instants and the engine's time stamps, which mean UTC, look alike."""
    columns = [
        column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        if pa.types.is_timestamp(column.type)
        else column
        for column in table.columns
    ]
    plain = pa.table(columns, names=table.column_names)
    return sorted(repr({name: comparable(value) for name, value in row.items()}) for row in plain.to_pylist())


def frame(spark: SparkSession, table: pa.Table, partitions: int = 3) -> DataFrame:
    return spark.createDataFrame(table).repartition(partitions)


def together(cases: list[dict[str, Any]], schema: pa.Schema) -> list[dict[str, int]]:
    """Cases by query, in groups whose columns of one name have one type, as queries of one call must."""
    groups: list[tuple[dict[str, int], dict[str, pa.DataType]]] = []
    for number, case in enumerate(cases):
        columns = {field.name: field.type for field in Job.bind(case["query"], schema).output_schema}
        fitting = (each for each in groups if all(each[1].get(name, kind) == kind for name, kind in columns.items()))
        group = next(fitting, None)
        if group is None:
            groups.append(group := ({}, {}))
        group[0][str(number)] = number
        group[1].update(columns)
    return [numbers for numbers, _ in groups]


@pytest.mark.parametrize("names", [("paper", "core", "extended"), ("trend-values",)], ids=["counts", "values"])
def test_every_worked_case_is_answered_through_spark(spark: SparkSession, names: tuple[str, ...]) -> None:
    # All cases in one stream, an era apart: each query answers over all eras, and only its own is looked at.
    from pyspark.sql.functions import col

    cases = [case for name in names for case in json.loads((WORKED / f"{name}.json").read_text())]
    events = [
        {**event, "time": event["time"] + number * ERA} for number, case in enumerate(cases) for event in case["events"]
    ]
    assert all("WITHIN" in case["query"] for case in cases)
    columns = list(dict.fromkeys(name for event in events for name in event))
    table = pa.table({name: [event.get(name) for event in events] for name in columns})
    found: list[list[str]] = [[] for _ in cases]
    for numbers in together(cases, table.schema):
        queries = {name: cases[number]["query"] for name, number in numbers.items()}
        answer = greta.spark.aggregate(frame(spark, table), queries)
        start = col("window_start") - col("query").cast("int") * ERA
        for row in answer.where((start >= 0) & (start < ERA // 2)).toArrow().to_pylist():
            number = int(row["query"])
            row["window_start"] -= number * ERA
            row["window_end"] -= number * ERA
            found[number].append(repr([comparable(row[name]) for name in cases[number]["columns"]]))
    for case, answered in zip(cases, found, strict=True):
        expected = [repr([comparable(value) for value in row]) for row in case["expected"]]
        assert sorted(answered) == sorted(expected), f"{case['name']}\n{case['query']}"


@pytest.mark.parametrize("seed", range(3))
def test_files_order_tasks_and_cuts_never_change_a_row(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    events, query = [
        (stock(3_000, companies=20, rate=8, ties=0.3, seed=seed), paper.Q1),
        (traffic(3_000, expressways=1, seed=seed), paper.Q3),
        (cluster(3_000, mappers=3, jobs=3, measurements=20, rate=30, seed=seed), paper.Q2),
    ][seed]
    shuffled = events.take(chance.sample(range(len(events)), len(events)))
    cuts = sorted(chance.sample(range(len(events)), 3))
    for at, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(events)], strict=True)):
        pq.write_table(shuffled.slice(start, stop - start), tmp_path / f"{at}.parquet")
    df = spark.read.parquet(str(tmp_path))
    answers = {
        (tasks, cut): greta.spark.aggregate(df, query, tasks=tasks, cut=cut).toArrow()
        for tasks, cut in ((1, None), (2, 0), (5, 0.5), (8, "measure"))
    }
    expected = rows(greta.aggregate(events, query))
    assert expected
    for how, answer in answers.items():
        assert rows(answer) == expected, how
        # Doubles to the last bit.
        assert sorted(map(repr, answer.to_pylist())) == sorted(map(repr, answers[1, None].to_pylist())), how


def test_a_query_without_partitions_is_cut_by_time_and_runs_in_several_tasks(spark: SparkSession) -> None:
    events = stock(2_000, companies=3, rate=20, seed=5)
    query = (
        "RETURN COUNT(*), MAX(S.price) PATTERN Stock S+ WHERE S.price < NEXT(S).price WITHIN 4 seconds SLIDE 1 second"
    )
    df = frame(spark, events)
    assert rows(greta.spark.aggregate(df, query, tasks=4).toArrow()) == rows(greta.aggregate(events, query))
    from greta.engine.job import Job
    from greta.spark.batch.ranges import plan_ranges

    ranges = plan_ranges((Job.bind(query, events.schema).plan,), None)
    assert ranges is not None
    assert ranges.length == 9_000


def test_several_queries_come_back_under_the_columns_of_all(spark: SparkSession) -> None:
    events = stock(1_000, companies=6, rate=10, seed=2)
    per_sector = "RETURN sector, COUNT(*) PATTERN Stock S+ WHERE [company] AND S.price > NEXT(S).price GROUP-BY sector"
    per_side = "RETURN side, SUM(S.volume) PATTERN SEQ(Stock S, Stock T) WHERE [side] GROUP-BY side WITHIN 10 seconds"
    df = frame(spark, events)
    answer = greta.spark.aggregate(df, {"falls": per_sector, "pairs": per_side})
    assert answer.columns == ["query", "window_start", "window_end", "sector", "count", "side", "sum_S_volume"]
    table = answer.toArrow()
    for name, query, columns in (
        ("falls", per_sector, ["sector", "count"]),
        ("pairs", per_side, ["side", "sum_S_volume"]),
    ):
        own = table.filter(pa.compute.equal(table["query"], name))
        expected = greta.aggregate(events, query)
        assert rows(own.select(["window_start", *columns])) == rows(expected.select(["window_start", *columns]))
    assert greta.spark.aggregate(df, [per_sector, per_sector]).select("query").distinct().count() == 2


def test_several_queries_read_and_shuffle_the_events_once(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(stock(100), tmp_path / "stock.parquet")
    queries = [
        "RETURN COUNT(*) PATTERN Stock S WHERE [company] WITHIN 1 minute",
        "RETURN COUNT(*) PATTERN Stock S WHERE [sector] WITHIN 5 minutes",
    ]
    plan = explained(greta.spark.aggregate(spark.read.parquet(str(tmp_path)), queries))
    assert plan.count("FileScan") == 1
    # One exchange brings partitions together, one the parts of groups.
    assert plan.count("Exchange") == 2


def explained(df: DataFrame) -> str:
    plan: str = df._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    return plan


def test_only_needed_columns_and_rows_are_read(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(stock(100), tmp_path / "stock.parquet")
    query = "RETURN COUNT(*) PATTERN Stock S+ WHERE [company] AND S.price > 5 AND S.price > NEXT(S).price"
    plan = explained(greta.spark.aggregate(spark.read.parquet(str(tmp_path)), query))
    assert "ReadSchema: struct<type:string,time:timestamp,company:string,price:double>" in plan
    pushed = plan.split("PushedFilters: [")[1].split("]")[0]
    assert "IsNotNull(company)" in pushed
    assert "GreaterThan(price,5.0)" in pushed
    assert "EqualTo(type,Stock)" in pushed


ATTRIBUTES = pa.schema(
    [
        ("type", pa.string()),
        ("time", pa.int64()),
        ("i", pa.int32()),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("d", pa.decimal128(10, 2)),
    ]
)


CONDITIONS = [
    "A.i > 1",
    "NOT A.i > 1",
    "A.i != 2 OR A.f < 0",
    "A.f / A.i > 1",
    "A.f % 2 = 1",
    "A.i * 1.5 > A.f AND NOT A.b",
    "A.i + 9223372036854775807 > 0",
    "A.s >= 'b'",
    "A.b",
    "NOT (A.f > 1 OR A.s = 'a')",
    "A.d = 1.5",
    "A.f = A.f",
    "-A.f < 0 AND A.i > 0",
]


def test_rows_dropped_before_the_shuffle_play_no_part(spark: SparkSession) -> None:
    from pyspark.sql.functions import coalesce, lit

    from greta.engine.job import Job
    from greta.spark.wire.filters import useful

    chance = random.Random(7)
    choices: dict[str, list[Any]] = {
        "i": [0, 1, 2, 3, None],
        "f": [0.0, -0.0, 1.5, -3.0, float("nan"), float("inf"), None],
        "s": ["a", "b", "é", "", None],
        "b": [True, False, None],
        "d": [Decimal("1.50"), Decimal("-2.00"), None],
    }
    events = [
        {"type": chance.choice("AAB"), "time": time, **{name: chance.choice(of) for name, of in choices.items()}}
        for time in range(80)
    ]
    table = pa.Table.from_pylist(events, schema=ATTRIBUTES)
    queries = [
        f"RETURN COUNT(*) PATTERN A{{1,2}} SEMANTICS {semantics} WHERE {condition}"
        for condition in CONDITIONS
        for semantics in ("skip-till-any-match", "skip-till-next-match")
    ]
    filters = [useful([Job.bind(query, table.schema).plan], "type") for query in queries]
    flags = [coalesce(kept, lit(False)).alias(f"q{at}") for at, kept in enumerate(filters) if kept is not None]
    assert len(flags) == len(queries)
    judged = frame(spark, table).select("time", *flags).orderBy("time").toArrow()
    dropped = 0
    for at, query in enumerate(queries):
        kept = table.filter(judged.column(f"q{at}"))
        dropped += len(table) - len(kept) - sum(event["type"] == "B" for event in events)
        assert greta.aggregate(kept, query).to_pylist() == greta.aggregate(table, query).to_pylist(), query
    assert dropped > 200


def test_extremes_keep_the_type_of_their_attribute(spark: SparkSession) -> None:
    rows_ = [("A", 1, 7, Decimal("1.50")), ("A", 2, 5, Decimal("-2.25"))]
    df = spark.createDataFrame(rows_, "type string, time long, i int, d decimal(10,2)")
    answer = greta.spark.aggregate(df, "RETURN MIN(A.i), MAX(A.d), MIN(A.type) PATTERN A SEMANTICS contiguous")
    assert answer.dtypes[2:] == [("min_A_i", "int"), ("max_A_d", "decimal(10,2)"), ("min_A_type", "string")]
    assert [tuple(row)[2:] for row in answer.collect()] == [(5, Decimal("1.50"), "A")]


@pytest.mark.parametrize(
    ("time", "kind"),
    [
        ("timestamp_seconds(id)", "timestamp"),
        ("TIMESTAMP_NTZ'1970-01-01' + make_dt_interval(0, 0, 0, id)", "timestamp_ntz"),
        ("CAST(id AS DOUBLE)", "double"),
    ],
)
def test_windows_keep_the_type_of_time_in_any_session_zone(spark: SparkSession, time: str, kind: str) -> None:
    df = spark.range(90_000, 90_060).selectExpr("'A' AS type", f"{time} AS time")
    answer = greta.spark.aggregate(df, "RETURN COUNT(*), MIN(A.time) PATTERN A WITHIN 1 minute SLIDE 30 seconds")
    assert dict(answer.dtypes)["window_start"] == kind
    assert dict(answer.dtypes)["min_A_time"] == kind
    seconds = {
        "timestamp": "unix_seconds(window_start)",
        "timestamp_ntz": "timestampdiff(SECOND, TIMESTAMP_NTZ'1970-01-01', window_start)",
        "double": "CAST(window_start AS BIGINT)",
    }[kind]
    found = answer.selectExpr(f"{seconds} AS start", "count").orderBy("start").collect()
    assert [tuple(row) for row in found] == [(89_970, 30), (90_000, 60), (90_030, 30)]


def test_exact_numbers_come_as_digits(spark: SparkSession) -> None:
    events = paper.prices(range(200, 0, -1))
    answer = greta.spark.aggregate(
        frame(spark, events), "RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price", numbers="exact"
    )
    assert [row["count"] for row in answer.collect()] == [str(2**200 - 1)]


def test_columns_may_have_any_name(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, "A", 1.0), (2, "A", 2.0)], "`t.i` int, `ty``pe` string, price double")
    answer = df.transform(
        greta.spark.aggregate, "RETURN COUNT(*) PATTERN A+ WHERE A.price < NEXT(A).price", time="t.i", type="ty`pe"
    )
    assert [row["count"] for row in answer.collect()] == [3.0]


def test_no_events_give_no_rows(spark: SparkSession) -> None:
    empty = spark.createDataFrame([], "time timestamp, type string, x double, g string")
    for query in ("RETURN COUNT(*) PATTERN A+ WITHIN 1 minute", "RETURN COUNT(*), MIN(A.x) PATTERN A+ WHERE [g]"):
        assert greta.spark.aggregate(empty, query).collect() == []
        assert greta.spark.aggregate(empty, [query]).collect() == []


@pytest.mark.parametrize(
    ("query", "options", "error", "message"),
    [
        ("RETURN COUNT(*) PATERN A+", {}, QuerySyntaxError, "PATTERN"),
        ("RETURN COUNT(*) PATTERN A+ WHERE A.pirce > 1", {}, SchemaError, "did you mean price"),
        ("RETURN COUNT(*) PATTERN A+ WHERE A.price > 'x'", {}, SchemaError, "compares a number with text"),
        ("RETURN COUNT(*) PATTERN A+", {"time": "tiem"}, SchemaError, "did you mean time"),
        ("RETURN COUNT(*) PATTERN A+", {"time": "type"}, GretaError, "must hold timestamps"),
        ("RETURN COUNT(*) PATTERN A+", {"numbers": "float"}, GretaError, "'double' or 'exact'"),
        ([], {}, GretaError, "no query"),
        (["RETURN MIN(A.price) AS m PATTERN A", "RETURN COUNT(*) AS m PATTERN A"], {}, None, ""),
        (["RETURN MIN(A.type) AS m PATTERN A", "RETURN COUNT(*) AS m PATTERN A"], {}, SchemaError, "column m"),
    ],
)
def test_mistakes_are_errors_before_any_job(
    spark: SparkSession, query: Any, options: dict[str, Any], error: type[Exception] | None, message: str
) -> None:
    df = spark.createDataFrame([], "time timestamp, type string, price double")
    if error is None:
        greta.spark.aggregate(df, query, **options)
        return
    with pytest.raises(error, match=message):
        greta.spark.aggregate(df, query, **options)
