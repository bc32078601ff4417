"""``greta stream`` killed with SIGKILL again and again: the sink ends with every row once."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from test_stream import FALLING, batch, comparable, trades

import greta
from greta.cli import main
from support import soak
from support.spark_streams import Stream, disordered, figures, random_parts

pytest.importorskip("pyspark")
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_PATIENCE = 600
"""Seconds for one run of the command; only a hang takes that long."""


def command(stream: Stream, *more: str) -> list[str]:
    query = stream.place / "query.greta"
    query.write_text(FALLING)
    return [
        sys.executable,
        "-m",
        "greta.cli",
        "stream",
        str(query),
        *("--input", str(stream.incoming)),
        *("--output", str(stream.place / "out")),
        *("--checkpoint", stream.checkpoint),
        *("--lateness", "2 seconds", "--buckets", "3", "--files-per-trigger", "1", "--master", "local[2]"),
        "--available-now",
        "--quiet",
        *more,
    ]


def inside(*arguments: object) -> int:
    """Run the command in this process, with the session of the tests."""
    try:
        main(["stream", *map(str, arguments)])
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def offsets(stream: Stream) -> int:
    place = Path(stream.checkpoint) / "offsets"
    return len([file for file in place.glob("*") if file.name.isdigit()]) if place.is_dir() else 0


def run_and_kill(stream: Stream, draw: random.Random) -> bool:
    """Kill the command, and all it started, some time after it began a new micro-batch; False: it ended before."""
    before = offsets(stream)
    process = subprocess.Popen(command(stream), start_new_session=True, stderr=subprocess.PIPE, text=True)
    try:
        began = time.monotonic()
        while offsets(stream) == before and process.poll() is None:
            assert time.monotonic() - began < _PATIENCE
            time.sleep(0.02)
        if process.poll() is None:
            time.sleep(draw.random() * 3)
        ended = process.poll() is not None
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        _, errors = process.communicate()
    if ended:
        assert process.returncode == 0, errors
    return not ended


def survive(spark: SparkSession, capsys: pytest.CaptureFixture[str], place: Path, kills: int, seed: int) -> int:
    """Kill a stream's driver again and again, then let it end and look at its rows; how often it was killed."""
    draw = random.Random(seed)
    table = trades(300 + 20 * kills, seed=seed)
    stream = Stream(place, table.schema)
    stream.add(*random_parts(disordered(table, 2, draw), 2 + 3 * kills, draw))
    stream.flush()
    killed = sum(run_and_kill(stream, draw) for _ in range(kills))
    assert killed >= max(1, kills - 1)
    code, errors = inside(*command(stream)[4:]), capsys.readouterr().err
    assert code == 0, errors
    assert "run the same command again" in errors
    assert comparable(stream.rows(spark)) == batch(table, FALLING)
    last = figures(place / "out")[-1]
    assert last["state_bytes"] == 0
    assert last["late_events"] == 0
    return killed


def test_a_killed_driver_loses_nothing_and_writes_nothing_twice(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    survive(spark, capsys, tmp_path, kills=1, seed=1)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_driver_killed_a_hundred_times_loses_nothing_and_writes_nothing_twice(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    began, kills, streams = time.monotonic(), 0, 0
    while kills < soak.KILLS and time.monotonic() - began < soak.seconds("kills"):
        streams += 1
        kills += survive(spark, capsys, tmp_path / str(streams), kills=4, seed=1 + streams)
    took = time.monotonic() - began
    with capsys.disabled():
        print(f"\nsoak: {kills} kills of drivers in {streams} streams, no row lost or there twice, {took:.0f} s")


def test_a_poisoned_line_of_json_is_reported_and_skipped_on_demand(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = trades(60, seed=3)
    stream = Stream(tmp_path, table.schema)
    good = [json.dumps({**row, "time": row["time"].isoformat()}) for row in table.to_pylist()]
    (stream.incoming / "0.jsonl").write_text("\n".join([*good[:30], '{"type": "Stock", "time": "20', *good[30:]]))
    schema = "type STRING, time TIMESTAMP, company STRING, sector STRING, price BIGINT"
    options = ("--format", "json", "--schema", schema)
    assert inside(*command(stream, *options)[4:]) == 1
    errors = capsys.readouterr().err
    assert "no readable time in column 'time'" in errors
    assert "Traceback" not in errors.splitlines()[-1]
    flush = {"type": "Nothing", "time": "2030-01-01T00:00:00Z"}
    (stream.incoming / "1.jsonl").write_text(json.dumps(flush))
    code, errors = inside(*command(stream, *options, "--bad-records", "skip")[4:]), capsys.readouterr().err
    assert code == 0, errors
    assert "bad records skipped: 1" in errors
    assert comparable(stream.rows(spark)) == comparable(greta.aggregate(table, FALLING).to_pylist())
    assert isinstance(table, pa.Table)
