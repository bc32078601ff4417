"""The graph behind a row: counts on vertices, and the trends through them."""

import re
from itertools import pairwise
from typing import Any

import pytest
from starlette.testclient import TestClient

from greta.datasets import paper
from greta.studio import samples
from greta.studio.draw import Dot, draw
from support.serving import Finish


def graph(client: TestClient, finish: Finish, query: str, sample: str, row: int = 0) -> dict[str, Any]:
    run = finish(query, {"sample": sample})
    return client.get(f"/api/runs/{run['id']}/graph", params={"row": row}).json()


@pytest.mark.parametrize("name", ["figure-6a", "figure-6b", "figure-6c", "figure-6d", "figure-8a", "figure-8b"])
def test_the_papers_graphs_hold_the_papers_trends(client: TestClient, finish: Finish, name: str) -> None:
    example = paper.EXAMPLES[name]
    (part,) = graph(client, finish, example.query, "paper")["parts"]
    assert len(part["trends"]) == example.trends[0]
    assert len({tuple(trend) for trend in part["trends"]}) == example.trends[0]
    assert part["summary"].startswith(f"{example.trends[0]} trends")


def test_counts_stand_on_the_vertices_of_figure_6c(client: TestClient, finish: Finish) -> None:
    (part,) = graph(client, finish, paper.EXAMPLES["figure-6c"].query, "paper")["parts"]
    assert part["names"] == ["a1", "b2", "a3", "a4", "b7", "a8", "b9"]
    ends = [int(count) for count in re.findall(r"(\d+) (?:partial )?trends end here", part["picture"])]
    told = dict(zip(re.findall(r'aria-label="(\w+) \d+:', part["picture"]), ends[::2], strict=True))
    assert told == {"a1": 1, "b2": 1, "a3": 3, "a4": 6, "b7": 10, "a8": 22, "b9": 32}
    assert part["picture"].count("data-edge=") == 6 + 8 + 4  # A→A, A→B, B→A
    assert "<style" not in part["picture"]


def test_every_vertex_can_be_reached_with_the_keyboard_and_has_a_name(client: TestClient, finish: Finish) -> None:
    (part,) = graph(client, finish, paper.EXAMPLES["figure-6c"].query, "paper")["parts"]
    vertices = re.findall(r"<g data-vertex=[^>]*>", part["picture"])
    assert len(vertices) == 7
    assert all('tabindex="0"' in vertex and "aria-label=" in vertex for vertex in vertices)


def test_a_row_of_a_sliding_window_sees_only_its_window(client: TestClient, finish: Finish) -> None:
    query = paper.EXAMPLES["figure-9"].query
    counts = [len(graph(client, finish, query, "paper", row)["parts"][0]["trends"]) for row in range(3)]
    assert counts == [43, 13, 1]


def test_a_row_of_a_group_sees_only_its_group(client: TestClient, finish: Finish) -> None:
    query = samples.SAMPLES["stock"].questions[0].query
    run = finish(query, {"sample": "stock"})
    page = client.get(f"/api/runs/{run['id']}/rows", params={"limit": 12}).json()
    for row, values in enumerate(page["rows"]):
        drawn = client.get(f"/api/runs/{run['id']}/graph", params={"row": row}).json()
        assert len(drawn["parts"][0]["trends"]) == values[-1]


def test_vertices_stand_as_high_as_the_attribute_and_show_it(client: TestClient, finish: Finish) -> None:
    run = finish(paper.EXAMPLES["down-trends-next"].query, {"sample": "prices"})
    drawn = client.get(f"/api/runs/{run['id']}/graph", params={"row": 0, "height": "price"}).json()
    picture = drawn["parts"][0]["picture"]
    assert "price as height" in picture
    vertices = re.findall(
        r'<g data-vertex.*?<circle cx="[\d.]+" cy="([\d.]+)".*?font-weight="600"[^>]*>(\d+)<', picture
    )
    heights = {int(price): float(y) for y, price in vertices}
    assert sorted(heights) == list(range(1, 11))
    assert sorted(heights, key=lambda price: -heights[price]) == list(range(1, 11))
    assert drawn["parts"][0]["names"][0].startswith("10")


def test_simultaneous_vertices_of_one_value_do_not_hide_each_other() -> None:
    dot = Dot("a1", "", 1, 0, "A", 1, True, True, False, "a1", value=5.0)
    picture = draw("A+", [dot, dot, dot], [], height="x")
    heights = [float(y) for y in re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)" r="23"', picture)]
    assert len(heights) == 3
    assert all(b - a >= 46 for a, b in pairwise(sorted(heights)))


def test_partitions_of_one_group_are_drawn_apart(client: TestClient, finish: Finish) -> None:
    query = "RETURN COUNT(*) PATTERN Stock S+ WHERE [company] WITHIN 30 seconds"
    parts = graph(client, finish, query, "stock", 1)["parts"]
    assert len(parts) > 1
    assert all(part["title"].startswith("company = C") for part in parts)


def test_a_row_with_too_many_events_is_not_drawn_but_explained(client: TestClient, finish: Finish) -> None:
    error = graph(client, finish, "RETURN COUNT(*) PATTERN Stock+", "stock")["error"]
    assert error["message"] == "this row has 600 events behind it; graphs are drawn up to 60"
    assert graph(client, finish, "RETURN COUNT(*) PATTERN A+", "paper", 7)["error"]["message"] == "there is no row 8"


def test_too_many_trends_are_counted_but_not_listed(client: TestClient, finish: Finish) -> None:
    query = "RETURN COUNT(*) PATTERN Stock S+ WITHIN 2 minutes"
    (part,) = graph(client, finish, query, "stock", 2)["parts"]
    assert part["trends"] is None
    assert "not listed" in part["summary"]
