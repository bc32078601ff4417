"""greta for executors that never had it: packed, shipped, and one paragraph where it is missing."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from greta.spark.compat import client_version
from greta.spark.sessions.shipping import _keep, pack
from support.clusters import Cluster, bare_python, cluster, connect_server

pytestmark = pytest.mark.spark

HEAD = """\
import sys
from pathlib import Path
import pyarrow.parquet as pq
import greta, greta.spark
from greta.datasets import paper, stock
from greta.spark.failures import explained

master, python, archive, place = sys.argv[1:5]
spark = greta.spark.session(master, **({} if master.startswith("sc:") else {"spark.pyspark.python": python}))
events = stock(2_000, companies=8, rate=8)
expected = greta.aggregate(events, paper.Q1).num_rows
df = spark.createDataFrame(events.to_pandas())

def stream(rows):
    writer = rows.writeStream.format("parquet").option("path", f"{place}/out")
    query = writer.option("checkpointLocation", f"{place}/checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()
    return spark.read.parquet(f"{place}/out").count()
"""

WITHOUT = """
try:
    greta.spark.aggregate(df, paper.Q1).count()
except Exception as error:
    print("SAID", "Hand it over with greta.spark.ship(spark)" in str(error))
    print("TOLD", explained(error))
"""

BATCH = """
greta.spark.ship(spark, archive)
print("BATCH", greta.spark.aggregate(df, paper.Q1).count() - expected)
"""

SQL = """
greta.spark.register(spark)
df.createOrReplaceTempView("stock")
print("SQL", spark.sql('SELECT * FROM greta_trends(TABLE(stock), query => "' + paper.Q1 + '")').count() - expected)
"""

STREAM = """
Path(place, "in").mkdir()
pq.write_table(events, Path(place, "in", "a.parquet"))
far = events.slice(events.num_rows - 1).to_pylist()[0] | {"type": "Nothing"}
far["time"] = far["time"].replace(year=far["time"].year + 1)
import pyarrow as pa
pq.write_table(pa.Table.from_pylist([far], schema=events.schema), Path(place, "in", "b.parquet"))
source = spark.readStream.schema(df.schema).option("maxFilesPerTrigger", 1).parquet(f"{place}/in")
print("STREAM", stream(greta.spark.aggregate(source, paper.Q1, lateness="1000 seconds")) - expected)
"""

STREAM_OR_NOT = f"""
try:
{textwrap.indent(STREAM, "    ")}
except greta.GretaError as error:
    print("STREAM", error)
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack(tmp_path_factory.mktemp("pack") / "greta.tar.gz")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bare_python(tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, python: Path) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster"), python, workers=2) as started:
        yield started


def run(script: str, *arguments: object) -> str:
    """What a driver says on stdout."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_an_archive_holds_the_inside_of_the_package_and_its_kernels(
    archive: Path, python: Path, tmp_path: Path
) -> None:
    with tarfile.open(archive) as packed:
        names = packed.getnames()
        packed.extractall(tmp_path / "greta", filter="tar")
    assert "./__init__.py" in names
    assert not [name for name in names if "studio" in name or name.endswith(".pyc")]
    assert archive.stat().st_size < 20_000_000
    # Loading compiled kernels takes seconds; compiling even one part of them takes half a minute.
    probe = (
        "from greta.spark.wire.workers import tell_of_compilation; tell_of_compilation()\n"
        "import greta; from greta.engine.warm import warm; warm('usual'); print(greta.__file__)"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([python, "-c", probe], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(tmp_path / "greta" / "__init__.py"), done.stderr
    assert "compiles" not in done.stderr


def test_kernels_that_were_compiled_for_an_archive_are_there_for_the_next(tmp_path: Path) -> None:
    copy, home = tmp_path / "copy", tmp_path / "home"
    for place, files in ((copy, ("new.nbc", "newer.nbi", "same.nbi")), (home, ("newer.nbi", "same.nbi"))):
        (place / "kernels" / "__pycache__").mkdir(parents=True)
        for file in files:
            (place / "kernels" / "__pycache__" / file).write_text(place.name)
            os.utime(place / "kernels" / "__pycache__" / file, (1, 1 + (file == "newer.nbi" and place is copy)))
    _keep(copy, home)
    kept = {file.name: file.read_text() for file in (home / "kernels" / "__pycache__").iterdir()}
    assert kept == {"new.nbc": "copy", "newer.nbi": "copy", "same.nbi": "home"}


@pytest.mark.slow
def test_executors_without_greta_are_told_of_and_get_it_from_the_driver(
    running: Cluster, python: Path, archive: Path, tmp_path: Path
) -> None:
    told = run(HEAD + WITHOUT + BATCH + SQL + STREAM, running.master, python, archive, tmp_path)
    assert "SAID True" in told
    assert "TOLD greta is not installed where Spark's tasks run" in told
    assert [line for line in told.splitlines() if line[:3] in ("BAT", "SQL", "STR")] == ["BATCH 0", "SQL 0", "STREAM 0"]
    assert not [file for file in running.place.glob("worker-*/*/*/stderr") if "compiles them" in file.read_text()]


@pytest.mark.slow
def test_executors_and_workers_that_are_killed_lose_nothing(
    running: Cluster, python: Path, archive: Path, tmp_path: Path
) -> None:
    script = HEAD + BATCH + "import time\nPath(place, 'ready').touch()\n" + STREAM
    environment = {k: v for k, v in os.environ.items() if k not in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")}
    command = [sys.executable, "-c", script, running.master, str(python), str(archive), str(tmp_path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as driver:
        while not (tmp_path / "ready").exists() and driver.poll() is None:
            time.sleep(0.1)
        running.processes[-1].end()
        running.start_worker("worker-again")
        assert driver.stdout is not None
        told = driver.stdout.read()
    assert "STREAM 0" in told


@pytest.mark.slow
def test_a_connect_server_without_greta_gets_it_from_the_client(python: Path, archive: Path, tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    (tmp_path / "client").mkdir()
    with connect_server(tmp_path / "server", python, "local[2]") as address:
        told = run(HEAD + WITHOUT + BATCH + SQL + STREAM_OR_NOT, address, python, archive, tmp_path / "client")
    assert "SAID True" in told
    assert "TOLD greta is not installed where Spark's tasks run" in told
    streams = "STREAM 0" if client_version() >= (4, 1) else "STREAM streams over Spark Connect need Spark 4.1 or later"
    found = [line.partition(", and")[0] for line in told.splitlines() if line[:3] in ("BAT", "SQL", "STR")]
    assert found == ["BATCH 0", "SQL 0", streams]
