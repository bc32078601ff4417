"""Brute force against counts made by hand: what a NOT takes away."""

import pytest

from greta.errors import QueryMeaningError
from support.by_hand import count, stream, words


def test_a_match_between_two_events_cuts_only_this_gap() -> None:
    #  a1  c2  a3  b4
    assert words(stream("a1 c2 a3 b4"), "SEQ(A+, NOT C, B)") == ["A1 A3 B4", "A3 B4"]
    assert words(stream("a1 c1 b3"), "SEQ(A, NOT C, B)") == ["A1 B3"]


def test_the_first_match_to_end_closes_the_window_for_a_leading_not() -> None:
    #  a1  [c2  a3  d4]  a4  a5
    assert words(stream("a1 c2 a3 d4 a4 a5"), "SEQ(NOT SEQ(C, D), A)") == ["A1", "A3", "A4"]


def test_the_last_match_to_start_opens_the_window_for_a_trailing_not() -> None:
    #  a1  a2  [c2  a3  d4]  a5
    assert words(stream("a1 a2 c2 a3 d4 a5"), "SEQ(A, NOT SEQ(C, D))") == ["A2", "A3", "A5"]


def test_a_not_inside_a_not_takes_its_match_away() -> None:
    assert count(stream("a1 c2 e3 d4 b5"), "SEQ(A, NOT SEQ(C, NOT E, D), B)") == 1
    assert count(stream("a1 c2 d4 b5"), "SEQ(A, NOT SEQ(C, NOT E, D), B)") == 0


def test_each_branch_of_an_outermost_or_has_its_own_window() -> None:
    events = stream("a1 c2 a3 b4")
    assert words(events, "SEQ(NOT C, A+) OR B") == ["A1", "B4"]
    assert words(events, "SEQ(NOT C, A+) OR A+") == ["A1", "A1 A3", "A3"]


def test_an_inner_seq_is_part_of_the_outer_one() -> None:
    assert words(stream("c1 a2 b3"), "SEQ(SEQ(NOT C, A), B)") == []
    assert words(stream("a1 c2 b3"), "SEQ(A, SEQ(NOT C, B))") == []
    assert words(stream("c1 a2 b3"), "SEQ(A, SEQ(NOT C, B))") == ["A2 B3"]


def test_min_length_does_not_apply_to_matches_of_not() -> None:
    assert words(stream("c1 a2 a3"), "SEQ(NOT C, A+) MIN LENGTH 2") == []


def test_matches_of_not_may_skip_whatever_the_semantics() -> None:
    events = stream("a1 c2 z3 d4 a5")
    assert words(events, "SEQ(NOT SEQ(C, D), A) SEMANTICS contiguous") == ["A1"]


def test_a_match_without_a_value_in_a_scope_counts_against_every_trend() -> None:
    events = stream("a1 c2 a3 a4", v=[1, None, 2, 1])
    assert words(events, "SEQ(NOT C, A+) WHERE [A.v]") == ["A1"]


def test_a_match_counts_against_the_trends_that_share_its_value() -> None:
    # p and n are two variables of P, so [P.v] binds trends and matches of NOT together.
    events = stream("p1 p2 p3", v=[1, 1, 2])
    # n at 2 closes v = 1 at 1 (the first n there is p1), n at 3 closes v = 2 at 3.
    assert words(events, "SEQ(NOT P n, P q+) WHERE [P.v]") == ["q1", "q3"]
    # Without the scope, p1 closes the window for all.
    assert words(events, "SEQ(NOT P n, P q+)") == ["q1"]


def test_a_match_with_a_value_does_not_count_against_a_trend_without_one() -> None:
    events = stream("p1 a2 a3", v=[1, None, None])
    # Trends of A alone have no value in the scope; the match p1 has the value 1.
    assert words(events, "SEQ(NOT P n, (A OR P q)+) WHERE [P.v]") == ["A2", "A2 A3", "A3", "q1"]


def test_a_scope_inside_not_alone_binds_only_its_matches() -> None:
    query = "SEQ(NOT SEQ(C c, C d), A) WHERE [C.v]"
    assert words(stream("c1 c2 a3", v=[1, 2, 9]), query) == ["A3"]
    assert words(stream("c1 c2 a3", v=[1, 1, 9]), query) == []


@pytest.mark.parametrize("pattern", ["SEQ(NOT A, NOT B)", "SEQ(A?, NOT B, C)", "SEQ(A, NOT B, C?)", "SEQ(A, NOT B)+"])
def test_a_not_without_an_event_beside_it_is_refused(pattern: str) -> None:
    with pytest.raises(QueryMeaningError):
        count(stream("a1 b2 c3"), pattern)
