"""What the command line promises on its page: examples, JSON, exit codes, colours, progress, completion."""

import contextlib
import json
import os
import pty
import re
import select
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from greta.cli.app import COMMANDS, app, main

GRETA = [sys.executable, "-m", "greta.cli"]
BARE = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS")}
ESCAPE = "\x1b["
ALL = [
    *([name] for name in COMMANDS),
    *(["generate", name] for name in ("stock", "traffic", "cluster")),
]


def ran(*arguments: object, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*GRETA, *map(str, arguments)],
        input=stdin,
        env=BARE | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def left(arguments: list[object], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that runs in this process."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0), *capsys.readouterr()


def helped(*names: str) -> str:
    answer = CliRunner().invoke(app, [*names, "--help"], env={"COLUMNS": "160", "TERM": "dumb"})
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.mark.parametrize("names", ALL, ids=" ".join)
def test_the_help_of_every_command_has_examples_whose_options_are_there(names: list[str]) -> None:
    options, _, shown = helped(*names).partition("Examples:")
    lines = [line.strip() for line in shown.splitlines() if line.strip().startswith("greta ")]
    assert len(lines) >= 2
    assert any(line.startswith(" ".join(["greta", *names])) for line in lines)
    for line in lines:
        command = line.partition(" | ")[0]
        for option in re.findall(r" (--?[a-z][a-z-]*)", command):
            known = options if command.startswith(" ".join(["greta", *names])) else helped(command.split()[1])
            if option not in known:
                known = helped(*command.split()[1:3])
            assert f"{option} " in known, line


@pytest.fixture
def query(tmp_path: Path) -> Path:
    file = tmp_path / "query.greta"
    file.write_text("RETURN COUNT(*) PATTERN A+")
    return file


@pytest.fixture
def events(tmp_path: Path) -> Path:
    file = tmp_path / "events.csv"
    file.write_text("type,time\nA,1\nA,2\n")
    return file


def test_json_is_all_that_is_on_stdout(query: Path, events: Path, tmp_path: Path) -> None:
    plan = json.loads(ran("explain", query, "--json").stdout)
    assert "templates" in plan
    graph = json.loads(ran("graph", query, events, "--json").stdout)
    (partition,) = graph["partitions"]
    (top,) = partition["graphs"]
    assert top["counts"] == [{"window_start": None, "count": 3}]
    assert [vertex["label"] for vertex in top["vertices"]] == ["a1", "a2"]
    assert top["edges"] == [[0, 1]]
    made = json.loads(ran("generate", "stock", "-n", 50, "-o", tmp_path / "s.csv", "--json").stdout)
    assert made | {"seconds": 0} == {"events": 50, "files": 1, "output": str(tmp_path / "s.csv"), "seconds": 0}


def test_exit_code_0_means_done(query: Path, events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--version"], ["--help"], ["explain", query], ["graph", query, events]):
        code, _, err = left(arguments, capsys)
        assert (code, err) == (0, "")


def test_exit_code_1_means_a_query_data_or_set_up_that_is_wrong(
    query: Path, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, nobody = tmp_path / "wrong.greta", tmp_path / "nobody.csv"
    wrong.write_text("RETURN COUNT(*) PATTERN NOT A")
    nobody.write_text("type,time\nA,yesterday\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for arguments in (
            ["explain", wrong],
            ["graph", wrong, events],
            ["graph", query, nobody],
            ["graph", query, events, "-o", tmp_path / "none" / "graph.svg"],
            ["run", wrong, "--input", events],
            ["generate", "stock", "-n", "5", "-o", tmp_path / "events.docx"],
            ["studio", "--no-browser", "--port", taken.getsockname()[1]],
        ):
            code, out, err = left(arguments, capsys)
            assert (code, out) == (1, ""), arguments
            assert "hint: " in err or "cannot be written" in err


def test_exit_code_2_means_a_command_line_that_is_wrong(
    query: Path, events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (
        ["no-such-command"],
        ["explain"],
        ["explain", query, "--no-such-option"],
        ["explain", "no-such.greta"],
        ["run", query],
        ["run", query, "--input", events, "--numbers", "roman"],
        ["run", query, "--input", events, "--plot", "picture.docx"],
        ["stream", query],
        ["stream", "--demo", "--json"],
        ["generate", "stock", "--live", "-o", "x"],
        ["studio", "--port", "99999999"],
    ):
        code, out, err = left(arguments, capsys)
        assert (code, out) == (2, ""), (arguments, err)
        assert "Usage: greta" in err


def test_the_page_of_the_command_line_lists_the_exit_codes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (\d) \|", page, re.MULTILINE) == ["0", "1", "2"]


def at_terminal(*arguments: object, stream: str, **environment: str) -> tuple[str, str]:
    """What a command writes to a terminal that is its stdout or stderr, and to the other one, which is a pipe."""
    here, there = pty.openpty()
    piped = "stderr" if stream == "stdout" else "stdout"
    command = subprocess.Popen(
        [*GRETA, *map(str, arguments)],
        env=BARE | {"TERM": "xterm-256color"} | environment,
        stdin=subprocess.DEVNULL,
        **{stream: there, piped: subprocess.PIPE},
    )
    os.close(there)
    seen = b""
    with command:
        while True:
            ready, _, _ = select.select([here], [], [], 60)
            assert ready, "the command neither writes nor ends"
            try:
                piece = os.read(here, 65536)
            except OSError:
                # Linux says so when nobody holds the other end any more.
                break
            if not piece:
                break
            seen += piece
        other = getattr(command, piped).read()
    os.close(here)
    return seen.decode(), other.decode()


def test_colours_appear_on_a_terminal_only_and_never_under_no_color() -> None:
    assert ESCAPE in at_terminal("--help", stream="stdout")[0]
    assert ESCAPE + "3" not in at_terminal("--help", stream="stdout", NO_COLOR="1")[0]
    for arguments in (["--help"], ["explain", "--help"], ["explain"], ["explain", "nowhere"]):
        answer = ran(*arguments)
        assert ESCAPE not in answer.stdout + answer.stderr


def test_a_hostile_file_name_reaches_no_terminal_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "a\x1b[31m.greta"
    file.write_text("RETURN")
    assert ESCAPE not in ran("explain", file).stderr


def test_progress_is_on_stderr_and_only_at_a_terminal(tmp_path: Path) -> None:
    make = ["generate", "stock", "-n", 300_000, "-o", tmp_path / "events.parquet", "--json"]
    seen, out = at_terminal(*make, stream="stderr")
    assert "events" in seen
    assert json.loads(out)["events"] == 300_000
    assert ran(*make).stderr == ""
    assert at_terminal(*make, "--quiet", stream="stderr")[0] == ""


COMPLETED = [
    (["greta", "ex"], "explain"),
    (["greta", "gen"], "generate"),
    (["greta", "generate", "tr"], "traffic"),
    (["greta", "generate", "stock", "--comp"], "--companies"),
    (["greta", "run", "q.greta", "--overw"], "--overwrite"),
    (["greta", "run", "--numbers", "ex"], "exact"),
    (["greta", "stream", "--late-"], "--late-events"),
]


@pytest.mark.parametrize(("words", "found"), COMPLETED, ids=[" ".join(words) for words, _ in COMPLETED])
def test_the_shell_completes_commands_options_and_values(words: list[str], found: str, tmp_path: Path) -> None:
    program = tmp_path / "greta"
    program.write_text(f'#!/bin/sh\nexec {" ".join(GRETA)} "$@"\n')
    program.chmod(0o755)
    # What a user's bash does: read the function that greta prints, and call it on a tab.
    script = f"""
        eval "$(greta --show-completion bash)"
        COMP_WORDS=({" ".join(words)}) COMP_CWORD={len(words) - 1}
        _greta_completion greta
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    answer = subprocess.run(
        ["bash", "-euc", script],
        env=BARE | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.split() == [found]


@pytest.mark.parametrize(("shell", "own"), [("zsh", "#compdef greta"), ("fish", "complete --command greta")])
def test_other_shells_get_a_script_of_their_own(shell: str, own: str) -> None:
    # The shell is named here; a person's own is found among the processes above, where a test may have none.
    script = ran("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1").stdout
    assert script.startswith(own)
    assert "_GRETA_COMPLETE" in script
    found = ran(
        _GRETA_COMPLETE=f"complete_{shell}", _TYPER_COMPLETE_ARGS="greta ex", _TYPER_COMPLETE_FISH_ACTION="get-args"
    )
    assert "explain" in found.stdout


def test_errors_and_warnings_speak_of_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trades.csv"
    file.write_text("type,time,price\nA,1704187800000,1\nA,1704187801000,2\n")
    stamped = tmp_path / "stamped.csv"
    stamped.write_text("type,time\nA,2024-01-02\n")
    query = "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds"
    for arguments, told, untold in (
        (["run", query, "-i", str(file)], "name the unit: --time-unit ms", "time_unit="),
        (["run", query, "-i", str(file), "--time-unit", "ms", "--trends", "1", "--window", "soon"],
         "take window_start from a row that greta run prints", "greta.aggregate"),
        (["run", query, "-i", str(file), "--time-unit", "ms", "--trends", "1", "--window", "soon"],
         "window is 'soon', which is no time stamp", "timestamp["),
        (["run", query, "-i", str(file), "--time-unit", "ms", "--trends", "1", "--group", "a=b"],
         "hint: leave --group out", "leave group"),
        (["run", query.partition("WITHIN")[0], "-i", str(file), "--time-unit", "ms", "--trends", "1", "--window", "5"],
         "hint: leave --window out", "leave window"),
        (["run", query, "-i", str(stamped), "--time-unit", "ms"],
         (":2: column time: '2024-01-02' is a time stamp, not a number of a unit since 1970\n"
         "hint: leave --time-unit out"),
         "double"),
    ):  # fmt: skip
        with contextlib.suppress(SystemExit):
            main(arguments)
        said = capsys.readouterr().err
        assert told in said
        assert untold not in said
