"""Rows of a stream in Delta and Iceberg tables: every row once, also where a driver dies between the two commits."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from test_operating import Receiver
from test_stream import FALLING, batch, comparable, trades
from test_stream_kill import command, inside

pytest.importorskip("pyspark")
pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")

from deltalake import DeltaTable as Delta
from deltalake import write_deltalake
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config

from greta.errors import DataError, SetupError
from greta.spark.stream import aggregate_stream
from greta.spark.stream.tables import NAME, DeltaTable, IcebergTable, is_table, open_table, stream_name, write_table
from support.spark_streams import Stream

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("window_end", pa.timestamp("us", "UTC")), ("company", pa.string()), ("trends", pa.float64())])
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def rows_of(*trends: float) -> pa.Table:
    return pa.table([[NOON] * len(trends), ["c0"] * len(trends), list(trends)], schema=SCHEMA)


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A catalog in a file, described as PyIceberg's users describe theirs."""
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", (tmp_path / "warehouse").as_uri())
    # PyIceberg reads them when it is imported.
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    return "lake"


@pytest.fixture(params=["delta", "iceberg"])
def place(request: pytest.FixtureRequest, catalog: str, tmp_path: Path) -> str:
    return f"delta:{tmp_path}/table" if request.param == "delta" else f"iceberg:{catalog}.trends.falling"


def content(place: str) -> list[dict[str, Any]]:
    kind, _, rest = place.partition(":")
    if kind == "delta":
        found: list[dict[str, Any]] = Delta(rest).to_pyarrow_table().to_pylist()
        return found
    catalog, _, name = rest.partition(".")
    return list(load_catalog(catalog).load_table(name).scan().to_arrow().to_pylist())


def test_a_micro_batch_that_is_there_is_not_written_again(place: str) -> None:
    table = open_table(place, SCHEMA)
    table.prepare()
    table.append(rows_of(1, 2), "one", 0)
    table.append(rows_of(3), "one", 1)
    table.append(rows_of(3), "one", 1)
    table.append(rows_of(1, 2), "one", 0)
    table.append(rows_of(4), "another", 0)
    assert sorted(row["trends"] for row in content(place)) == [1, 2, 3, 4]


def test_the_order_of_a_tables_columns_is_its_own(place: str) -> None:
    other = pa.schema([SCHEMA.field("trends"), SCHEMA.field("company"), SCHEMA.field("window_end")])
    open_table(place, other).prepare()
    table = open_table(place, SCHEMA)
    table.prepare()
    table.append(rows_of(1), "one", 0)
    assert content(place) == [{"trends": 1.0, "company": "c0", "window_end": NOON}]


def test_small_integers_come_into_any_table(spark: Any, place: str, tmp_path: Path) -> None:
    # Iceberg has no integers of 8 and 16 bits.
    table = pa.table({"tiny": pa.array([-128, None], pa.int8()), "small": pa.array([None, 32767], pa.int16())})
    stream = Stream(tmp_path / "stream", table.schema)
    stream.add(table)
    for _ in range(2):
        # The second time, the table is there.
        stream.run_writer(write_table(place, stream.read(spark), stream.checkpoint))
    assert content(place) == table.to_pylist()


def test_a_table_with_other_columns_is_refused_before_anything_is_written(place: str) -> None:
    other = pa.schema([("window_end", pa.string()), ("company", pa.string()), ("sector", pa.string())])
    open_table(place, other).prepare()
    with pytest.raises(DataError, match="the table has other columns than the rows") as caught:
        open_table(place, SCHEMA).prepare()
    assert str(caught.value).splitlines()[0].partition("rows: ")[2] == (
        "it lacks trends (double); the rows lack sector (string); "
        "its window_end is string, that of the rows timestamp[us, tz=UTC]"
    )
    assert content(place) == []


