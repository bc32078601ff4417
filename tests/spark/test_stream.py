"""Streams on real Spark: the rows of a batch, once each, whatever the cuts, the disorder and the failures."""

import dataclasses
import json
import os
import random
import re
import signal
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import greta
from greta.errors import DataError, QueryMeaningError, SetupError, StateError
from greta.lang.nodes import Equivalence, EquivalenceAttribute, GroupAttribute, Query, ReturnAttribute
from support.spark_streams import Stream, disordered, random_parts

pyspark = pytest.importorskip("pyspark")
from pyspark.errors import StreamingQueryException  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402

from greta.spark.stream import aggregate_stream  # noqa: E402
from greta.spark.stream.run import explained  # noqa: E402

pytestmark = pytest.mark.spark

FALLING = """\
RETURN sector, COUNT(*) AS trends, MAX(S.price) AS top
PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 10 seconds SLIDE 5 seconds
"""
START = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)


def trades(count: int, seed: int = 0, seconds: float = 60.0) -> pa.Table:
    """Trades of a few companies at random times, in order."""
    draw = random.Random(seed)
    times = sorted(draw.random() * seconds for _ in range(count))
    companies = [draw.randrange(6) for _ in times]
    return pa.table(
        {
            "type": ["Stock" if draw.random() < 0.9 else "Halt" for _ in times],
            "time": pa.array([START + timedelta(seconds=time) for time in times], pa.timestamp("us", "UTC")),
            "company": [f"c{company}" for company in companies],
            "sector": [f"s{company % 2}" for company in companies],
            "price": pa.array([draw.randrange(50) for _ in times], pa.int64()),
        }
    )


def comparable(rows: list[dict[str, Any]], *hidden: str) -> list[tuple[Any, ...]]:
    """Rows as sorted tuples, instants as seconds."""
    return sorted(
        (
            tuple(
                value.astimezone(UTC).timestamp() if isinstance(value, datetime) else value
                for name, value in sorted(row.items())
                if name not in hidden
            )
            for row in rows
        ),
        key=repr,
    )


def batch(table: pa.Table, query: str | Query, numbers: Any = "double") -> list[tuple[Any, ...]]:
    return comparable(greta.aggregate(table, query, numbers=numbers).to_pylist())


def with_case(query: str) -> Query:
    """The query with every trend inside one case, and rows that say of which."""
    parsed = greta.parse(query)
    return dataclasses.replace(
        parsed,
        returns=(ReturnAttribute("case"), *parsed.returns),
        where=(Equivalence((EquivalenceAttribute(None, "case"),)), *parsed.where),
        group_by=(*parsed.group_by, GroupAttribute("case")),
    )


def worked_cases() -> list[dict[str, Any]]:
    files = sorted((Path(__file__).parent.parent / "conformance").glob("*.json"))
    return [case for file in files for case in json.loads(file.read_text("utf-8"))]


def judge_cases(spark: SparkSession, place: Path, cases: list[dict[str, Any]], seed: int) -> None:
    """All queries over the events of all cases, in one stream: every query is judged on every case's events."""
    draw = random.Random(seed)
    names = dict.fromkeys(name for case in cases for event in case["events"] for name in event)
    events = [
        dict.fromkeys(names) | event | {"case": number} for number, case in enumerate(cases) for event in case["events"]
    ]
    table = pa.Table.from_pylist(events)
    # Columns o0, o1, … mean something else in every case, and may be of another type.
    queries = {
        case["name"]: with_case(re.sub(r"\bAS (o\d+)\b", rf"AS \1_{number}", case["query"]))
        for number, case in enumerate(cases)
    }
    stream = Stream(place, table.schema)
    stream.add(*random_parts(disordered(table, 3, draw), 5, draw))
    stream.flush()
    # Some cases name columns min_A, others min_a: Parquet files keep them apart only where case matters to Spark.
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        stream.run(aggregate_stream(stream.read(spark), queries, lateness="3 seconds", buckets=2))
        rows_of_all = stream.rows(spark)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    assert sum(stream.figures("late_events")) == 0
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in queries}
    for row in rows_of_all:
        found[row.pop("query")].append(row)
    for name, query in queries.items():
        expected = greta.aggregate(table, query)
        rows = [{column: row[column] for column in expected.column_names} for row in found[name]]
        assert comparable(rows) == comparable(expected.to_pylist()), name
    assert any(found.values())


