"""The tool that runs tests on every version of Spark: its page says what it runs."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import matrix  # noqa: E402


def test_the_page_names_the_files_that_each_column_runs() -> None:
    page = matrix.PAGE.read_text()
    shown = matrix.between(page, matrix.FILES_BEGIN, matrix.FILES_END, matrix.files_of_features())
    assert shown == page, "tools/matrix.py --page brings it up to date"
    table = matrix.between(page, matrix.BEGIN, matrix.END, matrix.results(matrix.read_table()))
    assert table == page


def test_every_file_of_a_column_is_there() -> None:
    files = [file for files in matrix.FEATURES.values() for file in files]
    assert [file for file in files if not (ROOT / file).is_file()] == []
    assert len(files) == len(set(files))
