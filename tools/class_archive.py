"""Keep the classes that Spark loads in an archive that its Java maps instead of reading them anew at every start.

``python tools/class_archive.py FILE`` runs a small stream and has Java write the archive when it ends. The tests start
Java some twenty times; with the archive, a start takes half the processor time. A Java that the archive was not made
for, or other jars, make it useless but do no harm: Java looks at both and goes on without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

WORKLOAD = """
import contextlib
from greta.cli import main
with contextlib.suppress(SystemExit):
    main(["stream", "--demo", "--seconds", "4", "--quiet", "--master", "local[2]"])
from pyspark import SparkContext
java = SparkContext._gateway.proc
java.stdin.close()
java.wait()
"""


def main(archive: Path) -> None:
    print("greta: keeping Spark's classes for faster starts (half a minute, once)", flush=True)
    # As tests/conftest.py has it: an archive serves a Java with the same collector.
    options = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable -XX:ArchiveClassesAtExit={archive}"
    subprocess.run(
        [sys.executable, "-c", WORKLOAD],
        env=os.environ | {"SPARK_SUBMIT_OPTS": options},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if not archive.exists():
        print("greta: this Java keeps no archive; tests take a little longer", flush=True)
        archive.touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
