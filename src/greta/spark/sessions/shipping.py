"""greta for executors that lack it: this package, with its kernels compiled → an archive → every executor.

The archive holds the *inside* of the package. Spark unpacks it as a directory named ``greta`` in the directory of
shipped files, which is on the workers' path, so ``import greta`` works there and finds the kernels beside the sources.
They are compiled for this machine's processor; on another kind of processor workers compile them anew.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from greta.errors import SetupError
from greta.spark.compat import OLDEST_STREAMS, is_connect, require, spark_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME = "greta"
"""What the archive is unpacked as."""
_SKIPPED = ("*.pyc", "baselines", "bench", "studio", "cli", "datasets")
"""Parts of the package that no task uses."""


def pack(file: Path) -> Path:
    """Write an archive for ``spark.archives`` or ``ship``; kernels that are not compiled yet are compiled for it.

    A few seconds with compiled kernels, minutes without. Use it as ``--conf spark.archives=greta.tar.gz#greta``.
    """
    import greta

    home = Path(greta.__file__).parent
    with tempfile.TemporaryDirectory(prefix="greta-pack-") as place:
        copy = Path(place) / _NAME
        # Kernels are valid for sources of the very same time stamp, which copies and archives keep.
        shutil.copytree(home, copy, ignore=shutil.ignore_patterns(*_SKIPPED))
        _compile(Path(place))
        _keep(copy, home)
        for leftover in copy.rglob("*.pyc"):
            leftover.unlink()
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f".{file.name}.{os.getpid()}")
        with tarfile.open(draft, "w:gz", compresslevel=6) as archive:
            archive.add(copy, arcname=".")
        draft.replace(file)
    return file


def _compile(place: Path) -> None:
    """Compile what is missing, in a process that has nothing but the copy: caches elsewhere would not travel."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    paths = [str(place), *(path for path in sys.path if path)]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    for module in ("greta.engine.warm", "greta.live.warm"):
        command = [sys.executable, "-m", module]
        done = subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SetupError(f"the kernels could not be compiled for the archive\n{done.stderr.strip()[-500:]}")


def _keep(copy: Path, home: Path) -> None:
    """Bring kernels that were compiled for an archive home, where the next archive finds them."""
    for kernel in copy.rglob("__pycache__/*.nb?"):
        own = home / kernel.relative_to(copy)
        if own.exists() and own.stat().st_mtime >= kernel.stat().st_mtime:
            continue
        with suppress(OSError):
            own.parent.mkdir(exist_ok=True)
            draft = own.with_name(f".{own.name}.{os.getpid()}")
            shutil.copy2(kernel, draft)
            draft.replace(own)


def ship(spark: SparkSession, archive: str | Path | None = None) -> None:
    """Hand greta to a session's executors: those that lack it, and in the version of this process.

    Executors need NumPy, Numba, PyArrow, pandas and for streams protobuf of their own, and the same version of Python.
    Call it before the first query. Classic Spark hands the archive to executors as they come; Spark Connect keeps it
    with the session.

    Args:
        spark: The session.
        archive: One that ``greta pack`` wrote; without it, one is made, once per process.
    """
    file = _packed() if archive is None else Path(archive)
    if not file.is_file():
        raise SetupError(f"there is no archive {file}", hint=f"make one with greta pack {file}")
    place = f"{file.resolve()}#{_NAME}"
    if is_connect(spark):
        require(spark_version(spark), OLDEST_STREAMS, "archives over Spark Connect")
        spark.addArtifacts(place, archive=True)
    else:
        spark.sparkContext.addArchive(place)


@cache
def _packed() -> Path:
    directory = tempfile.mkdtemp(prefix="greta-ship-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return pack(Path(directory) / "greta.tar.gz")
