"""Rows sorted and filtered."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from greta.errors import DataError
from greta.studio.selection import Selection

EPOCH = datetime(2024, 1, 2, 9, 30, tzinfo=UTC)
ROWS = pa.table(
    {
        "window_start": [EPOCH + timedelta(minutes=i) for i in range(5)],
        "window_end": [EPOCH + timedelta(minutes=i + 5) for i in range(5)],
        "sector": ["energy", "finance", None, "energy", "Health"],
        "count": [3.0, 1e300, 2.0, None, 7.0],
        "exact": ["9", "10", "-10", "-9", "1" + "0" * 5_000],
    }
)


def chosen(**selection: object) -> list[int]:
    return Selection(**selection).positions(ROWS).tolist()  # type: ignore[arg-type]


def test_without_a_wish_rows_come_as_they_are() -> None:
    assert chosen() == [0, 1, 2, 3, 4]


def test_rows_are_sorted_either_way_with_null_last() -> None:
    assert chosen(sort="count") == [2, 0, 4, 1, 3]
    assert chosen(sort="count", descending=True) == [1, 4, 0, 2, 3]
    assert chosen(sort="sector") == [4, 0, 3, 1, 2]


def test_exact_numbers_are_sorted_as_numbers_of_any_length() -> None:
    assert chosen(sort="exact") == [2, 3, 0, 1, 4]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("energy", [0, 3]),
        ("HEALTH", [4]),
        ("sector = energy", [0, 3]),
        ("sector=energy, count > 1", [0]),
        ("count >= 3 and count < 1e10", [0, 4]),
        ("count != 3", [1, 2, 4]),
        ("exact < 0", [2, 3]),
        ("window_start >= 2024-01-02 09:33", [3, 4]),
        ("window_start = 2024-01-02 09:33", [3]),
        ("Window_Start = 09:33", []),
        ("\"sector\" = 'finance'", [1]),
        ("null", [2, 3]),
        ("  ", [0, 1, 2, 3, 4]),
        ("nothing like this", []),
    ],
)
def test_a_filter_takes_texts_and_comparisons(text: str, rows: list[int]) -> None:
    assert chosen(filter=text) == rows


def test_rows_of_a_stretch_of_time_are_chosen() -> None:
    begin = EPOCH.timestamp()
    assert chosen(since=begin + 60, until=begin + 120) == [1, 2]


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(DataError, match="no column prise"):
        chosen(filter="prise > 3")
    with pytest.raises(DataError, match="the columns are window_start"):
        chosen(sort="prise")
