"""The paper's algorithm against brute force and the paper's own figures."""

import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from typer.testing import CliRunner

import greta
from greta import graph
from greta.cli.graph import app
from greta.datasets.paper import EXAMPLES, I, stream
from greta.engine.job import Job
from greta.errors import DataError, GretaError, QueryError
from greta.graph.events import Cell, Stream, Windows
from greta.graph.run import partition_graphs
from greta.graph.runtime import GretaGraph
from greta.lang.nodes import Conjunction
from greta_research import brute_force
from support import soak
from support.events import SCHEMA
from support.examples import examples
from support.streams import Case, cases


def plain(value: object) -> object:
    """Counts and sums as floats, however the table writes them."""
    if isinstance(value, str) and value.lstrip("-").isdigit():
        return float(value)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def ordered(rows: list[list[object]]) -> list[list[object]]:
    return sorted(
        ([plain(value) for value in row] for row in rows),
        key=lambda row: [(value is None, str(type(value)), str(value)) for value in row],
    )


def same(ours: list[list[object]], theirs: list[list[object]]) -> bool:
    def close(a: object, b: object) -> bool:
        if isinstance(a, float) and isinstance(b, float):
            return math.isclose(a, b, rel_tol=1e-9)
        return a == b

    return len(ours) == len(theirs) and all(
        len(p) == len(q) and all(map(close, p, q)) for p, q in zip(ordered(ours), ordered(theirs), strict=True)
    )


def check_against_brute_force(case: Case) -> None:
    try:
        greta.analyze(case.query)
        expected = brute_force.aggregate(case.events, case.query)
    except QueryError:
        assume(False)
    table = pa.Table.from_pylist(case.events, SCHEMA)
    for numbers in ("double", "exact"):
        found = graph.aggregate(table, case.query, numbers=numbers)
        assert same([list(row.values()) for row in found.to_pylist()], [list(row.values()) for row in expected])


@examples(300)
@given(st.one_of(cases(), cases(values=True)))
def test_the_graph_agrees_with_brute_force(case: Case) -> None:
    check_against_brute_force(case)


@examples(200)
@given(cases())
def test_paths_from_start_to_end_are_the_trends_that_brute_force_lists(case: Case) -> None:
    query = replace(greta.parse(case.query), window=None, having=None)
    assume(not isinstance(query.pattern, Conjunction))
    try:
        greta.analyze(query)
        listed = brute_force.trends(case.events, query, limit=500)
    except GretaError:
        assume(False)
    table = pa.Table.from_pylist(case.events, SCHEMA)
    drawn = [top for partition in graph.build(table, query).partitions for top in partition.graphs]
    ours = [
        [(top.vertices[at].row, top.vertices[at].variable) for at in trend] for top in drawn for trend in top.trends()
    ]
    theirs = [list(trend) for partition in listed for trend in partition.trends]
    assert sorted(ours) == sorted(theirs)
    assert [len(list(top.trends())) for top in drawn] == [sum(top.counts.values()) for top in drawn]


@pytest.mark.slow
@examples(10_000)
@given(cases())
def test_the_graph_agrees_with_brute_force_on_many_cases(case: Case) -> None:
    check_against_brute_force(case)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.timeout(0)
def test_the_graph_agrees_with_brute_force_for_hours() -> None:
    soak.run_cases("the paper's graph, both numbers", cases(max_events=9), check_against_brute_force)


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("example", EXAMPLES.values(), ids=lambda example: example.name)
def test_both_strategies_give_the_same_table(example: object, numbers: str) -> None:
    query = example.query.replace("COUNT(*)", "COUNT(*), COUNT(*) AS again", 1)
    auto, by_graph = (
        greta.aggregate(example.events, query, numbers=numbers, strategy=strategy) for strategy in ("auto", "graph")
    )
    assert auto.schema == by_graph.schema
    assert auto.to_pylist() == by_graph.to_pylist()
    assert [int(float(row["again"])) for row in auto.to_pylist()] == list(example.trends)


def test_an_empty_stream_has_the_columns_of_the_engine() -> None:
    query = "RETURN g, COUNT(*), SUM(A.x), MIN(A.s), AVG(A.y) PATTERN A+ GROUP-BY g WITHIN 10 seconds"
    empty = SCHEMA.empty_table()
    for numbers in ("double", "exact"):
        auto, by_graph = (
            greta.aggregate(empty, query, numbers=numbers, strategy=strategy) for strategy in ("auto", "graph")
        )
        assert by_graph.num_rows == 0
        assert by_graph.schema == auto.schema


