"""The engine answers as brute force does, on random queries and streams and on every worked case."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from greta import aggregate
from greta.errors import QueryMeaningError
from greta_research import brute_force
from support import soak
from support.events import SCHEMA
from support.examples import examples
from support.streams import Case, cases

# Random queries and streams are senseless now and then, which is what they are for.
pytestmark = pytest.mark.filterwarnings("ignore::greta.GretaWarning")


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


@examples(600)
@given(cases())
def test_doubles_agree_with_brute_force(case: Case) -> None:
    check(case, "double")


@examples(600)
@given(cases())
def test_exact_numbers_agree_with_brute_force(case: Case) -> None:
    check(case, "exact")


@examples(1000)
@given(cases(values=True))
def test_values_of_trends_in_doubles_agree_with_brute_force(case: Case) -> None:
    check(case, "double")


@examples(1000)
@given(cases(values=True))
def test_values_of_trends_in_exact_numbers_agree_with_brute_force(case: Case) -> None:
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
@examples(40)
@given(case=cases())
def test_counts_alone_without_edge_predicates_agree_with_brute_force(query: str, numbers: Any, case: Case) -> None:
    check(Case(query, case.events), numbers)


SCOPED_NEGATIONS = (
    "SEQ(A a2, C c2, NOT SEQ(A, NOT C c1, A a1)) WHERE [C.h]",
    "SEQ(A a, NOT SEQ(B b, NOT C c1, B b2), C c)+ WHERE [C.h]",
    "SEQ(A a, NOT SEQ(B b, NOT C c1, B b2), C c) WHERE [C.h] AND [B.s]",
    "SEQ(A a+, NOT SEQ(B b, NOT A n, C c1), C c) WHERE [a.h, n.h] AND [C.s]",
    "SEQ(A a, NOT C n, B b) WHERE [a.h, n.h] AND [b.s, n.s]",
    "SEQ(A a, NOT SEQ(B n, C m), B b) WHERE [a.h, n.h] AND [b.s, m.s]",
)
_WORDS = st.sampled_from(("p", "q", None))
_SCOPED = st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 2), _WORDS, _WORDS), min_size=2, max_size=9)


@pytest.mark.parametrize("query", SCOPED_NEGATIONS)
@given(drawn=_SCOPED)
def test_scopes_of_trends_reach_into_every_not_as_with_brute_force(query: str, drawn: list[Any]) -> None:
    times = np.cumsum([step for _, step, _, _ in drawn]).tolist()
    events = [{"type": t, "time": at, "h": h, "s": s} for at, (t, _, h, s) in zip(times, drawn, strict=True)]
    schema = pa.schema([("type", pa.string()), ("time", pa.int64()), ("h", pa.string()), ("s", pa.string())])
    text = f"RETURN COUNT(*) AS n PATTERN {query} WITHIN 8 seconds SLIDE 4 seconds"
    got = aggregate(pa.Table.from_pylist(events, schema), text).to_pylist()
    assert rows(got) == rows(brute_force.aggregate(events, text))


@pytest.mark.slow
@pytest.mark.timeout(7200)
@examples(25_000)
@given(cases(max_events=9))
def test_many_doubles_agree_with_brute_force(case: Case) -> None:
    check(case, "double")


@pytest.mark.slow
@pytest.mark.timeout(7200)
@examples(25_000)
@given(cases(max_events=9))
def test_many_exact_numbers_agree_with_brute_force(case: Case) -> None:
    check(case, "exact")


@pytest.mark.slow
@pytest.mark.timeout(7200)
@examples(25_000)
@given(cases(values=True, max_events=9))
def test_many_values_of_trends_in_doubles_agree_with_brute_force(case: Case) -> None:
    check(case, "double")


@pytest.mark.slow
@pytest.mark.timeout(7200)
@examples(25_000)
@given(cases(values=True, max_events=9))
def test_many_values_of_trends_in_exact_numbers_agree_with_brute_force(case: Case) -> None:
    check(case, "exact")


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("values", [False, True], ids=["aggregates", "values"])
def test_a_million_cases_agree_with_brute_force(values: bool, numbers: Any) -> None:
    name = f"{'values of trends' if values else 'aggregates'}, {numbers} numbers"
    soak.run_cases(name, cases(values=values, max_events=9), lambda case: check(case, numbers))


@pytest.mark.parametrize("strategy", ["auto", "graph"])
def test_a_scope_that_no_trend_is_long_enough_to_meet_groups_as_null(strategy: Any) -> None:
    events = [{"type": kind, "time": time, "g": 1} for time, kind in enumerate("ABBB")]
    query = "RETURN A.g, COUNT(*) AS n PATTERN A OR B+ MIN LENGTH 2 GROUP-BY A.g"
    (row,) = aggregate(events, query, strategy=strategy).to_pylist()
    assert (row["g"], row["n"]) == (None, 4.0)
