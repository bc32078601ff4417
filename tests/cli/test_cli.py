"""The command line as a user meets it: output, errors on stderr, exit codes."""

import subprocess
import sys
from pathlib import Path

import pytest

import greta
from greta.cli.app import COMMANDS

QUERY = "RETURN COUNT(*)\nPATTERN Stock S+\nWHERE S.price > NEXT(S).price\nWITHIN 10 minutes SLIDE 10 seconds\n"
ROOT = Path(__file__).resolve().parents[2]


def greta_command(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    answer = subprocess.run(
        [sys.executable, "-m", "greta.cli", *arguments], input=stdin, capture_output=True, check=False
    )
    return subprocess.CompletedProcess(answer.args, answer.returncode, answer.stdout.decode(), answer.stderr.decode())


def test_help_lists_every_command() -> None:
    answer = greta_command("--help")
    assert answer.returncode == 0
    assert all(name in answer.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    answer = greta_command(name, "--help")
    assert answer.returncode == 0
    assert f"greta {name}" in answer.stdout


def test_version_is_printed() -> None:
    assert greta_command("--version").stdout == f"greta {greta.__version__}\n"


def test_a_misspelt_command_exits_with_2_and_a_suggestion() -> None:
    answer = greta_command("explian")
    assert answer.returncode == 2
    assert "Did you mean 'explain'?" in answer.stderr


def test_a_missing_file_exits_with_2() -> None:
    answer = greta_command("explain", "no-such.greta")
    assert answer.returncode == 2
    assert "no-such.greta" in answer.stderr


def test_a_wrong_query_exits_with_1_and_shows_file_line_and_place(tmp_path: Path) -> None:
    file = tmp_path / "wrong.greta"
    file.write_text("RETURN COUNT(*)\nPATTERN NOT Accident A\n")
    answer = greta_command("explain", str(file))
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert f"{file}:2: " in answer.stderr
    assert "^^^" in answer.stderr
    assert "hint: " in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_file_that_is_no_text_exits_with_1_and_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "binary.greta"
    file.write_bytes(b"RETURN \xff\xfe")
    answer = greta_command("explain", str(file))
    assert answer.returncode == 1
    assert "byte 7 is not UTF-8" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_explain_reads_a_query_from_stdin() -> None:
    answer = greta_command("explain", "-", stdin=QUERY.encode())
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip() == str(greta.explain(greta.parse(QUERY))).strip()


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.greta")), ids=lambda file: file.stem)
def test_every_example_is_explained(file: Path) -> None:
    answer = greta_command("explain", str(file))
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout


def test_explain_draws_into_files_and_prints_json(tmp_path: Path) -> None:
    svg, html = tmp_path / "plan.svg", tmp_path / "plan.html"
    answer = greta_command("explain", "-", "--svg", str(svg), "--html", str(html), "--json", stdin=QUERY.encode())
    assert answer.returncode == 0, answer.stderr
    assert "<svg" in svg.read_text(encoding="utf-8")
    assert "<svg" in html.read_text(encoding="utf-8")
    assert answer.stdout.strip() == greta.explain(greta.parse(QUERY)).to_json().strip()


def test_an_unwritable_output_exits_with_1(tmp_path: Path) -> None:
    answer = greta_command("explain", "-", "--svg", str(tmp_path / "none" / "plan.svg"), stdin=QUERY.encode())
    assert answer.returncode == 1
    assert "cannot be written" in answer.stderr