def test_counts_are_exact_beyond_doubles() -> None:
    events = [{"type": "A", "time": t, "y": 0.5} for t in range(1100)]
    query = "RETURN COUNT(*) AS n, SUM(A.y) AS total, AVG(A.y) AS mean PATTERN A+"
    exact = graph.aggregate(events, query, numbers="exact").to_pylist()[0]
    assert int(exact["n"]) == 2**1100 - 1
    double = graph.aggregate(events, query).to_pylist()[0]
    assert double["n"] == double["total"] == math.inf
    assert double["mean"] == 0.5


def test_an_unknown_strategy_is_an_error_with_a_way_out() -> None:
    with pytest.raises(GretaError, match="did you mean graph"):
        greta.aggregate([], "RETURN COUNT(*) PATTERN A", strategy="grpah")
    with pytest.raises(GretaError, match="numbers must be"):
        graph.aggregate([], "RETURN COUNT(*) PATTERN A", numbers="single")


# The paper's figures


def labels(figure: str, **options: object) -> list[str]:
    """``a4: 6`` for every vertex of the positive graph; invalid ones with a star, clipped ones without count."""
    built = graph.build(EXAMPLES[figure].events, EXAMPLES[figure].query, **options)
    ((top,),) = [partition.graphs for partition in built.partitions]
    return [
        " ".join([vertex.label + "*" * vertex.invalid, *map(str, vertex.counts.values())]) for vertex in top.vertices
    ]


def test_figure_6a_has_the_counts_of_the_paper() -> None:
    assert labels("figure-6a") == ["a1 1", "a3 2", "a4 4", "a8 8"]


def test_figure_6b_has_the_counts_of_the_paper() -> None:
    assert labels("figure-6b") == ["a1 1", "b2 1", "a3 2", "a4 4", "b7 7", "a8 8", "b9 15"]


def test_figure_6c_has_the_counts_of_the_paper() -> None:
    assert labels("figure-6c") == ["a1 1", "b2 1", "a3 3", "a4 6", "b7 10", "a8 22", "b9 32"]


def test_figure_6d_marks_the_events_before_c5_and_never_inserts_b7() -> None:
    assert labels("figure-6d") == ["a1* 1", "b2 1", "a3* 3", "a4* 6", "a8 12", "b9 12"]


def test_figure_6d_prunes_the_negative_graphs() -> None:
    built = graph.build(EXAMPLES["figure-6d"].events, EXAMPLES["figure-6d"].query)
    _, cd, e = built.partitions[0].graphs[0].walk()
    assert [(v.label, v.invalid, v.pruned) for v in cd.vertices] == [
        ("c2", True, True),
        ("c5", False, True),
        ("d6", False, True),
    ]
    assert [(v.label, v.pruned) for v in e.vertices] == [("e3", True)]
    assert not any(v.pruned for v in built.partitions[0].graphs[0].vertices)


def test_figure_8a_shuts_out_what_is_earlier_than_e3() -> None:
    assert labels("figure-8a") == ["a1*", "a3 1", "a4 2", "a8 4"]


def test_figure_8b_shuts_out_what_is_later_than_e3() -> None:
    assert labels("figure-8b") == ["a1 1", "a3 2", "a4*", "a8*"]


def test_figure_9_has_a_count_per_window_on_each_vertex() -> None:
    # W0 [0---------)
    # W1    [3---------)
    # W2       [6---------)
    expected = ["a1 1", "b2 1", "a3 3 1", "a4 6 2", "b7 10 3", "a8 22 7 1", "b9 32 10 1"]
    assert labels("figure-9") == expected
    assert labels("figure-9", window=3) == ["a3 1", "a4 2", "b7 3", "a8 7", "b9 10"]


def test_the_aggregates_of_the_first_example_are_the_papers() -> None:
    events = EXAMPLES["figure-3"].events
    query = "RETURN COUNT(*), COUNT(A), MIN(A.attr), MAX(A.attr), SUM(A.attr), AVG(A.attr) PATTERN SEQ(A+, B)+"
    (row,) = graph.aggregate(events, query).to_pylist()
    assert list(row.values())[2:] == [11, 20, 4, 6, 100, 5.0]


