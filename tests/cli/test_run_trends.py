"""``greta run --trends``: trends of a row, event by event, in this process."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from greta.cli import main

STEEPEST = (
    "RETURN sector, COUNT(*), MIN(LAST(S.price) - FIRST(S.price)) AS steepest PATTERN Stock S+ "
    "WHERE [sector] AND S.price > NEXT(S).price GROUP-BY sector WITHIN 1 minute"
)


def run(*arguments: object) -> int:
    try:
        main(["run", *map(str, arguments)])
    except SystemExit as left:
        return int(left.code or 0)
    return 0


@pytest.fixture
def trades(tmp_path: Path) -> Path:
    file = tmp_path / "trades.csv"
    rows = [(1, 9.0, "7"), (2, 5.0, "8"), (3, 8.0, "7"), (4, 3.5, "7"), (61, 4.0, "8"), (62, 3.0, "8")]
    lines = [f"Stock,2024-01-02T09:{30 + at // 60}:{at % 60:02},{price},{sector},{at}" for at, price, sector in rows]
    file.write_text("\n".join(["type,time,price,sector,trade", *lines]) + "\n")
    return file


def test_the_steepest_fall_is_shown_trade_by_trade(trades: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(STEEPEST, "-i", trades, "--trends", 1, "--pick", "steepest", "--json") == 0
    said = capsys.readouterr()
    events = [json.loads(line) for line in said.out.splitlines()]
    # With all columns of the file, also those that the query does not read.
    assert [(event["trade"], event["price"]) for event in events] == [(1, 9.0), (3, 8.0), (4, 3.5)]
    assert "1 trend of the row of window_start 2024-01-02T09:30:00Z" in said.err
    assert "sector 7: the first one that there is (--window and --group choose another)" in said.err


def test_a_table_of_trends_is_printed_too(trades: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(STEEPEST, "-i", trades, "--trends", 2, "--pick", "longest") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 + 3 + 2


def test_times_and_prices_of_a_trend_have_all_their_digits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trades.csv").write_text("time,price\n1381118400.614,13.940000000000001\n1381118404.499,13.8765432\n")
    query = "RETURN MAX(COUNT(*)) AS longest PATTERN Trade T+ WHERE T.price > NEXT(T).price"
    assert run(query, "-i", f"Trade={tmp_path / 'trades.csv'}", "--trends", 1, "--pick", "longest") == 0
    said = capsys.readouterr()
    assert all(word in said.out for word in ("1381118400.614", "1381118404.499", " 13.94 ", "13.8765432"))
    assert said.err.splitlines()[-1] == "1 trend of the row of all events"


def test_window_and_group_tell_the_row(trades: Path, tmp_path: Path) -> None:
    for window in ("2024-01-02T09:31:00Z", "2024-01-02 09:31:00"):
        out = tmp_path / "trends.csv"
        options = ("--window", window, "--group", "sector=8", "--pick", "first", "-o", out, "--overwrite")
        assert run(STEEPEST, "-i", trades, "--trends", 9, *options) == 0
        with out.open() as file:
            found = [(row["trend"], row["trade"]) for row in csv.DictReader(file)]
        assert found == [("0", "61"), ("1", "61"), ("1", "62"), ("2", "62")]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--pick", "longest"], "add --trends 3"),
        (["--trends", "1", "--pick", "longst"], "did you mean longest"),
        (["--trends", "1", "--group", "sector"], "NAME=VALUE"),
        (["--trends", "1", "--group", "sector=x"], "which is no int64"),
        (["--trends", "1", "--window", "soon"], "take window_start from a row"),
        (["--trends", "1", "--show", "3"], "--show is for rows"),
        (["--trends", "1", "-o", "directory"], "trends go into one file"),
    ],
)
def test_mistakes_in_the_options_of_trends_are_told(
    trades: Path, options: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(STEEPEST, "-i", trades, *options) != 0
    assert problem in " ".join(capsys.readouterr().err.replace("│", " ").split())
