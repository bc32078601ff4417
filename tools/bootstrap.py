"""Make .venv ready for work: pinned packages, greta itself, a Java for Spark if none is there, compiled kernels.

``packages`` does all but the last, ``kernels`` the last, and without a word it does both. Needs nothing but Python's
standard library; ``make`` runs it when the pins changed. Running it again on a ready environment changes nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
INSTALLED = VENV / ".packages"
READY = VENV / ".ready"
EXTRAS = "spark,kafka,delta,iceberg,plot,studio,docs,dev"
OLDEST = (3, 11)


def main(parts: list[str]) -> None:
    if "packages" in parts:
        make_packages_ready()
    if "kernels" in parts:
        compile_kernels()


def make_packages_ready() -> None:
    if sys.version_info < OLDEST:
        sys.exit(
            f"greta needs Python {OLDEST[0]}.{OLDEST[1]} or later, and this is {sys.version.split()[0]}\n"
            "hint: name a newer one: make PYTHON=python3.12 test"
        )
    for stamp in (INSTALLED, READY):
        stamp.unlink(missing_ok=True)
    if not PYTHON.exists():
        say("creating .venv")
        create_environment()
    say("installing the pinned packages (a few minutes on the first run)")
    # Python brings the pip of its own release day; the pins are resolved by one and the same everywhere.
    install("--upgrade", "pip")
    install("--editable", f".[{EXTRAS}]")
    if not has_java():
        say("no Java 17 or later found: installing one into .venv")
        install("--editable", f".[{EXTRAS},java]")
        if not has_java():
            run(PYTHON, "-c", "from greta.spark.sessions.java import find_java; find_java()")
    # Where Python may write no byte code by itself, every process would compile what it imports, for seconds; what is
    # meant for another Python does not compile, and is never imported.
    run_quietly(PYTHON, "-m", "compileall", "-q", "-j", "0", VENV / "lib", "src", "research")
    INSTALLED.touch()


def compile_kernels() -> None:
    # The first query ever would wait for this. What needs the same kernels is compiled by one process.
    say("compiling the kernels (a minute on the first run)")
    ways = (("greta.engine.warm usual trends",), ("greta.engine.warm exact selection", "greta.live.warm"))
    with ThreadPoolExecutor() as both:
        list(both.map(compile_in_turn, ways))
    READY.touch()
    say("ready: .venv/bin/greta --help lists what there is")


def compile_in_turn(modules: tuple[str, ...]) -> None:
    # Numba colours messages of errors that it goes on to catch, where a package for colours is there
    plain = {"NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"}
    for module in modules:
        run(PYTHON, "-m", *module.split(), environment=plain)


def say(message: str) -> None:
    print(f"greta: {message}", flush=True)


def create_environment() -> None:
    try:
        run(sys.executable, "-m", "venv", VENV)
    except subprocess.CalledProcessError:
        # Debian's Python comes without ensurepip; half an environment would hide that on the next run.
        shutil.rmtree(VENV, ignore_errors=True)
        sys.exit("cannot create .venv\nhint: on Debian and Ubuntu, apt install python3-venv")


def install(*requirement: str) -> None:
    constraints = str(ROOT / "constraints.txt")
    run(
        *(PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"),
        *("--constraint", constraints, *requirement),
        # the build backend runs in an environment of its own, which must follow the pins too
        environment={"PIP_CONSTRAINT": constraints},
    )


def has_java() -> bool:
    probe = "from greta.spark.sessions.java import find_java; find_java()"
    return run_quietly(PYTHON, "-c", probe) == 0


def run_quietly(*command: str | Path) -> int:
    """Run a command, whatever comes of it; returns its code."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode


def run(*command: str | Path, environment: dict[str, str] | None = None) -> None:
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | (environment or {}))


if __name__ == "__main__":
    try:
        main(sys.argv[1:] or ["packages", "kernels"])
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
