"""Bring a Chromium for the studio's tests where CI asks for it; elsewhere say how to get one.

Needs nothing but Python's standard library. System packages are installed only in CI (``CI=true``) or on request
(``GRETA_INSTALL_BROWSER=1``), by root, with apt-get. Never fails: without a browser its tests are skipped, and they
say why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping

PACKAGES = ("chromium", "chromium-driver")
PROGRAMS = ("chromium", "chromedriver")
SECONDS = 600


def main() -> None:
    if has_browser():
        return
    obstacle = why_not(os.environ)
    if obstacle is None:
        say(f"installing {' and '.join(PACKAGES)} for the browser tests")
        obstacle = install()
    if not has_browser():
        say(f"the browser tests will be skipped: {obstacle or 'the packages brought no ' + ' and '.join(PROGRAMS)}")


def say(message: str) -> None:
    print(f"greta: {message}", flush=True)


def has_browser() -> bool:
    return all(shutil.which(program) for program in PROGRAMS)


def why_not(environment: Mapping[str, str]) -> str | None:
    """What speaks against installing system packages here, None if nothing does."""
    asked = any(environment.get(name, "").lower() in ("1", "true") for name in ("CI", "GRETA_INSTALL_BROWSER"))
    if not asked:
        return f"there is no Chromium; on Debian, apt install {' '.join(PACKAGES)}"
    if shutil.which("apt-get") is None:
        return "there is no Chromium and no apt-get to install it with"
    if os.geteuid() != 0:
        return "there is no Chromium and only root may install it"
    return None


def install() -> str | None:
    """Try; returns what went wrong, in apt-get's last words."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    # Package lists may be missing or old; where they cannot be renewed, those that are there may still do.
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        try:
            ran = subprocess.run(
                ["apt-get", "--quiet", *command],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"apt-get {command[0]}: {error}"
        if ran.returncode and command[0] == "install":
            said = ran.stderr.strip().splitlines()
            return f"apt-get {command[0]} failed: {said[-1] if said else f'exit code {ran.returncode}'}"
    return None


if __name__ == "__main__":
    main()
