"""Run all tests but those on Spark and in a browser on another Python, in an environment of its own.

``python tools/second_python.py 3.13`` looks for that Python by name and among pyenv's; where there is none it says so
and succeeds, so that a machine without it can still run all the rest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = "plot,studio,dev"


def main(version: str) -> None:
    found = find(version)
    if found is None:
        print(f"greta: no Python {version} here: its tests are skipped")
        return
    home = ROOT / f".venv-{version}"
    python = home / "bin" / "python"
    if not python.exists():
        run(found, "-m", "venv", home)
    constraints = str(ROOT / "constraints.txt")
    packages = ("--constraint", constraints, "--editable", f".[{EXTRAS}]")
    run(python, "-m", "pip", "install", "--quiet", *packages, environment={"PIP_CONSTRAINT": constraints})
    skipped = ("--ignore", "tests/spark", "--ignore", "tests/docs", "--ignore", "src/greta/spark")
    run(python, "-m", "pytest", "-n", "2", "-m", "not slow and not spark and not browser", *skipped)


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


def run(*command: str | Path, environment: dict[str, str] | None = None) -> None:
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | (environment or {}))


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
