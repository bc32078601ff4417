"""axe-core, which finds what keeps people with a screen reader or a keyboard out of a page. npm brings it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

NPM = shutil.which("npm")
SECONDS = 120
_PACKAGES = Path(__file__).parents[2] / "tools" / "studio-vendor" / "package.json"
_RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"] }).then(
  (found) => done(found.violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map((node) => node.html) }))),
  (error) => done([{ id: "axe itself", help: String(error), nodes: [] }]),
);
"""


def source(cache: Path) -> str | None:
    """The text of axe-core in the version of package.json, from the cache or by npm; None where npm cannot bring it."""
    version = json.loads(_PACKAGES.read_text())["devDependencies"]["axe-core"]
    place = cache / version
    script = place / "node_modules" / "axe-core" / "axe.min.js"
    if not script.is_file():
        if NPM is None:
            return None
        place.mkdir(parents=True, exist_ok=True)
        wish = ["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", f"axe-core@{version}"]
        try:
            subprocess.run([NPM, *wish], cwd=place, check=True, capture_output=True, timeout=SECONDS)
        except (OSError, subprocess.SubprocessError):
            return None
    return script.read_text(encoding="utf-8")


def violations(driver: Any, script: str) -> list[str]:
    """What axe finds wrong with the page as it is now, one line each."""
    driver.execute_script(script)
    found = driver.execute_async_script(_RUN)
    return [f"{each['id']}: {each['help']}: {' | '.join(each['nodes'][:3])}" for each in found]
