"""The session that greta starts: sockets to the workers have a place of their own, and leave nothing behind."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from greta.spark.sessions import building

pytestmark = pytest.mark.spark

ONE_TASK = """\
from pathlib import Path
import greta.spark
spark = greta.spark.session("local[1]")
rows = spark.range(3).mapInArrow(lambda batches: batches, "id BIGINT").collect()
directory = Path(spark.conf.get("spark.python.unix.domain.socket.dir"))
print(len(rows), directory.parent, len(list(directory.glob(".*.sock"))) > 0)
"""


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
