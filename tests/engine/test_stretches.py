"""Windows put together of stretches of events answer as each window by itself does."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import greta
from greta.engine import run
from greta.plan.stretches import by_stretches, is_linear
from greta_research import brute_force
from support.events import FLOATS, INTEGERS, SCHEMA, SPARSE_INTEGERS, TEXTS
from support.examples import examples, only_compiled

# Random queries and streams are senseless now and then, which is what they are for.
pytestmark = pytest.mark.filterwarnings("ignore::greta.GretaWarning")

PATTERNS = (
    "A+",
    "SEQ(A, B)",
    "SEQ(A+, B?)",
    "SEQ(A, B, C+)",
    "(SEQ(A+, B))+",
    "SEQ(A{2}, (B OR C)+)",
    "SEQ(A, A Y, C*)",
    "(A OR B)+",
)
AGGREGATES = (
    "COUNT(A)",
    "SUM(A.x)",
    "AVG(A.y)",
    "MIN(A.y)",
    "MAX(A.x)",
    "MAX(A.s)",
    "MAX(COUNT(*)) AS longest",
    "MIN(SUM(A.z)) AS least",
    "AVG(COUNT(A)) AS mean",
    "STDDEV(SUM(A.x)) AS deviation",
    "MAX(LAST(A.x) - FIRST(A.x)) AS rise",
    "MIN(DURATION(*)) AS briefest",
    "AVG(DURATION(*) - COUNT(*)) AS slowness",
)
WINDOWS = (
    "WITHIN 2 seconds SLIDE 500 ms",
    "WITHIN 7 seconds SLIDE 1500 ms",
    "WITHIN 6 seconds SLIDE 1 second",
    "WITHIN 5 seconds SLIDE 300 ms",
    "WITHIN 30 seconds SLIDE 500 ms",
)
EVENT = st.fixed_dictionaries(
    {
        "type": st.sampled_from(("A", "B", "A", "C", "Z")),
        "time": st.integers(0, 24).map(lambda time: time / 2),
        "x": INTEGERS,
        "y": FLOATS,
        "s": TEXTS,
        "g": INTEGERS,
        "z": SPARSE_INTEGERS,
    }
)


def in_any_order(rows: list[dict[str, Any]]) -> list[str]:
    """Rows as texts, numbers to 12 places."""
    return sorted(
        repr({k: float(f"{v:.11e}") + 0.0 if isinstance(v, int | float) else v for k, v in row.items()}) for row in rows
    )


@pytest.fixture
def stretched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The runs that were put together of stretches."""
    runs: list[Any] = []
    original = run.propagate_stretches
    monkeypatch.setattr(run, "propagate_stretches", lambda *given: runs.append(given) or original(*given))
    return runs


@examples(300)
@given(
    st.lists(EVENT, max_size=8),
    st.sampled_from(PATTERNS),
    st.lists(st.sampled_from(AGGREGATES), max_size=3, unique=True),
    st.sampled_from(("", "WHERE [g]", "WHERE A.x > 1")),
    st.sampled_from(WINDOWS),
)
def test_rows_are_those_of_brute_force(
    events: list[dict[str, Any]], pattern: str, aggregates: list[str], where: str, windows: str
) -> None:
    grouped = "GROUP-BY g" if "[g]" in where else ""
    returned = ", ".join([*(["g"] if grouped else []), "COUNT(*) AS n", *aggregates])
    query = f"RETURN {returned} PATTERN {pattern} {where} {grouped} {windows}"
    assume(is_linear(greta.analyze(query)))
    # As if stretches paid however few events a window holds, and however many totals there are.
    with mock.patch.object(run, "_LONG_WINDOW", 0), mock.patch.object(run, "by_stretches", is_linear):
        rows = greta.aggregate(pa.Table.from_pylist(events, SCHEMA), query).to_pylist()
    assert in_any_order(rows) == in_any_order(brute_force.aggregate(events, query))


def trades(count: int, per_second: int = 50) -> pa.Table:
    random = np.random.default_rng(1)
    return pa.table(
        {
            "type": ["S"] * count,
            "time": pa.array(np.arange(count) * 1000 // per_second, pa.timestamp("ms")),
            "company": random.integers(0, 2, count),
            "price": np.round(random.normal(0, 50, count), 2),
        }
    )


SLIDING = "WHERE [company] GROUP-BY company WITHIN 10 seconds SLIDE 1 second"


@pytest.mark.parametrize(
    "returned", ["COUNT(*)", "COUNT(*), SUM(S.price), MIN(S.price), MAX(COUNT(*)) AS longest", "MIN(DURATION(*)) AS d"]
)
def test_long_windows_are_put_together_and_have_the_rows_of_exact_numbers(stretched: list[Any], returned: str) -> None:
    query = f"RETURN company, {returned} PATTERN S+ {SLIDING}"
    rows = greta.aggregate(trades(2000), query).to_pylist()
    assert len(stretched) == 1
    exact = greta.aggregate(trades(2000), query, numbers="exact").to_pylist()
    assert [row["window_start"] for row in rows] == [row["window_start"] for row in exact]
    for row, other in zip(rows, exact, strict=True):
        for name in row:
            expected = float(other[name]) if isinstance(other[name], str) else other[name]
            assert row[name] == (pytest.approx(expected, rel=1e-9) if isinstance(expected, float) else expected)


@only_compiled
def test_counts_beyond_doubles_are_infinite_and_averages_right(stretched: list[Any]) -> None:
    query = "RETURN COUNT(*), AVG(S.price) AS mean PATTERN S+ WITHIN 60 seconds SLIDE 10 seconds"
    rows = greta.aggregate(trades(3000), query).to_pylist()
    exact = greta.aggregate(trades(3000), query, numbers="exact").to_pylist()
    assert stretched
    assert any(row["count"] == float("inf") for row in rows)
    assert [row["mean"] for row in rows] == pytest.approx([row["mean"] for row in exact])


def test_where_too_many_events_have_one_time_windows_are_lanes(
    stretched: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = f"RETURN company, COUNT(*) PATTERN S+ {SLIDING}"
    events = trades(2000)
    rows = greta.aggregate(events, query)
    monkeypatch.setattr(run, "_TICK_BYTES", 8)
    assert greta.aggregate(events, query).equals(rows)
    assert len(stretched) == 2


@pytest.mark.parametrize(
    "query",
    [
        "RETURN COUNT(*) PATTERN S+ WHERE [company] AND S.price > NEXT(S).price WITHIN 10 seconds SLIDE 1 second",
        "RETURN COUNT(*) PATTERN SEQ(NOT T, S+) WITHIN 10 seconds SLIDE 1 second",
        "RETURN COUNT(*) PATTERN S+ SEMANTICS contiguous WITHIN 10 seconds SLIDE 1 second",
        "RETURN MAX(MIN(S.price)) AS low PATTERN S+ WITHIN 10 seconds SLIDE 1 second",
        "RETURN COUNT(*) PATTERN S+ WITHIN 10 seconds SLIDE 5 seconds",
        "RETURN COUNT(*) PATTERN S+",
        "RETURN COUNT(*) PATTERN S{40} WITHIN 10 seconds SLIDE 1 second",
    ],
)
def test_what_is_not_linear_or_does_not_pay_is_computed_otherwise(query: str) -> None:
    assert not by_stretches(greta.analyze(query))


def test_the_plan_says_so() -> None:
    plan = str(greta.explain("RETURN COUNT(*) PATTERN S+ WITHIN 10 seconds SLIDE 1 second"))
    assert "k = 10 per event, put together of stretches of events" in plan
    assert "O(1)" in plan
