"""The sample data sets that the page offers: small streams, each with questions worth asking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pyarrow.parquet

from greta import datasets
from greta.datasets import paper
from greta.studio.jobs import jobs


@dataclass(frozen=True, slots=True)
class Question:
    """A card on the page: what people ask, what the answer says, and the query that gives it."""

    title: str
    about: str
    query: str
    featured: bool = False
    """Shown at once; the others are a click away."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Events and questions about them; the first question is asked first."""

    title: str
    about: str
    make: Callable[[], pa.Table]
    questions: tuple[Question, ...]


_STOCK = (
    Question(
        "Where are prices falling?",
        "Falling runs of prices per sector, in windows of five minutes: the paper's first query.",
        paper.Q1.replace("10 minutes SLIDE 10 seconds", "5 minutes SLIDE 30 seconds"),
        featured=True,
    ),
    Question(
        "Which is the steepest fall?",
        "The largest loss from the first trade of a fall to its last, and how many trades the longest fall has.",
        """\
-- a fall: each price below the one before; how deep is the deepest?
RETURN company, MIN(LAST(S.price) - FIRST(S.price)) AS steepest, MAX(COUNT(*)) AS longest
PATTERN Stock S+
MIN LENGTH 2
WHERE [company] AND S.price > NEXT(S).price
GROUP-BY company
WITHIN 10 minutes
""",
        featured=True,
    ),
    Question(
        "When do falls pile up?",
        "A sell signal: only sectors and minutes with more than 100 falls of three trades or more.",
        """\
-- a sell signal: sectors in which many down-trends pile up
RETURN sector, COUNT(*) AS trends, MIN(S.price) AS lowest
PATTERN Stock S+
MIN LENGTH 3
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
HAVING trends > 100
WITHIN 5 minutes SLIDE 1 minute
""",
    ),
    Question(
        "Where are the peaks?",
        "A price rises, by two trades at least, and falls from there on.",
        """\
-- a peak: a price rises, turns, and falls
RETURN sector, COUNT(*) AS peaks, MAX(U.price) AS top
PATTERN SEQ(Stock U{2,}, Stock D+)
WHERE [company, sector]
  AND U.price < NEXT(U).price  -- up
  AND U.price > NEXT(D).price  -- the turn
  AND D.price > NEXT(D).price  -- down
GROUP-BY sector
WITHIN 4 minutes SLIDE 1 minute
""",
        featured=True,
    ),
)

_JOBS = (
    Question(
        "Which jobs never finished?",
        "A job starts, and neither its end nor its failure is ever heard of.",
        """\
-- a start after which nothing ends the job
RETURN job, COUNT(*) AS starts
PATTERN SEQ(Start S, NOT (Finish F OR Failure X))
WHERE [job]
GROUP-BY job
""",
        featured=True,
    ),
    Question(
        "Which jobs stalled?",
        "Four reports in a row, or more, with a load of zero.",
        """\
-- no load in report after report
RETURN job, COUNT(*) AS runs, COUNT(R) AS reports
PATTERN Report R+
SEMANTICS contiguous
MIN LENGTH 4
WHERE [job] AND R.load = 0
GROUP-BY job
""",
        featured=True,
    ),
    Question(
        "Which jobs rose and then failed?",
        "The load grows from report to report, and what comes next is the failure.",
        """\
-- growing load, five reports or more, and then the failure
RETURN job, COUNT(*) AS climbs, MAX(R.load) AS peak
PATTERN SEQ(Report R+, Failure X)
SEMANTICS contiguous
MIN LENGTH 6
WHERE [job] AND R.load < NEXT(R).load
GROUP-BY job
""",
        featured=True,
    ),
)


def _paper() -> tuple[Question, ...]:
    titles = {
        "figure-6c": ("How many ways lead through eleven events?", "Rounds of a's and a b: 43 trends, figure 6(c)."),
        "figure-6a": ("How many runs of a's are there?", "Any a's in the order of time: figure 6(a)."),
        "figure-6b": ("How many of them end in a b?", "One or more a's, then a b: figure 6(b)."),
        "figure-6d": ("And if c and d must not lie between?", "With NOT inside NOT: figure 6(d)."),
        "figure-8a": ("Which are not followed by an e?", "NOT at the end: figure 8(a)."),
        "figure-8b": ("Which have no e before them?", "NOT at the beginning: figure 8(b)."),
        "figure-9": ("And in each of the sliding windows?", "WITHIN and SLIDE: figure 9."),
    }
    return tuple(Question(title, about, paper.EXAMPLES[name].query) for name, (title, about) in titles.items())


def _prices() -> tuple[Question, ...]:
    titles = {
        "down-trends-any": ("How many falls hide in ten prices?", "Any price may be skipped: 275 falling sequences."),
        "down-trends-next": ("And if only misfits are skipped?", "skip-till-next-match: a price that fits is taken."),
        "down-trends-contiguous": ("And without any gap?", "contiguous: only prices that follow each other."),
    }
    return tuple(Question(title, about, paper.EXAMPLES[name].query) for name, (title, about) in titles.items())


SAMPLES: dict[str, Sample] = {
    "stock": Sample(
        "Stock trades",
        "600 generated trades of 4 companies in 4 sectors over 50 minutes.",
        lambda: datasets.stock(600, companies=4, rate=0.2, trend=30, volatility=80, seed=4),
        _STOCK,
    ),
    "jobs": Sample(
        "Jobs on a cluster",
        "32 generated jobs that report their load; some stall, some fail, some are never heard of again.",
        jobs,
        _JOBS,
    ),
    "traffic": Sample(
        "Traffic on an expressway",
        "20,000 generated position reports and accidents.",
        lambda: datasets.traffic(20_000, expressways=1, initial_rate=20, peak_rate=60, ramp=600, accidents=20, seed=2),
        (
            Question(
                "Where do cars slow down without an accident?",
                "Falling speeds per segment while no accident is reported there: the paper's third query.",
                paper.Q3,
            ),
        ),
    ),
    "cluster": Sample(
        "Cluster monitoring",
        "4,000 generated measurements of 3 mappers and 2 jobs.",
        lambda: datasets.cluster(4_000, mappers=3, jobs=2, rate=8, measurements=10, seed=1),
        (
            Question(
                "How much CPU goes into growing load?",
                "CPU per mapper over runs of growing load between start and end: the paper's second query.",
                paper.Q2,
            ),
        ),
    ),
    "prices": Sample(
        "Ten prices",
        "10, 2, 9, 8, 7, 1, 6, 5, 4, 3: the price records that show what skipping means.",
        lambda: paper.PRICES,
        _prices(),
    ),
    "paper": Sample(
        "The paper's stream",
        "11 events, a1 b2 c2 a3 e3 a4 c5 d6 b7 a8 b9, whose trends the paper counts by hand.",
        lambda: paper.I,
        _paper(),
    ),
}


@cache
def events(name: str) -> pa.Table:
    """The events of a sample; made once per process."""
    return SAMPLES[name].make()


def save(name: str, path: str) -> None:
    """Write the events of a sample into a Parquet file, for commands that read files."""
    pyarrow.parquet.write_table(events(name), path)


def listing() -> list[dict[str, object]]:
    """What the page needs to offer the samples."""
    return [
        {
            "name": name,
            "title": sample.title,
            "about": sample.about,
            "questions": [
                {"title": q.title, "about": q.about, "text": q.query, "featured": q.featured} for q in sample.questions
            ],
        }
        for name, sample in SAMPLES.items()
    ]