def test_edges_are_those_that_satisfy_the_edge_predicate() -> None:
    query = "RETURN COUNT(*) PATTERN A+ WHERE A.attr < NEXT(A).attr"
    (partition,) = graph.build(stream("a1=5 a3=6 a4=4 a8=5"), query).partitions
    (top,) = partition.graphs
    assert [(top.vertices[p].label, top.vertices[q].label) for p, q in top.edges] == [("a1", "a3"), ("a4", "a8")]


# Data structures


def run(events: pa.Table, query: str) -> GretaGraph:
    read = Stream(Job.bind(query, events.schema), events)
    (found,) = partition_graphs(read, Windows.of(read.plan, read.clock))
    assert isinstance(found.cell, Cell)
    return found.graphs[0]


def stored(of: GretaGraph) -> list[int]:
    """The times, in milliseconds, of the vertices that are still stored."""
    trees = [tree for pane in of.panes._panes.values() for tree in pane.trees.values()]
    return sorted(vertex.event.time for tree in trees for vertex in tree)


def test_panes_are_purged_after_their_last_window() -> None:
    events = stream("a1 a2 a5 a9 a12")
    assert stored(run(events, "RETURN COUNT(*) PATTERN A+")) == [1000, 2000, 5000, 9000, 12000]
    # The last windows that hold a1, a2, a5 and a9 end at 4, 6, 8 and 12.
    assert stored(run(events, "RETURN COUNT(*) PATTERN A+ WITHIN 4 seconds SLIDE 2 seconds")) == [12000]


def test_vertices_that_nothing_can_follow_are_not_stored() -> None:
    assert stored(run(I, "RETURN COUNT(*) PATTERN SEQ(A, B)")) == [1000, 3000, 4000, 8000]


def test_invalid_vertices_are_pruned_where_they_can_only_connect_over_the_negation() -> None:
    assert stored(run(I, "RETURN COUNT(*) PATTERN SEQ(A, NOT E, B)")) == [3000, 4000, 8000]


def test_finished_negative_trends_are_pruned() -> None:
    top = run(stream("c1 c2 d3 c4 b5"), "RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C+, D), B)")
    ((negative,),) = top.negatives
    assert stored(negative) == [4000]  # c4 still waits for a d


# Pictures and the command line


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=lambda example: example.name)
def test_every_picture_shows_all_vertices_with_counts_and_tooltips(example: object) -> None:
    built = graph.build(example.events, example.query)
    root = ET.fromstring(built.svg())
    texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    titles = [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}title")]
    for vertex in built.vertices:
        assert any(text.startswith(vertex.label) for text in texts)
        assert any(f"{vertex.event_type} at {vertex.time} as {vertex.variable}" in title for title in titles)


def test_a_picture_has_a_limit_and_says_what_to_do() -> None:
    built = graph.build([{"type": "A", "time": t} for t in range(201)], "RETURN COUNT(*) PATTERN SEQ(A, B)")
    with pytest.raises(GretaError, match=r"201 vertices.*\nhint: pick one window"):
        built.svg()
    assert len(str(built).splitlines()) == 203


def test_a_graph_without_vertices_says_so() -> None:
    built = graph.build(I, "RETURN COUNT(*) PATTERN Z+")
    assert str(built) == "Z+: no event became a vertex"
    assert "no event became a vertex" in built.svg()


def test_a_window_that_is_not_there_is_an_error_that_names_others() -> None:
    with pytest.raises(DataError, match="no window with events starts at 4\nhint: windows start at 0, 3, 6"):
        graph.build(I, EXAMPLES["figure-9"].query, window=4)


def test_the_command_prints_the_vertices_and_draws_them(tmp_path: Path) -> None:
    events = tmp_path / "events.csv"
    events.write_text("type,time\nA,1\nB,2\nA,3\nB,7\n", encoding="utf-8")
    query = tmp_path / "q.greta"
    query.write_text("RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN 10 seconds SLIDE 3 seconds", encoding="utf-8")
    picture = tmp_path / "out.svg"
    result = CliRunner().invoke(app, [str(query), str(events), "--window", "0", "--output", str(picture)])
    assert result.exit_code == 0, result.output
    assert result.output.splitlines() == [
        "SEQ(A+, B): 4 trends",
        "  vertex  variable  role   count  from   note",
        "  a1      A         START  1",
        "  b2      B         END    1      a1",
        "  a3      A         START  2      a1",
        "  b7      B         END    3      a1 a3",
    ]
    assert picture.read_text("utf-8").startswith("<svg")
    result = CliRunner().invoke(app, ["RETURN COUNT(*) PATTERN A+", str(events)])
    assert result.output.splitlines()[0] == "A+: 3 trends"
