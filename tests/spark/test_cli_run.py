"""``greta run`` from files to rows, files and pictures; mistakes are told before Spark works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import greta
from greta.cli import main
from greta.datasets import paper, stock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

HEADER = "type,time,company,sector,price\n"


@pytest.fixture
def query(tmp_path: Path) -> Path:
    file = tmp_path / "q1.greta"
    file.write_text(paper.Q1)
    return file


def run(*arguments: object) -> int:
    try:
        main(["run", "--engine", "spark", *map(str, arguments)])
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def test_rows_are_printed_in_order_of_time(tmp_path: Path, query: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(stock(500, companies=4, rate=5), tmp_path / "stock.parquet")
    assert run(query, "--input", tmp_path / "stock.parquet", "--show", 3) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("┃")[0].strip().startswith("window_start")
    assert len(lines) == 5
    assert sorted(lines[2:]) == lines[2:]


def test_rows_are_written_and_drawn(tmp_path: Path, query: Path) -> None:
    events = stock(500, companies=4, rate=5)
    pq.write_table(events, tmp_path / "stock.parquet")
    out, picture = tmp_path / "out", tmp_path / "q1.svg"
    assert run(query, "-i", tmp_path / "stock.parquet", "-o", out, "--plot", picture) == 0
    assert pq.read_table(out).num_rows == greta.aggregate(events, paper.Q1).num_rows
    assert "<svg" in picture.read_text()
    assert run(query, "-i", tmp_path / "stock.parquet", "-o", out) == 1
    assert run(query, "-i", tmp_path / "stock.parquet", "-o", out, "--overwrite") == 0


def test_several_inputs_give_events_their_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"at": [1, 2], "x": [1.0, 2.0]}), tmp_path / "a.parquet")
    (tmp_path / "b.jsonl").write_text('{"at": 3}\n{"at": 4}\n')
    file = tmp_path / "q.greta"
    file.write_text("RETURN COUNT(*) AS n, MAX(A.x) AS x PATTERN SEQ(A+, B)")
    assert run(file, "-i", f"A={tmp_path}/a.parquet", "-i", f"B={tmp_path}/*.jsonl", "--time", "at") == 0
    assert [cell.strip() for cell in capsys.readouterr().out.splitlines()[-1].split("│")[-2:]] == ["6", "2"]


def test_a_malformed_row_is_an_error_with_file_and_line(
    tmp_path: Path, query: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "stock.csv"
    file.write_text(HEADER + "Stock,1,c,s,5.5\nStock,2,c,s,cheap\nStock,3,c,s,4.5\n")
    schema = "type STRING, time INT, company STRING, sector STRING, price DOUBLE"
    assert run(query, "-i", file, "--schema", schema) == 1
    assert "stock.csv:3: Stock,2,c,s,cheap" in capsys.readouterr().err
    assert run(query, "-i", file, "--schema", schema, "--malformed", "skip", "--show", 1) == 0
    captured = capsys.readouterr()
    assert "1 malformed rows were left out" in captured.err
    assert "│ 3" in captured.out


def test_malformed_json_is_counted_or_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "events.json"
    file.write_text('{"type": "A", "time": 1}\n{"type": "A", "time"\n{"type": "A", "time": 3}\n')
    text = tmp_path / "q.greta"
    text.write_text("RETURN COUNT(*) PATTERN A+")
    assert run(text, "-i", file) == 1
    assert "events.json:2: not JSON" in capsys.readouterr().err
    assert run(text, "-i", file, "--malformed", "skip") == 0
    assert "1 malformed rows were left out" in capsys.readouterr().err


def test_rows_are_judged_whole_whatever_columns_a_query_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = ["A,2,cheap,b", "A,3", "A,4,2.5,b,9", '"A,5,2.5,b', "A,six,1.0,b"]
    file = tmp_path / "events.csv"
    file.write_text("\n".join(["type,time,x,g", "A,1,1.5,b", *bad, "A,7,,", "A,8,2.5,b"]) + "\n")
    text = tmp_path / "q.greta"
    text.write_text("RETURN COUNT(*) PATTERN A")
    schema = ["--schema", "g STRING, time INT, x DOUBLE, type STRING"]
    assert run(text, "-i", file, *schema, "--malformed", "skip") == 0
    captured = capsys.readouterr()
    assert f"{len(bad)} malformed rows were left out" in captured.err
    assert captured.out.splitlines()[-1].split("│")[-1].strip() == "3"
    assert run(text, "-i", file, *schema) == 1
    told = capsys.readouterr().err
    assert all(f"events.csv:{at}: {row}" in told for at, row in enumerate(bad[:3], start=3))


def test_json_of_a_wrong_type_is_malformed_in_any_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text('{"type": "A", "time": 1, "x": 1.5}\n{"type": "A", "time": 2, "x": "cheap"}\n[1, 2]\n')
    text = tmp_path / "q.greta"
    text.write_text("RETURN COUNT(*) PATTERN A")
    schema = ["--schema", "type STRING, time INT, x DOUBLE"]
    assert run(text, "-i", file, *schema, "--malformed", "skip") == 0
    captured = capsys.readouterr()
    assert "2 malformed rows were left out" in captured.err
    assert captured.out.splitlines()[-1].split("│")[-1].strip() == "1"
    file.write_text('{"type": "A"\n{"type"\n')
    assert run(text, "-i", file, "--malformed", "skip") == 1
    assert "not a single row can be read as json" in capsys.readouterr().err


def test_files_with_other_columns_than_asked_for_are_refused(
    tmp_path: Path, query: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "Stock,1,c,s,5.5\n")
    assert run(query, "-i", tmp_path / "a.csv", "--schema", "type STRING, time INT") == 1
    assert "the file has the columns type, time, company, sector, price" in capsys.readouterr().err
    (tmp_path / "b.csv").write_text("type,time,company,price,sector\nStock,2,c,5.5,s\n")
    schema = "type STRING, time INT, company STRING, sector STRING, price DOUBLE"
    assert run(query, "-i", f"{tmp_path}/*.csv", "--malformed", "skip", "--schema", schema) == 1
    assert "files of one input must have the same columns" in capsys.readouterr().err


def test_without_delta_the_error_names_its_package(
    tmp_path: Path, query: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(stock(10), tmp_path / "stock.parquet")
    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    assert run(query, "-i", tmp_path / "table") == 1
    assert "Spark has no reader for delta" in capsys.readouterr().err
    assert run(query, "-i", tmp_path / "stock.parquet", "-o", tmp_path / "out", "--output-format", "delta") == 1
    told = capsys.readouterr().err
    assert "Spark cannot write delta" in told
    assert "spark.jars.packages=io.delta:delta-spark_4" in told


def test_a_table_is_an_input_too(spark: SparkSession, query: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spark.createDataFrame(stock(50, companies=1)).createOrReplaceTempView("trades")
    assert run(query, "-i", "trades", "--show", 1) == 0
    assert "energy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("RETURN COUNT(*) PATERN A", [], "q.greta:1:"),
        ("RETURN COUNT(*) PATTERN Stock S WHERE S.pirce > 1", [], "did you mean price"),
        (paper.Q1, ["--time", "at"], "no time column 'at'"),
        (paper.Q1, ["-i", "nowhere.parquet"], "nowhere.parquet: there is no such path"),
    ],
)
def test_mistakes_are_told_with_a_place(
    tmp_path: Path, text: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(stock(10), tmp_path / "stock.parquet")
    file = tmp_path / "q.greta"
    file.write_text(text)
    assert run(file, "-i", tmp_path / "stock.parquet", *options) == 1
    assert message in capsys.readouterr().err


def test_without_pyspark_the_error_says_what_to_install(
    query: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert run(query, "-i", "trades") == 1
    assert "pip install 'greta-trends[spark]'" in capsys.readouterr().err


EXAMPLES = {"q1-down-trends": "stock", "q2-rising-load": "cluster", "q3-slowing-cars": "traffic"}
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("example", "ending"), [("q1-down-trends", "csv"), ("q2-rising-load", "jsonl"), ("q3-slowing-cars", "parquet")]
)
def test_examples_have_the_same_rows_in_this_process(
    tmp_path: Path, example: str, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    events = tmp_path / f"events.{ending}"
    with pytest.raises(SystemExit, match="0"):
        main(["generate", EXAMPLES[example], "-n", "3000", "-o", str(events), "--quiet"])
    answers = []
    for engine in ("spark", "local"):
        out = tmp_path / f"{engine}.json"
        assert run(ROOT / "examples" / f"{example}.greta", "-i", events, "-o", out, "--engine", engine) == 0
        answers.append([json.loads(line) for line in out.read_text().splitlines()])
    on_spark, here = answers
    assert len(on_spark) == len(here) > 0
    for one, other in zip(on_spark, here, strict=True):
        assert one == pytest.approx(other)
    assert "running on Spark: --engine spark" in capsys.readouterr().err


def test_numbers_in_a_unit_are_the_same_times_in_this_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trades.csv"
    file.write_text("type,time\nA,1704187800000\nA,1704187801000\n")
    text = "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds"
    answers = []
    for engine in ("spark", "local"):
        assert run(text, "-i", file, "--time-unit", "ms", "--json", "--engine", engine) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1] != ""


def test_the_driver_warns_as_the_engine_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trades.csv"
    file.write_text("type,time,price\nA,1704187800000,1\nA,1704187801000,2\n")
    assert run("RETURN COUNT(*) PATTERN B+ WHERE B.price > B.price", "-i", file) == 0
    told = capsys.readouterr().err
    assert "warning: B.price > B.price never holds" in told
    assert "look like milliseconds since 1970" in told
    assert "no event has the type B: column 'type' holds A" in told


@pytest.mark.parametrize(("last", "warned"), [("7", True), ("8", False)])
def test_the_driver_warns_of_equal_times_where_all_are_and_not_only_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], last: str, warned: bool
) -> None:
    file = tmp_path / "trades.csv"
    file.write_text("type,time,price\n" + "A,7,1\n" * 1200 + f"A,{last},1\n")
    assert run("RETURN COUNT(*) PATTERN A+", "-i", file, "--engine", "spark") == 0
    assert ("warning: all events have the same time" in capsys.readouterr().err) is warned
