"""Queries that differ in their patterns alone are computed in one pass, and answer as each would by itself."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import greta
from greta.engine.job import Job
from greta.errors import DataError
from greta_research import brute_force
from support.events import BOOLEANS, FLOATS, INTEGERS, SCHEMA, TEXTS
from support.examples import examples

# Random queries and streams are senseless now and then, which is what they are for.
pytestmark = pytest.mark.filterwarnings("ignore::greta.GretaWarning")

PATTERNS = (
    "A+",
    "SEQ(A, B)",
    "SEQ(A, B, C+)",
    "SEQ(A+, B?)",
    "(SEQ(A+, B))+",
    "SEQ(A{2}, (B OR C)+)",
    "SEQ(B X, A+, B)",
    "SEQ(A, A Y, C*)",
    "Z+",
)
RETURNS = (
    "COUNT(*) AS n",
    "COUNT(*) AS n, SUM(A.x), MIN(A.y), AVG(A.x)",
    "COUNT(*) AS n, MAX(A.s), MAX(COUNT(*)) AS longest, AVG(COUNT(A)) AS mean",
    "COUNT(*) AS n, COUNT(*) / 2 AS half",
)
EVENT = st.fixed_dictionaries(
    {
        "type": st.sampled_from(("A", "B", "A", "C", "Z")),
        "time": st.integers(0, 9).map(float),
        "x": INTEGERS,
        "y": FLOATS,
        "s": TEXTS,
        "b": BOOLEANS,
        "g": INTEGERS,
        "h": TEXTS,
    }
)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The jobs that ran by themselves."""
    ran: list[Job] = []
    original = Job.run
    monkeypatch.setattr(Job, "run", lambda job, *given: ran.append(job) or original(job, *given))
    return ran


def of_query(rows: pa.Table, number: int) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if name != "query"}
        for row in rows.to_pylist()
        if row["query"] == number
    ]


def in_any_order(rows: list[dict[str, Any]]) -> list[str]:
    """Rows as texts, numbers to 12 places."""
    return sorted(
        repr({k: float(f"{v:.11e}") if isinstance(v, int | float) else v for k, v in row.items()}) for row in rows
    )


@examples(150)
@given(
    st.lists(EVENT, max_size=8),
    st.lists(st.sampled_from(PATTERNS), min_size=2, max_size=5),
    st.sampled_from(RETURNS),
    st.sampled_from(("", "WHERE [g]", "WHERE [g, h] AND A.x > 1", "WHERE A.x > 0 AND A.x + A.y < 5")),
    st.sampled_from(("", "HAVING COUNT(*) > 2")),
    st.sampled_from(("", "WITHIN 4 seconds", "WITHIN 4 seconds SLIDE 2 seconds")),
)
def test_rows_are_those_of_brute_force_and_of_separate_calls(
    events: list[dict[str, Any]], patterns: list[str], returned: str, where: str, having: str, windows: str
) -> None:
    grouped = "GROUP-BY g" if "[g" in where else ""
    shown = f"g, {returned}" if grouped else returned
    needs_a = "A." in f"{returned} {where}"
    queries = [
        f"RETURN {shown} PATTERN {pattern} {where} {grouped} {having} {windows}"
        for pattern in patterns
        if "A" in pattern or not needs_a
    ]
    if not queries:
        return
    table = pa.Table.from_pylist(events, SCHEMA)
    rows = greta.aggregate(table, queries)
    for number, query in enumerate(queries):
        own = of_query(rows, number)
        assert own == greta.aggregate(table, query).to_pylist()
        assert in_any_order(own) == in_any_order(brute_force.aggregate(events, query))


EVENTS = pa.table({"type": ["A", "B", "A", "B", None], "time": [1, 2, 3, 4, 5], "g": [1, 1, 2, 1, 1]})


@pytest.mark.parametrize(
    "query",
    [
        "RETURN COUNT(*) PATTERN {}",
        "RETURN g, COUNT(*) PATTERN {} WHERE [g] GROUP-BY g",
        "RETURN COUNT(*), MAX(COUNT(*)) AS longest PATTERN {} WHERE [g] WITHIN 3 seconds",
    ],
)
def test_families_are_computed_together(alone: list[Job], query: str) -> None:
    rows = greta.aggregate(EVENTS, [query.format(pattern) for pattern in ("A+", "SEQ(A, B)", "SEQ(A+, B+)", "Z+")])
    assert not alone
    assert set(rows["query"].to_pylist()) == {0, 1, 2}


def test_what_is_of_no_family_is_computed_by_itself(alone: list[Job]) -> None:
    queries = [
        "RETURN COUNT(*) PATTERN A+",
        "RETURN COUNT(*) PATTERN B+",
        "RETURN COUNT(*) AS n PATTERN B+",
        "RETURN COUNT(*) PATTERN A+ WHERE A.g < NEXT(A).g",
        "RETURN COUNT(*) PATTERN SEQ(A, NOT B, A X)",
        "RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous",
    ]
    rows = greta.aggregate(EVENTS, queries)
    assert len(alone) == 4
    assert set(rows["query"].to_pylist()) == {0, 1, 2, 3, 5}


def test_only_the_query_whose_numbers_are_too_large_is_computed_again(alone: list[Job]) -> None:
    events = pa.table({"type": ["A"] * 2000, "time": range(2000), "x": [1.0, 3.0] * 1000})
    queries = [f"RETURN COUNT(*), AVG(A.x) AS mean PATTERN {pattern}" for pattern in ("A", "A+", "SEQ(A, A B)")]
    rows = greta.aggregate(events, queries).to_pylist()
    assert [job.plan.query for job in alone] == [greta.parse(queries[1])]
    assert [row["count"] for row in rows] == [2000.0, float("inf"), 1999_000.0]
    assert rows[1]["mean"] == pytest.approx(2.0)


def test_an_error_of_events_names_the_first_query_that_cannot_read_them() -> None:
    events = pa.table({"type": ["A"], "time": pa.array([2**62], pa.timestamp("ns"))})
    queries = [f"RETURN COUNT(*) PATTERN {pattern} WITHIN 200 days" for pattern in ("A", "A+")]
    greta.aggregate(events, queries)
    queries = [f"RETURN COUNT(*) PATTERN {pattern} WITHIN 90000 days" for pattern in ("A", "A+")]
    with pytest.raises(DataError, match=r"^query 0: "):
        greta.aggregate(events, queries)
