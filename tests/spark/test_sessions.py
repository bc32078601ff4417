"""The session that greta starts: sockets to the workers have a place of their own, and leave nothing behind."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from greta.spark.sessions import building
from greta.spark.sessions.quiet import quiet_java, start_quietly

pytestmark = pytest.mark.spark

ONE_TASK = """\
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import greta.spark
spark = greta.spark.session("local[1]")
rows = spark.range(3).mapInArrow(lambda batches: batches, "id BIGINT").collect()
directory = Path(spark.conf.get("spark.python.unix.domain.socket.dir"))
print(len(rows), directory.parent, len(list(directory.glob(".*.sock"))) > 0)
"""


@pytest.mark.slow  # a session inside spark-submit shows the same (test_settings.py)
def test_sockets_are_gone_with_the_process() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        command = [sys.executable, "-c", ONE_TASK]
        done = subprocess.run(command, env=os.environ | {"TMPDIR": short}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["3", short, "True"]
        assert not list(Path(short).glob("greta-*"))


def test_a_long_name_of_the_temporary_directory_is_avoided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("a" * 90)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    directory = building._socket_directory.__wrapped__()
    assert directory is not None
    assert Path(directory).parent == Path("/tmp")
    assert Path(directory).stat().st_mode & 0o077 == 0
    assert not list(long.iterdir())
    Path(directory).rmdir()


def test_without_a_place_for_sockets_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> str:
        raise PermissionError

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    assert building._socket_directory.__wrapped__() is None


SPEAKING = """\
import sys
print("26/11/17 ERROR FileFormatWriter: Aborting job", file=sys.stderr)
print("\\tat org.apache.spark.SparkContext.runJob(SparkContext.scala:1)", file=sys.stderr)
print("greta: this worker compiles kernels", file=sys.stderr)
print("contextlib.py:137: GretaWarning: compiling", file=sys.stderr)
"""


def test_of_what_java_says_only_the_words_of_greta_are_heard(capfd: pytest.CaptureFixture[str]) -> None:
    with quiet_java():
        started = subprocess.Popen([sys.executable, "-c", "input()\n" + SPEAKING], stdin=subprocess.PIPE)
    print("the command itself", file=sys.stderr, flush=True)
    # It speaks after the session has started, as Java does.
    started.communicate(b"go on\n")
    heard = ""
    began = time.monotonic()
    while "warning" not in heard and time.monotonic() - began < 60:
        heard += capfd.readouterr().err
    assert heard == "the command itself\ngreta: this worker compiles kernels\nwarning: compiling\n"


def test_all_that_java_says_is_heard_where_no_session_starts(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(subprocess.CalledProcessError), quiet_java():
        subprocess.run([sys.executable, "-c", SPEAKING + "sys.exit(1)"], check=True)
    assert "ERROR FileFormatWriter: Aborting job" in capfd.readouterr().err


def test_commands_start_quietly_unless_somebody_chooses_what_spark_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    @contextmanager
    def hushed() -> Iterator[None]:
        started.append("quietly")
        yield

    monkeypatch.setattr("greta.spark.sessions.quiet.quiet_java", hushed)
    monkeypatch.setattr("greta.spark.sessions.quiet.given_settings", dict)
    monkeypatch.setattr("greta.spark.sessions.quiet.session", lambda *_, **__: started.append("session"))
    start_quietly("local[2]", {})
    start_quietly("local[2]", {"spark.log.level": "WARN"})
    assert started == ["quietly", "session", "session"]
