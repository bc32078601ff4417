"""The project keeps its promises about itself: light import, one version, clean layers, exact pins."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

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


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
import greta
query = '''RETURN COUNT(*), MIN(A.x), AVG(A.x) PATTERN SEQ(NOT C, A+, B) WHERE A.x < NEXT(A).x
           WITHIN 10 seconds HAVING COUNT(*) > 1'''
greta.explain(query)
events = [{"type": kind, "time": at, "x": at} for at, kind in enumerate("AAB")]
print(greta.aggregate(events, query, strategy="graph").to_pylist())
from greta.graph import build
print(len(build(events, query).svg()) > 1000)
print(sorted(name for name in sys.modules if name.startswith("greta.kernels.")))
"""


def test_explain_and_the_papers_graph_work_without_numba() -> None:
    answer = subprocess.run([sys.executable, "-c", WITHOUT_NUMBA], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    rows, drawn, kernels = answer.stdout.splitlines()
    assert rows.endswith("'count': 3.0, 'min_A_x': 0, 'avg_A_x': 0.5}]"), rows
    assert (drawn, kernels) == ("True", "['greta.kernels.layout']")


def test_the_wheel_holds_greta_and_no_research(tmp_path: Path) -> None:
    builder = f"from hatchling.build import build_wheel; print(build_wheel({str(tmp_path)!r}))"
    answer = subprocess.run([sys.executable, "-c", builder], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    with ZipFile(tmp_path / answer.stdout.split()[-1]) as wheel:
        names = wheel.namelist()
    modules = {name for name in names if name.endswith(".py")}
    assert modules == {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "greta").rglob("*.py")}
    assert not [name for name in names if re.search(r"research|rivals|brute_force|\bbench\b|tests/", name)]


def test_every_public_name_has_a_home_and_is_listed() -> None:
    assert {*greta._HOME, *greta._PACKAGES, "__version__"} == set(greta.__all__)
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
    wanted = project["dependencies"] + [need for needs in extras.values() for need in needs]
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
    places = os.pathsep.join(filter(None, [str(ROOT / "research"), os.environ.get("PYTHONPATH")]))
    answer = subprocess.run(
        [tool, "--no-cache"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_make_help_names_the_commands_of_the_readme() -> None:
    answer = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    readme = (ROOT / "README.md").read_text()
    for target in ("studio", "demo", "test"):
        assert f"make {target} " in answer.stdout
        assert f"\nmake {target}\n" in readme
