"""The questions that the page offers have the answers that they promise."""

from itertools import pairwise

import pytest

import greta
from greta.studio import samples
from greta.studio.jobs import fates
from greta_research import brute_force


def answer(sample: str, title: str) -> list[dict[str, object]]:
    (query,) = [q.query for q in samples.SAMPLES[sample].questions if q.title == title]
    return greta.aggregate(samples.events(sample), query).to_pylist()


@pytest.mark.parametrize(
    ("title", "fate"),
    [
        ("Which jobs never finished?", "is lost"),
        ("Which jobs stalled?", "stalls"),
        ("Which jobs rose and then failed?", "climbs and fails"),
    ],
)
def test_each_question_about_jobs_names_the_jobs_it_is_about_and_no_other(title: str, fate: str) -> None:
    asked = {str(row["job"]) for row in answer("jobs", title)}
    assert asked == {job for job, end in fates().items() if end == fate}


def test_the_steepest_fall_is_the_largest_difference_between_a_price_and_a_later_lower_one() -> None:
    # Falls may skip trades, so the steepest one needs its first and its last trade alone.
    events = samples.events("stock").sort_by("time").to_pylist()
    for row in answer("stock", "Which is the steepest fall?"):
        prices = [
            event["price"]
            for event in events
            if event["company"] == row["company"] and row["window_start"] <= event["time"] < row["window_end"]
        ]
        losses = [later - price for at, price in enumerate(prices) for later in prices[at + 1 :]]
        assert row["steepest"] == pytest.approx(min(losses))


def test_every_peak_rises_then_falls() -> None:
    (query,) = [q.query for q in samples.SAMPLES["stock"].questions if q.title == "Where are the peaks?"]
    rows = samples.events("stock").slice(0, 60).sort_by("time").to_pylist()
    without_window = query.partition("WITHIN")[0]
    seen = 0
    for partition in brute_force.trends(rows, without_window):
        for trend in partition.trends:
            prices = [rows[row]["price"] for row, _ in trend]
            rise = sum(variable == "U" for _, variable in trend)
            assert rise >= 2
            assert all(a < b for a, b in pairwise(prices[:rise]))
            assert all(a > b for a, b in pairwise(prices[rise - 1 :]))
            seen += 1
    assert seen > 10


def test_no_question_is_named_after_a_figure() -> None:
    titles = [question.title for sample in samples.SAMPLES.values() for question in sample.questions]
    assert len(set(titles)) == len(titles)
    assert all(title.endswith("?") and "igure" not in title for title in titles)
