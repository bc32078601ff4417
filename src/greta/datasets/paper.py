"""The paper's own little streams and queries: worked examples whose results can be checked by hand.

``Q1``, ``Q2`` and ``Q3`` are the queries of the introduction, ``variation`` makes those of the evaluation
(§10.1), and ``EXAMPLES`` pairs the streams of the figures with queries and the numbers of trends they hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

Q1 = """\
RETURN sector, COUNT(*)
PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 10 minutes SLIDE 10 seconds
"""
"""Down-trends per sector."""

Q2 = """\
RETURN mapper, SUM(M.cpu)
PATTERN SEQ(Start S, Measurement M+, End E)
WHERE [job, mapper] AND M.load < NEXT(M).load
GROUP-BY mapper
WITHIN 1 minute SLIDE 30 seconds
"""
"""CPU cycles per mapper whose load grows during a job."""

Q3 = """\
RETURN segment, COUNT(*), AVG(P.speed)
PATTERN SEQ(NOT Accident A, Position P+)
WHERE [P.vehicle, segment] AND P.speed > NEXT(P).speed
GROUP-BY segment
WITHIN 5 minutes SLIDE 1 minute
"""
"""Cars that slow down on a segment without an accident."""

FACTORS = (1.0, 1.05, 1.1, 1.15, 1.2)
"""The change factors X of the evaluation."""

_QUERIES = {
    "Q1": (Q1, "S.price > NEXT(S).price", "S.price"),
    "Q2": (Q2, "M.load < NEXT(M).load", "M.load"),
    "Q3": (Q3, "P.speed > NEXT(P).speed", "P.speed"),
}


def variation(query: Literal["Q1", "Q2", "Q3"], factor: float, direction: Literal["up", "down"]) -> str:
    """One of a query's ten variations: from event to event its value grows, or shrinks, by the factor.

    >>> print(variation("Q1", 1.05, "up").splitlines()[2])
    WHERE [company, sector] AND S.price * 1.05 < NEXT(S).price
    """
    text, predicate, value = _QUERIES[query]
    variable, attribute = value.split(".")
    this, following = value, f"NEXT({variable}).{attribute}"
    if factor != 1:
        scaled = f" * {factor}"
        this, following = (this + scaled, following) if direction == "up" else (this, following + scaled)
    return text.replace(predicate, f"{this} {'<' if direction == 'up' else '>'} {following}")


def stream(events: str) -> pa.Table:
    """A stream in the paper's notation, times in seconds; ``a3=6`` gives the event's ``attr``.

    >>> stream("a1 b2").to_pylist()
    [{'type': 'A', 'time': 1}, {'type': 'B', 'time': 2}]
    """
    parts = [event.partition("=") for event in events.split()]
    columns: dict[str, pa.Array] = {
        "type": pa.array([name[0].upper() for name, _, _ in parts], pa.string()),
        "time": pa.array([int(name[1:]) for name, _, _ in parts], pa.int64()),
    }
    if any(value for _, _, value in parts):
        columns["attr"] = pa.array([int(value) if value else None for _, _, value in parts], pa.int64())
    return pa.table(columns)


def prices(values: Sequence[float]) -> pa.Table:
    """Prices of one company, a second apart, from time 0 on."""
    count = len(values)
    return pa.table(
        {
            "type": ["Stock"] * count,
            "time": pa.array(range(count), pa.int64()),
            "company": ["c"] * count,
            "sector": ["s"] * count,
            "price": pa.array(values),
        }
    )


I = stream("a1 b2 c2 a3 e3 a4 c5 d6 b7 a8 b9")  # noqa: E741 - the paper's name
"""The stream of Figures 6, 8 and 9."""

PRICES = prices([10, 2, 9, 8, 7, 1, 6, 5, 4, 3])
"""The price records of §2: one long down-trend hides in local ups and downs."""


@dataclass(frozen=True, slots=True)
class Example:
    """A query over a stream, and the number of trends in each window that has any, in order of time."""

    name: str
    events: pa.Table
    query: str
    trends: tuple[int, ...]


def _counting(pattern: str, rest: str = "") -> str:
    return f"RETURN COUNT(*)\nPATTERN {pattern}\n{rest}"


def _falling(semantics: str) -> str:
    return f"RETURN COUNT(*)\nPATTERN Stock S+\nSEMANTICS {semantics}\nWHERE S.price > NEXT(S).price\n"


EXAMPLES = {
    example.name: example
    for example in (
        Example("figure-3", stream("a1=5 b2 a3=6 a4=4 b7"), _counting("SEQ(A+, B)+"), (11,)),
        Example("figure-6a", I, _counting("A+"), (15,)),
        Example("figure-6b", I, _counting("SEQ(A+, B)"), (23,)),
        Example("figure-6c", I, _counting("SEQ(A+, B)+"), (43,)),
        Example("figure-6d", I, _counting("SEQ(A+, NOT SEQ(C, NOT E, D), B)+"), (13,)),
        Example("figure-8a", I, _counting("SEQ(A+, NOT E)"), (7,)),
        Example("figure-8b", I, _counting("SEQ(NOT E, A+)"), (3,)),
        Example("figure-9", I, _counting("SEQ(A+, B)+", "WITHIN 10 seconds SLIDE 3 seconds\n"), (43, 13, 1)),
        Example("figure-13", stream("a1 b2 a3 a4 b5"), _counting("SEQ(A+, B, A, A+, B+)"), (1,)),
        Example("down-trends-any", PRICES, _falling("skip-till-any-match"), (275,)),
        Example("down-trends-next", PRICES, _falling("skip-till-next-match"), (23,)),
        Example("down-trends-contiguous", PRICES, _falling("contiguous"), (23,)),
    )
}
