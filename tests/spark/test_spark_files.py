"""Tasks that read Parquet by themselves give the rows of Spark's reader, or leave the files to it."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import greta
import greta.spark
from greta.cli import main
from greta.datasets import cluster, paper, stock, traffic
from greta.datasets.inputs import Input
from greta.errors import DataError, GretaError, SchemaError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

FALLS = (
    "RETURN sector, COUNT(*), SUM(S.price) PATTERN Stock S+ WHERE [company, sector] AND S.price > NEXT(S).price "
    "GROUP-BY sector WITHIN 1 minute SLIDE 20 seconds"
)


def plan(df: DataFrame) -> str:
    return str(df._jdf.queryExecution().executedPlan().toString())


def by_tasks(df: DataFrame) -> bool:
    """Whether tasks read the files, and Spark does not."""
    return "FileScan" not in plan(df)


def answers(spark: SparkSession, place: Path, query: Any, **options: Any) -> tuple[DataFrame, list[str], list[str]]:
    """The DataFrame of the files' door, its rows, and those of the DataFrame door, to the last bit."""
    read = greta.spark.aggregate_files(spark, place, query, **options)
    through_spark = greta.spark.aggregate(spark.read.parquet(str(place)), query, **options)
    assert read.schema == through_spark.schema
    return read, *(sorted(map(repr, df.toArrow().to_pylist())) for df in (read, through_spark))


@pytest.mark.parametrize("seed", range(3))
def test_files_read_by_tasks_give_the_rows_of_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    events, query = [
        (stock(3_000, companies=20, rate=8, ties=0.3, seed=seed), paper.Q1),
        (traffic(3_000, expressways=1, seed=seed), paper.Q3),
        (cluster(3_000, mappers=3, jobs=3, measurements=20, rate=30, seed=seed), paper.Q2),
    ][seed]
    for at in range(3):
        pq.write_table(events.slice(at * 1_000, 1_000), tmp_path / f"{at}.parquet", row_group_size=300)
    read, here, there = answers(spark, tmp_path, query)
    assert by_tasks(read)
    assert here == there
    assert here


