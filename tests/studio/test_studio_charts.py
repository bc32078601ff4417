"""Lines of charts: gaps stay gaps, points know their rows, little is drawn of much."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from greta.studio import charts
from greta.studio.charts import attribute_lines, chart
from greta.studio.limits import Limits

EPOCH = datetime(2024, 1, 2, 9, 30, tzinfo=UTC)


def result(windows: list[int], values: list[Any], groups: list[str] | None = None) -> pa.Table:
    starts = [EPOCH + timedelta(seconds=10 * i) for i in windows]
    ends = [start + timedelta(seconds=60) for start in starts]
    group = groups or ["g"] * len(windows)
    return pa.table({"window_start": starts, "window_end": ends, "group": group, "n": values})


def test_windows_without_a_row_break_the_line() -> None:
    drawn = chart(result([0, 1, 2, 7, 8], [1.0, 2.0, 3.0, 4.0, 5.0]), "n", ["group"], slide=10)
    assert drawn["lines"][0]["values"] == [1.0, 2.0, 3.0, None, 4.0, 5.0]
    assert drawn["times"] == sorted(drawn["times"])
    assert drawn["times"][3] == drawn["times"][2] + 10


def test_a_window_that_another_group_has_is_a_gap_in_this_one() -> None:
    drawn = chart(result([0, 1, 1, 2], [1.0, 9.0, 2.0, 3.0], ["a", "b", "a", "b"]), "n", ["group"], slide=10)
    assert {line["name"]: line["values"] for line in drawn["lines"]} == {"a": [1, 2, None], "b": [None, 9, 3]}


def test_every_point_knows_its_row() -> None:
    table = result([1, 0, 0, 2], [5.0, 6.0, 7.0, 8.0], ["a", "b", "a", "b"])
    for line in chart(table, "n", ["group"], 10)["lines"]:
        for value, row in zip(line["values"], line["rows"], strict=True):
            assert value == (None if row is None else table.column("n")[row].as_py())


def test_many_windows_share_a_point_that_is_the_largest_of_them_and_knows_its_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(charts, "LIMITS", Limits(points=10))
    values = [float(i * 7919 % 101) for i in range(100)]
    drawn = chart(result(list(range(100)), values), "n", ["group"], 10)
    line = drawn["lines"][0]
    assert drawn["windows_per_point"] == 10
    assert line["values"] == [max(values[at : at + 10]) for at in range(0, 100, 10)]
    assert [values[row] for row in line["rows"]] == line["values"]


def test_what_is_beyond_a_double_is_counted_and_not_drawn() -> None:
    drawn = chart(result([0, 1, 2], ["1", "9" * 400, None]), "n", ["group"], 10)
    assert drawn["lines"][0]["values"] == [1.0, None, None]
    assert drawn["beyond"] == 1


def test_a_long_line_of_events_keeps_its_extremes() -> None:
    count = 50_000
    prices = np.sin(np.arange(count) / 500) * 10
    prices[31_234] = 99.0
    events = pa.table({"time": np.arange(count), "type": ["S"] * count, "price": prices})
    (line,) = attribute_lines(events, "price", [])["lines"]
    values = [value for value in line["values"] if value is not None]
    assert len(values) <= 1_000
    assert max(values) == 99.0
    assert min(values) == prices.min()
    assert line["events"] == count


def test_events_without_the_attribute_are_left_out() -> None:
    events = pa.table({"time": [1, 2, 3], "type": ["A"] * 3, "x": [1.0, None, float("nan")], "k": ["a", "a", None]})
    drawn = attribute_lines(events, "x", ["k"])
    assert (drawn["events"], drawn["times"]) == (1, [1.0])
    assert attribute_lines(events.slice(1), "x", ["k"])["lines"] == []
