"""Random queries that a stream brings forward event by event, over streams long enough for indexes to grow."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pyarrow as pa

SCHEMA = pa.schema(
    [("type", pa.string()), ("time", pa.float64()), ("x", pa.int64()), ("y", pa.float64()), ("g", pa.string())]
)
PATTERNS = ("A+", "SEQ(A+, B)", "SEQ(A, B+)", "(SEQ(A, B))+", "SEQ(A+, B*, C)", "A+ OR B", "SEQ(A, B?, C+)")
WINDOWS = ("WITHIN 4 seconds SLIDE 1 second", "WITHIN 6 seconds SLIDE 4 seconds", "WITHIN 9 seconds", "")
LINKS = ("A.x < NEXT(A).x", "A.y >= NEXT(A).y", "A.x != NEXT(A).x", "A.g = NEXT(A).g")
OTHER_LINKS = ("A.x + NEXT(A).y > 4", "A.g <= NEXT(A).g")
"""Which no index answers, and next and contiguous selection need none for."""
RETURNED = ("COUNT(*)", "SUM(A.x)", "MIN(A.y)", "AVG(A.x)", "MAX(COUNT(*))", "AVG(DURATION(*))", "MAX(SUM(A.x))")


@dataclass(frozen=True)
class OnlineCase:
    """A query, and events in order of time."""

    query: str
    events: pa.Table


def online_case(draw: random.Random) -> OnlineCase:
    """A case that is computed online; most have windows and conditions between events."""
    semantics = draw.choice(("skip-till-any-match", "skip-till-any-match", "skip-till-next-match", "contiguous"))
    every = semantics == "skip-till-any-match"
    pattern = draw.choice((*PATTERNS, "SEQ(A, NOT C, B)") if every else PATTERNS)
    maximal = "MAXIMAL" if pattern == "A+" and not every and draw.random() < 0.5 else ""
    where = [draw.choice(LINKS if every else LINKS + OTHER_LINKS)] if "A+" in pattern and draw.random() < 0.8 else []
    where += ["[g]"] if draw.random() < 0.4 else []
    where += ["A.y > 1"] if draw.random() < 0.2 else []
    returned = draw.sample(RETURNED, draw.randint(1, 3))
    query = (
        f"RETURN {', '.join(f'{one} AS v{at}' for at, one in enumerate(returned))} PATTERN {pattern} "
        f"SEMANTICS {semantics} {maximal} {'WHERE ' + ' AND '.join(where) if where else ''} "
        f"{draw.choice(('', '', 'MIN LENGTH 2'))} {draw.choice(WINDOWS)}"
    )
    return OnlineCase(query, _events(draw, draw.choice((10, 30, 120))))


def _events(draw: random.Random, count: int) -> pa.Table:
    time, rows = draw.choice((0.0, 3.0, 1e6)), []
    busy = draw.random() < 0.5
    for _ in range(count):
        time += draw.choice((0, 0.05, 0.1) if busy else (0, 0.5, 1, 1, 2))
        time += 40 if draw.random() < 0.02 else 0
        rows.append(
            {
                "type": draw.choice("AAABBC"),
                "time": time,
                "x": draw.choice((None, 0, 1, 2, 3, 4, 5)),
                "y": draw.choice((0.0, 1.5, draw.random())),
                "g": draw.choice("uvw"),
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)
