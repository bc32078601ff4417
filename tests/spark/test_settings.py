"""Settings of Spark: what others have set stays, and names stay as they are."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import greta.spark
from greta.spark.sessions.settings import given_settings, of_arguments, of_defaults

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHANGES = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SUBMITTED = """\
from pathlib import Path
import greta.spark
spark = greta.spark.session(spark_sql_shuffle_partitions="5", **{"spark.sql.catalog.my_catalog": "x"})
names = ("spark.master", "spark.ui.port", "spark.sql.shuffle.partitions", "spark.sql.session.timeZone",
         "spark.driver.memory", "spark.sql.catalog.my_catalog")
print("set:", *(spark.conf.get(name) for name in names))
rows = spark.range(3).mapInArrow(lambda batches: batches, "id BIGINT").collect()
sockets = Path(spark.conf.get("spark.python.unix.domain.socket.dir"))
print("sockets:", len(rows), sockets.parent, len(list(sockets.glob(".*.sock"))) > 0)
"""


def test_a_file_of_defaults_is_read_as_spark_reads_it() -> None:
    text = "# memory\n\nspark.driver.memory\t4g\nspark.ui.port = 4050\nspark.driver.extraJavaOptions  -Da=b -Dc=d\n"
    assert of_defaults(text) == {
        "spark.driver.memory": "4g",
        "spark.ui.port": "4050",
        "spark.driver.extraJavaOptions": "-Da=b -Dc=d",
    }


def test_options_of_spark_submit_are_settings() -> None:
    text = "--master=yarn --driver-memory 4g --conf 'spark.driver.extraJavaOptions=-Da=b c' -c spark.x=y pyspark-shell"
    assert of_arguments(text) == {
        "spark.master": "yarn",
        "spark.driver.memory": "4g",
        "spark.driver.extraJavaOptions": "-Da=b c",
        "spark.x": "y",
    }


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.master yarn\nspark.ui.port 4050\n")
    environment = {"SPARK_CONF_DIR": str(tmp_path), "PYSPARK_SUBMIT_ARGS": "--master local[3] pyspark-shell"}
    assert given_settings(environment) == {"spark.master": "local[3]", "spark.ui.port": "4050"}
    assert given_settings({}) == {}


@pytest.mark.spark
def test_a_session_inside_spark_submit_has_its_master_and_its_settings_and_leaves_no_socket(tmp_path: Path) -> None:
    import pyspark

    from greta.spark.sessions.java import java_home

    (tmp_path / "spark-defaults.conf").write_text(
        "spark.driver.memory 700m\nspark.sql.session.timeZone Asia/Kathmandu\nspark.ui.port 0\n"
        "spark.sql.shuffle.partitions 9\n"
    )
    (tmp_path / "job.py").write_text(SUBMITTED)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [str(submit), "--master", "local[1]", "--conf", "spark.log.level=ERROR", str(tmp_path / "job.py")]
    environment = os.environ | {
        "SPARK_CONF_DIR": str(tmp_path),
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_HOME": str(java_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        environment["TMPDIR"] = short
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
        told = dict(line.split(": ", 1) for line in done.stdout.splitlines() if line.startswith(("set:", "sockets:")))
        assert set(told) == {"set", "sockets"}, done.stderr[-2000:]
        assert told["set"].split() == ["local[1]", "0", "5", "Asia/Kathmandu", "700m", "x"]
        assert told["sockets"].split() == ["3", short, "True"]
        assert not list(Path(short).glob("greta-*"))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "set_before", "then"),
    [
        (CHANGES, None, "true"),
        (CHANGES, "false", "false"),
        (PROVIDER, None, ROCKSDB),
        (PROVIDER, ROCKSDB.replace("RocksDB", "HDFSBacked"), ROCKSDB),
        (PROVIDER, "com.vendor.state.RocksDBStateStoreProvider", "com.vendor.state.RocksDBStateStoreProvider"),
    ],
)
def test_a_stream_has_a_rocksdb_that_stores_what_changed_unless_somebody_has_set_another(
    spark: SparkSession, name: str, set_before: str | None, then: str
) -> None:
    from greta.spark.stream import aggregate_stream

    spark.conf.unset(name)
    if set_before is not None:
        spark.conf.set(name, set_before)
    events = spark.readStream.format("rate").load().selectExpr("timestamp AS time", "'A' AS type")
    aggregate_stream(events, "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds", lateness="1 second")
    kept = spark.conf.get(name)
    spark.conf.unset(name)
    assert kept == then


@pytest.mark.parametrize(
    ("conf", "packages"),
    [
        (None, "org.a:a:1,org.b:b:2,org.c:c:3"),
        (["spark.jars.packages=org.d:d:4,org.b:b:2"], "org.d:d:4,org.b:b:2,org.c:c:3"),
    ],
)
def test_packages_join_those_that_are_set_already(
    conf: list[str] | None, packages: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from greta.cli.stream_run import session_for_streams

    (tmp_path / "spark-defaults.conf").write_text("spark.jars.packages org.a:a:1,org.b:b:2\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.setattr("greta.spark.sessions.quiet.start_quietly", lambda _, settings: settings)
    settings: Any = session_for_streams("local[1]", ["org.b:b:2", "org.c:c:3"], conf)
    assert settings == {"spark.jars.packages": packages}
    settings = session_for_streams("local[1]", None, conf)
    assert settings == ({} if conf is None else {"spark.jars.packages": "org.d:d:4,org.b:b:2"})


@pytest.mark.spark
@pytest.mark.parametrize(("set_before", "then"), [(None, str(2**31 - 1)), ("1048576b", "1048576b")])
def test_a_batch_lets_rows_alone_bound_what_goes_to_python_unless_somebody_has_set_bytes(
    spark: SparkSession, set_before: str | None, then: str
) -> None:
    name = "spark.sql.execution.arrow.maxBytesPerBatch"
    kept = spark.conf.get(name)
    spark.conf.unset(name)
    if set_before is not None:
        spark.conf.set(name, set_before)
    events = spark.range(3).selectExpr("id AS time", "'A' AS type")
    rows = greta.spark.aggregate(events, "RETURN COUNT(*) PATTERN A+").collect()
    assert spark.conf.get(name) == then
    assert [row["count"] for row in rows] == [7.0]
    spark.conf.set(name, kept)