def test_two_streams_write_into_one_table_at_the_same_time(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = open_table(place, SCHEMA)
    table.prepare()
    if isinstance(table, IcebergTable):
        # Another commit between the look at the table and the commit of the first attempt.
        from pyiceberg.table import Transaction

        append, pending = Transaction.append, [lambda: table.append(rows_of(7), "another", 0)]

        def delayed(self: Transaction, rows: pa.Table) -> None:
            append(self, rows)
            if pending:
                pending.pop()()

        monkeypatch.setattr(Transaction, "append", delayed)
    table.append(rows_of(1), "one", 0)
    assert 1.0 in [row["trends"] for row in content(place)]
    if isinstance(table, IcebergTable):
        assert sorted(row["trends"] for row in content(place)) == [1, 7]


def test_a_partitioned_table_gets_rows_as_any_other(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "table", rows_of(1), partition_by=["company"])
    table = DeltaTable(str(tmp_path / "table"), SCHEMA)
    table.prepare()
    table.append(rows_of(2), "one", 0)
    assert sorted(row["trends"] for row in content(f"delta:{tmp_path}/table")) == [1, 2]


def test_a_new_checkpoint_is_a_new_stream(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    name = stream_name(str(checkpoint))
    assert stream_name(checkpoint.as_uri()) == name == (checkpoint / NAME).read_text()
    shutil.rmtree(checkpoint)
    assert stream_name(str(checkpoint)) != name
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="cannot be used for a table"):
        stream_name(str(tmp_path / "file" / "checkpoint"))


def test_what_is_missing_is_said(catalog: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_table("delta:rows")
    assert is_table("iceberg:a.b.c")
    assert not is_table("kafka:a:1/t")
    with pytest.raises(DataError, match="iceberg:falling names no table"):
        IcebergTable("falling", SCHEMA).prepare()
    with pytest.raises(SetupError, match="there is no catalog 'pond'"):
        IcebergTable("pond.trends.falling", SCHEMA).prepare()
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="the table cannot be opened or made"):
        DeltaTable(str(tmp_path / "file"), SCHEMA).prepare()
    monkeypatch.setattr("greta.spark.stream.tables.find_spec", lambda _: None)
    with pytest.raises(SetupError, match=r"greta-trends\[delta\]"):
        open_table("delta:rows", SCHEMA)


def test_a_driver_that_dies_between_the_two_commits_writes_every_row_once(
    spark: Any, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = trades(200, seed=5)
    stream = Stream(tmp_path / "stream", table.schema)
    stream.add(table.slice(0, 120), table.slice(120))
    stream.flush()

    def run() -> None:
        rows = aggregate_stream(stream.read(spark), FALLING, lateness="2 seconds", buckets=2)
        stream.run_writer(write_table(place, rows, stream.checkpoint))

    kind = DeltaTable if place.startswith("delta") else IcebergTable
    append, dying = kind.append, [True]

    def append_and_die(self: Any, rows: pa.Table, name: str, number: int) -> None:
        append(self, rows, name, number)
        if dying:
            dying.pop()
            raise KeyError("the power is off")

    monkeypatch.setattr(kind, "append", append_and_die)
    with pytest.raises(Exception, match="the power is off"):
        run()
    assert content(place)
    run()
    assert comparable(content(place)) == batch(table, FALLING)


def test_the_command_line_writes_into_a_table_serves_figures_and_posts_rows(
    spark: Any, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = trades(200, seed=6)
    stream = Stream(tmp_path / "stream", table.schema)
    stream.add(table)
    stream.flush()
    with Receiver() as receiver:
        arguments = command(stream, "--metrics", "0", "--alert", receiver.address)[4:]
        arguments[arguments.index("--output") + 1] = place
        assert inside(*arguments) == 0
        said = capsys.readouterr().err
        assert "figures are at http://127.0.0.1:" in said
        assert inside(*arguments) == 0
        receiver.shutdown()
    expected = batch(table, FALLING)
    assert expected
    assert comparable(content(place)) == expected
    assert len(receiver.taken) == len({key for key, _ in receiver.taken}) == len(expected)