def test_several_queries_read_the_files_once(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(stock(1_000, companies=5, rate=8, seed=1), tmp_path / "a.parquet", row_group_size=400)
    rising = FALLS.replace("[company, sector] AND S.price >", "[sector] AND S.price <")
    contiguous = "RETURN COUNT(*) PATTERN Halt H+ SEMANTICS contiguous WITHIN 1 minute"
    queries = {"falls": FALLS, "rises": rising, "halts": contiguous}
    assert plan(greta.spark.aggregate_files(spark, tmp_path, queries)).count("Range (0") == 1
    read, here, there = answers(spark, tmp_path, queries)
    assert by_tasks(read)
    assert here == there


def test_columns_of_every_type_come_as_spark_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    from datetime import UTC, date, datetime

    rows = [
        {
            "type": ["A", "B", None][at % 3],
            "time": datetime(2024, 1, 1, 0, 0, at % 50, 123, tzinfo=UTC),
            "day": date(2024, 1, 1 + at % 3),
            "text": [None, "", "Zoë", "x" * 40][at % 4],
            "whole": at - 30,
            "small": at % 7,
            "number": [float("nan"), -0.0, 1.5, None][at % 4],
            "money": Decimal(at) / 4,
            "truth": [True, False, None][at % 3],
        }
        for at in range(60)
    ]
    types = pa.schema(
        [
            ("type", pa.dictionary(pa.int8(), pa.string())),
            ("time", pa.timestamp("ms", "Europe/Berlin")),
            ("day", pa.date32()),
            ("text", pa.large_string()),
            ("whole", pa.int64()),
            ("small", pa.int16()),
            ("number", pa.float32()),
            ("money", pa.decimal128(12, 3)),
            ("truth", pa.bool_()),
        ]
    )
    pq.write_table(pa.Table.from_pylist(rows, types), tmp_path / "a.parquet", row_group_size=20)
    query = (
        "RETURN day, text, COUNT(*), MIN(A.money), MAX(A.time), MIN(A.day), SUM(A.small), MAX(A.number) PATTERN A+ "
        "WHERE [day, text] AND A.whole < NEXT(A).whole AND A.whole > -20 GROUP-BY day, text "
        "WITHIN 20 seconds SLIDE 10 seconds"
    )
    read, here, there = answers(spark, tmp_path, query)
    assert by_tasks(read)
    assert here == there
    assert here
    keyed = "RETURN COUNT(*), MAX(A.text) PATTERN A+ WHERE [truth, number, small] WITHIN 20 seconds"
    read, here, there = answers(spark, tmp_path, keyed, numbers="exact")
    assert by_tasks(read)
    assert here == there
    assert here


def sliced(df: DataFrame) -> bool:
    """Whether tasks answer slices of time by themselves: nothing is shuffled."""
    return by_tasks(df) and "Exchange" not in plan(df)


SEVERAL = {
    "falls": FALLS,
    "all": "RETURN COUNT(*), AVG(S.price) PATTERN Stock S+ WHERE S.price > NEXT(S).price WITHIN 8 seconds",
    "exact": "RETURN company, MAX(S.side) PATTERN Stock S+ WHERE [company] AND S.side = 'buy' "
    "GROUP-BY company WITHIN 30 seconds SLIDE 6 seconds",
}


@pytest.mark.parametrize("query", [*SEVERAL.values(), SEVERAL])
def test_files_in_order_of_time_are_answered_slice_by_slice_without_a_shuffle(
    spark: SparkSession, tmp_path: Path, query: Any
) -> None:
    events = stock(6_000, companies=20, rate=1.0, ties=0.3, seed=5)
    for at in range(3):
        pq.write_table(events.slice(at * 2_000, 2_000), tmp_path / f"{at}.parquet", row_group_size=300)
    read, here, there = answers(spark, tmp_path, query)
    assert sliced(read)
    assert here == there
    assert here
    assert not sliced(answers(spark, tmp_path, query, cut=0)[0])


def test_row_groups_in_no_order_of_time_or_in_long_windows_are_shuffled(spark: SparkSession, tmp_path: Path) -> None:
    events = stock(3_000, companies=20, rate=1.0, seed=6)
    pq.write_table(events, tmp_path / "a.parquet", row_group_size=100)
    long = FALLS.replace("1 minute SLIDE 20 seconds", "40 minutes SLIDE 10 minutes")
    for query in (long, "RETURN COUNT(*) PATTERN Stock S"):
        read, here, there = answers(spark, tmp_path, query)
        assert by_tasks(read)
        assert not sliced(read)
        assert here == there
    mixed = events.take([(at * 1_733) % 3_000 for at in range(2_999)])
    pq.write_table(mixed, tmp_path / "a.parquet", row_group_size=100)
    read, here, there = answers(spark, tmp_path, FALLS)
    assert not sliced(read)
    assert here == there


@pytest.mark.parametrize("kind", ["int64", "float64", "date32"])
def test_slices_of_times_that_are_numbers_or_dates(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    whole = pa.array(range(400))
    time = whole.cast(pa.int32()).cast(pa.date32()) if kind == "date32" else whole.cast(kind)
    table = pa.table({"type": ["A", "B"] * 200, "time": time, "x": [float(at % 7) for at in range(400)]})
    for type_ in ("A", "B"):
        rows = table.filter(pa.compute.field("type") == type_).drop_columns(["type"])
        pq.write_table(rows, tmp_path / f"{type_}.parquet", row_group_size=20)
    unit = "days" if kind == "date32" else "seconds"
    query = f"RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE A.x < NEXT(A).x WITHIN 12 {unit} SLIDE 5 {unit}"
    from greta.spark.batch.files import aggregate_inputs
    from greta.spark.batch.pipeline import BatchOptions
    from greta.spark.reading.inputs import read_events

    inputs = [Input(str(tmp_path / "A.parquet"), "A"), Input(str(tmp_path / "B.parquet"), "B")]
    events = read_events(spark, inputs)
    answer = aggregate_inputs(events.df, events.files, query, BatchOptions())
    assert sliced(answer)
    expected = greta.aggregate(table, query).to_pylist()
    found = [row.asDict() for row in answer.orderBy("window_start").collect()]
    assert [list(row.values())[2:] for row in found] == [list(row.values())[2:] for row in expected]


def test_an_event_of_no_query_needs_no_time_in_slices_either(spark: SparkSession, tmp_path: Path) -> None:
    events = stock(6_000, companies=20, rate=1.0, seed=5)
    types, times = (events.column(name).to_pylist() for name in ("type", "time"))
    types[100], times[100] = "Halt", None
    for name, values in (("type", types), ("time", times)):
        at = events.column_names.index(name)
        events = events.set_column(at, name, pa.array(values, events.schema.field(name).type))
    pq.write_table(events, tmp_path / "a.parquet", row_group_size=300)
    read, here, there = answers(spark, tmp_path, FALLS)
    assert sliced(read)
    assert here == there
    assert here


def test_row_groups_without_a_useful_event_are_not_read(tmp_path: Path, spark: SparkSession) -> None:
    from greta.engine.job import Job
    from greta.spark.reading.parquet import Files, Wanted, deal, useful_groups

    table = pa.table(
        {
            "type": ["A"] * 10 + ["B"] * 10 + ["A"] * 10,
            "time": list(range(30)),
            "x": [float(at) for at in range(30)],
            "k": [None] * 5 + ["k"] * 25,
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=5)
    df = spark.read.parquet(str(tmp_path))
    kinds = {field.name: field.dataType for field in df.schema.fields}

    def groups(query: str) -> list[int]:
        job = Job.bind(query, table.schema)
        wanted = Wanted({name: kinds[name] for name in job.schema.names}, (job.plan,), "time", "type")
        found = useful_groups([Files(df)], wanted)
        assert found is not None
        return sorted(number for hand in deal(found, 3) for portion in hand for number in portion.groups)

    assert groups("RETURN COUNT(*) PATTERN A+") == [0, 1, 4, 5]
    assert groups("RETURN COUNT(*) PATTERN A+ WHERE [k]") == [1, 4, 5]
    assert groups("RETURN COUNT(*) PATTERN A+ WHERE A.x >= 25") == [5]
    assert groups("RETURN COUNT(*) PATTERN A+ WHERE A.x < 5 OR A.x = 22.0") == [0, 4]
    assert groups("RETURN COUNT(*) PATTERN A+ WHERE 7 > A.x AND A.k = 'k'") == [1]
    assert groups("RETURN COUNT(*) PATTERN SEQ(A+, B)") == [0, 1, 2, 3, 4, 5]
    assert groups("RETURN COUNT(*) PATTERN C+") == []
    assert groups("RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous WHERE [k] AND A.x < 0") == [1, 2, 3, 4, 5]
    assert greta.spark.aggregate_files(spark, tmp_path, "RETURN COUNT(*) PATTERN C+").collect() == []
    for query in ("RETURN COUNT(*), SUM(A.x) PATTERN A+ WHERE [k] AND A.x > 6", "RETURN COUNT(*) PATTERN B"):
        read, here, there = answers(spark, tmp_path, query)
        assert by_tasks(read)
        assert here == there


def test_files_that_differ_are_read_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    events = stock(300, companies=3, rate=8, seed=2)
    lacking, parted = tmp_path / "lacking", tmp_path / "parted"
    lacking.mkdir()
    pq.write_table(events, lacking / "a.parquet")
    pq.write_table(events.drop_columns(["price"]), lacking / "b.parquet")
    read, here, there = answers(spark, lacking, FALLS)
    assert not by_tasks(read)
    assert here == there
    (parted / "sector=S").mkdir(parents=True)
    pq.write_table(events.drop_columns(["sector"]), parted / "sector=S" / "a.parquet")
    read, here, there = answers(spark, parted, FALLS)
    assert not by_tasks(read)
    assert here == there
    assert here


def test_mistakes_are_the_same_as_with_spark_and_name_the_file(spark: SparkSession, tmp_path: Path) -> None:
    from greta.spark.failures import explained

    with pytest.raises(DataError, match="no such path"):
        greta.spark.aggregate_files(spark, tmp_path / "nowhere", FALLS)
    with pytest.raises(DataError, match="no Parquet files"):
        greta.spark.aggregate_files(spark, tmp_path, FALLS)
    with pytest.raises(GretaError, match="no paths"):
        greta.spark.aggregate_files(spark, [], FALLS)
    pq.write_table(stock(300, companies=3, rate=8, seed=2), tmp_path / "a.parquet")
    with pytest.raises(SchemaError, match="prize"):
        greta.spark.aggregate_files(spark, tmp_path, FALLS.replace("price", "prize"))
    rows = greta.spark.aggregate_files(spark, tmp_path, FALLS)
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(Exception, match="has gone") as failure:
        rows.collect()
    assert "a.parquet: the file was there" in str(explained(failure.value))


def test_events_without_a_time_are_refused_with_their_file_or_skipped_and_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    from pyspark.sql import Observation

    from greta.spark.failures import explained

    table = pa.table(
        {"type": ["A"] * 6 + ["B"], "time": [1.0, None, 3.0, -1.0, float("nan"), 6.0, None], "k": ["x"] * 7}
    )
    pq.write_table(table, tmp_path / "bad.parquet")
    query = "RETURN k, COUNT(*) PATTERN A+ WHERE [k] GROUP-BY k WITHIN 10 seconds"
    df = spark.read.parquet(str(tmp_path))
    for rows, place in (
        (greta.spark.aggregate_files(spark, tmp_path, query), "bad.parquet: an event"),
        (greta.spark.aggregate(df, query), "'k': 'x'"),
    ):
        with pytest.raises(Exception, match="no readable time") as failure:
            rows.collect()
        message = str(explained(failure.value))
        assert place in message
        assert "bad_records='skip'" in message
    for door in (
        lambda **o: greta.spark.aggregate_files(spark, tmp_path, query, **o),
        lambda **o: greta.spark.aggregate(df, query, **o),
    ):
        observation = Observation()
        assert [row["count"] for row in door(bad_records="skip", observation=observation).collect()] == [7.0]
        # The B is none of the query's events.
        assert observation.get["bad_records"] == 3
        assert [row["count"] for row in door(bad_records="skip").collect()] == [7.0]
    with pytest.raises(GretaError, match="'stop' or 'skip'"):
        greta.spark.aggregate(df, query, bad_records="perhaps")  # type: ignore[arg-type]


def test_fields_of_structures_are_attributes_in_every_door(spark: SparkSession, tmp_path: Path) -> None:
    events = stock(400, companies=4, rate=8, seed=4)
    nested = pa.table(
        {
            "type": events["type"],
            "time": events["time"],
            "payload": pa.StructArray.from_arrays(
                [
                    events["price"].combine_chunks(),
                    pa.StructArray.from_arrays([events["sector"].combine_chunks()], ["sector"]),
                ],
                ["price", "of"],
            ),
        }
    )
    pq.write_table(nested, tmp_path / "a.parquet")
    falls = (
        "RETURN sector, COUNT(*), MAX(S.price) AS top PATTERN Stock S+ WHERE [sector] AND S.price > NEXT(S).price "
        "GROUP-BY sector WITHIN 1 minute"
    )
    query = falls.replace("S.price", "S.payload.price").replace("NEXT(S).price", "NEXT(S).payload.price")
    query = query.replace("sector", '"payload.of.sector"')

    def plain(table: pa.Table) -> list[str]:
        return sorted(repr(list(row.values())[2:]) for row in table.to_pylist())

    expected = plain(greta.aggregate(events, falls))
    assert expected
    assert plain(greta.aggregate(nested, query)) == expected
    assert plain(greta.spark.aggregate(spark.read.parquet(str(tmp_path)), query).toArrow()) == expected
    assert plain(greta.spark.aggregate_files(spark, tmp_path, query).toArrow()) == expected


def test_time_and_type_may_be_fields_of_structures_too(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    rows = [{"e": {"kind": "A", "at": f"2024-01-02T09:30:0{at}Z", "x": {"y": at}}, "z": [1]} for at in range(4)]
    rows.append({"e": {"kind": "B", "at": "2025-01-01T00:00:00Z", "x": {"y": 0}}, "z": []})
    file = tmp_path / "in" / "events.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    query = "RETURN SUM(A.e.x.y) AS total PATTERN A+ WHERE A.e.x.y < NEXT(A).e.x.y WITHIN 1 minute"
    columns = ("--time", "e.at", "--type", "e.kind")
    for engine in ("local", "spark"):
        with pytest.raises(SystemExit, match="0"):
            main(["run", query, "-i", str(file), "--engine", engine, "--json", "--quiet", *columns])
        assert [json.loads(line)["total"] for line in capsys.readouterr().out.splitlines()] == [48.0], engine
    output, state = str(tmp_path / "out"), str(tmp_path / "state")
    places = ("-i", str(tmp_path / "in"), "-o", output, "--checkpoint", state, "--available-now", "--quiet")
    (tmp_path / "query.greta").write_text(query)
    with pytest.raises(SystemExit, match="0"):
        main(["stream", str(tmp_path / "query.greta"), *places, *columns])
    assert [row["total"] for row in spark.read.parquet(output).collect()] == [48.0]
