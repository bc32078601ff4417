"""``greta studio`` on the command line."""

import signal
import socket
import subprocess
import sys
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, build_opener, urlopen

import pytest
from typer.testing import CliRunner

from greta.cli.app import app

STUDIO = [sys.executable, "-m", "greta.cli", "studio", "--no-browser"]


def test_the_studio_says_where_it_is_serves_its_page_and_ends_on_ctrl_c() -> None:
    with subprocess.Popen([*STUDIO, "--port", "0"], stderr=subprocess.PIPE, text=True) as studio:
        assert studio.stderr is not None
        address = studio.stderr.readline().split()[2]
        assert address.startswith("http://127.0.0.1:")
        with pytest.raises(HTTPError, match="403"):
            urlopen(address.partition("?")[0])
        with build_opener(HTTPCookieProcessor()).open(address) as answer:
            assert b"static/js/main.js" in answer.read()
        studio.send_signal(signal.SIGINT)
        assert studio.wait(timeout=30) == 0
        assert "Traceback" not in studio.stderr.read()


def test_a_port_in_use_is_an_error_with_a_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        answer = subprocess.run([*STUDIO, "--port", port], capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in answer.stderr
    assert "another --port" in answer.stderr


def test_help_has_examples_and_says_who_can_reach_the_page() -> None:
    answer = CliRunner().invoke(app, ["studio", "--help"], env={"COLUMNS": "120", "TERM": "dumb"})
    assert answer.exit_code == 0
    assert "greta studio --follow out/trends" in answer.output
    assert "this machine alone" in answer.output
    assert "address with its token" in answer.output
