"""A part of the Spark suite on every Spark that greta runs on: environments → test runs → a table for the docs.

Each version has an environment of its own beneath ``.matrix/``, with the pins of ``constraints.txt`` beside that Spark;
the oldest has the lowest versions of NumPy, Numba, PyArrow and pandas as well. ``--quick`` is CI's share: a few tests
on the oldest Spark alone, which is put before that of ``.venv`` instead of into an environment of its own; it writes no
table. ``--prepare`` fetches that Spark and no more; ``--page`` writes down what each column runs, and runs nothing.
Needs nothing but Python's standard library.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "spark-versions.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
FILES_BEGIN, FILES_END = "<!-- files: begin -->", "<!-- files: end -->"

FEATURES: dict[str, tuple[str, ...]] = {
    "batch": (
        "tests/spark/test_spark_batch.py",
        "tests/spark/test_spark_ranges.py",
        "tests/spark/test_cores.py",
        "tests/spark/test_spark_versions.py",
    ),
    "SQL": ("tests/spark/test_spark_sql.py",),
    "Connect": ("tests/spark/test_connect.py",),
    "stream": ("tests/spark/test_stream.py", "tests/spark/test_stream_buckets.py"),
    "command line": ("tests/spark/test_cli_run.py", "tests/spark/test_cli_stream.py"),
    "Kafka": ("tests/spark/test_kafka.py",),
    "pack/ship": ("tests/spark/test_ship.py",),
    "errors": (
        "tests/spark/test_failures.py",
        "tests/spark/test_bad_input.py",
        "tests/spark/test_check.py",
        "tests/spark/test_settings.py",
    ),
}
SLOW = ("Connect", "pack/ship")
"""Features whose tests are marked slow."""
QUICK = "mistakes or several_queries_come_back or columns_may_have_any_name or no_events or too_old"
LEFT_OUT = "not worked_cases"
"""Minutes each, and the same on every Spark: the judge's cases run once, on the newest."""
PYTEST = ("-m", "pytest", "-q", "-W", "ignore", "-p", "no:cacheprovider")
LOWEST = {"numpy": "2.1.*", "numba": "0.61.*", "pyarrow": "19.*", "pandas": "2.2.*", "llvmlite": "0.44.*"}


@dataclass(frozen=True)
class Spark:
    """A version, and what greta does there."""

    version: str
    features: tuple[str, ...] = tuple(FEATURES)
    lowest: bool = False


SPARKS = (
    Spark("3.5.9", ("batch",), lowest=True),
    Spark("4.0.5"),
    Spark("4.1.4"),
    Spark("4.2.1"),
    Spark("4.3.0"),
)
EXTRAS = ("spark", "java", "kafka", "plot")
TOOLS = ("duckdb", "hypothesis", "polars", "psutil", "pytest", "pytest-timeout")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few tests on the oldest version")
    parser.add_argument("--prepare", action="store_true", help="fetch the oldest version alone")
    parser.add_argument("--page", action="store_true", help="write down what each column runs, and run nothing")
    parser.add_argument("--only", action="append", metavar="VERSION", help="this version; repeatable")
    parser.add_argument("--feature", action="append", choices=FEATURES, help="this column; repeatable")
    parser.add_argument("--environments", type=Path, default=ROOT / ".matrix", help="where environments are kept")
    arguments = parser.parse_args()
    if arguments.quick or arguments.prepare:
        place = fetch(SPARKS[0], arguments.environments)
        sys.exit(run_quick(SPARKS[0], place) if arguments.quick and place else 0)
    if arguments.page:
        write_page(read_table())
        return
    chosen = [spark for spark in SPARKS if not arguments.only or spark.version in arguments.only]
    table = read_table()
    for spark in chosen:
        python = prepare(spark, arguments.environments)
        for feature in spark.features:
            if arguments.feature and feature not in arguments.feature:
                continue
            result = run(python, FEATURES[feature], LEFT_OUT, slow=feature in SLOW)
            say(f"Spark {spark.version}, {feature}: {result}")
            table[spark.version, feature] = str(result)
            write_page(table)
    sys.exit(any("failed" in cell for cell in table.values()))


def say(message: str) -> None:
    print(f"greta: {message}", flush=True)


def prepare(spark: Spark, place: Path) -> Path:
    """An environment with this Spark; made once."""
    home = place / (spark.version + ("-lowest" if spark.lowest else ""))
    python = home / "bin" / "python"
    stamp = home / ".ready"
    if not stamp.exists():
        say(f"making an environment for Spark {spark.version}")
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        constraints = home / "constraints.txt"
        constraints.write_text(pins(spark))
        command = [
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-c",
            str(constraints),
        ]
        packages = [f"pyspark=={spark.version}", *needed(), *TOOLS]
        subprocess.run([*command, *packages], check=True, cwd=ROOT)
        stamp.touch()
    return python


