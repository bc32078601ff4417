"""The engine answers as brute force does, on random queries and streams and on every worked case."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings

from greta.baselines import brute_force
from greta.engine import aggregate
from greta.errors import QueryMeaningError
from support.streams import Case, cases

SCHEMA = pa.schema(
    {
        "type": pa.string(),
        "time": pa.float64(),
        "x": pa.int64(),
        "y": pa.float64(),
        "s": pa.string(),
        "b": pa.bool_(),
        "g": pa.int64(),
        "h": pa.string(),
    }
)


def canonical(value: Any) -> Any:
    """A value as both sides write it: exact digits become numbers, doubles are rounded to 12 places."""
    if isinstance(value, str) and value.lstrip("-").isdigit():
        value = int(value)
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return value if not math.isfinite(value) else float(f"{value:.11e}")
    return value


def rows(answer: list[dict[str, Any]]) -> list[str]:
    return sorted(repr({name: canonical(value) for name, value in row.items()}) for row in answer)


def check(case: Case, numbers: Any) -> None:
    try:
        got = aggregate(pa.Table.from_pylist(case.events, SCHEMA), case.query, numbers=numbers).to_pylist()
    except QueryMeaningError:
        assume(False)
    assert rows(got) == rows(brute_force.aggregate(case.events, case.query)), case.query


@settings(max_examples=1000)
@given(cases())
def test_doubles_agree_with_brute_force(case: Case) -> None:
    check(case, "double")


@settings(max_examples=1000)
@given(cases())
def test_exact_numbers_agree_with_brute_force(case: Case) -> None:
    check(case, "exact")


PLAINEST = [
    "RETURN COUNT(*) PATTERN A+ WITHIN 4 seconds SLIDE 1 second",
    "RETURN g, COUNT(*) PATTERN (SEQ(A+, B?))+ WHERE [g] GROUP-BY g WITHIN 5 seconds SLIDE 2 seconds",
    "RETURN COUNT(*) PATTERN SEQ(A, (B OR A X)+) WHERE [h]",
    "RETURN COUNT(*) PATTERN SEQ(A{1,2}, B*, A C) WHERE A.x > 0 WITHIN 3 seconds",
    "RETURN COUNT(*) PATTERN SEQ(A+, B C) WHERE [C.g] AND [h] WITHIN 6 seconds SLIDE 1 second",
]


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("query", PLAINEST)
@given(case=cases())
def test_counts_alone_without_edge_predicates_agree_with_brute_force(query: str, numbers: Any, case: Case) -> None:
    check(Case(query, case.events), numbers)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@settings(max_examples=25_000)
@given(cases(max_events=9))
def test_many_doubles_agree_with_brute_force(case: Case) -> None:
    check(case, "double")


@pytest.mark.slow
@pytest.mark.timeout(7200)
@settings(max_examples=25_000)
@given(cases(max_events=9))
def test_many_exact_numbers_agree_with_brute_force(case: Case) -> None:
    check(case, "exact")
