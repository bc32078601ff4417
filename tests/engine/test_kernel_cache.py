"""The compiled code on disk is that of the sources as they are now."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from greta.kernels import compiler

CALLED = """
from copied.compiler import inner

@inner
def larger(a, b):
    return a {operator} b
"""
CALLER = """
from copied.compiler import kernel
from copied.called import larger

@kernel
def count(n):
    found = 0
    for at in range(n):
        if larger(at, 2):
            found += 1
    return found
"""
SCRIPT = """
from copied.caller import count
print(count(5), sum(count.stats.cache_misses.values()), sum(count.stats.cache_hits.values()))
"""


def counted(home: Path) -> list[int]:
    """What the caller gives in a new process, and how often it was compiled and read from disk."""
    places = [str(home), *filter(None, [os.environ.get("PYTHONPATH")])]
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(word) for word in answer.stdout.split()]


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_a_change_to_a_called_kernel_compiles_its_callers_anew(tmp_path: Path) -> None:
    package = tmp_path / "copied"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(compiler.__file__, package / "compiler.py")
    (package / "called.py").write_text(CALLED.format(operator=">"))
    (package / "caller.py").write_text(CALLER)
    assert counted(tmp_path) == [2, 1, 0]
    assert counted(tmp_path) == [2, 0, 1]
    (package / "called.py").write_text(CALLED.format(operator=">="))
    assert counted(tmp_path) == [3, 1, 0]
    assert counted(tmp_path) == [3, 0, 1]


def test_compiling_leaves_the_cache_of_other_packages_as_it_was() -> None:
    import numba
    from numba.core import caching

    assert os.environ.get("NUMBA_CACHE_LOCATOR_CLASSES", "") == numba.config.CACHE_LOCATOR_CLASSES
    assert not any(place.__module__.startswith("greta.") for place in caching.CacheImpl._locator_classes)


def test_where_compiled_code_is_kept_is_found_under_the_names_of_older_numbas(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core import caching

    monkeypatch.setattr(caching, "_InTreeCacheLocator", caching.InTreeCacheLocator, raising=False)
    monkeypatch.delattr(caching, "InTreeCacheLocator")
    assert compiler._locator("InTreeCacheLocator") is caching._InTreeCacheLocator
