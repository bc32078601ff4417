"""What the core costs beside programs written by hand, and as queries ask for more; part of ``engine.py``.

Each function gives rows of (claim, measured, bound, detail); all bounds are upper ones but that of events per second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import handwritten
import many_queries
import numpy as np
import pyarrow as pa
from handwritten import best

import greta

PER_COMPANY = "PATTERN Stock S+ WHERE [company, sector]"
FALLING = f"{PER_COMPANY} AND S.price > NEXT(S).price"
VALUES = (
    "MAX(COUNT(*))",
    "AVG(LAST(S.price) - FIRST(S.price))",
    "STDDEV(SUM(S.volume))",
    "MIN(DURATION(*))",
    "MAX(MIN(S.price))",
)


class Measured(NamedTuple):
    """One claim, what was measured for it, and its bound."""

    claim: str
    measured: float
    bound: float
    detail: str
    at_least: bool = False


def trades(count: int) -> pa.Table:
    """A thousand trades a second of 200 companies in ten sectors."""
    random = np.random.default_rng(0)
    company = random.integers(0, 200, count)
    return pa.table(
        {
            "type": pa.DictionaryArray.from_arrays(np.zeros(count, np.int8), ["Stock"]),
            "time": pa.array(np.arange(count), pa.timestamp("ms")),
            "company": company,
            "sector": company % 10,
            "price": np.round(100 + np.cumsum(random.normal(0, 0.05, count)), 2),
            "volume": random.integers(1, 100, count).astype(float),
        }
    )


def _asked(table: pa.Table, query: str, repeats: int = 3) -> float:
    plan = greta.analyze(query)
    call: Callable[[], object] = lambda: greta.aggregate(table, plan)  # noqa: E731
    call()
    return best(call, repeats)


def by_hand() -> Iterator[Measured]:
    """Q1, Q2 and Q3 in one window beside programs of some fifteen lines each."""
    for program in handwritten.PROGRAMS:
        for size in handwritten.SIZES:
            # Short calls are the noisiest.
            hand, ours = handwritten.compare(program, size, max(9, 1_000_000 // size))
            detail = f"{hand * 1e3:.2f} ms by hand, {ours * 1e3:.2f} ms"
            yield Measured(
                f"{program.name}, {size:,} events, against a program by hand",
                ours / hand,
                2.5 if size < 100_000 else 2.0,
                detail,
            )


def sliding_rate(table: pa.Table) -> Iterator[Measured]:
    """Q1 with 60 windows per event."""
    took = _asked(table, f"RETURN sector, COUNT(*) {FALLING} GROUP-BY sector WITHIN 10 minutes SLIDE 10 seconds")
    yield Measured(
        "million events/s, Q1 with 60 windows per event", len(table) / took / 1e6, 1.8, f"{took:.2f} s", True
    )


def values_of_trends(table: pa.Table) -> Iterator[Measured]:
    """A value of trends added to COUNT(*)."""
    for windows, name, bound in (
        ("WITHIN 10 minutes", "one window", 2.0),
        ("WITHIN 10 minutes SLIDE 10 seconds", "60 windows", 4.0),
    ):
        counted = f"RETURN sector, COUNT(*) {FALLING} GROUP-BY sector {windows}"
        for value in VALUES:
            # In turns, so that a slow moment of the machine is not taken for a fast value.
            plain = _asked(table, counted, 2)
            took = _asked(table, f"RETURN sector, COUNT(*), {value} {FALLING} GROUP-BY sector {windows}", 2)
            claim = f"COUNT(*) with {value} against COUNT(*) alone, {name} per event"
            yield Measured(claim, took / plain, bound, f"{plain:.3f} s → {took:.3f} s")


def free_windows(table: pa.Table) -> Iterator[Measured]:
    """Windows that overlap more and more, without an edge predicate."""
    for returned, bound in (("COUNT(*), SUM(S.volume), MIN(S.price), MAX(COUNT(*))", 10.0), ("COUNT(*)", 1.5)):
        query = f"RETURN sector, {returned} {PER_COMPANY} GROUP-BY sector WITHIN 10 minutes"
        one, many = _asked(table, query, 2), _asked(table, f"{query} SLIDE 1 second", 2)
        claim = f"no edge predicate, {returned}: 600 windows per event against one"
        yield Measured(claim, many / one, bound, f"{one:.3f} s → {many:.3f} s")


def small_calls(table: pa.Table) -> Iterator[Measured]:
    """Calls on thirty events: a plan, and a query's text."""
    few = table.slice(0, 30)
    query = f"RETURN sector, COUNT(*) {FALLING} GROUP-BY sector WITHIN 10 minutes"
    plan = greta.analyze(query)
    for asked, name, bound in ((plan, "a plan", 0.5), (query, "text", 1.0)):
        call: Callable[[], object] = lambda asked=asked: greta.aggregate(few, asked)  # type: ignore[misc] # noqa: E731
        call()
        yield Measured(f"ms of a call on 30 events with {name}", best(call, 100) * 1e3, bound, "best of 100")


def together() -> Iterator[Measured]:
    """A hundred queries in one call."""
    table, asked = many_queries.make_events(100_000), many_queries.make_queries(100)
    one, many = (lambda: greta.aggregate(table, asked[0])), (lambda: greta.aggregate(table, asked))
    one()
    many()
    alone, all_ = best(one, 5), best(many, 2)
    yield Measured(
        "100 queries in one call against one", all_ / alone, 15.0, f"{alone * 1e3:.1f} → {all_ * 1e3:.0f} ms"
    )


def all_measured(events: int) -> Iterator[Measured]:
    """All of the above, over so many events where there is a choice."""
    table = trades(events)
    yield from by_hand()
    yield from sliding_rate(table)
    yield from values_of_trends(table)
    yield from free_windows(table)
    yield from small_calls(table)
    yield from together()
