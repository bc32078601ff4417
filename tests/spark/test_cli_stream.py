"""``greta stream`` as a process: Ctrl-C, what it leaves beside its rows, sources by name, the demo, a full disk."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from test_stream import FALLING, batch, comparable, trades
from test_stream_kill import command, inside, offsets

import greta
from support.spark_streams import Stream, figures, random_parts

pytest.importorskip("pyspark")
from pyspark.sql import SparkSession

from greta.spark.stream.run import PROGRESS

pytestmark = pytest.mark.spark

_PATIENCE = 300
"""Seconds for anything that takes a few; only a hang takes that long."""

SCHEMA = "type STRING, time TIMESTAMP, company STRING, sector STRING, price BIGINT"


def assert_quiet(errors: str) -> None:
    """Nothing of Java, of Spark or of its workers is on standard error."""
    for word in ("Traceback", "\tat ", "Exception", "ERROR", "WARN", "log level", "Python worker"):
        assert word not in errors, errors


def test_ctrl_c_ends_after_the_micro_batch_and_the_same_command_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    table = trades(400, seed=21)
    stream = Stream(tmp_path, table.schema)
    endless = [part for part in command(stream) if part != "--available-now"]
    first, *rest = random_parts(table, 4, random.Random(21))
    stream.add(first)
    # A group of its own, as a terminal gives it: Ctrl-C reaches all that the command has started there.
    process = subprocess.Popen(endless, start_new_session=True, stderr=subprocess.PIPE, text=True)
    try:
        began = time.monotonic()
        while not offsets(stream):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() - began < _PATIENCE
            time.sleep(0.05)
        stream.add(*rest)
        running = {file.name for file in (Path(stream.checkpoint) / "offsets").glob("[0-9]*")}
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=_PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, errors
    assert "run the same command again" in errors
    assert_quiet(errors)
    assert running <= {file.name for file in (Path(stream.checkpoint) / "commits").glob("[0-9]*")}
    stream.flush()
    assert inside(*command(stream)[4:]) == 0
    assert comparable(stream.rows(spark)) == batch(table, FALLING)


def test_the_query_and_the_figures_lie_beside_the_rows(spark: SparkSession, tmp_path: Path) -> None:
    table = trades(100, seed=22)
    stream = Stream(tmp_path, table.schema)
    stream.add(table)
    stream.flush()
    arguments = command(stream)[4:]
    assert inside(*arguments) == 0
    aside = tmp_path / "out" / "_greta"
    assert greta.parse((aside / "query.greta").read_text()) == greta.parse(FALLING)
    assert figures(tmp_path / "out")[-1]["events"] >= 0
    assert comparable(stream.rows(spark)) == batch(table, FALLING)


@contextmanager
def serving(lines: list[str]) -> Iterator[int]:
    """A server that sends every client all lines, and keeps the line open."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def serve() -> None:
            while not ended.is_set():
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                client.sendall("".join(line + "\n" for line in lines).encode())
                clients.append(client)

        clients: list[socket.socket] = []
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            ended.set()
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for client in clients:
                client.close()


def ctrl_c_once(reached: Callable[[], bool]) -> threading.Thread:
    """A thread that ends the command that runs in this process as soon as something is reached."""

    def wait() -> None:
        while not reached():
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


@pytest.mark.usefixtures("spark")
def test_a_socket_brings_json_lines(tmp_path: Path) -> None:
    table = trades(120, seed=23)
    lines = [json.dumps({**row, "time": row["time"].isoformat()}) for row in table.to_pylist()]
    lines.append(json.dumps({"type": "Nothing", "time": "2030-01-01T00:00:00Z"}))
    query = tmp_path / "query.greta"
    query.write_text(FALLING)
    out = tmp_path / "out"
    expected = greta.aggregate(table, FALLING)

    def all_rows() -> bool:
        return (out / PROGRESS).exists() and sum(one["rows"] for one in figures(out)) == len(expected)

    # The command has its own hand on the signal from before its first row until after its last line of progress.
    with serving(lines) as port:
        ctrl_c_once(all_rows)
        code = inside(
            query,
            *("--input", f"socket:127.0.0.1:{port}", "--schema", SCHEMA),
            *("--output", out, "--checkpoint", tmp_path / "checkpoint", "--lateness", "0 seconds"),
            *("--buckets", 2, "--seconds", 60, "--quiet"),
        )
    assert code == 0
    rows = pq.read_table(list(out.glob("*.parquet")))
    assert sorted(rows.column("trends").to_pylist()) == sorted(expected.column("trends").to_pylist())


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_rate_source_makes_trades_up(tmp_path: Path) -> None:
    query = tmp_path / "query.greta"
    query.write_text(FALLING.replace("10 seconds SLIDE 5 seconds", "2 seconds"))
    code = inside(
        query,
        *("--input", "rate:200", "--output", tmp_path / "out", "--checkpoint", tmp_path / "checkpoint"),
        *("--lateness", "0 seconds", "--buckets", 2, "--seconds", 20, "--quiet", "--trigger", "2 seconds"),
    )
    assert code == 0
    assert pq.read_table(list((tmp_path / "out").glob("*.parquet"))).num_rows > 0


