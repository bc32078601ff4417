"""The sample data sets that the page offers: small streams, each with queries worth reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from greta import datasets
from greta.datasets import paper


@dataclass(frozen=True, slots=True)
class Sample:
    """Events and queries over them; ``queries`` maps titles to texts, the first one is shown first."""

    title: str
    about: str
    make: Callable[[], pa.Table]
    queries: Mapping[str, str]


def _paper_queries() -> dict[str, str]:
    titles = {
        "figure-6c": "Figure 6(c): SEQ(A+, B)+, 43 trends",
        "figure-6a": "Figure 6(a): A+",
        "figure-6b": "Figure 6(b): SEQ(A+, B)",
        "figure-6d": "Figure 6(d): with nested NOT",
        "figure-8a": "Figure 8(a): NOT at the end",
        "figure-8b": "Figure 8(b): NOT at the beginning",
        "figure-9": "Figure 9: sliding windows",
    }
    return {title: paper.EXAMPLES[name].query for name, title in titles.items()}


def _price_queries() -> dict[str, str]:
    titles = {
        "down-trends-any": "Down-trends that skip any price",
        "down-trends-next": "Down-trends that skip only what does not fit",
        "down-trends-contiguous": "Down-trends without a gap",
    }
    return {title: paper.EXAMPLES[name].query for name, title in titles.items()}


_SELL = """\
-- a sell signal: sectors in which many down-trends pile up
RETURN sector, COUNT(*) AS trends, MIN(S.price) AS lowest
PATTERN Stock S+
MIN LENGTH 3
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
HAVING trends > 100
WITHIN 5 minutes SLIDE 1 minute
"""

_TURN = """\
-- a peak: prices rise, then fall
RETURN sector, COUNT(*) AS peaks, MAX(U.price) AS top
PATTERN SEQ(Stock U+, Stock D+)
WHERE [company, sector] AND U.price < NEXT(U).price AND D.price > NEXT(D).price
GROUP-BY sector
WITHIN 4 minutes SLIDE 1 minute
"""

SAMPLES: dict[str, Sample] = {
    "paper": Sample(
        "The paper's stream",
        "11 events, a1 b2 c2 a3 e3 a4 c5 d6 b7 a8 b9, whose trends the paper counts by hand.",
        lambda: paper.I,
        _paper_queries(),
    ),
    "prices": Sample(
        "Ten prices",
        "10, 2, 9, 8, 7, 1, 6, 5, 4, 3: the price records that show what skipping means.",
        lambda: paper.PRICES,
        _price_queries(),
    ),
    "stock": Sample(
        "Stock trades",
        "600 generated trades of 4 companies in 4 sectors over 50 minutes.",
        lambda: datasets.stock(600, companies=4, rate=0.2, trend=30, seed=4),
        {
            "Q1: down-trends per sector": paper.Q1.replace("10 minutes SLIDE 10 seconds", "5 minutes SLIDE 30 seconds"),
            "Sell signal with HAVING": _SELL,
            "Peaks: up, then down": _TURN,
        },
    ),
    "traffic": Sample(
        "Traffic on an expressway",
        "20,000 generated position reports and accidents.",
        lambda: datasets.traffic(20_000, expressways=1, initial_rate=20, peak_rate=60, ramp=600, accidents=20, seed=2),
        {"Q3: cars that slow down without an accident": paper.Q3},
    ),
    "cluster": Sample(
        "Cluster monitoring",
        "4,000 generated measurements of 3 mappers and 2 jobs.",
        lambda: datasets.cluster(4_000, mappers=3, jobs=2, rate=8, measurements=10, seed=1),
        {"Q2: CPU of mappers whose load grows": paper.Q2},
    ),
}


@cache
def events(name: str) -> pa.Table:
    """The events of a sample; made once per process."""
    return SAMPLES[name].make()


def listing() -> list[dict[str, object]]:
    """What the page needs to offer the samples."""
    return [
        {
            "name": name,
            "title": sample.title,
            "about": sample.about,
            "queries": [{"title": title, "text": text} for title, text in sample.queries.items()],
        }
        for name, sample in SAMPLES.items()
    ]
