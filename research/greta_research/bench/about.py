"""Where and with what a benchmark ran: commit, versions, machine."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import greta

_PACKAGES = ("numpy", "numba", "pyarrow", "pyspark", "matplotlib")


def about(command: str) -> dict[str, Any]:
    """All that a reader needs to judge the numbers."""
    return {
        "command": command,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "greta": greta.__version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": _memory(),
        "load": ", ".join(f"{load:.1f}" for load in os.getloadavg()),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the checkout that this file lies in, with + where it had changes; None outside of one."""
    home = Path(__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(("git", "-C", str(home), *arguments), capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/src", ":/research")
        return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> str | None:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
    return f"{size / 2**30:.0f} GB"
