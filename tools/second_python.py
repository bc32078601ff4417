"""Run tests on another Python than the usual one, in an environment of its own, without Spark and browsers.

``python tools/second_python.py 3.13`` looks for that Python by name and among pyenv's and runs all its tests; where
there is none it says so and succeeds, so that a machine without it can still run all the rest. ``--sample`` is CI's
share: tests of the language, plans, engine, graph and data sets, a few random cases of each, on kernels that are plain
Python, with a floor for the branch coverage of ``lang``, ``plan`` and ``engine``; where there is no such Python, the
usual one runs them. ``--prepare`` makes the environment and no more. Needs nothing but Python's standard library.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALL = (".[plot,studio,dev]", "pandas")
"""What all tests but those on Spark need."""
FEW = (".", "hypothesis", "pandas", "polars", "pytest", "pytest-cov", "pytest-timeout", "pytest-xdist")
"""What the sample needs."""
LEAST_COVERAGE = 90
"""Percent of branches."""
JUDGED = ("lang", "plan", "engine")
LONG = (
    *("without_a_scan", "survive", "having_compares", "samples_are_uniform", "drawn_by_their_counts"),
    *("join_small_ones", "exact-auto", "exact-graph", "double-graph"),
    *("counts_are_exact_beyond_doubles", "hard_patterns_end", "drawn_without_overlaps", "graph-exact"),
    *("planner_folds_agree", "query_prints_back", "are_put_together", "logarithms_and_ratios", "flat_lists"),
    *("on_two_events_agree", "of_having_agree", "on_a_value_and_a_constant_agree", "of_two_events_are_exact"),
)
"""What takes many seconds each on kernels that are plain Python; and worked cases, of which each runs once."""
LEFT_OUT = ("--ignore", "tests/engine/test_every_door.py", "--ignore", "tests/engine/test_kernels.py")
SAMPLE = (
    *(f"tests/{part}" for part in (*JUDGED, "graph", "datasets")),
    *(f"src/greta/{part}" for part in JUDGED),
    *(*LEFT_OUT, "-k", f"not ({' or '.join(LONG)})"),
)
WITHOUT = ("-m", "not slow and not spark and not browser")
FAST = {"NUMBA_DISABLE_JIT": "1", "GRETA_EXAMPLES": "0.02", "GRETA_HYPOTHESIS_PROFILE": "quick"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version", help="such as 3.13")
    parser.add_argument("--sample", action="store_true", help="CI's share, on the usual Python where there is no other")
    parser.add_argument("--prepare", action="store_true", help="make the environment alone")
    arguments = parser.parse_args()
    try:
        python = environment(arguments.version, sample=arguments.sample)
    except subprocess.CalledProcessError:
        python = None
    if python is None:
        skipped = "the usual one runs its sample" if arguments.sample else "its tests are skipped"
        print(f"greta: no Python {arguments.version} with the pinned packages here: {skipped}", flush=True)
    if arguments.prepare:
        return
    if arguments.sample:
        coverage = [part for name in JUDGED for part in ("--cov", f"greta.{name}")]
        floor = ("--cov-branch", "--cov-report", "term:skip-covered", "--cov-fail-under", str(LEAST_COVERAGE))
        usual = ROOT / ".venv" / "bin" / "python"
        run(python or usual, "-m", "pytest", "-n", "2", *WITHOUT, *SAMPLE, *coverage, *floor, more=FAST)
    elif python is not None:
        left_out = ("--ignore", "tests/spark", "--ignore", "tests/docs", "--ignore", "src/greta/spark")
        run(python, "-m", "pytest", "-n", "2", *WITHOUT, *left_out)


def environment(version: str, *, sample: bool) -> Path | None:
    """The Python of an environment with this version and its packages, made if need be; None where there is none."""
    base = find(version)
    if base is None:
        return None
    home = ROOT / f".venv-{version}"
    python = home / "bin" / "python"
    stamp = home / (".sample" if sample else ".ready")
    changed = max((ROOT / name).stat().st_mtime for name in ("pyproject.toml", "constraints.txt"))
    if stamp.exists() and stamp.stat().st_mtime >= changed:
        return python
    if not python.exists():
        run(base, "-m", "venv", home)
    constraints = str(ROOT / "constraints.txt")
    packages = ("--constraint", constraints, "--editable", *(FEW if sample else ALL))
    quietly = ("--quiet", "--disable-pip-version-check", "--no-compile")
    run(python, "-m", "pip", "install", *quietly, *packages, more={"PIP_CONSTRAINT": constraints})
    stamp.touch()
    return python


def find(version: str) -> Path | None:
    """A Python of this version that starts; pyenv's stand-ins are there for versions that are not."""
    named = shutil.which(f"python{version}")
    places = [*([Path(named)] if named else []), *sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python"))]
    for place in places:
        command: list[str | Path] = [place, "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        if asked.returncode == 0 and asked.stdout.strip() == version:
            return place
    return None


def run(*command: str | Path, more: dict[str, str] | None = None) -> None:
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | (more or {}))


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
