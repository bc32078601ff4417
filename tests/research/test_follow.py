"""What the columns of an answer follow: windows, facts and rank correlations on events that are known."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from greta_research.follow import FACTS, LEAST_EVENTS, VALUES, correlations, main, table, windows

WITHIN = 60


@pytest.fixture(scope="module")
def events() -> pa.Table:
    """Six windows of two keys, 30 to 40 events each, that fall (even windows) and rise (odd ones), ever farther."""
    rows = []
    for key in ("x", "y"):
        for window in range(6):
            count = LEAST_EVENTS + 2 * window
            step = (window + 1) * (-1 if window % 2 == 0 else 1)
            for k in range(count):
                time = window * WITHIN + k * WITHIN / count
                rows.append({"type": "Stock", "time": time, "company": key, "price": 1000.0 + step * k})
    return pa.Table.from_pylist(rows)


@pytest.fixture(scope="module")
def rows(events: pa.Table) -> pd.DataFrame:
    return windows(events, attribute="price", by="company", type="Stock", within="1 minute")


def test_a_row_has_the_facts_of_its_window(rows: pd.DataFrame) -> None:
    first = rows[rows["company"] == "x"].iloc[0]
    assert len(rows) == 12
    assert (first["events"], first["change"], first["range"]) == (30, -29, 29)
    assert first["after"] == 2 * 31
    assert first["fall_bits"] == pytest.approx(30)
    assert (first["fall_longest"], first["fall_steepest"], first["rise_steepest"], first["runs"]) == (30, -29, 0, 1)


def test_the_last_window_of_a_key_has_none_after_it(rows: pd.DataFrame) -> None:
    assert rows[rows["after"].isna()]["window_start"].tolist() == [5 * WITHIN, 5 * WITHIN]


def test_windows_with_few_events_are_left_out(events: pa.Table) -> None:
    few = windows(events.slice(1, 100), attribute="price", by="company", type="Stock", within="1 minute")
    assert few["window_start"].tolist() == [WITHIN, 2 * WITHIN]


def test_falls_minus_rises_follow_the_change(rows: pd.DataFrame) -> None:
    found = correlations(rows, "company")
    assert set(found) == {(value, fact) for value in VALUES for fact in FACTS}
    assert found["steepest", "change"].mean == pytest.approx(1)
    assert found["bits", "change"].greatest < -0.8


def test_what_never_changes_follows_nothing(events: pa.Table) -> None:
    even = pa.Table.from_pylist([row for row in events.to_pylist() if row["company"] == "x" and row["time"] % 60 < 50])
    even = even.set_column(1, "time", pa.array([2.0 * number for number in range(len(even))]))
    rows = windows(even, attribute="price", by="company", type="Stock", within="1 minute")
    found = correlations(rows, "company")
    assert rows["events"].nunique() == 1
    assert ("bits", "events") not in found
    assert ("bits", "change") in found
    assert table(rows, "company").splitlines()[2].split("|")[2].strip() == "–"


def test_keys_with_few_windows_are_left_out(rows: pd.DataFrame) -> None:
    few = rows[(rows["company"] == "x") | (rows["window_start"] < 2 * WITHIN)]
    assert correlations(few, "company") == correlations(rows[rows["company"] == "x"], "company")


def test_the_table_of_a_file_is_printed(
    events: pa.Table, rows: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(events, tmp_path / "trades.parquet")
    main([str(tmp_path / "trades.parquet"), "--within", "1 minute"])
    printed = capsys.readouterr().out
    assert printed.startswith("420 events, 12 windows of 1 minute, 2 keys\nmost trends: 2^40.0\n")
    assert printed.endswith(table(rows, "company") + "\n")
