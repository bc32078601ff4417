"""A night's work in shares: a million random cases, a hundred kills, an hour of stream.

GRETA_SOAK_MINUTES is the budget of all of it together; without it, everything runs to its end. What was done is printed
in lines that begin with ``soak:``.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from support.streams import Case

CASES = 1_000_000
SUITES = 7
"""Tests that share the cases."""
KILLS = 100
STREAM_MINUTES = 60.0

_SHARES = {"cases": 0.5, "kills": 0.3, "stream": 0.2}
_ROUND = 400
"""Examples that Hypothesis draws from one seed: it remembers all of them, so that a long run needs many seeds."""


def seconds(part: str) -> float:
    """What the budget leaves for a part."""
    minutes = os.environ.get("GRETA_SOAK_MINUTES")
    return math.inf if minutes is None else float(minutes) * 60 * _SHARES[part]


def run_cases(name: str, strategy: SearchStrategy[Case], check: Callable[[Case], None]) -> None:
    """Check a suite's share of the cases, or as many as its share of the budget allows; a wrong one fails the test."""
    judged = 0
    first = random.SystemRandom().randrange(2**32)

    @settings(
        max_examples=_ROUND,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def round_(case: Case) -> None:
        nonlocal judged
        check(case)
        judged += 1

    began, rounds = time.monotonic(), 0
    while judged < CASES / SUITES and time.monotonic() - began < seconds("cases") / SUITES:
        seed(first + rounds)(round_)()
        rounds += 1
    took = time.monotonic() - began
    print(f"\nsoak: {name}: {judged:,} cases, none wrong, seeds {first}-{first + rounds - 1}, {took:.0f} s", flush=True)