def fetch(spark: Spark, place: Path) -> Path | None:
    """A directory with this Spark and nothing else, to be put before the packages of ``.venv``; made once.

    Where the package cannot be had, this says so and returns None: a machine without it can still run all the rest.
    """
    home = place / f"{spark.version}-alone"
    stamp = home / ".ready"
    if not stamp.exists():
        say(f"fetching Spark {spark.version}")
        command = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile")
        wanted = ("--no-deps", "--upgrade", "--target", str(home), f"pyspark=={spark.version}")
        if subprocess.run([*command, *wanted], check=False, cwd=ROOT).returncode:
            say(f"Spark {spark.version} cannot be had here: its tests are skipped")
            return None
        stamp.touch()
    return home


def run_quick(spark: Spark, place: Path) -> int:
    """Run the few tests with the usual packages, whose compiled kernels serve; returns the code to leave with."""
    python = ROOT / ".venv" / "bin" / "python"
    environment = os.environ | {"PYTHONPATH": f"{place}{os.pathsep}{ROOT / 'src'}"}
    asked = [str(python), "-c", "import pyspark; print(pyspark.__version__)"]
    version = subprocess.run(asked, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    if version != spark.version:
        sys.exit(f"{place} should have Spark {spark.version}, and has {version}\nhint: remove the directory")
    tests = (*PYTEST, "-k", QUICK, "tests/spark/test_spark_batch.py", "tests/spark/test_spark_versions.py")
    return subprocess.run([str(python), *tests], cwd=ROOT, env=environment, check=False).returncode


def pins(spark: Spark) -> str:
    """The project's pins without those that this Spark decides."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    free = {"pyspark", "py4j", *(LOWEST if spark.lowest else ())}
    kept = [line for line in lines if not line.startswith("#") and line.partition("==")[0].lower() not in free]
    return "\n".join(kept + [f"{name}=={version}" for name, version in LOWEST.items() if spark.lowest]) + "\n"


def needed() -> list[str]:
    """Names of what greta and its extras that are tried need; their versions are pinned."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(name for extra in EXTRAS for name in extras[extra])]
    names = [re.split(r"[<>=]", requirement)[0] for requirement in wanted]
    return [name for name in names if name != "pyspark"]


@dataclass(frozen=True)
class Result:
    """How many tests passed, and in what time."""

    passed: int
    failed: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.passed} passed" if not self.failed else f"{self.failed} failed, {self.passed} passed"


def run(python: Path, files: tuple[str, ...], selection: str, *, slow: bool) -> Result:
    """Run test files; old versions of PySpark warn of themselves, so warnings are no errors here."""
    began = time.monotonic()
    marks = [] if not slow else ["-m", "spark"]
    command = [str(python), *PYTEST, *marks, "-k", selection, *files]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    if (home := python.parent.parent).name.endswith("-lowest"):
        # Another Numba would overwrite the kernels that lie beside the sources.
        environment["NUMBA_CACHE_DIR"] = str(home / "kernels")
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", done.stdout)}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    if done.returncode:
        print(done.stdout[-4000:])
        failed = max(1, failed)
    return Result(counts.get("passed", 0), failed, time.monotonic() - began)


def read_table() -> dict[tuple[str, str], str]:
    """The cells of the page's table, so that versions may be run one at a time."""
    cells: dict[tuple[str, str], str] = {}
    names: list[str] = []
    for line in PAGE.read_text().split(BEGIN)[1].split(END)[0].splitlines():
        version, *values = (part.strip() for part in line.strip("| ").split("|"))
        if version == "Spark":
            names = values
        elif re.fullmatch(r"\d+\.\d+\.\d+", version):
            cells |= {(version, name): value for name, value in zip(names, values, strict=True) if value != "–"}
    return cells


def write_page(cells: dict[tuple[str, str], str]) -> None:
    """Bring the page's two tables up to date: what passed, and which files that was."""
    page = between(PAGE.read_text(), BEGIN, END, results(cells))
    PAGE.write_text(between(page, FILES_BEGIN, FILES_END, files_of_features()))


def results(cells: dict[tuple[str, str], str]) -> list[str]:
    rows = [f"| Spark | {' | '.join(FEATURES)} |", f"|---|{'---|' * len(FEATURES)}"]
    for spark in SPARKS:
        values = [cells.get((spark.version, name), "–") for name in FEATURES]
        rows.append(f"| {spark.version} | {' | '.join(values)} |")
    return rows


def files_of_features() -> list[str]:
    rows = ["| column | files |", "|---|---|"]
    for feature, files in FEATURES.items():
        names = ", ".join(f"`{Path(file).name}`" for file in files)
        rows.append(f"| {feature} | {names} |")
    return [*rows, "", f"Tests that are marked slow run in the columns {' and '.join(SLOW)} alone."]


def between(page: str, begin: str, end: str, lines: list[str]) -> str:
    """A page with other lines between two marks."""
    before, rest = page.split(begin)
    return "\n".join([before + begin, *lines, end + rest.split(end)[1]])


if __name__ == "__main__":
    main()
