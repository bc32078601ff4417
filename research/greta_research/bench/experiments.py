"""What is measured: every experiment is data that names its claim (§10, and what the paper leaves open)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import pyarrow as pa

from greta.datasets import cluster, paper, stock, traffic

Option = int | float | str | bool

TWO_STEP = ("flat", "sase", "cet")
SECONDS = 60.0
MEMORY = 4 * 2**30


@dataclass(frozen=True, slots=True)
class DataSet:
    """A generated stream: which one, how long, and the generator's options."""

    source: Literal["stock", "traffic", "cluster"]
    events: int
    options: tuple[tuple[str, Option], ...] = ()

    def make(self) -> pa.Table:
        """Generate it; the same data set is the same events everywhere."""
        generators = {"stock": stock, "traffic": traffic, "cluster": cluster}
        return generators[self.source](self.events, **dict(self.options))  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class Point:
    """One place on an experiment's x-axis."""

    x: float | str
    query: str
    data: DataSet


@dataclass(frozen=True, slots=True)
class Experiment:
    """Strategies over points. Where ``grows``, a strategy that stops at one point is not tried at later ones."""

    name: str
    title: str
    claim: str
    x_label: str
    points: tuple[Point, ...]
    strategies: tuple[str, ...]
    grows: bool = True
    log_x: bool = False
    seconds: float = SECONDS
    memory: int = MEMORY
    quick: tuple[int, ...] = ()
    """Which points a quick run takes, by place; none: the experiment is left out."""


def one_window(query: str) -> str:
    """The query with all its events in one window.

    >>> one_window(paper.Q1).splitlines()[-1]
    'WITHIN 1 day'
    """
    return "\n".join(line if not line.startswith("WITHIN") else "WITHIN 1 day" for line in query.splitlines())


NEGATION = """\
RETURN sector, COUNT(*)
PATTERN SEQ(Stock A+, NOT Stock N, Stock B+)
WHERE [company, sector] AND N.volume > 2500
  AND A.price > NEXT(A).price AND A.price > NEXT(B).price AND B.price > NEXT(B).price
GROUP-BY sector
WITHIN 1 day
"""
"""Q1 in two parts, with no block trade between the two."""

SEQUENCE = """\
RETURN mapper, COUNT(*), SUM(M.cpu)
PATTERN SEQ(Start S, Measurement M, End E)
WHERE [job, mapper]
GROUP-BY mapper
WITHIN 1 day
"""
"""A sequence of fixed length without edge predicate: all that A-Seq can do."""

NESTED = (
    ("M+", "Measurement M+"),
    ("SEQ(S, M+, E)", "SEQ(Start S, Measurement M+, End E)"),
    ("SEQ(S, M+, E)+", "SEQ(Start S, Measurement M+, End E)+"),
    ("SEQ(S+, SEQ(M+, E)+)+", "SEQ(Start S+, SEQ(Measurement M+, End E)+)+"),
)


def _stock(events: int, **options: Option) -> DataSet:
    return DataSet("stock", events, tuple(({"rate": 100.0} | options).items()))


def _cluster(events: int, **options: Option) -> DataSet:
    return DataSet("cluster", events, tuple(options.items()))


def _falling() -> Experiment:
    sizes = (10, 15, 20, 22, 24, 25, 26, 27, 28, 1_000, 100_000, 1_000_000)
    return Experiment(
        "events-falling",
        "Events per window, all prices falling (Q1, one company)",
        "n events hold 2ⁿ - 1 trends: whoever builds them stops near 25 events.",
        "events per window",
        tuple(Point(n, one_window(paper.Q1), _stock(n, companies=1, falling=True)) for n in sizes),
        ("greta", *TWO_STEP),
        log_x=True,
        memory=12 * 2**30,
        quick=(0, 2),
    )


def _market() -> Experiment:
    sizes = (100, 200, 300, 350, 400, 450, 475, 500, 550, 10_000, 100_000, 1_000_000)
    return Experiment(
        "events-market",
        "Events per window, prices of a market (Q1, ten companies)",
        "Two-step approaches explode exponentially, greta is near-linear.",
        "events per window",
        tuple(Point(n, one_window(paper.Q1), _stock(n)) for n in sizes),
        ("greta", "graph", *TWO_STEP),
        log_x=True,
        memory=12 * 2**30,
        quick=(0, 1, 9),
    )


def _negation() -> Experiment:
    sizes = (50, 100, 200, 250, 300, 350, 375, 400, 425, 450, 500, 10_000, 100_000, 1_000_000)
    return Experiment(
        "events-negation",
        "Events per window, with a negative sub-pattern (Q1 in two parts, ten companies)",
        "Negation prunes graphs and stacks before trends are built, but not flattened sequences.",
        "events per window",
        tuple(Point(n, NEGATION, _stock(n)) for n in sizes),
        ("greta", "graph", *TWO_STEP),
        log_x=True,
        memory=12 * 2**30,
    )


def _selectivity(name: str, events: int, strategies: tuple[str, ...], quick: tuple[int, ...]) -> Experiment:
    steps = [("up", factor) for factor in reversed(paper.FACTORS)] + [("down", f) for f in paper.FACTORS]
    return Experiment(
        name,
        f"Change factor of the edge predicate (Q1 and its nine variations, {events:,} events)",
        "The selectivity of edge predicates leaves greta flat; two-step approaches pay for every trend.",
        "price change from event to event, at least",
        tuple(
            Point(
                f"{'×' if way == 'up' else '÷'}{factor:g}",
                one_window(paper.variation("Q1", factor, "up" if way == "up" else "down")),
                _stock(events, volatility=600.0, trend=0.0),
            )
            for way, factor in steps
        ),
        strategies,
        grows=False,
        seconds=20,
        quick=quick,
    )


