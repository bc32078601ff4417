"""What keeps the tests themselves in order: names that do not clash, and mutants that still apply."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import mutants  # noqa: E402

MUTANTS = mutants.read_mutants()


def test_no_two_test_files_have_one_name() -> None:
    # Each is imported under its bare name: the second of a name would stop the whole run.
    names = Counter(file.name for file in (ROOT / "tests").rglob("*.py") if file.name != "conftest.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_no_test_file_has_the_name_of_a_module_that_tests_import() -> None:
    names = {file.stem for file in (ROOT / "tests").rglob("test_*.py")}
    assert names.isdisjoint(sys.stdlib_module_names)


def test_there_are_mutants_of_every_part_of_the_engine() -> None:
    assert {mutant.tests for mutant in MUTANTS} == {"kernels", "engine", "plan", "streams", "edges", "bands", "lists"}
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 36


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_still_applies(mutant: mutants.Mutant) -> None:
    text = mutant.find(ROOT).read_text()
    changed = text.replace(mutant.old, mutant.new)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))
    assert mutant.why


def test_the_suites_of_mutants_are_there() -> None:
    suites = mutants.read_suites()
    assert {mutant.tests for mutant in MUTANTS} <= set(suites)
    arguments = [argument for suite in suites.values() for stage in suite for argument in stage]
    files = [argument for argument in arguments if argument.startswith("tests/")]
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_a_mutant_whose_text_is_gone_is_an_error() -> None:
    gone = mutants.Mutant("gone", "src/greta/plan", "plan", "no such text stands there", "", "it cannot be made")
    with pytest.raises(ValueError, match="gone: stands 0 times in src/greta/plan"):
        gone.find(ROOT)
