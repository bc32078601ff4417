"""Mutants: small mistakes made on purpose, one at a time, each of which some fast test must notice.

``python tools/mutants.py`` reads ``tools/mutants.toml`` and, for every mutant, copies the sources aside, makes its one
change there and runs a suite of fast tests until one fails. Kernels run as plain Python, so that no compiled code
of another version is in play, and the tests must pass on the sources as they are. Survivors are printed, and the run
fails, unless the list says why the mutant changes nothing that can be seen (``equivalent``). A mutant whose text does
not stand in its place exactly once is an error.

    python tools/mutants.py                  all
    python tools/mutants.py ranks wide       those whose name or suite holds one of the words
    python tools/mutants.py --jobs 2         two at a time
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tools" / "mutants.toml"
COPIED = ("src", "tests", "research", "pyproject.toml")
UNTIL_ONE_FAILS = ("-x", "-q", "--no-header", "--tb", "no", "-p", "no:cacheprovider")
PATIENCE = 1200
"""Seconds for the tests of one mutant; one that never ends is noticed, too."""


@dataclass(frozen=True)
class Mutant:
    """One change: ``old`` becomes ``new`` in one of the files of a directory, whichever has it."""

    name: str
    place: str
    tests: str
    """The suite that must notice."""
    old: str
    new: str
    why: str
    """What is wrong with it."""
    equivalent: str = ""
    """Why no test can notice it, if none can."""

    def find(self, root: Path) -> Path:
        """The file that has the text; raises ValueError where it does not stand once in all of them."""
        files = sorted((root / self.place).rglob("*.py"))
        counts = {file: file.read_text().count(self.old) for file in files}
        if sum(counts.values()) != 1:
            raise ValueError(
                f"{self.name}: stands {sum(counts.values())} times in {self.place}, not once: {self.old!r}"
            )
        return next(file for file, count in counts.items() if count)

    def apply(self, root: Path) -> None:
        """Make the mistake."""
        file = self.find(root)
        file.write_text(file.read_text().replace(self.old, self.new))


@dataclass(frozen=True)
class Outcome:
    """What came of a mutant."""

    mutant: Mutant
    killed_by: str | None
    seconds: float


def read_mutants() -> list[Mutant]:
    """The list, in its order."""
    return [Mutant(**entry) for entry in tomllib.loads(LIST.read_text())["mutant"]]


def read_suites() -> dict[str, list[list[str]]]:
    """Suites of fast tests: stages, each of them arguments of pytest."""
    suites: dict[str, list[str]] = tomllib.loads(LIST.read_text())["suites"]
    return {name: [shlex.split(stage) for stage in stages] for name, stages in suites.items()}


def run_mutant(mutant: Mutant, suites: dict[str, list[list[str]]]) -> Outcome:
    """Make the mistake in a copy and run its suite."""
    began = time.monotonic()
    killed_by = in_a_copy(suites[mutant.tests], mutant)
    return Outcome(mutant, killed_by, time.monotonic() - began)


def in_a_copy(stages: list[list[str]], mutant: Mutant | None = None) -> str | None:
    """The first test that fails in a copy of the sources with a mutant in it, or as they are; None if all pass."""
    with tempfile.TemporaryDirectory(prefix="greta-mutant-") as name:
        place = Path(name)
        copy_sources(place)
        if mutant is not None:
            mutant.apply(place)
        return next(filter(None, (first_failure(place, stage) for stage in stages)), None)


def copy_sources(place: Path) -> None:
    """All that tests need, without compiled kernels; byte code is taken along, as it says of which source it is."""
    leave = shutil.ignore_patterns("*.nbi", "*.nbc", ".hypothesis")
    for entry in COPIED:
        source = ROOT / entry
        if source.is_dir():
            shutil.copytree(source, place / entry, ignore=leave)
        else:
            shutil.copy(source, place / entry)


def first_failure(place: Path, arguments: list[str]) -> str | None:
    """The first test that fails in a copy of the sources; None if all pass."""
    environment = os.environ | {
        "PYTHONPATH": f"{place / 'src'}{os.pathsep}{place / 'research'}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_DISABLE_JIT": "1",
        # Fixed examples: a mutant is noticed every time or never.
        "GRETA_HYPOTHESIS_PROFILE": "quick",
        "GRETA_EXAMPLES": "0.1",
    }
    command = [sys.executable, "-m", "pytest", *UNTIL_ONE_FAILS, *arguments]
    try:
        done = subprocess.run(
            command, cwd=place, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return "took too long"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0].partition(" - ")[0] if lines else f"pytest ended with {done.returncode}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only mutants whose name or suite holds one of these")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    parser.add_argument("--no-baseline", action="store_true", help="trust that tests pass on the sources as they are")
    arguments = parser.parse_args()
    suites = read_suites()
    chosen = [
        mutant
        for mutant in read_mutants()
        if not arguments.words or any(word in f"{mutant.name} {mutant.tests}" for word in arguments.words)
    ]
    for mutant in chosen:
        mutant.find(ROOT)
    for suite in dict.fromkeys(mutant.tests for mutant in chosen if not arguments.no_baseline):
        began = time.monotonic()
        failed = in_a_copy(suites[suite])
        said = f"fails as it is: {failed}" if failed else "all tests pass as it is"
        print(f"{suite:32} {time.monotonic() - began:5.0f} s  {said}", flush=True)
        if failed:
            return 1
    survivors, equivalent, killed = [], 0, 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for outcome in pool.map(lambda mutant: run_mutant(mutant, suites), chosen):
            mutant = outcome.mutant
            if outcome.killed_by is not None:
                killed += 1
                said = f"killed by {outcome.killed_by}"
            elif mutant.equivalent:
                equivalent += 1
                said = f"equivalent: {mutant.equivalent}"
            else:
                survivors.append(mutant)
                said = f"SURVIVED: {mutant.why}"
            print(f"{mutant.name:32} {outcome.seconds:5.0f} s  {said}", flush=True)
    print(f"mutants: {killed} of {len(chosen)} killed, {equivalent} equivalent, {len(survivors)} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
