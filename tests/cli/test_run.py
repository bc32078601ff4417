"""``greta run`` in this process: inputs, outputs, mistakes and warnings, without Spark."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import greta
from greta.cli import main
from greta.cli.engines import MOST_BYTES, Engine, choose
from greta.cli.rows import word
from greta.datasets import paper, stock, write
from greta.datasets.inputs import Input

FALLS = "RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price"
HEADER = "type,time,price\n"


def run(*arguments: object) -> int:
    try:
        main(["run", *map(str, arguments)])
    except SystemExit as left:
        return int(left.code or 0)
    return 0


@pytest.fixture
def trades(tmp_path: Path) -> Path:
    file = tmp_path / "trades.csv"
    file.write_text(HEADER + "Stock,1,3.5\nStock,2,2.5\nStock,3,1.5\n")
    return file


def counted(text: str) -> list[float]:
    return [json.loads(line)["count"] for line in text.splitlines()]


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "json", "ndjson"])
def test_what_generate_writes_is_read(tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / f"stock.{ending}"
    with pytest.raises(SystemExit, match="0"):
        main(["generate", "stock", "-n", "300", "-o", str(file), "--quiet"])
    assert run(paper.Q1, "-i", file, "--json") == 0
    said = capsys.readouterr()
    expected = greta.aggregate(stock(300), paper.Q1)
    assert sorted(counted(said.out)) == sorted(expected.column("count").to_pylist())
    assert said.err.startswith("running in this process: ")


@pytest.mark.parametrize("format_", ["parquet", "csv", "jsonl"])
def test_the_formats_of_generate_are_formats_of_run(
    tmp_path: Path, format_: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(stock(100), tmp_path / "events", format=format_)
    assert run(paper.Q1, "-i", tmp_path / "events", "--format", format_, "--json", "-q") == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == greta.aggregate(stock(100), paper.Q1).num_rows
    assert said.err == ""


def test_a_directory_and_a_pattern_are_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(stock(100), tmp_path / "parts", format="csv", files=3)
    answers = []
    for path in (tmp_path / "parts", f"{tmp_path}/parts/*.csv"):
        assert run(paper.Q1, "-i", path, "--json") == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1] != ""


@pytest.mark.parametrize(
    "events",
    [HEADER + "Stock,1,3\nStock,2,2\n", '{"type":"Stock","time":1,"price":3}\n{"type":"Stock","time":2,"price":2}\n'],
    ids=["csv", "json"],
)
def test_events_come_from_standard_input(
    events: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(events.encode())))
    assert run(FALLS, "-i", "-", "--json") == 0
    said = capsys.readouterr()
    assert counted(said.out) == [3.0]
    assert "the events come from standard input" in said.err


def test_errors_call_standard_input_stdin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"type,time,price\nStock,1,2\nStock,soon,3\n")))
    assert run(FALLS, "-i", "-") == 1
    assert capsys.readouterr().err.splitlines()[1].startswith("stdin:3: column time: 'soon'")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"type,at,price\nStock,1,2\n")))
    assert run(FALLS, "-i", "-") == 1
    assert "stdin: the events have no time column 'time'" in capsys.readouterr().err


def test_several_inputs_give_events_their_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"at": [1, 2], "x": [1.0, 2.0]}), tmp_path / "a.parquet")
    (tmp_path / "b.jsonl").write_text('{"at": 3}\n{"at": 4}\n')
    query = "RETURN COUNT(*) AS n, MAX(A.x) AS x, MAX(A.at) AS t PATTERN SEQ(A+, B)"
    assert run(query, "-i", f"A={tmp_path}/a.parquet", "-i", f"B={tmp_path}/*.jsonl", "--time", "at", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"window_start": None, "window_end": None, "n": 6.0, "x": 2.0, "t": 2}


def test_numbers_become_times_by_their_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trades.csv"
    file.write_text(HEADER + "Stock,1704187800000,3\nStock,1704187801000,2\n")
    query = FALLS + " WITHIN 10 seconds"
    assert run(query, "-i", file, "--time-unit", "ms", "--json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["window_start"] == "2024-01-02T09:30:00Z"
    assert "warning" not in said.err
    assert run(query, "-i", file, "--show", 0) == 0
    assert "since 1970 (hint: " in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_rows_are_written_into_one_file(tmp_path: Path, trades: Path, ending: str) -> None:
    out = tmp_path / f"rows.{ending}"
    assert run(FALLS, "-i", trades, "-o", out) == 0
    match ending:
        case "csv":
            counts = [float(row["count"]) for row in csv.DictReader(io.StringIO(out.read_text()))]
        case "parquet":
            counts = pq.read_table(out).column("count").to_pylist()
        case _:
            counts = counted(out.read_text())
    assert counts == [7.0]


@pytest.mark.parametrize("name", ["rows.xlsx", "rows.csv.gz", "rows.TXT"])
def test_a_file_of_another_kind_does_not_become_a_directory(
    tmp_path: Path, trades: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(FALLS, "-i", trades, "-o", tmp_path / name) == 2
    assert ".csv, .parquet or .json" in capsys.readouterr().err
    assert not (tmp_path / name).exists()


def test_rows_are_written_into_a_directory(tmp_path: Path, trades: Path) -> None:
    out = tmp_path / "rows"
    for _ in range(2):
        assert run(FALLS, "-i", trades, "-o", out, "--overwrite") == 0
        assert pq.read_table(out).column("count").to_pylist() == [7.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["RETURN COUNT(*) PATERN A"], "did you mean PATTERN?"),
        (["RETURN COUNT(*) PATTERN Stock S WHERE S.pirce > 1"], "did you mean price?"),
        (
            [FALLS, "--time", "at"],
            "no time column 'at' (columns: type, time, price)\nhint: name the column with --time",
        ),
        ([FALLS, "--type", "tpye"], "did you mean type?"),
        ([FALLS, "-i", "nowhere.csv"], "nowhere.csv: there is no such path"),
        ([FALLS, "-o", "out.csv"], "out.csv: is there already\nhint: replace it with --overwrite"),
        ([FALLS, "-o", "trades.csv/rows.csv"], "cannot be written"),
        ([FALLS, "-o", "trades.csv", "--overwrite"], "trades.csv: would replace trades.csv, which is an input"),
        ([FALLS, "-o", ".", "--overwrite"], ".: would replace trades.csv, which is an input\nhint: name another"),
        ([FALLS, "-i", "empty.csv"], "empty.csv: there are no columns\nhint: a CSV file begins with a line of"),
        ([FALLS, "-i", "other.csv"], "other.csv: its columns are separated by ';', not by commas"),
        ([FALLS, "--engine", "local", "-i", "trades"], "trades is no local file"),
    ],
)
def test_mistakes_are_told_before_anything_is_computed(
    trades: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(trades.parent)
    Path("out.csv").write_text("precious")
    Path("empty.csv").write_text("")
    Path("other.csv").write_text("type;time;price\nStock;1;2\n")
    for engine in ("local", "spark"):
        if "--engine" in arguments and engine == "spark":
            continue
        assert run(*arguments, "-i", "trades.csv", *(["--engine", engine] if "--engine" not in arguments else [])) == 1
        said = capsys.readouterr().err
        assert message in said
        assert "running" not in said
    assert Path("out.csv").read_text() == "precious"


def test_options_of_spark_choose_it_or_are_refused(trades: Path) -> None:
    inputs = [Input(str(trades))]
    assert str(choose(Engine.AUTO, inputs, None, ["--master"])) == "running on Spark: --master is given"
    assert choose(Engine.AUTO, [Input("db.trades")], None, []).reason == "db.trades is no local file"
    assert choose(Engine.AUTO, [Input("s3://bucket/x.parquet")], None, []).on_spark
    assert not choose(Engine.AUTO, inputs, None, []).on_spark
    assert run(FALLS, "-i", trades, "--engine", "local", "--master", "local[2]") == 2
    assert run(FALLS, "-i", "-", "--master", "local[2]") == 2
    assert run("-", "-i", "-") == 2


def test_files_beyond_the_stated_size_run_on_spark(trades: Path) -> None:
    with trades.open("r+b") as file:
        file.truncate(MOST_BYTES + 1)
    choice = choose(Engine.AUTO, [Input(str(trades))], None, [])
    assert str(choice) == "running on Spark: 1.0 GB of input are more than 1.0 GB (--engine local overrules it)"


def test_it_runs_where_pyspark_is_not_installed(
    trades: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert run(FALLS, "-i", trades, "--json") == 0
    assert counted(capsys.readouterr().out) == [7.0]
    assert run(FALLS, "-i", trades, "--engine", "spark") == 1
    assert "pip install 'greta-trends[spark]'" in capsys.readouterr().err


def test_a_warning_is_one_line_on_stderr(trades: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("RETURN COUNT(*) PATTERN Trade T+ WHERE T.price > T.price", "-i", trades, "--show", 0) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[1:] == [
        "warning: T.price > T.price never holds (hint: did you mean T.price > NEXT(T).price?)",
        (
            "warning: no event has the type Trade: column 'type' holds Stock "
            "(hint: name one of these types in PATTERN, or another column as the type (--type))"
        ),
    ]


def test_piped_rows_do_not_wrap(tmp_path: Path) -> None:
    sector = "s" * 400
    file = tmp_path / "trades.csv"
    file.write_text(f"type,time,sector\nStock,1,{sector}\nStock,2,{sector}\n")
    query = "RETURN sector, COUNT(*) PATTERN Stock S+ GROUP-BY sector"
    command = [sys.executable, "-m", "greta.cli", "run", query, "-i", str(file)]
    answer = subprocess.run(command, capture_output=True, check=True, text=True)
    assert len(answer.stdout.splitlines()) == 3
    assert sector in answer.stdout.splitlines()[2]


def test_a_double_prints_no_digits_that_it_has_not() -> None:
    assert word(float(2**53 - 1)) == "9007199254740991"
    assert word(float(2**60)) == "1.15292e+18"
    assert word(0.1 + 0.2) == "0.3"


def test_tables_and_topics_are_outputs_of_streams_alone(trades: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FALLS, "-i", trades, "-o", "delta:rows") == 2
    assert "is an output of greta stream" in " ".join(capsys.readouterr().err.split())
    assert not Path("delta:rows").exists()
