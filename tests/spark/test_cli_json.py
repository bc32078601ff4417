"""``--json`` of the commands that run on Spark: rows of a batch, figures of a stream."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import greta
from greta.cli import main
from greta.datasets import paper, stock
from support.spark_streams import figures

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def ended(*arguments: object) -> int:
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as left:
        return int(left.code or 0)
    return 0


@pytest.fixture
def query(tmp_path: Path) -> Path:
    file = tmp_path / "q1.greta"
    file.write_text(paper.Q1)
    return file


def test_every_row_of_a_batch_is_a_json_line(tmp_path: Path, query: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = stock(500, companies=4, rate=5)
    pq.write_table(events, tmp_path / "stock.parquet")
    assert ended("run", "--engine", "spark", query, "--input", tmp_path / "stock.parquet", "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    expected = greta.aggregate(events, paper.Q1).to_pylist()
    assert len(rows) == len(expected)
    assert {(row["window_start"], row["sector"]): row["count"] for row in rows} == {
        (f"{row['window_start']:%Y-%m-%dT%H:%M:%SZ}", row["sector"]): row["count"] for row in expected
    }
    assert ended("run", "--engine", "spark", query, "--input", tmp_path / "stock.parquet", "--json", "--show", 2) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == rows[:2]


def test_the_figures_of_every_micro_batch_are_a_json_line(
    tmp_path: Path, query: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    incoming, rows = tmp_path / "incoming", tmp_path / "rows"
    incoming.mkdir()
    pq.write_table(stock(500, companies=4, rate=5), incoming / "0.parquet")
    arguments = ["--input", incoming, "--format", "parquet", "--output", rows, "--checkpoint", tmp_path / "state"]
    assert ended("stream", query, *arguments, "--buckets", 2, "--available-now", "--json") == 0
    said = capsys.readouterr()
    said_figures = [json.loads(line) for line in said.out.splitlines()]
    assert sum(batch["events"] for batch in said_figures) == 500
    assert {"batch", "events_per_second", "lag_seconds", "late_events", "open_windows"} <= set(said_figures[0])
    assert "500 events read" in said.err
    assert "note: " not in said.err
    assert figures(rows) == said_figures


def test_a_stream_on_spark_says_that_its_windows_are_computed_when_they_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = "RETURN COUNT(*) PATTERN SEQ(Stock A, NOT SEQ(Stock B, Stock C)) WITHIN 10 seconds"
    (tmp_path / "query.greta").write_text(query)
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    pq.write_table(stock(50, companies=4, rate=5), incoming / "0.parquet")
    arguments = [tmp_path / "query.greta", "--input", incoming, "--format", "parquet", "--output", tmp_path / "rows"]
    arguments += ["--checkpoint", tmp_path / "state", "--buckets", 2, "--available-now"]
    assert ended("stream", *arguments, "--json") == 0
    said = capsys.readouterr()
    told = [line for line in said.err.splitlines() if line.startswith("note: ")]
    assert len(told) == 1
    assert "the query ends with a NOT of more than one event, so windows are computed" in told[0]
    assert max(json.loads(line)["buckets_at_close"] for line in said.out.splitlines()) > 0
