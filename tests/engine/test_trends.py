"""Trends that are shown are trends of the row, all different, and those that were asked for: judged by brute force."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_against_brute_force import SCHEMA

import greta
from greta.engine import walks
from greta.engine.job import Job
from greta.engine.row_choice import choose_row
from greta.engine.walks import Walks
from greta.errors import GretaError, QueryMeaningError
from greta_research import brute_force
from support.examples import examples, only_compiled
from support.streams import Case, cases

Trend = tuple[tuple[int, str], ...]
"""(index of the event, variable) from first to last."""


def judged(case: Case, window: object, group: dict[str, object]) -> list[Trend]:
    """All trends of a row by brute force."""
    found: list[Trend] = []
    for part in brute_force.trends(case.events, case.query):
        values = part.partition
        named = {
            name: values[name]
            if name in values
            else next((v for key, v in values.items() if key.endswith(f".{name}") and v is not None), None)
            for name in group
        }
        if named == group and part.window_start == window:
            found += part.trends
    return found


def shown(case: Case, n: int, pick: str, seed: int = 0) -> tuple[list[Trend], object, dict[str, object]]:
    """The trends that ``greta.trends`` shows of the first row, and which row it is."""
    events = pa.Table.from_pylist(case.events, SCHEMA)
    events = events.append_column("index", pa.array(range(len(events)), type=pa.int64()))
    rows = greta.trends(events, case.query, n=n, pick=pick, seed=seed).to_pylist()
    trends: dict[int, list[tuple[int, str]]] = {}
    for row in rows:
        assert row["position"] == len(trends.setdefault(row["trend"], []))
        trends[row["trend"]].append((row["index"], row["variable"]))
    assert list(trends) == list(range(len(trends)))
    groups = (
        {name.removeprefix("group_"): v for name, v in rows[0].items() if name.startswith("group_")} if rows else {}
    )
    return [tuple(trend) for trend in trends.values()], rows[0]["window_start"] if rows else None, groups


def value_of(case: Case, pick: str, trend: Trend) -> float | None:
    """The value of a trend: of ``OUTER(A - B)`` or ``OUTER(A)``, where A and B are ``FUNCTION(variable.attribute)``."""
    total = 0.0
    for at, part in enumerate(pick.partition("(")[2][:-1].split(" - ")):
        function, _, about = part[:-1].partition("(")
        variable, _, attribute = about.partition(".")
        if function == "COUNT":
            value: Any = sum(variable in ("*", taken) for _, taken in trend)
        elif function == "DURATION":
            value = case.events[trend[-1][0]]["time"] - case.events[trend[0][0]]["time"]  # type: ignore[operator]
        else:
            values: Any = [case.events[index].get(attribute) for index, taken in trend if taken == variable]
            values = [value for value in values if value is not None]
            if not values:
                return None
            value = {"SUM": sum, "MIN": min, "MAX": max, "FIRST": lambda v: v[0], "LAST": lambda v: v[-1]}[function](
                values
            )
        total += -value if at else value
    return total


def ordered_by(case: Case) -> Callable[[Trend], list[Any]]:
    """What trends are ordered by: position by position the time, then the event, then the variable in the pattern."""
    places = {variable.name: at for at, variable in enumerate(greta.analyze(case.query).variables)}
    return lambda trend: [(case.events[index]["time"], index, places[variable]) for index, variable in trend]


PICKS = [
    "longest", "MIN(COUNT(*))", "MAX(COUNT({v}))", "MIN(DURATION(*))", "MAX(DURATION(*))",
    "MAX(LAST({v}.x) - FIRST({v}.x))",
    "MIN(LAST({v}.x) - FIRST({v}.y))", "MAX(SUM({v}.y))", "MIN(SUM({v}.x) - COUNT(*))", "MAX(MIN({v}.y))",
    "MIN(MAX({v}.x))", "MAX(MAX({v}.x))", "MIN(MIN({v}.y))", "MIN(FIRST({v}.x))",
]  # fmt: skip


@examples(60)
@given(cases() | cases(values=True), st.sampled_from(PICKS), st.integers(1, 6), st.randoms(use_true_random=False))
def test_shown_trends_are_those_asked_for(case: Case, pick: str, n: int, random: Any) -> None:
    assume("AND" not in case.flags)
    try:
        first, window, group = shown(case, n, "first")
    except QueryMeaningError:
        assume(False)
    if not first:
        assert not brute_force.aggregate(case.events, case.query)
        return
    trends = judged(case, window, group)
    times = ordered_by(case)
    in_time = sorted(map(times, trends))
    assert set(first) <= set(trends), case.query
    assert list(map(times, first)) == in_time[:n]
    assert len(set(first)) == len(first)

    sample, *row = shown(case, n, "sample")
    assert row == [window, group]
    assert set(sample) <= set(trends)
    assert len(set(sample)) == len(sample) == min(n, len(trends))

    pick = pick.format(v=random.choice([variable for trend in trends for _, variable in trend]))
    value = "MAX(COUNT(*))" if pick == "longest" else pick
    sign = -1 if value.startswith("MAX") else 1
    # Values that differ by rounding alone are equal.
    values = {trend: value_of(case, value, trend) for trend in trends}
    ranked = sorted((round(sign * v, 9), times(trend)) for trend, v in values.items() if v is not None)
    best, *row = shown(case, n, pick)
    assert set(best) <= set(trends)
    assert len(set(best)) == len(best)
    judgement = [(round(sign * values[trend], 9), times(trend)) for trend in best]  # type: ignore[operator]
    assert judgement == ranked[:n], (case.query, pick)


def bound(freedom: int) -> float:
    """What a chi-square statistic exceeds once in three million times (Wilson and Hilferty, five sigma)."""
    spread = 2 / (9 * freedom)
    return freedom * (1 - spread + 5 * math.sqrt(spread)) ** 3


def test_samples_are_uniform_over_all_trends_of_fifty_random_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walks, "_FEW", 0)  # draw, however few there are
    tested = 0

    @settings(max_examples=400, derandomize=True)
    @given(cases())
    def sample(case: Case) -> None:
        nonlocal tested
        if tested >= 50 or not case.flags.isdisjoint({"AND", "HAVING"}):
            return
        table = pa.Table.from_pylist(case.events, SCHEMA)
        try:
            job = Job.bind(case.query, table.schema)
        except QueryMeaningError:
            return
        row, inside, _ = choose_row(job, table, None, None)
        if row is None:
            return
        walk = Walks(
            Job.bind(f"RETURN COUNT(*) {case.query[case.query.index('PATTERN') :]}", table.schema), inside, row, True
        )
        total = sum(part.count for part in walk.parts)
        if not 3 <= total <= 60:
            return
        drawn = Counter(trend for seed in range(20 * total) for trend in walk.sample(1, seed))
        assert len(drawn) <= total
        statistic = sum((drawn[trend] - 20) ** 2 / 20 for trend in drawn) + 20 * (total - len(drawn))
        assert statistic < bound(total - 1), case.query
        tested += 1

    sample()
    assert tested == 50


def test_a_count_beyond_doubles_is_sampled_evenly() -> None:
    events = [{"type": "A", "time": t} for t in range(4000)]
    rows = greta.trends(events, "RETURN COUNT(*) PATTERN A+", n=10)
    assert set(rows.column("trend").to_pylist()) == set(range(10))
    lengths = Counter(rows.column("trend").to_pylist())
    assert all(1800 < length < 2200 for length in lengths.values()), lengths  # 2000 ± 32


def test_partitions_are_drawn_by_their_counts() -> None:
    events = [{"type": "A", "time": t, "g": "few"} for t in range(1500)]
    events += [{"type": "A", "time": t, "g": "twice"} for t in range(1501)]
    rows = greta.trends(events, "RETURN COUNT(*) PATTERN A+ WHERE [g]", n=300)
    share = len({r["trend"] for r in rows.select(["trend", "g"]).to_pylist() if r["g"] == "twice"}) / 300
    assert 0.55 < share < 0.78


def test_the_longest_has_as_many_events_as_the_largest_count() -> None:
    price = np.random.default_rng(5).integers(0, 1000, 3000)
    events = pa.table({"type": ["S"] * 3000, "time": np.arange(3000), "price": price})
    query = "RETURN MAX(COUNT(*)) AS longest PATTERN S+ WHERE S.price > NEXT(S).price"
    longest = greta.aggregate(events, query).column("longest")[0].as_py()
    rows = greta.trends(events, query, pick="longest")
    assert Counter(rows.column("trend").to_pylist()) == dict.fromkeys(range(5), longest)
    for trend in range(5):
        falling = rows.filter(pa.compute.equal(rows.column("trend"), trend)).column("price").to_numpy()
        assert (np.diff(falling) < 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("pick", ["sample", "longest"])
def test_trends_of_a_million_events_take_at_most_thrice_as_long_as_counting(pick: str) -> None:
    price = np.random.default_rng(1).integers(0, 100_000, 1_000_000)
    names = pa.DictionaryArray.from_arrays(np.zeros(len(price), dtype=np.int8), ["S"])
    events = pa.table({"type": names, "time": np.arange(len(price)), "price": price})
    query = "RETURN COUNT(*), MAX(COUNT(*)) AS longest PATTERN S+ WHERE S.price > NEXT(S).price"
    counting, showing = [], []
    for _ in range(6):  # the first one compiles; side by side, so that both have the same noise
        began = process_time()
        greta.aggregate(events, query.replace(", MAX(COUNT(*)) AS longest", ""))
        counting.append(process_time() - began)
        began = process_time()
        rows = greta.trends(events, query, n=5, pick=pick)
        showing.append(process_time() - began)
    assert min(showing[1:]) <= 3 * min(counting[1:])
    trends = rows.column("trend").to_numpy()
    falls, later = np.diff(rows.column("price").to_numpy()) < 0, np.diff(rows.column("time").to_numpy()) > 0
    assert ((falls & later) | (np.diff(trends) == 1)).all()
    longest = greta.aggregate(events, query).column("longest")[0].as_py()
    lengths = np.bincount(trends)
    assert len(lengths) == 5
    assert (lengths == longest).all() if pick == "longest" else (lengths < longest).all()


@pytest.mark.parametrize("pick", ["sample", "first", "longest"])
def test_trends_shown_under_contiguous_skip_no_event(pick: Any) -> None:
    # The b lies between two a's, the c with the last of them.
    events = [{"type": t, "time": at} for t, at in (("A", 1), ("A", 2), ("B", 3), ("A", 4), ("C", 4))]
    rows = greta.trends(events, "RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous", n=10, pick=pick).to_pylist()
    shown = Counter(tuple(row["time"] for row in rows if row["trend"] == trend) for trend in range(len(rows)))
    assert set(shown) - {()} == {(1,), (2,), (4,), (1, 2)}


@only_compiled
@pytest.mark.parametrize("semantics", ["skip-till-any-match", "skip-till-next-match", "contiguous"])
def test_one_longest_trend_of_many_events_is_found_without_a_scan_per_event(semantics: str) -> None:
    # The trend of all events is the longest by itself; the next ones lack the last event, the one before, …
    events = pa.table({"type": ["S"] * 200_000, "time": np.arange(200_000), "price": np.arange(200_000)})
    query = f"RETURN COUNT(*) PATTERN S+ SEMANTICS {semantics} WHERE S.price < NEXT(S).price"
    greta.trends(events.slice(0, 10), query, pick="longest")  # compiles
    began = process_time()
    rows = greta.trends(events, query, n=3, pick="longest")
    assert process_time() - began < 30, "a scan of what lies behind each event takes minutes"
    assert list(Counter(rows.column("trend").to_pylist()).values()) == [200_000, 199_999, 199_999]


STOCK = [
    {"type": "S", "time": t, "price": p, "sector": s}
    for t, p, s in ((1, 5, "a"), (2, 4, "b"), (3, 3, "a"), (12, 2, "b"))
]
BY_SECTOR = "RETURN COUNT(*) PATTERN S+ WHERE S.price > NEXT(S).price GROUP-BY sector WITHIN 10 seconds"


def test_a_window_and_a_group_tell_which_row() -> None:
    rows = greta.trends(STOCK, BY_SECTOR, window=0, group={"sector": "b"}).to_pylist()
    assert [(row["time"], row["window_start"], row["window_end"], row["group_sector"]) for row in rows] == [
        (2, 0, 10, "b")
    ]
    later = greta.trends(STOCK, BY_SECTOR, window=10).to_pylist()
    assert [(row["time"], row["group_sector"]) for row in later] == [(12, "b")]
    by_group = greta.trends(STOCK, BY_SECTOR, group={"sector": "a"}, n=9, pick="first")
    assert by_group.column("price").to_pylist() == [5, 5, 3, 3]
    assert by_group.column_names == [
        "trend", "position", "variable", "type", "time", "price", "sector",
        "window_start", "window_end", "group_sector",
    ]  # fmt: skip


def test_the_first_row_is_told_by_windows_and_groups_not_by_the_order_of_events() -> None:
    events = [{"type": "S", "time": t, "price": t, "sector": s} for t, s in ((1, "c"), (2, "a"), (3, "b"), (11, "0"))]
    for query in (BY_SECTOR, BY_SECTOR.partition("WITHIN")[0].replace("WHERE", "MIN LENGTH 1 WHERE S.time < 11 AND")):
        assert greta.trends(events, query).column("group_sector").to_pylist() == ["a"]


def test_a_window_may_be_a_time_stamp() -> None:
    events = [{"type": "A", "time": datetime(2026, 1, 1, 0, m, tzinfo=UTC)} for m in (1, 2, 11)]
    query = "RETURN COUNT(*) PATTERN A+ WITHIN 10 minutes"
    for row in greta.aggregate(events, query).to_pylist():
        rows = greta.trends(events, query, window=row["window_start"])
        assert len(set(rows.column("trend").to_pylist())) == row["count"]
        assert set(rows.column("window_start").to_pylist()) == {row["window_start"]}


def test_having_decides_which_row_is_the_first() -> None:
    query = BY_SECTOR.replace("WITHIN", "HAVING COUNT(*) > 1 WITHIN")
    assert set(greta.trends(STOCK, query).column("group_sector").to_pylist()) == {"a"}
    with pytest.raises(GretaError, match="no row of the answer has sector 'b'"):
        greta.trends(STOCK, query, group={"sector": "b"})


def test_a_name_of_return_picks_trends_by_its_value() -> None:
    query = "RETURN COUNT(*), MIN(LAST(S.price) - FIRST(S.price)) AS steepest PATTERN S+ WHERE S.price > NEXT(S).price"
    named, written = (
        greta.trends(STOCK, query, n=2, pick=pick) for pick in ("steepest", "MIN(LAST(S.price) - FIRST(S.price))")
    )
    assert named == written
    assert named.column("price").to_pylist()[:4] == [5, 4, 3, 2]
    with pytest.raises(GretaError, match="count is not the largest or smallest value"):
        greta.trends(STOCK, query, pick="count")


def test_trends_of_one_prefix_come_in_order_whatever_states_they_go_through() -> None:
    # A prefix of a's leads into both branches: the order is that of events, not one branch after the other.
    events = [{"type": t, "time": at} for at, t in enumerate("AACB")]
    rows = greta.trends(
        events, "RETURN COUNT(*) PATTERN SEQ(A a+, B b) OR SEQ(A a+, C c)", n=9, pick="first"
    ).to_pylist()
    words: dict[int, list[int]] = {}
    for row in rows:
        words.setdefault(row["trend"], []).append(row["time"])
    assert list(words.values()) == [[0, 1, 2], [0, 1, 3], [0, 2], [0, 3], [1, 2], [1, 3]]


def test_columns_of_events_that_have_a_name_of_ours_are_told_apart() -> None:
    rows = greta.trends([{"type": "A", "time": 1, "position": 7}], "RETURN COUNT(*) PATTERN A+")
    assert rows.to_pylist()[0] | {"position": 0, "event_position": 7} == rows.to_pylist()[0]


def test_no_trends_give_no_rows() -> None:
    rows = greta.trends([{"type": "B", "time": 1}], "RETURN COUNT(*) PATTERN A+")
    assert (rows.num_rows, rows.column_names[:3]) == (0, ["trend", "position", "variable"])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"pick": "longst"}, "did you mean longest"),
        ({"pick": "MAX(S.price)"}, r"write MAX\(MAX\(S.price\)\)"),
        ({"pick": "AVG(COUNT(*))"}, "not the largest or smallest value"),
        ({"group": {"sectr": 1}}, "did you mean sector"),
        ({"window": 3}, "windows start at multiples"),
        ({"window": 50}, "no row of the answer has window_start 50"),
        ({"window": "soon"}, "take window_start"),
        ({"n": -1}, "whole number from 0 on, and is -1"),
        ({"n": 1.5}, "whole number from 0 on, and is 1.5"),
        ({"pick": None}, "cannot pick trends by None\nhint: write sample, first, longest"),
        ({"pick": "steepest"}, r"hint: write sample, first, longest, lowest, or a value such as MAX\(DURATION\(\*\)\)"),
        ({"pick": "lowst"}, "did you mean lowest"),
        ({"group": "tech"}, "group is 'tech', which is no mapping of names to values\nhint: write {'sector': 'tech'}"),
        ({"query": {"falls": BY_SECTOR}}, "trends are shown of one query, and this is a dict"),
    ],
)
def test_what_cannot_be_shown_is_said(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(GretaError, match=problem):
        greta.trends(STOCK, **{"query": BY_SECTOR.replace("COUNT(*)", "COUNT(*), MIN(COUNT(*)) AS lowest")} | options)


def test_pairs_of_trends_are_no_trends() -> None:
    with pytest.raises(QueryMeaningError, match="pairs of trends"):
        greta.trends(STOCK, "RETURN COUNT(*) PATTERN S+ AND T+")
