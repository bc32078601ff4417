"""Rows of open windows as they change (emit="update"): the right ones, told once, at the cost of what came."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import greta
from greta.live.at_close import AtClose
from greta.live.graphs import Graph, Reading
from greta.live.online import MEMORY
from greta.live.stream import open_stream
from greta.live.sums import Shape, Sums
from greta.live.windows import windows_for
from support.live_streams import Make, as_a_bag

SCHEMA = pa.schema(
    [("type", pa.string()), ("time", pa.int64()), ("g", pa.string()), ("h", pa.string()), ("x", pa.int64())]
)
GROUPINGS = (("[g]", "g", "GROUP-BY g"), ("[g, h]", "h", "GROUP-BY h"), ("[g]", "", ""), ("", "", ""))
SCOPES = (
    ("[B.g]", "g", "GROUP-BY g"),
    ("[B.g, h]", "h", "GROUP-BY h"),
    ("[A.g]", "", ""),
    ("[h]", "g", "GROUP-BY A.g"),
)
SELECTIONS = ("skip-till-any-match", "skip-till-next-match", "contiguous", "contiguous MAXIMAL")


def some_query(draw: random.Random) -> str:
    scoped = draw.random() < 0.3
    where, returned, grouping = draw.choice(SCOPES if scoped else GROUPINGS)
    conditions = [one for one in (where, draw.choice(("", "A.x < NEXT(A).x"))) if one]
    aggregates = draw.sample(("COUNT(*) AS v", "SUM(A.x) AS s", "MAX(A.x) AS m", "AVG(COUNT(*)) AS c"), 2)
    window = draw.choice(("WITHIN 8 seconds SLIDE 2 seconds", "WITHIN 9 seconds", ""))
    return (
        f"RETURN {', '.join([*([returned] if returned else []), *aggregates])} "
        f"PATTERN {draw.choice(('SEQ(A+, B?)', 'SEQ(A+, B)')) if scoped else 'A+'} "
        f"SEMANTICS {SELECTIONS[0] if scoped else draw.choice(SELECTIONS)} "
        f"{'WHERE ' + ' AND '.join(conditions) if conditions else ''} "
        f"{grouping} {window}"
    )


def some_events(draw: random.Random) -> pa.Table:
    time, rows = 0, []
    for _ in range(draw.choice((10, 40))):
        time += draw.choice((0, 0, 1, 1, 3, 30))
        key = {"g": draw.choice("uvw"), "h": draw.choice("pq")}
        rows.append({"type": draw.choice("AAB"), "time": time, **key, "x": draw.choice((None, 1, 2, -3, 2**52))})
    return pa.Table.from_pylist(rows, SCHEMA)


def cell(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in ("window_start", "g", "h"))


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("seed", range(60))
def test_what_is_told_of_open_windows_is_what_a_batch_says(seed: int, numbers: Any) -> None:
    draw = random.Random(seed)
    query, events = some_query(draw), some_events(draw)
    stream = open_stream(query, schema=SCHEMA, emit="update", numbers=numbers)
    told: dict[tuple[Any, ...], Any] = {}
    at = 0
    while at < events.num_rows:
        size = draw.choice((1, 1, 3, 8))
        for row in stream.push(events.slice(at, size)).to_pylist():
            row.pop("final")
            told[cell(row)] = row
        at += size
        watermark = events.column("time")[min(at, events.num_rows) - 1].as_py()
        passed = events.filter(pa.compute.less(events.column("time"), watermark))
        batch = greta.aggregate(passed, query, numbers=numbers).to_pylist()
        assert as_a_bag(list(told.values())) == as_a_bag(batch), query
        if seed % 3 == 0:
            stream = open_stream(query, snapshot=stream.snapshot())


def updates(query: str, pushes: list[pa.Table], make: Make = windows_for, **options: Any) -> list[list[str]]:
    """Per push: the rows that came of it."""
    stream = open_stream(query, schema=pushes[0].schema, emit="update", windows=make, **options)
    return [as_a_bag(stream.push(push).to_pylist()) for push in pushes]


@pytest.mark.parametrize("seed", range(40))
def test_a_row_is_told_again_only_where_it_has_changed(seed: int) -> None:
    draw = random.Random(seed)
    query, events = some_query(draw), some_events(draw)
    pushes = [events.slice(at, 3) for at in range(0, events.num_rows, 3)]
    assert updates(query, pushes) == updates(query, pushes, AtClose), query


def market(count: int, companies: int) -> pa.Table:
    draw = np.random.default_rng(2)
    return pa.table(
        {
            "type": ["A"] * count,
            "time": pa.array(np.sort(draw.integers(0, 60, count))),
            "g": pa.array([f"c{one}" for one in draw.integers(0, companies, count)]),
            "x": pa.array(draw.integers(0, 50, count)),
        }
    )


def test_an_update_reads_the_partitions_of_its_events(monkeypatch: pytest.MonkeyPatch) -> None:
    events = market(4_000, 500)
    query = "RETURN g, COUNT(*) PATTERN A+ WHERE [g] AND A.x < NEXT(A).x GROUP-BY g WITHIN 60 seconds SLIDE 20 seconds"
    stream = greta.stream(query, schema=events.schema, emit="update")
    stream.push(events)
    stream.advance(61)
    read: list[int] = []
    plain = Graph.read

    def counted(graph: Graph, first: int, last: int, numbers: Any) -> Reading:
        read.append(len(numbers))
        return plain(graph, first, last, numbers)

    monkeypatch.setattr(Graph, "read", counted)
    assert not stream.push([{"type": "A", "time": 61, "g": g, "x": 60} for g in ("c3", "c5")]).num_rows
    rows = stream.push([{"type": "A", "time": 62, "g": "c9", "x": 1}]).to_pylist()
    assert read == [2]
    assert {row["g"] for row in rows} == {"c3", "c5"}


def test_sums_of_a_group_are_those_of_its_partitions_as_they_come_and_go() -> None:
    draw, shape = np.random.default_rng(4), Shape(2, 3, 4, (0, 1, 2), np.inf)
    sums, first, here = Sums(shape, 10), 10, dict[tuple[int, ...], Any]()
    for base in (10, 10, 11, 11, 13, 13, 14, 15, 20, 20):
        for key, row in here.items():
            lanes = np.concatenate((row.reshape(3, 4), shape.empty.reshape(3, 4)), axis=1)
            here[key] = lanes[:, min(base - first, 4) :][:, :4].reshape(-1)
        first = base
        # Partitions are let go of when all their windows are closed.
        here = {key: row for key, row in here.items() if row[:4].any()}
        sums.let_go(here)
        keys = [(int(number),) for number in draw.choice(30, 9, replace=False)]
        values = draw.integers(1, 9, (9, 3, 4)).astype(float)
        values[:, :2, 2 + int(draw.integers(2)) :] = 0
        values[:, 2, 2:] = -np.inf
        lanes, found = sums.put(base, keys, values.reshape(9, 12))
        here |= dict(zip(keys, values.reshape(9, 12), strict=True))
        every = np.stack(list(here.values())).reshape(-1, 3, 4)
        expected = np.concatenate((every[:, :2].sum(axis=0), every[:, 2:].max(axis=0)))
        assert lanes.tolist() == np.flatnonzero(expected[0]).tolist()
        assert (found == expected[:, lanes].T).all()
        assert not len(sums.put(base, keys, values.reshape(9, 12))[0])
    assert len(sums.nodes) <= 64


def test_groups_of_several_partitions_are_told_as_a_whole() -> None:
    query = "RETURN h, COUNT(*) AS v PATTERN A+ WHERE [g, h] GROUP-BY h WITHIN 20 seconds SLIDE 10 seconds"
    stream = greta.stream(query, schema=SCHEMA, emit="update")
    event = {"type": "A", "h": "p", "x": 1}
    stream.push([{**event, "time": time, "g": g} for time in (10, 11) for g in "uv"])
    rows = stream.push([{**event, "time": 12, "g": "u"}]).to_pylist()
    assert [(row["window_start"], row["v"]) for row in rows] == [(0, 6.0), (10, 6.0)]
    rows = stream.push([{**event, "time": 13, "g": "v"}]).to_pylist()
    assert [(row["window_start"], row["v"]) for row in rows] == [(0, 10.0), (10, 10.0)]


def test_updates_go_on_where_indexes_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    events = market(1_500, 3)
    query = "RETURN g, COUNT(*), SUM(A.x) PATTERN A+ WHERE [g] AND A.x < NEXT(A).x GROUP-BY g WITHIN 60 seconds"
    pushes = [events.slice(low, high - low) for low, high in pairwise(range(0, 1_501, 50))]
    at_close = updates(query, pushes, AtClose, numbers="exact")
    monkeypatch.setenv(MEMORY, "20000")
    assert updates(query, pushes, numbers="exact") == at_close


def test_lengths_of_time_are_told_right_where_the_graph_is_made_again() -> None:
    returned = "g, COUNT(*) AS v, MAX(DURATION(*)) AS d"
    query = f"RETURN {returned} PATTERN A+ WHERE [g] GROUP-BY g WITHIN 10 seconds SLIDE 5 seconds"
    times = [0, 1, 2, 3, 5_000, 5_001, 5_002, 9_000, 9_003, 9_004]
    events = [{"type": "A", "time": time, "g": "uv"[at % 2], "x": 1, "h": "p"} for at, time in enumerate(times)]
    table = pa.Table.from_pylist(events, SCHEMA)
    pushes = [table.slice(low, high - low) for low, high in pairwise((0, 3, 6, 7, 10))]
    assert updates(query, pushes) == updates(query, pushes, AtClose)


@pytest.mark.parametrize("where", ["", "WHERE [g]"])
def test_a_change_that_doubles_do_not_show_is_told_in_exact_numbers(where: str) -> None:
    query = f"RETURN COUNT(*) AS v PATTERN A+ OR B {where} WITHIN 1000 seconds"
    stream = greta.stream(query, numbers="exact", emit="update")
    stream.push([{"type": "A", "time": time, "g": "u"} for time in range(60)])
    assert [row["v"] for row in stream.advance(60).to_pylist()] == [str(2**60 - 1)]
    stream.push({"type": "B", "time": 60, "g": "u"})
    assert [row["v"] for row in stream.advance(61).to_pylist()] == [str(2**60)]


@pytest.mark.parametrize("numbers", ["double", "exact"])
def test_pairs_of_a_group_are_told_as_a_whole_where_one_partition_needs_more_digits(numbers: Any) -> None:
    query = "RETURN COUNT(*) AS v, MIN(A.y) AS m PATTERN (A OR B)+ AND A+ WHERE [g] WITHIN 1000 seconds"
    events = [{"type": "A", "time": time, "g": "u" if time < 60 else "v", "y": 7.0 - (time < 60)} for time in range(62)]
    stream = greta.stream(query, emit="update", numbers=numbers)
    stream.push(events)
    stream.advance(70)
    last = {"type": "A", "time": 71, "g": "v", "y": 6.5}
    stream.push(last)
    told = stream.advance(72).drop_columns(["final"]).to_pylist()
    assert told == greta.aggregate([*events, last], query, numbers=numbers).to_pylist()