def _groups(name: str, events: int, counts: tuple[int, ...], strategies: tuple[str, ...]) -> Experiment:
    return Experiment(
        name,
        f"Number of groups (Q2, {events:,} events)",
        "The number of groups leaves greta flat; two-step approaches need many small groups.",
        "groups",
        tuple(
            Point(g, one_window(paper.Q2), _cluster(events, mappers=g, jobs=1, measurements=8))
            for g in reversed(counts)
        ),
        strategies,
        log_x=True,
        seconds=20,
        quick=(0, len(counts) - 1),
    )


def _ours() -> tuple[Experiment, ...]:
    """What the paper leaves open: questions to greta alone."""
    window = "WITHIN 10 minutes SLIDE {} seconds"
    q1 = paper.Q1.replace("WITHIN 10 minutes SLIDE 10 seconds", "{}")
    nested = "RETURN COUNT(*)\nPATTERN {}\nWHERE [job, mapper] AND M.load < NEXT(M).load\nWITHIN 1 minute\n"
    return (
        Experiment(
            "windows-per-event",
            "Windows per event (Q1, 200,000 events)",
            "Events are shared between overlapping windows.",
            "windows per event (k)",
            tuple(
                Point(k, q1.format(window.format(600 // k)), _stock(200_000, rate=10.0))
                for k in (1, 4, 10, 20, 60, 120)
            ),
            ("greta",),
            log_x=True,
            quick=(0, 4),
        ),
        Experiment(
            "nesting",
            "Nesting of the pattern (cluster, 100,000 events)",
            "Nested Kleene patterns cost a little per state, not per trend.",
            "pattern",
            tuple(Point(label, nested.format(text), _cluster(100_000)) for label, text in NESTED),
            ("greta",),
            grows=False,
            quick=(0, 3),
        ),
        Experiment(
            "numbers",
            "Number modes (Q1, ten companies)",
            "Exact counts of any size cost their digits.",
            "events per window",
            tuple(Point(n, one_window(paper.Q1), _stock(n)) for n in (1_000, 3_000, 10_000, 30_000)),
            ("greta", "greta-exact"),
            log_x=True,
            quick=(0, 1),
        ),
        Experiment(
            "partitions",
            "Number of partitions (Q1, 1,000,000 events)",
            "Throughput hardly depends on how many partitions there are.",
            "companies",
            tuple(
                Point(c, one_window(paper.Q1), _stock(1_000_000, companies=c))
                for c in (1, 10, 100, 1_000, 10_000, 100_000)
            ),
            ("greta",),
            log_x=True,
            quick=(1, 3),
        ),
        Experiment(
            "parallelism",
            "Spark on one core and on two (Q1, 1,000 companies)",
            "Partitions run in parallel; a cluster pays off once its own cost is small beside the work.",
            "events",
            tuple(Point(n, paper.Q1, _stock(n, companies=1_000)) for n in (100_000, 1_000_000)),
            ("greta", "spark-1", "spark-2"),
            log_x=True,
            seconds=180,
            memory=12 * 2**30,
        ),
    )


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by name: the paper's first."""
    found = (
        _falling(),
        _market(),
        _negation(),
        _selectivity("selectivity", 250, ("greta", *TWO_STEP), quick=()),
        _selectivity("selectivity-100k", 100_000, ("greta",), quick=(0, 4, 5)),
        _groups("groups", 300, (2, 3, 5, 10, 20, 50), ("greta", "graph", *TWO_STEP)),
        _groups("groups-100k", 100_000, (1, 3, 10, 30, 100, 300, 1_000), ("greta",)),
        Experiment(
            "quadratic",
            "The paper's graph at 20,000 events (Q1, one company, one window)",
            "Summing ranges beats walking edges: at least 1,000 times.",
            "events per window",
            tuple(
                Point(n, one_window(paper.Q1), _stock(n, companies=1, falling=True))
                for n in (1_000, 2_000, 5_000, 20_000)
            ),
            ("greta", "graph"),
            log_x=True,
            seconds=120,
            memory=12 * 2**30,
            quick=(0, 1),
        ),
        Experiment(
            "sequences",
            "Sequences of fixed length without edge predicate (cluster)",
            "A-Seq counts without building too, where it applies.",
            "events per window",
            tuple(Point(n, SEQUENCE, _cluster(n)) for n in (1_000, 10_000, 100_000, 1_000_000)),
            ("greta", "aseq", "flat", "sase", "cet"),
            log_x=True,
            seconds=20,
            quick=(0,),
        ),
        Experiment(
            "queries",
            "The paper's three queries with their own windows (20,000 events)",
            "All clauses at once.",
            "query",
            (
                Point("Q1", paper.Q1, _stock(20_000, rate=10.0)),
                Point("Q2", paper.Q2, _cluster(20_000)),
                Point("Q3", paper.Q3, DataSet("traffic", 20_000)),
            ),
            ("greta", "graph", "sase"),
            grows=False,
            seconds=20,
        ),
        *_ours(),
        Experiment(
            "flink",
            "Apache Flink itself on flattened queries (Q1, one company, falling prices)",
            "A stream processor without Kleene closure over all matches explodes as well.",
            "events per window",
            tuple(Point(n, one_window(paper.Q1), _stock(n, companies=1, falling=True)) for n in (4, 8, 12, 16, 20)),
            ("greta", "flat", "flink"),
        ),
    )
    return {experiment.name: experiment for experiment in found}
