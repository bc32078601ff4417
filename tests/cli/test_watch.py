"""``greta watch`` through real pipes: rows at once, bad lines, ends of all kinds."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from greta.cli.app import main

QUERY = "RETURN g, COUNT(*) PATTERN A+ WHERE [g] GROUP-BY g WITHIN 10 seconds"
WATCH = [sys.executable, "-m", "greta.cli", "watch"]
LINES = [json.dumps({"type": "A", "time": at, "g": "p", "x": at / 2}) for at in (1, 2, 3, 12)]
TEXT = "\n".join(LINES) + "\n"
CSV = "type,time,g,x\nA,1,p,0.5\nA,2,p,1\nA,3,p,1.5\nA,12,p,6\n"
ROWS = [
    {"window_start": 0.0, "window_end": 10.0, "g": "p", "count": 7.0},
    {"window_start": 10.0, "window_end": 20.0, "g": "p", "count": 1.0},
]


@dataclass(frozen=True)
class Done:
    """How a watch ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Watch a text in this process, which takes no time to start."""

    def run(text: str, *options: str, query: str = QUERY) -> Done:
        (tmp_path / "lines").write_text(text)
        with (tmp_path / "lines").open() as lines:
            monkeypatch.setattr("sys.stdin", lines)
            with pytest.raises(SystemExit) as end:
                main(["watch", query, *options])
        return Done(int(end.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def rows(watched: Any) -> Any:
    """The rows of a watch."""

    def run(text: str, *options: str, query: str = QUERY) -> list[dict[str, Any]]:
        done = watched(text, "--json", *options, query=query)
        assert done.code == 0, done.err
        return [json.loads(line) for line in done.out.splitlines()]

    return run


@contextmanager
def running(*options: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [*WATCH, QUERY, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line_within(process: subprocess.Popen[bytes], seconds: float = 60) -> str:
    """A line of output as soon as it is there, while input stays open."""
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], seconds)[0], "no row came"
    return process.stdout.readline().decode()


def test_json_lines_and_csv_give_the_same_rows(rows: Any) -> None:
    assert rows(TEXT) == ROWS
    assert rows(CSV) == ROWS
    assert rows(CSV.replace("\n", "\r\n") + "\n\n") == ROWS


def test_rows_are_aligned_under_their_columns(watched: Any) -> None:
    done = watched(TEXT)
    assert done.out.splitlines() == [
        "window_start  window_end  g  count",
        "0             10          p  7",
        "10            20          p  1",
    ]
    assert done.err == ""


def test_a_row_comes_while_the_pipe_is_open_and_ctrl_c_ends_quietly() -> None:
    with running("--json") as process:
        assert process.stdin is not None
        process.stdin.write(("\n".join(LINES[:3]) + "\n").encode())
        process.stdin.flush()
        assert not select.select([process.stdout], [], [], 0.2)[0]
        process.stdin.write((LINES[3] + "\n").encode())
        process.stdin.flush()
        assert json.loads(line_within(process)) == ROWS[0]
        process.stdin.write(b'{"type": "A", "time": 14, "g": "p"}\n')
        process.stdin.flush()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (out, process.returncode) == (b"", 0)
        assert err.decode().strip().endswith("left out: 1 windows that were open")
        assert b"Traceback" not in err


def test_a_reader_that_goes_away_is_no_error() -> None:
    many = "\n".join(json.dumps({"type": "A", "time": at, "g": "p"}) for at in range(0, 200_000, 5))
    command = f"{' '.join(WATCH)} '{QUERY}' | head -1"
    done = subprocess.run(command, shell=True, input=many.encode(), capture_output=True, timeout=120, check=False)
    assert done.stdout.decode().startswith("window_start")
    assert done.stderr == b""


def test_a_growing_file_is_followed_and_read_anew_when_it_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    header, *events = CSV.splitlines(keepends=True)
    file.write_text(header + "".join(events[:2]))
    with running("--follow", str(file), "--json") as process:
        time.sleep(0.5)
        with file.open("a") as more:
            more.write("A,3,p,1.")
            more.flush()
            time.sleep(0.2)
            more.write("5\n" + events[3])
        assert json.loads(line_within(process)) == ROWS[0]
        other = tmp_path / "other.csv"
        other.write_text(header + "A,25,p,1\n")
        other.replace(file)
        assert json.loads(line_within(process)) == ROWS[1]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


BAD = {
    "not JSON": (2, '{"type": "A", "time": 2', "not JSON"),
    "no object": (2, "[1]", "not an object"),
    "no time": (3, '{"type": "A", "g": "p", "time": null}', "column time is NULL"),
    "negative time": (3, '{"type": "A", "g": "p", "time": -4}', "which is no time"),
    "text for a number": (4, '{"type": "A", "g": "p", "time": "noon"}', "column time: 'noon' is not a number"),
    "a number for text": (2, '{"type": "A", "g": 7, "time": 2}', "column g: 7 is not text"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_named_by_its_number_or_skipped_and_counted(name: str, watched: Any) -> None:
    line, text, message = BAD[name]
    lines = [*LINES[: line - 1], text, *LINES[line - 1 :]]
    done = watched("\n".join(lines))
    assert done.code == 1
    assert f"stdin:{line}: " in done.err
    assert message in done.err
    assert "hint: " in done.err
    done = watched("\n".join(lines), "--json", "--bad-records", "skip")
    assert [json.loads(row) for row in done.out.splitlines()] == ROWS
    assert "left out: 1 lines that cannot be read" in done.err


def test_bad_lines_of_csv_are_named_by_their_number(watched: Any) -> None:
    assert "stdin:3: 2 fields under 4 columns" in watched(CSV.replace("A,2,p,1\n", "A,2\n")).err
    query = "RETURN SUM(A.x) PATTERN A+ WITHIN 10 seconds"
    assert "stdin:3: column x: 'one' is not a number" in watched(CSV.replace("p,1\n", "p,one\n"), query=query).err


def test_missing_columns_are_named_with_what_there_is(watched: Any) -> None:
    done = watched(CSV.replace("time", "tiem"))
    assert done.code == 1
    assert "no column 'time' (columns: type, tiem, g, x)" in done.err
    assert "did you mean tiem?" in done.err
    assert "no column 'type'" in watched('{"time": 1}').err
    assert "the first lines have no column 'g'" in watched('{"type": "A", "time": 1}').err


def test_fields_of_structures_are_attributes(watched: Any, rows: Any) -> None:
    query = 'RETURN SUM(A.p.x) AS total PATTERN A WHERE ["p.of.g"] GROUP-BY "p.of.g" WITHIN 10 seconds'
    lines = [
        '{"type": "A", "p": {"at": 1, "x": 1, "of": {"g": "a"}}}',
        '{"type": "A", "p": {"at": 2, "x": 2.5, "of": {"g": "a"}}, "p.x": null}',
    ]
    found = rows("\n".join(lines), "--time", "p.at", query=query)
    assert [(row["total"]) for row in found] == [3.5]
    lines.append('{"type": "A", "p": {"at": 3, "x": 1, "of": 7}}')
    assert "stdin:3: column p.of: 7 is not an object" in watched("\n".join(lines), "--time", "p.at", query=query).err
    done = watched("\n".join(lines), "--time", "p.at", query="RETURN SUM(A.p) PATTERN A WITHIN 10 seconds")
    assert "no column 'p' (columns: type, p.at, p.x" in done.err


def test_a_column_with_a_dot_in_its_name_is_no_structure(rows: Any) -> None:
    query = 'RETURN SUM(A."p.x") AS total PATTERN A WITHIN 10 seconds'
    assert [row["total"] for row in rows('{"type": "A", "time": 1, "p.x": 2}', query=query)] == [2.0]


def test_times_are_read_in_every_form(rows: Any) -> None:
    query = "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds"
    start = "2024-01-02T09:30:00Z"
    for options, values in {
        (): ['"2024-01-02T09:30:01Z"', '"2024-01-02 09:30:02.5Z"'],
        ("--format", "jsonl"): ['"2024-01-02T09:30:01"', '"2024-01-02T09:30:02.5"'],
        ("--time-unit", "ms"): ["1704187801000", "1704187802500"],
        ("--time-unit", "ns"): ["1704187801000000000", "1704187802500000000"],
        ("--time-unit", "s"): ["1704187801", "1704187802.5"],
    }.items():
        lines = "\n".join(f'{{"type": "A", "time": {value}}}' for value in values)
        found = rows(lines, *options, query=query)
        assert found == [{"window_start": start, "window_end": "2024-01-02T09:30:10Z", "count": 3.0}], options


def test_late_events_are_counted_at_the_end(watched: Any) -> None:
    # What is there at once is one push, in any order; a last line without an end comes when the pipe has ended.
    done = watched(LINES[3] + "\n" + LINES[0])
    assert done.err.strip() == "left out: 1 late events"
    assert watched(LINES[3] + "\n" + LINES[0] + "\n").err == ""
    assert watched(LINES[3] + "\n" + LINES[0], "--lateness", "20 seconds").err == ""
    assert watched(LINES[3] + "\n" + LINES[0], "--quiet").err == ""


def test_types_can_be_named_and_exact_numbers_asked_for(watched: Any, rows: Any) -> None:
    lines = '{"type": "A", "time": 1, "g": "p", "x": 9007199254740993}\n'
    query = "RETURN SUM(A.x) AS total PATTERN A+ WITHIN 10 seconds"
    assert rows(lines, "--numbers", "exact", query=query)[0]["total"] == "9007199254740993"
    assert rows(lines, "--schema", "x DOUBLE", "--numbers", "exact", query=query)[0]["total"] == 9007199254740992.0
    assert watched(lines, "--schema", "x NOTHING").code == 2


def test_updates_are_marked(rows: Any) -> None:
    found = rows("\n".join(LINES[:3]) + "\n", "--emit", "update")
    assert [row["final"] for row in found] == [False, True]


def test_keys_that_are_whole_numbers_stay_so(rows: Any) -> None:
    assert rows(TEXT.replace('"p"', "7"))[0]["g"] == 7


def test_mistakes_on_the_command_line_are_usage_errors(watched: Any) -> None:
    assert watched("", query="-").code == 2
    assert watched("", "--follow", "nowhere.csv").code == 2
    done = watched("", query="RETURN COUNT(*) PATERN A")
    assert (done.code, "did you mean PATTERN?" in done.err) == (1, True)


def test_an_empty_pipe_has_no_rows(watched: Any) -> None:
    done = watched("")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_no_spark_is_loaded() -> None:
    code = "import sys; sys.argv = ['greta', 'watch', sys.argv[1]]; from greta.cli import main; import atexit\n"
    code += "atexit.register(lambda: print('pyspark' in sys.modules)); main()"
    done = subprocess.run(
        [sys.executable, "-c", code, QUERY], input=LINES[0].encode(), capture_output=True, timeout=120, check=False,
        env=os.environ,
    )  # fmt: skip
    assert re.search(rb"False\s*$", done.stdout)


AT_CLOSE = "RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(A B, A C)) WITHIN 10 seconds"


def test_a_query_that_is_computed_at_the_close_says_so_once_and_not_among_the_rows(watched: Any) -> None:
    done = watched(TEXT, "--json", query=AT_CLOSE)
    told = [line for line in done.err.splitlines() if line.startswith("note: ")]
    assert len(told) == 1
    assert "the query ends with a NOT of more than one event, so windows are computed" in told[0]
    assert all(json.loads(line) for line in done.out.splitlines())


def test_a_query_that_is_computed_online_says_nothing_of_it(watched: Any) -> None:
    assert "note: " not in watched(TEXT, "--json").err


def test_a_quiet_watch_does_not_say_how_windows_are_computed(watched: Any) -> None:
    assert watched(TEXT, "--json", "--quiet", query=AT_CLOSE).err == ""
