"""What holds for every plan, and for every query that gets none."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given

from greta.errors import GretaError, QueryMeaningError, QuerySyntaxError
from greta.lang.nodes import (
    Aggregate,
    Atom,
    Duration,
    Negation,
    Pattern,
    Plus,
    Query,
    Repeat,
    ReturnValue,
    Seq,
    Within,
)
from greta.lang.parser import parse
from greta.plan.analyze import analyze
from greta.plan.nodes import AccessPath, AttributeType, Place, Plan, Template
from support.queries import queries
from support.samples import conformance_queries, example_queries

COUNT = (ReturnValue(Aggregate("COUNT"), "count"),)


@pytest.mark.parametrize("text", [*conformance_queries(), *example_queries()])
def test_every_known_query_has_a_plan_that_travels(text: str) -> None:
    plan = analyze(text)
    assert pickle.loads(pickle.dumps(plan)) == plan
    _check(plan)


@given(queries())
def test_any_query_has_a_sound_plan_or_an_error_of_its_own(query: Query) -> None:
    try:
        plan = analyze(query)
    except GretaError:
        return
    _check(plan)


def _check(plan: Plan) -> None:
    for template in plan.templates:
        _check_template(template)
    assert {at for output in plan.outputs for at in output.measures} <= set(range(len(plan.measures)))
    assert len(set(plan.measures)) == len(plan.measures)
    assert set(plan.columns) <= {made.name for made in (*plan.outputs, *plan.computed)}
    assert set(plan.returned) <= set(plan.group)


def _check_template(template: Template) -> None:
    assert [state.index for state in template.states] == list(range(len(template.states)))
    assert {t.link for t in template.transitions} == set(range(len(template.links)))
    assert len(set(template.links)) == len(template.links)
    for link in template.links:
        conjuncts = len(link.equal) + len(link.ordered) + len(link.residual)
        assert conjuncts <= len(link.predicates)
        assert bool(conjuncts) == bool(link.predicates)
        assert (link.path is AccessPath.GENERAL) == bool(link.residual)
        assert (link.path is AccessPath.FREE) == (not link.predicates and not link.negations)
        assert (link.path is AccessPath.EQUAL) == (
            bool(link.equal or link.negations) and not (link.ordered or link.residual or link.lasting)
        )
        unequal = [found for found in link.ordered if found.operator == "!="]
        assert not unequal or (len(link.ordered) == 1 and not link.lasting)
        assert all(template.negatives[n].place is Place.BETWEEN for n in link.negations)
    for state in template.states:
        assert all(template.negatives[n].place is not Place.BETWEEN for n in state.clips)
    for negative in template.negatives:
        assert all(state.length == 1 and state.seen == 0 for state in negative.template.states)
        _check_template(negative.template)


def test_text_and_tree_have_the_same_plan() -> None:
    text = "RETURN COUNT(*) PATTERN SEQ(A+, NOT N, B)+ WHERE A.x < NEXT(B).x"
    assert analyze(text) == analyze(parse(text))


def test_a_syntax_error_stays_one() -> None:
    with pytest.raises(QuerySyntaxError):
        analyze("RETURN COUNT(*) PATTERN")


def test_the_schema_is_part_of_the_plan() -> None:
    schema = {"price": AttributeType.FLOAT, "name": AttributeType.TEXT}
    plan = analyze("RETURN MAX(S.price) PATTERN S+ WHERE S.name = 'x'", schema)
    assert plan.schema == tuple(schema.items())
    assert plan.attributes == ("name", "price")


def test_time_stamps_compare_with_iso_text() -> None:
    schema = {"at": AttributeType.TIMESTAMP}
    query = "RETURN COUNT(*) PATTERN S+ WHERE S.at > '2024-05-01' AND S.at < NEXT(S).at"
    assert analyze(query, schema).templates[0].links[0].path is AccessPath.ORDERED


def test_without_a_schema_sums_are_not_rearranged() -> None:
    query = "RETURN COUNT(*) PATTERN S+ WHERE NEXT(S).t - S.t < 60"
    assert analyze(query).templates[0].links[0].path is AccessPath.GENERAL
    assert analyze(query, {"t": AttributeType.FLOAT}).templates[0].links[0].path is AccessPath.GENERAL
    assert analyze(query, {"t": AttributeType.INTEGER}).templates[0].links[0].path is AccessPath.ORDERED


def test_under_contiguous_a_scope_stays_a_scope() -> None:
    # Events outside the pattern lie between others, whatever company they are of.
    query = "RETURN COUNT(*) PATTERN Stock S+ SEMANTICS contiguous WHERE [S.company]"
    assert analyze(query).partitioning.common == ()


def test_one_tree_node_may_stand_for_two_nots() -> None:
    n = Negation(Atom("N", "N"))
    (template,) = analyze(Query(COUNT, Seq((n, Atom("A", "A"), n, Atom("B", "B"), n)))).templates
    assert [negative.place for negative in template.negatives] == [
        Place.LEADING,
        Place.TRAILING,
        Place.BETWEEN,
    ]


def test_a_tree_of_any_depth_is_planned_or_refused() -> None:
    pattern: Pattern = Atom("A", "A")
    for _ in range(5_000):
        pattern = Plus(pattern)
    with pytest.raises(QueryMeaningError, match="nested too deeply"):
        analyze(Query(COUNT, pattern))


@pytest.mark.parametrize(
    "query",
    [
        Query(COUNT, Atom("A", "A"), window=Within(Duration(5), Duration(10))),
        Query(COUNT, Atom("A", "A"), window=Within(Duration(0), Duration(0))),
        Query(COUNT, Atom("A", "A"), min_length=0),
        Query(COUNT, Repeat(Atom("A", "A"), 0, 0)),
        Query(COUNT, Repeat(Atom("A", "A"), 3, 2)),
        Query(COUNT * 2, Atom("A", "A")),
    ],
)
def test_trees_that_the_parser_would_not_build_are_refused(query: Query) -> None:
    with pytest.raises(QueryMeaningError) as caught:
        analyze(query)
    assert caught.value.hint


@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A*, A*, A{1000})",
        "(SEQ(A*, B*, C*)){600}",
        "((A{1,44}){1,45})",
        "SEQ(A*, A*, A{1000}, NOT N, B)",
        "SEQ((A OR B)*, A, (A OR B){12}) AND SEQ((A OR B)*, B, (A OR B){700})",
    ],
)
def test_hard_patterns_end_in_a_plan_or_an_explosion(pattern: str) -> None:
    try:
        plan = analyze(f"RETURN COUNT(*) PATTERN {pattern}")
    except QueryMeaningError as error:
        if "explodes" not in error.message:
            raise
        return
    assert len(plan.templates[0].states) <= 5_000


def test_a_scope_of_all_variables_is_common_unless_events_outside_the_pattern_count() -> None:
    query = "RETURN COUNT(*) PATTERN A+ SEMANTICS {} WHERE [A.g]"
    for semantics in ("skip-till-any-match", "skip-till-next-match"):
        partitioning = analyze(query.format(semantics)).partitioning
        assert (partitioning.common, partitioning.scopes) == (("g",), ())
    partitioning = analyze(query.format("contiguous")).partitioning
    assert partitioning.common == ()
    assert [(scope.attribute, scope.variables) for scope in partitioning.scopes] == [("g", frozenset("A"))]