def test_random_cuts_and_disorder_give_the_rows_of_a_batch_on_worked_cases(spark: SparkSession, tmp_path: Path) -> None:
    judge_cases(spark, tmp_path, random.Random(1).sample(worked_cases(), 20), seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_random_cuts_and_disorder_give_the_rows_of_a_batch_on_all_worked_cases(
    spark: SparkSession, tmp_path: Path, part: int
) -> None:
    judge_cases(spark, tmp_path, worked_cases()[part::16], seed=part)


@pytest.fixture
def stream(tmp_path: Path) -> Stream:
    return Stream(tmp_path, trades(1).schema)


def test_groups_in_several_buckets_come_out_whole_and_state_vanishes_with_the_windows(
    spark: SparkSession, stream: Stream
) -> None:
    draw = random.Random(5)
    table = trades(400, seed=5)
    stream.add(*random_parts(disordered(table, 4, draw), 4, draw))
    stream.flush()
    stream.run(aggregate_stream(stream.read(spark), FALLING, lateness="4 seconds", buckets=5, numbers="exact"))
    assert comparable(stream.rows(spark)) == batch(table, FALLING, "exact")
    assert max(stream.figures("state_rows")) > 50
    assert max(stream.figures("open_windows")) >= 3
    assert stream.figures("state_rows")[-1] == 0
    assert stream.figures("oldest_window")[-1] is None
    # Not only greta says so: nothing is left in Spark's own store.
    assert stream.progress[-1]["stateOperators"][0]["numRowsTotal"] == 0


def test_columns_whose_names_differ_in_case_alone_stay_apart(spark: SparkSession, stream: Stream) -> None:
    table = trades(100, seed=12)
    stream.add(table)
    stream.flush()
    query = FALLING.replace("COUNT(*) AS trends", "MIN(S.price) AS TOP")
    found: list[tuple[Any, ...]] = []

    def keep(rows: DataFrame, _: int) -> None:
        found.extend((row[0].timestamp(), *row[2:]) for row in rows.collect())

    stream.run_writer(
        aggregate_stream(stream.read(spark), query, lateness="0 seconds", buckets=2).writeStream.foreachBatch(keep)
    )
    expected = greta.aggregate(table, query)
    assert expected.column_names[2:] == ["sector", "TOP", "top"]
    assert sorted(found) == sorted(
        (row[0].timestamp(), *row[2:]) for row in zip(*(column.to_pylist() for column in expected.columns), strict=True)
    )


def test_events_that_play_no_part_are_left_out_before_they_are_packed_and_still_move_time_on(
    spark: SparkSession, stream: Stream
) -> None:
    query = FALLING.replace("[company, sector]", "[company, sector] AND S.price > 20")
    table = trades(200, seed=3)
    stream.add(table)
    stream.flush()
    rows = aggregate_stream(stream.read(spark), query, lateness="5 seconds", buckets=2)
    plan = rows._jdf.queryExecution().analyzed().toString()
    assert "20" in plan[plan.index("Filter") : plan.index("EventTimeWatermark")]
    stream.run(rows)
    # The last event is of no type that the query names, and closes all windows.
    assert comparable(stream.rows(spark)) == batch(table, query)


def test_late_events_are_dropped_counted_and_kept_aside(spark: SparkSession, stream: Stream) -> None:
    table = trades(200, seed=2)
    early, later, straggler = table.slice(0, 120), table.slice(150), table.slice(120, 30)
    relevant = sum(kind == "Stock" for kind in straggler.column("type").to_pylist())
    stream.add(early, later, straggler)
    stream.flush()
    aside = stream.place / "late"
    rows = aggregate_stream(stream.read(spark), FALLING, lateness="1 second", buckets=2, late_events=str(aside))
    stream.run(rows)
    assert comparable(stream.rows(spark)) == batch(pa.concat_tables([early, later]), FALLING)
    assert sum(stream.figures("late_events")) == relevant
    kept = pq.read_table(aside)
    assert kept.num_rows == relevant
    assert set(kept.column("time").to_pylist()) <= {
        time.replace(tzinfo=None) for time in straggler.column("time").to_pylist()
    }


def test_early_rows_are_marked_and_agree_with_a_batch_over_what_has_come(spark: SparkSession, stream: Stream) -> None:
    table = trades(120, seed=3, seconds=20)
    stream.add(table.slice(0, 70), table.slice(70))
    stream.flush()
    stream.run(aggregate_stream(stream.read(spark), FALLING, lateness="0 seconds", buckets=2, emit="update"))
    rows = stream.rows(spark)
    final = [row for row in rows if row["final"]]
    assert comparable(final, "final") == batch(table, FALLING)
    early = comparable([row for row in rows if not row["final"]], "final")
    # Windows that the first micro-batch's own events have ended are final in it, all others early.
    first = set(batch(table.slice(0, 70), FALLING))
    assert first <= {*early, *comparable(final, "final")}
    assert first & set(early)


def test_a_restart_goes_on_where_the_stream_ended(spark: SparkSession, stream: Stream) -> None:
    table = trades(300, seed=4)
    for low in (0, 100, 200):
        stream.add(table.slice(low, 100))
        if low == 200:
            stream.flush()
        stream.run(
            aggregate_stream(stream.read(spark), FALLING, lateness="0 seconds", buckets=2, checkpoint=stream.checkpoint)
        )
    assert comparable(stream.rows(spark)) == batch(table, FALLING)


def test_a_query_that_the_state_cannot_serve_is_refused_at_start(spark: SparkSession, stream: Stream) -> None:
    stream.add(trades(50))
    stream.run(aggregate_stream(stream.read(spark), FALLING, lateness="0 seconds", checkpoint=stream.checkpoint))
    longer = FALLING.replace("WITHIN 10", "WITHIN 20")
    with pytest.raises(StateError, match="belongs to another query: its window"):
        aggregate_stream(stream.read(spark), longer, lateness="0 seconds", checkpoint=stream.checkpoint)
    with pytest.raises(StateError, match="its buckets is 8, now 3"):
        aggregate_stream(stream.read(spark), FALLING, lateness="0 seconds", checkpoint=stream.checkpoint, buckets=3)
    served = FALLING.replace("WITHIN", "HAVING COUNT(*) > 3\nWITHIN").replace("S.price > NEXT", "S.price >= NEXT")
    aggregate_stream(stream.read(spark), served, lateness="0 seconds", checkpoint=stream.checkpoint)
    # Without the note, the state itself refuses.
    stream.add(trades(50, seed=9))
    with pytest.raises(StreamingQueryException) as failure:
        stream.run(aggregate_stream(stream.read(spark), longer, lateness="0 seconds"))
    assert "stored for another query" in str(explained(failure.value))


@pytest.mark.parametrize("choice", ["stop", "skip"])
def test_a_record_without_a_time_stops_the_stream_or_is_skipped_and_counted(
    spark: SparkSession, stream: Stream, choice: Any
) -> None:
    table = trades(80, seed=6)
    field = stream.schema.field("time")
    poisoned = table.slice(0, 1).set_column(1, field, pa.nulls(1, field.type))
    stream.add(table.slice(0, 40), pa.concat_tables([poisoned, table.slice(40)]))
    stream.flush()

    def rows() -> DataFrame:
        return aggregate_stream(stream.read(spark), FALLING, lateness="0 seconds", buckets=2, bad_records=choice)

    if choice == "skip":
        stream.run(rows())
        assert sum(stream.figures("bad_records")) == 1
        assert comparable(stream.rows(spark)) == batch(table, FALLING)
    else:
        with pytest.raises(StreamingQueryException) as failure:
            stream.run(rows())
        assert isinstance(explained(failure.value), DataError)
        assert "no readable time in column 'time'" in str(explained(failure.value))


def test_a_stream_needs_a_window_and_a_watermark(spark: SparkSession, stream: Stream) -> None:
    stream.add(trades(5))
    events = stream.read(spark)
    with pytest.raises(QueryMeaningError, match="needs WITHIN"):
        aggregate_stream(events, "RETURN COUNT(*) PATTERN Stock S+", lateness="1 second")
    with pytest.raises(DataError, match="no watermark on its time column"):
        aggregate_stream(events, FALLING)
    marked = events.withWatermark("time", "1 second")
    assert aggregate_stream(marked, FALLING).isStreaming
    with pytest.raises(DataError, match="already has a watermark"):
        aggregate_stream(marked, FALLING, lateness="1 second")


def once_into_sqlite(file: Path, crash_after: int | None = None) -> Any:
    """The documented recipe: rows and the micro-batch's number in one transaction."""

    def write(rows: DataFrame, number: int) -> None:
        found = [tuple(row) for row in rows.collect()]
        with sqlite3.connect(file) as database:
            database.execute("CREATE TABLE IF NOT EXISTS written (batch INTEGER PRIMARY KEY)")
            database.execute("CREATE TABLE IF NOT EXISTS falling (start, stop, sector, trends, top)")
            if database.execute("INSERT OR IGNORE INTO written VALUES (?)", (number,)).rowcount:
                database.executemany("INSERT INTO falling VALUES (?, ?, ?, ?, ?)", found)
        database.close()
        if number == crash_after:
            raise OSError("the driver dies after the transaction, before Spark knows of it")

    return write


@pytest.mark.filterwarnings("ignore:.*default datetime adapter.*:DeprecationWarning")
def test_a_database_has_every_row_once_though_a_micro_batch_ran_twice(spark: SparkSession, stream: Stream) -> None:
    table = trades(300, seed=7)
    stream.add(*random_parts(table, 3, random.Random(7)))
    stream.flush()
    file = stream.place / "rows.sqlite"
    for crash_after in (1, 2, None):
        rows = aggregate_stream(stream.read(spark), FALLING, lateness="0 seconds", buckets=3)
        writer = rows.writeStream.foreachBatch(once_into_sqlite(file, crash_after))
        if crash_after is None:
            stream.run_writer(writer)
        else:
            with pytest.raises(StreamingQueryException, match="the driver dies"):
                stream.run_writer(writer)
    with sqlite3.connect(file) as database:
        found = database.execute("SELECT sector, trends, top FROM falling").fetchall()
    database.close()
    expected = [(row["sector"], row["trends"], row["top"]) for row in greta.aggregate(table, FALLING).to_pylist()]
    assert sorted(found) == sorted(expected)


def kill_once(flag: Path) -> Any:
    def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch_ in batches:
            yield batch_
            if flag.exists():
                flag.unlink()
                os.kill(os.getpid(), signal.SIGKILL)

    return pass_on


def test_a_worker_killed_in_the_middle_of_a_micro_batch_loses_nothing(spark: SparkSession, stream: Stream) -> None:
    table = trades(300, seed=8)
    stream.add(*random_parts(table, 3, random.Random(8)))
    stream.flush()
    flag = stream.place / "kill"

    def rows() -> DataFrame:
        events = stream.read(spark)
        risky = events.mapInArrow(kill_once(flag), events.schema)
        return aggregate_stream(risky, FALLING, lateness="0 seconds", buckets=3)

    flag.touch()
    with pytest.raises(StreamingQueryException):
        stream.run(rows())
    assert not flag.exists()
    stream.run(rows())
    assert comparable(stream.rows(spark)) == batch(table, FALLING)


def test_a_checkpoint_that_cannot_be_written_is_said_clearly_and_resumed_later(
    spark: SparkSession, stream: Stream
) -> None:
    table = trades(200, seed=10)
    stream.add(table.slice(0, 100))
    blocked = stream.place / "file"
    blocked.touch()
    with pytest.raises(SetupError, match="cannot be used"):
        aggregate_stream(
            stream.read(spark), FALLING, lateness="0 seconds", buckets=2, checkpoint=str(blocked / "checkpoint")
        )

    def run() -> None:
        stream.run(
            aggregate_stream(stream.read(spark), FALLING, lateness="0 seconds", buckets=2, checkpoint=stream.checkpoint)
        )

    run()
    stream.add(table.slice(100))
    stream.flush()
    commits, aside = Path(stream.checkpoint) / "commits", stream.place / "aside"
    commits.rename(aside)
    commits.touch()
    with pytest.raises(Exception) as failure:  # noqa: PT011 - Spark raises it from wherever it met the file
        run()
    assert "same checkpoint" in str(explained(failure.value))
    commits.unlink()
    aside.rename(commits)
    run()
    assert comparable(stream.rows(spark)) == batch(table, FALLING)
