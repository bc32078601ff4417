"""What "copy as" gives are programs that give the same rows; the cheat sheet has no mistake in it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import greta
from greta.studio import cheatsheet, samples
from greta.studio.snippets import snippets

QUERY = "RETURN COUNT(*) AS n\nPATTERN Stock S+\nWHERE S.price > NEXT(S).price"


def run_python(text: str, directory: Path) -> str:
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=directory, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_over_a_sample_gives_the_rows_of_the_page(tmp_path: Path) -> None:
    text = snippets(QUERY, {"sample": "prices"}, "exact")["python"]
    assert "275" in run_python(text, tmp_path)


def test_python_over_a_file_reads_it_as_it_was_mapped(tmp_path: Path) -> None:
    lines = [f"{1_700_000_000_000 + i},{20 - i}" for i in range(5)]
    (tmp_path / "ticks.csv").write_text("\n".join(["at,price", *lines]))
    source = {"path": "/kept/elsewhere/ticks.csv", "time": "at", "time_unit": "ms", "type": "", "event_type": "Stock"}
    text = snippets(QUERY, source, "double")["python"]
    assert "elsewhere" not in text
    assert "31" in run_python(text, tmp_path)


@pytest.mark.parametrize("query", [QUERY, 'RETURN COUNT(*) PATTERN "Stock"', 'RETURN COUNT(*) PATTERN "a""""b"'])
@pytest.mark.parametrize("sample", samples.SAMPLES)
def test_every_copied_program_is_python(query: str, sample: str) -> None:
    texts = snippets(query, {"sample": sample}, "double")
    for name in ("python", "spark"):
        scope: dict[str, Any] = {}
        code = texts[name].partition("query = ")[2]
        exec("query = " + code[: code.rfind("\n", 0, -1)], scope)
        assert scope["query"].strip() == query
        compile(texts[name], name, "exec")


def test_spark_reads_a_file_with_its_unit_and_its_types() -> None:
    source = {"path": "x/t.csv", "time": "at", "time_unit": "ms", "type": "kind"}
    text = snippets(QUERY, source, "exact")["spark"]
    assert "F.timestamp_millis(F.col('at'))" in text
    assert ".withColumnRenamed('kind', 'type')" in text
    assert 'numbers="exact"' in text
    compile(text, "spark", "exec")


def test_the_shell_names_columns_only_where_they_differ() -> None:
    usual = snippets(QUERY, {"path": "x/my trades.csv", "time": "time", "type": "type"}, "double")["shell"]
    assert usual.endswith("greta run query.greta --input 'my trades.csv'\n")
    other = snippets(QUERY, {"path": "t.csv", "time": "at", "time_unit": "ms", "event_type": "Stock"}, "exact")["shell"]
    assert other.endswith("--input Stock=t.csv --time at --time-unit ms --numbers exact\n")


def test_the_shell_writes_the_query_and_the_sample(tmp_path: Path) -> None:
    text = snippets(QUERY, {"sample": "prices"}, "double")["shell"]
    before_run = text.partition("greta run")[0].replace("python -c", f"{sys.executable} -c")
    subprocess.run(["bash", "-c", before_run], check=True, cwd=tmp_path)
    assert (tmp_path / "query.greta").read_text().strip() == QUERY
    rows = greta.aggregate(greta.datasets.load(tmp_path / "prices.parquet"), QUERY)
    assert rows.column("n").to_pylist() == [275.0]


def test_every_line_of_the_cheat_sheet_is_part_of_a_query() -> None:
    for text, _ in cheatsheet.PATTERNS:
        for pattern in text.split("   "):
            greta.parse(f"RETURN COUNT(*) PATTERN {pattern}")
    for text, _ in cheatsheet.CONDITIONS:
        greta.parse(f"RETURN COUNT(*) PATTERN SEQ(Stock S+, Stock U, Stock D) WHERE {text}")
    for text, _ in cheatsheet.RETURNED:
        greta.parse(f"RETURN {text} PATTERN Stock S+")
    clauses = "\n".join(text for text, _ in cheatsheet.CLAUSES)
    greta.parse(clauses)
