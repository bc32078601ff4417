"""``%load_ext greta`` and ``%%greta NAME`` in a real IPython shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import greta
from greta.notebook.picture import lines_over_time

FALLS = "RETURN sector, COUNT(*) AS falls PATTERN Stock S+ WHERE [sector] AND S.price > NEXT(S).price GROUP-BY sector"
START = datetime(2024, 1, 2, 9, 30, tzinfo=UTC)


@pytest.fixture
def shell() -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.history_manager.enabled = False  # type: ignore[union-attr]
    shell.user_ns["trades"] = [
        {"type": "Stock", "time": START + timedelta(seconds=20 * i), "price": -i % 7, "sector": f"<{i % 2}>"}
        for i in range(30)
    ]
    shell.run_line_magic("load_ext", "greta")
    yield shell
    shell.history_manager.end_session()  # type: ignore[union-attr]


def test_rows_are_shown_as_a_table_and_a_chart(shell: Any) -> None:
    shown = shell.run_cell_magic("greta", "trades --into rows", f"{FALLS} WITHIN 1 minute")
    assert shell.user_ns["rows"] == greta.aggregate(shell.user_ns["trades"], f"{FALLS} WITHIN 1 minute")
    html = shown._repr_html_()
    assert html.count("<path") == 2  # a line per sector
    assert html.count("<tr>") == 1 + 20
    assert "… and 0 more" not in html
    assert "&lt;0&gt;" in html
    assert "<0>" not in html
    assert "falls" in repr(shown)


def test_without_windows_there_is_a_table_alone(shell: Any) -> None:
    html = shell.run_cell_magic("greta", "trades --exact", FALLS)._repr_html_()
    assert "<svg" not in html
    assert html.count("<tr>") == 1 + 2


@pytest.mark.parametrize("shown", ["", "--trends 2"])
def test_a_likely_mistake_is_warned_of_in_a_cell(shell: Any, shown: str) -> None:
    with pytest.warns(greta.GretaWarning, match="no event has the type Stok"):
        shell.run_cell_magic("greta", f"trades {shown}", "RETURN COUNT(*) PATTERN Stok S+")


def test_trends_are_shown_event_by_event(shell: Any) -> None:
    shown = shell.run_cell_magic("greta", "trades --trends 1 --pick longest --into fall", FALLS)
    assert shown.table == shell.user_ns["fall"] == greta.trends(shell.user_ns["trades"], FALLS, n=1, pick="longest")


def test_the_row_whose_trends_are_shown_is_chosen(shell: Any) -> None:
    line = "trades --trends 1 --pick longest --window '2024-01-02 09:31' --group 'sector=<1>'"
    shown = shell.run_cell_magic("greta", line, f"{FALLS} WITHIN 1 minute")
    first = shown.table.to_pylist()[0]
    assert (first["window_start"], first["group_sector"]) == (START + timedelta(minutes=1), "<1>")


@pytest.mark.parametrize(
    ("line", "cell", "told"),
    [
        ("trades", "RETURN COUNT(*) PATERN Stock S+", r"\^\^\^\^\^\^"),
        ("trdes", FALLS, "did you mean trades"),
        ("", FALLS, "%%greta NAME"),
        ("--help", FALLS, "%%greta NAME"),
        ("trades --time at", FALLS, "no time column 'at'"),
        ("trades --pick longest", FALLS, "--pick says which trends to show, and --trends N is missing"),
        ("trades --trends 1 --group energy", FALLS, "--group: invalid NAME=VALUE value: 'energy'"),
    ],
)
def test_mistakes_are_shown_without_a_traceback(
    shell: Any, line: str, cell: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = shell.run_cell(f"%%greta {line}\n{cell}")
    assert not ran.success
    said = capsys.readouterr()
    assert re.search(told, said.out + said.err)
    assert "Traceback" not in said.out + said.err


@pytest.mark.parametrize("top", [1.0, 7.0, 1e5, 1e40, 1e300, 1.7e308])
def test_the_axis_has_labels_at_every_magnitude(top: float) -> None:
    for values in ([0.0, top / 2, None, top], [1.0, top, None, top / 3], [top, top, None, top]):
        line = {"name": "all events", "values": values}
        drawn = lines_over_time({"column": "count", "times": [0.0, 1.0, 2.0, 3.0], "clock": False, "lines": [line]})
        marks = re.findall(r'text-anchor="end"[^>]*>([^<]+)<', drawn)
        assert len(set(marks)) >= 2
        assert "nan" not in drawn
        assert "inf" not in drawn


def test_dir_shows_what_users_use() -> None:
    assert {"aggregate", "trends", "explain", "datasets", "spark", "graph"} <= set(dir(greta))
    assert not {"annotations", "import_module", "TYPE_CHECKING"} & set(dir(greta))
    assert greta.datasets.stock(3).num_rows == 3
    for name in dir(greta):
        assert getattr(greta, name) is not None


def test_a_table_of_no_rows_is_shown_too(shell: Any) -> None:
    shell.user_ns["none"] = pa.table({"type": ["Stock"], "time": [1], "price": [1.0], "sector": ["x"]}).slice(1)
    assert "<table>" in shell.run_cell_magic("greta", "none", f"{FALLS} WITHIN 1 minute")._repr_html_()
