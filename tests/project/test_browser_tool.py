"""The tool that brings a browser for tests: it installs where CI asks, and a build never fails by it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "browser.py"
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may install packages")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory that is the whole PATH."""
    return tmp_path


def program(place: Path, text: str = "") -> None:
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)


def run_tool(programs: Path, **environment: str) -> str:
    answer = subprocess.run(
        [sys.executable, TOOL], env={"PATH": str(programs)} | environment, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    return answer.stdout


def test_nothing_happens_where_a_browser_is(programs: Path) -> None:
    for name in ("chromium", "chromedriver"):
        program(programs / name)
    assert run_tool(programs, CI="true") == ""


def test_nothing_is_installed_unless_someone_asks(programs: Path) -> None:
    program(programs / "apt-get", f"echo called >> {programs}/log")
    assert "apt install chromium chromium-driver" in run_tool(programs)
    assert not (programs / "log").exists()


@AS_ROOT
@pytest.mark.parametrize("ask", ["CI", "GRETA_INSTALL_BROWSER"])
def test_ci_or_a_user_who_asks_gets_a_browser(programs: Path, ask: str) -> None:
    made = "\n".join(
        f": > {programs}/{name}; /bin/chmod 755 {programs}/{name}" for name in ("chromium", "chromedriver")
    )
    program(programs / "apt-get", f'echo "$@" >> {programs}/log\nif [ "$2" = install ]; then {made}\nfi')
    assert "skipped" not in run_tool(programs, **{ask: "true"})
    assert (programs / "log").read_text().splitlines()[-1].endswith("chromium chromium-driver")


@AS_ROOT
def test_a_failed_installation_is_told_and_fails_nothing(programs: Path) -> None:
    program(programs / "apt-get", 'echo "E: Unable to locate package chromium" >&2\nexit 100')
    said = run_tool(programs, CI="true")
    assert "the browser tests will be skipped" in said
    assert "Unable to locate package chromium" in said


def test_a_system_without_apt_is_told_and_fails_nothing(programs: Path) -> None:
    assert "no apt-get" in run_tool(programs, CI="true")
