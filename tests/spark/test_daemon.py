"""What the worker daemon changes for the workers that it forks."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import zipfile
from pathlib import Path
from zipimport import zipimporter

import pytest

from greta.spark.daemon import keep_unchanged_archives


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive of modules on the path, in a process whose archives are read again where they change."""
    file = tmp_path / "modules.zip"
    write(file, "first_in_archive", "inside/__init__")
    monkeypatch.syspath_prepend(str(file))
    read = zipimporter.invalidate_caches

    def count(importer: zipimporter) -> None:
        READ.append(importer.archive)
        read(importer)

    monkeypatch.setattr(zipimporter, "invalidate_caches", count)
    for place in (file, file / "inside"):
        pkgutil.get_importer(str(place))
    monkeypatch.delitem(sys.modules, "inside", raising=False)
    keep_unchanged_archives()
    READ.clear()
    return file


READ: list[str] = []
"""Archives that were read again."""


def write(file: Path, *modules: str) -> None:
    with zipfile.ZipFile(file, "w") as out:
        for module in modules:
            out.writestr(f"{module}.py", "value = 1\n")


def test_a_module_added_to_an_archive_is_found(archive: Path) -> None:
    assert importlib.import_module("inside").value == 1
    write(archive, "first_in_archive", "second_in_archive", "inside/__init__", "inside/second")
    importlib.invalidate_caches()
    assert importlib.import_module("second_in_archive").value == 1
    assert importlib.import_module("inside.second").value == 1


def test_an_archive_that_has_not_changed_is_not_read_again(archive: Path) -> None:
    importlib.invalidate_caches()
    assert str(archive) not in READ


def test_an_archive_that_was_gone_for_a_while_is_read_again(archive: Path) -> None:
    aside = archive.with_suffix(".aside")
    archive.rename(aside)
    importlib.invalidate_caches()
    aside.rename(archive)
    importlib.invalidate_caches()
    assert importlib.import_module("first_in_archive").value == 1