@pytest.mark.usefixtures("spark")
def test_kafka_without_anything_to_read_it_names_the_packages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greta.spark.stream.kafka.available", lambda: False)
    query = tmp_path / "query.greta"
    query.write_text(FALLING)
    common = (query, "--checkpoint", tmp_path / "checkpoint", "--schema", SCHEMA)
    assert inside(*common, "--input", "kafka:localhost:9092/trades", "--output", "console") == 1
    errors = capsys.readouterr().err
    assert "--package org.apache.spark:spark-sql-kafka-0-10_2.13:4" in errors
    assert inside(*common, "--input", "kafka:trades", "--output", "console") == 1
    assert "kafka:HOST:PORT/TOPIC" in capsys.readouterr().err
    source = tmp_path / "in"
    source.mkdir()
    into = ("--input", source, "--format", "json", "--output", "kafka:localhost:9092/rows")
    assert inside(*common, *into) == 1
    assert "--package org.apache.spark:spark-sql-kafka-0-10_2.13:4" in capsys.readouterr().err


def test_a_setting_for_kafka_without_a_value_or_a_topic_is_refused_and_never_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = tmp_path / "query.greta"
    query.write_text(FALLING)
    common = (query, "--checkpoint", tmp_path / "checkpoint", "--schema", SCHEMA, "--output", "console")
    settings = ("--kafka", "security.protocol=SASL_SSL", "--kafka", "a-secret")
    assert inside(*common, "--input", "kafka:localhost:9092/trades", *settings) == 2
    errors = " ".join(capsys.readouterr().err.split())
    assert "number 2 is not KEY=VALUE" in errors
    assert "a-secret" not in errors
    assert inside(*common, "--input", "rate:5", "--kafka", "sasl.password=a-secret") == 2
    errors = capsys.readouterr().err
    assert "--kafka" in errors
    assert "a-secret" not in errors


@pytest.mark.usefixtures("spark")
def test_a_stream_without_columns_says_how_to_name_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = tmp_path / "query.greta"
    query.write_text(FALLING)
    assert inside(query, "-i", "socket:localhost:9", "-o", "console", "--checkpoint", tmp_path / "c") == 1
    assert "--schema 'type STRING, time TIMESTAMP, price DOUBLE'" in capsys.readouterr().err


@pytest.mark.slow
def test_the_demo_prints_rows_as_windows_close_and_leaves_nothing_behind(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "greta.cli", "stream", "--demo", "--seconds", "10", "--quiet", "--master", "local[2]"],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert "falling trends, top" in done.stdout
    assert_quiet(done.stderr)
    assert not list(tmp_path.glob("greta-demo-*"))


@pytest.mark.slow
def test_the_demo_writes_its_rows_where_it_is_told_and_ends_without_a_word_of_java(tmp_path: Path) -> None:
    arguments = ["stream", "--demo", "-o", "rows", "--seconds", "10", "--master", "local[2]"]
    done = subprocess.run(
        [sys.executable, "-m", "greta.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(list((tmp_path / "rows").glob("*.parquet")))
    assert rows.num_rows
    assert {"sector", "trends", "top"} <= set(rows.column_names)
    assert "greta studio --follow rows" in done.stderr
    assert_quiet(done.stderr)


@pytest.mark.slow
def test_a_stream_that_fails_says_why_and_nothing_of_java(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bad.json").write_text("this is no record\n")
    (tmp_path / "query.greta").write_text(FALLING)
    options = ["--input", "in", "--format", "json", "--schema", SCHEMA, "--output", "out", "--checkpoint", "state"]
    done = subprocess.run(
        [sys.executable, "-m", "greta.cli", "stream", "query.greta", *options, "--available-now"],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "an event has no readable time in column 'time'" in done.stderr
    assert done.stderr.rstrip().endswith("--bad-records skip (greta run: --malformed skip)")
    assert_quiet(done.stderr)


def test_the_demo_does_not_write_where_something_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Said before Spark starts.
    assert inside("--demo", "-o", tmp_path) == 1
    assert "is there already" in capsys.readouterr().err


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A file system of its own, with little room."""
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_full_disk_is_said_clearly_and_the_stream_goes_on_once_there_is_room(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = trades(600, seed=24)
    with small_disk(tmp_path / "disk", "2m") as disk:
        stream = Stream(tmp_path, table.schema)
        parts = random_parts(table, 4, random.Random(24))
        stream.add(*parts[:2])
        arguments = [str(disk / "checkpoint") if part == stream.checkpoint else part for part in command(stream)[4:]]
        assert inside(*arguments) == 0
        ballast = disk / "ballast"
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        stream.add(*parts[2:])
        stream.flush()
        assert inside(*arguments) == 1
        errors = capsys.readouterr().err
        assert "hint: make room" in errors or "on a disk with room" in errors
        assert "Traceback" not in errors
        ballast.unlink()
        assert inside(*arguments) == 0
        assert comparable(stream.rows(spark)) == batch(table, FALLING)
