"""Where Spark is too old for what is asked of it, greta says so before anything starts."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

import greta.spark
from greta.cli import main
from greta.errors import SetupError

QUERY = "RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds"


@pytest.fixture
def too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest Spark that there is for greta: this one, or a newer one that says so."""
    monkeypatch.setattr("greta.spark.compat.client_version", lambda: greta.spark.OLDEST)
    monkeypatch.delitem(sys.modules, "greta.spark.sql", raising=False)
    monkeypatch.delitem(vars(greta.spark), "register", raising=False)


@pytest.mark.usefixtures("too_old")
def test_a_spark_too_old_for_sql_says_so() -> None:
    with pytest.raises(SetupError, match=r"queries in SQL need Spark 4\.0 or later, and this is Spark 3\.5"):
        greta.spark.register  # noqa: B018 - the name loads on first use


def test_a_server_too_old_for_sql_is_told_of() -> None:
    from greta.spark.compat import OLDEST_STREAMS, client_version

    if client_version() < OLDEST_STREAMS:
        pytest.skip("this Spark has no such name")
    server: Any = SimpleNamespace(version="3.5.9")
    with pytest.raises(SetupError, match=r"queries in SQL need Spark 4\.0"):
        greta.spark.register(server)


@pytest.mark.usefixtures("too_old")
@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("run", QUERY, "-i", "events.csv", "--engine", "spark"), "commands"),
        (("run", QUERY, "-i", "events.csv", "--engine", "spark", "--trends", "1"), "commands"),
        (("stream", "query.greta", "-i", "events", "-o", "rows", "--checkpoint", "state"), "streams"),
    ],
)
def test_a_spark_too_old_for_commands_says_so(
    arguments: tuple[str, ...],
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("events.csv").write_text("type,time\nA,1\n")
    Path("query.greta").write_text(QUERY)
    with pytest.raises(SystemExit, match="1"):
        main(list(arguments))
    assert f"{what} need Spark 4.0 or later, and this is Spark 3.5" in capsys.readouterr().err
