"""Trends of a row, as the page draws them over the events."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from starlette.testclient import TestClient

import greta
from greta.studio import samples
from support.serving import Finish

FALLS = samples.SAMPLES["stock"].questions[0].query


def ask(client: TestClient, run: dict[str, Any], **asked: object) -> dict[str, Any]:
    answer: dict[str, Any] = client.get(f"/api/runs/{run['id']}/trends", params=asked).json()
    return answer


def test_trends_of_a_row_fall_inside_its_window(client: TestClient, finish: Finish) -> None:
    run = finish(FALLS, {"sample": "stock"})
    rows = greta.aggregate(samples.events("stock"), FALLS).to_pylist()
    most = max(range(len(rows)), key=lambda at: rows[at]["count"])
    for pick in ("sample", "longest", "fall"):
        shown = ask(client, run, pick=pick, attribute="price")
        assert (shown["row"], shown["pick"]) == (most, pick)  # unasked, the row with the most trends
        low, high = shown["band"]
        assert len(shown["trends"]) == 5
        for trend in shown["trends"]:
            times, prices = zip(*trend["points"], strict=True)
            assert all(low <= time < high for time in times)
            assert all(a < b for a, b in pairwise(times))
            assert all(a > b for a, b in pairwise(prices))
            assert (trend["from"], trend["to"], trend["events"]) == (prices[0], prices[-1], len(prices))
            assert [event["value"] for event in trend["listed"]] == list(prices)
    lengths = [trend["events"] for trend in ask(client, run, pick="longest", attribute="price")["trends"]]
    assert lengths == sorted(lengths, reverse=True)
    first, other = (ask(client, run, attribute="price", seed=seed)["trends"] for seed in (0, 1))
    assert first != other


def test_the_row_that_was_chosen_is_shown(client: TestClient, finish: Finish) -> None:
    run = finish(FALLS, {"sample": "stock"})
    shown = ask(client, run, row=3, attribute="volume", pick="rise")
    row = greta.aggregate(samples.events("stock"), FALLS).to_pylist()[3]
    assert shown["row"] == 3
    assert shown["band"] == [row["window_start"].timestamp(), row["window_end"].timestamp()]
    assert "there is no row" in ask(client, run, row=10**6)["error"]["message"]


def test_values_that_return_names_are_offered(client: TestClient, finish: Finish) -> None:
    run = finish(samples.SAMPLES["stock"].questions[1].query, {"sample": "stock"})
    shown = ask(client, run, attribute="price", pick="by steepest")
    assert [each["pick"] for each in shown["picks"]] == [
        "sample",
        "longest",
        "fall",
        "rise",
        "by steepest",
        "by longest",
    ]
    rows = greta.aggregate(samples.events("stock"), samples.SAMPLES["stock"].questions[1].query).to_pylist()
    assert rows[shown["row"]]["steepest"] == min(row["steepest"] for row in rows)
    best = shown["trends"][0]
    assert best["to"] - best["from"] == pytest.approx(rows[shown["row"]]["steepest"])


def test_events_without_a_number_have_trends_without_points(client: TestClient, finish: Finish) -> None:
    run = finish("RETURN COUNT(*) PATTERN SEQ(A+, B)+", {"sample": "paper"})
    shown = ask(client, run, pick="fall")
    assert (shown["pick"], shown["band"]) == ("sample", None)
    assert [trend["points"] for trend in shown["trends"]] == [[]] * 5


def test_pairs_of_trends_are_explained(client: TestClient, finish: Finish) -> None:
    run = finish("RETURN COUNT(*) PATTERN A+ AND B+", {"sample": "paper"})
    assert "pairs of trends" in ask(client, run)["error"]["message"]


def test_a_result_without_rows_has_no_trends(client: TestClient, finish: Finish) -> None:
    run = finish("RETURN COUNT(*) PATTERN Z+", {"sample": "paper"})
    assert ask(client, run)["trends"] == []


def test_a_row_that_does_not_name_its_group_shows_no_other_groups_trends(client: TestClient, finish: Finish) -> None:
    query = "RETURN COUNT(*) PATTERN Stock S+ WHERE [company, sector] GROUP-BY sector WITHIN 5 minutes"
    run = finish(query, {"sample": "stock"})
    error = ask(client, run, row=2, attribute="price")["error"]
    assert "does not say which sector" in error["message"]
    assert "name sector in RETURN" in str(error)
