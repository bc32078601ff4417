"""Random queries that a stream brings forward event by event, over streams long enough for indexes to grow."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

SCHEMA = pa.schema(
    [("type", pa.string()), ("time", pa.float64()), ("x", pa.int64()), ("y", pa.float64()), ("g", pa.string())]
)
PATTERNS = ("A+", "SEQ(A+, B)", "SEQ(A, B+)", "(SEQ(A, B))+", "SEQ(A+, B*, C)", "A+ OR B", "SEQ(A, B?, C+)")
NOTS = (
    "SEQ(A, NOT C, B)",
    "SEQ(NOT C, A+)",
    "SEQ(A+, NOT C)",
    "SEQ(NOT C, A, B+)",
    "SEQ(A+, B, NOT C)",
    "SEQ(NOT B, A+, NOT C)",
    "SEQ(NOT (B OR C), A+)",
    "SEQ(A+, NOT (B OR C))",
    "SEQ(NOT A M, A+)",
    "SEQ(A+, NOT A M)",
    "SEQ(NOT C M, A, NOT C, B, NOT C N)",
)
"""With NOTs of one event in all places, some of them of events that trends are made of, too."""
BRANCHES = ("SEQ(A+, NOT C) OR B", "SEQ(A+, NOT C) OR SEQ(B+, NOT A M)", "SEQ(A+, NOT C) OR SEQ(NOT A M, B)")
"""Branches that end with different NOTs, which skip-till-next-match cannot tell beforehand."""
PAIRS = (
    "A+ AND SEQ(A+, B)",
    "(A OR B)+ AND A+",
    "A+ AND B",
    "SEQ(NOT C, A+) AND A+",
    "SEQ(A+, NOT C) AND SEQ(NOT B, A+)",
    "SEQ(A, NOT C, B) AND SEQ(A, B, NOT B M)",
)
WINDOWS = ("WITHIN 4 seconds SLIDE 1 second", "WITHIN 6 seconds SLIDE 4 seconds", "WITHIN 9 seconds", "")
LINKS = ("A.x < NEXT(A).x", "A.y >= NEXT(A).y", "A.x != NEXT(A).x", "A.g = NEXT(A).g")
OF_PAIRS = ("COUNT(*)", "COUNT(A)", "MIN(A.y)", "MAX(A.x)", "SUM(A.y)", "AVG(A.y)")
LISTED = (
    "A.x < NEXT(A).x AND A.y >= NEXT(A).y",
    "A.x <= NEXT(A).x AND A.y > NEXT(A).y AND A.g = NEXT(A).g",
    "A.x + NEXT(A).y > 4",
    "A.x * NEXT(A).x != 6 AND A.y <= NEXT(A).y",
    "(A.g = NEXT(A).g OR A.x > NEXT(A).x)",
    "A.x != NEXT(A).x AND A.y != NEXT(A).y",
)
"""Which no sum answers: vertices are kept one by one."""
TEXT_LINKS = ("A.g <= NEXT(A).g",)
"""Which only next and contiguous selection are online with."""
LASTING = (
    "SEQ(A+, NOT SEQ(C, D), B)",
    "SEQ(A, NOT SEQ(C+, D), B+)",
    "SEQ(A+, NOT SEQ(C, NOT D, B F), B)",
    "SEQ(A+, NOT SEQ(C, NOT SEQ(D, B E), B F), B, NOT SEQ(A G, A H), C I)",
    "(SEQ(A, NOT SEQ(D, C), B))+",
    "SEQ(NOT SEQ(C, D), A+)",
    "SEQ(NOT SEQ(C+, D), A, B+)",
    "SEQ(NOT SEQ(C, NOT D, B F), A+, B, NOT D H)",
)
"""With NOTs of several events, nested ones too, at the beginning and in the middle."""
NOT_LINKS = ("A.x < NEXT(B).x", "C.x < NEXT(C).x AND C.y > NEXT(C).y", "C.y < NEXT(D).y", "A.y * NEXT(B).y < 1")
"""Conditions on a transition across a NOT, and within one."""
SCOPES = ("g", "x")
"""What some variables alone may agree on: text, or numbers of which some are NULL."""
RETURNED = ("COUNT(*)", "SUM(A.x)", "MIN(A.y)", "AVG(A.x)", "MAX(COUNT(*))", "AVG(DURATION(*))", "MAX(SUM(A.x))")


@dataclass(frozen=True)
class OnlineCase:
    """A query, events in order of time, and a mode of numbers in which it is online."""

    query: str
    events: pa.Table
    numbers: Literal["double", "exact"] = "double"


def online_case(draw: random.Random) -> OnlineCase:
    """A case that is computed online; most have windows and conditions between events."""
    semantics = draw.choice(("skip-till-any-match", "skip-till-any-match", "skip-till-next-match", "contiguous"))
    every = semantics == "skip-till-any-match"
    kind = draw.random()
    if kind < 0.45:
        pattern = draw.choice(PATTERNS)
    elif kind < 0.65 and every:
        pattern = draw.choice(LASTING)
    elif kind < 0.85:
        pattern = draw.choice(NOTS if semantics == "skip-till-next-match" else NOTS + BRANCHES)
    else:
        pattern = draw.choice(PAIRS)
    maximal = "MAXIMAL" if pattern == "A+" and not every and draw.random() < 0.5 else ""
    links = LINKS + LISTED + (() if every else TEXT_LINKS)
    where = [draw.choice(links)] if "A+" in pattern and draw.random() < 0.8 else []
    where += [one for one in NOT_LINKS if pattern in LASTING and draw.random() < 0.3 and _speaks_of(one, pattern)]
    scopes = _positive(pattern) if every and pattern not in PAIRS and draw.random() < 0.4 else []
    scope = f"{draw.choice(scopes)}.{draw.choice(SCOPES)}" if scopes else ""
    grouped = bool(scope) and draw.random() < 0.5
    where += [f"[{scope}]"] if scope and not grouped else []
    where += ["[g]"] if draw.random() < 0.4 and not scope.endswith("g") else []
    where += ["A.y > 1"] if draw.random() < 0.2 else []
    where += [f"{draw.choice(again)}.y > 1"] if (again := _negative(pattern)) and draw.random() < 0.3 else []
    exact = draw.random() < 0.2
    returned = draw.sample(OF_PAIRS if pattern in PAIRS else RETURNED, draw.randint(1, 3))
    shown = [scope] if grouped else []
    shown += [f"{one} AS v{at}" for at, one in enumerate(returned)]
    query = (
        f"RETURN {', '.join(shown)} PATTERN {pattern} "
        f"SEMANTICS {semantics} {maximal} {'WHERE ' + ' AND '.join(where) if where else ''} "
        f"{draw.choice(('', '', 'MIN LENGTH 2'))} {'GROUP-BY ' + scope if grouped else ''} {draw.choice(WINDOWS)}"
    )
    return OnlineCase(query, _events(draw, draw.choice((10, 30, 120))), "exact" if exact else "double")


def _speaks_of(condition: str, pattern: str) -> bool:
    """Whether the two variables of a condition may come one after the other in a pattern, or in a NOT of it."""
    if "NEXT(C)" in condition:
        return "C+" in pattern
    if "NEXT(D)" in condition:
        return "SEQ(C, D)" in pattern or "SEQ(C+, D)" in pattern
    return not pattern.startswith("SEQ(NOT SEQ(C, D)")


def _negative(pattern: str) -> list[str]:
    """Variables of NOTs."""
    return re.findall(r"NOT (?:A |B |C )?([A-Z])[,)]", pattern)


def _positive(pattern: str) -> list[str]:
    """Variables whose types no NOT has."""
    negative = "".join(re.findall(r"NOT ((?:SEQ)?\((?:[^()]|\([^()]*\))*\)|\w)", pattern))
    return sorted(set(re.findall(r"\b[ABC]\b", pattern)) - set(negative))


def _events(draw: random.Random, count: int) -> pa.Table:
    time, rows = draw.choice((0.0, 3.0, 1e6)), []
    busy = draw.random() < 0.5
    for _ in range(count):
        time += draw.choice((0, 0.05, 0.1) if busy else (0, 0.5, 1, 1, 2))
        time += 40 if draw.random() < 0.02 else 0
        rows.append(
            {
                "type": draw.choice("AAABBCCDD") if rows else "A",
                "time": time,
                "x": draw.choice((None, 0, 1, 2, 3, 4, 5)),
                "y": draw.choice((0.0, 1.5, draw.random())),
                "g": draw.choice("uvw"),
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)
