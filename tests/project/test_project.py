"""The project keeps its promises about itself: light import, one version, clean layers, exact pins."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import greta

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ["numba", "numpy", "pandas", "pyarrow", "pyspark", "lark", "typer", "rich"]


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(answer.stdout))


def text_files() -> list[Path]:
    """What git tracks or would track; all files where there is no git, as in a source archive."""
    listing = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0:
        names = listing.stdout.splitlines()
    else:
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if ".venv" not in path.parts]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_importing_greta_brings_in_nothing_heavy() -> None:
    assert modules_after("import greta").isdisjoint(HEAVY)


def test_parsing_a_query_brings_in_neither_arrays_nor_spark() -> None:
    loaded = modules_after("import greta; greta.parse('RETURN COUNT(*) PATTERN A+')")
    assert "lark" in loaded
    assert loaded.isdisjoint({"numba", "numpy", "pandas", "pyarrow", "pyspark"})


def test_the_command_line_starts_without_arrays_and_spark() -> None:
    assert modules_after("import greta.cli").isdisjoint({"numba", "numpy", "pandas", "pyarrow", "pyspark"})


def test_every_public_name_has_a_home_and_is_listed() -> None:
    assert {*greta._HOME, "__version__"} == set(greta.__all__)
    assert set(greta.__all__) <= set(dir(greta))


@pytest.mark.parametrize("name", sorted(greta._HOME))
def test_public_name_loads(name: str) -> None:
    assert getattr(greta, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'trendz'"):
        greta.trendz  # noqa: B018


def test_the_installed_version_is_the_one_in_the_source() -> None:
    assert version("greta-trends") == greta.__version__


def test_every_constraint_is_an_exact_pin() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins
    assert [line for line in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9._+!]+", line)] == []


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    # Flink is one rival of the benchmarks and needs packages that conflict with Spark's.
    wanted = project["dependencies"] + [need for name, needs in extras.items() if name != "flink" for need in needs]
    pinned = {name_of(line) for line in (ROOT / "constraints.txt").read_text().splitlines()}
    assert {name_of(need) for need in wanted} <= pinned


def name_of(requirement: str) -> str:
    return re.split(r"[<>=!~;\[ ]", requirement)[0].lower().replace("_", "-")


def test_no_file_names_a_package_registry() -> None:
    hosts = re.compile("|".join(["pypi" + r"\.org", "python" + "hosted", r"registry\.npm" + "js", r"repo1?\.maven"]))
    found = []
    for path in text_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in hosts.finditer(text)]
    assert found == []


def test_imports_go_down_only() -> None:
    tool = Path(sys.executable).with_name("lint-imports")
    answer = subprocess.run([tool, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_make_help_names_the_commands_of_the_readme() -> None:
    answer = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    readme = (ROOT / "README.md").read_text()
    for target in ("studio", "demo", "test"):
        assert f"make {target} " in answer.stdout
        assert f"\nmake {target}\n" in readme
