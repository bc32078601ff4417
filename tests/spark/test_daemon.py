"""What the worker daemon changes for the workers that it forks."""

from __future__ import annotations

import importlib
import pkgutil
import zipfile
from pathlib import Path
from zipimport import zipimporter

import pytest

from greta.spark.daemon import keep_unchanged_archives


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive of modules on the path, in a process whose archives are read again where they change."""
    file = tmp_path / "modules.zip"
    write(file, "first_in_archive")
    monkeypatch.syspath_prepend(str(file))
    monkeypatch.setattr(zipimporter, "invalidate_caches", zipimporter.invalidate_caches)
    pkgutil.get_importer(str(file))
    keep_unchanged_archives()
    return file


def write(file: Path, *modules: str) -> None:
    with zipfile.ZipFile(file, "w") as out:
        for module in modules:
            out.writestr(f"{module}.py", "value = 1\n")


def test_a_module_added_to_an_archive_is_found(archive: Path) -> None:
    write(archive, "first_in_archive", "second_in_archive")
    importlib.invalidate_caches()
    assert importlib.import_module("second_in_archive").value == 1


def test_an_archive_that_has_not_changed_is_not_read_again(archive: Path) -> None:
    importer = pkgutil.get_importer(str(archive))
    assert isinstance(importer, zipimporter)
    before = importer._files  # type: ignore[attr-defined]
    importlib.invalidate_caches()
    assert importer._files is before  # type: ignore[attr-defined]


def test_an_archive_that_is_gone_is_no_error(archive: Path) -> None:
    archive.unlink()
    importlib.invalidate_caches()
