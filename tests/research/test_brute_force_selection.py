"""Brute force against counts made by hand: which events the two stricter event selections link."""

from support.by_hand import count, stream, words


def test_next_match_links_consecutive_matched_events_only() -> None:
    #  10 2 | 9 8 7 1 | 6 5 4 3: n(n+1)/2 trends in each run
    prices = [10, 2, 9, 8, 7, 1, 6, 5, 4, 3]
    events = stream(" ".join(f"a{time}" for time in range(10)), x=prices)
    assert count(events, "A+ SEMANTICS skip-till-next-match WHERE A.x > NEXT(A).x") == 3 + 10 + 10


def test_next_match_skips_what_neither_starts_nor_extends_a_trend() -> None:
    # b2 follows a1; c3 is no part of the pattern; b4 extends nothing, as B comes once; a5 starts anew.
    events = stream("a1 b2 c3 b4 a5 c6 b7")
    assert words(events, "SEQ(A, B) SEMANTICS skip-till-next-match") == ["A1 B2", "A5 B7"]


def test_a_matched_event_shuts_out_earlier_ones_even_if_its_trend_never_ends() -> None:
    # a2 starts a trend, so a1 cannot reach past it.
    assert words(stream("a1 a2 b3"), "SEQ(A, B) SEMANTICS skip-till-next-match") == ["A2 B3"]


def test_next_match_ignores_min_length_when_it_tells_what_is_matched() -> None:
    events = stream("a1 b2 a3", x=[1, 1, 1])
    query = "SEQ(A x, A y) OR B SEMANTICS skip-till-next-match MIN LENGTH 2"
    assert words(events, query) == []


def test_next_match_sees_only_what_an_edge_not_leaves() -> None:
    #  a1  c2  a3  a4: the trailing NOT opens the window at 2
    assert words(stream("a1 c2 a3 a4"), "SEQ(A+, NOT C) SEMANTICS skip-till-next-match") == [
        "A3",
        "A3 A4",
        "A4",
    ]


def test_events_of_one_tick_do_not_shut_each_other_out() -> None:
    for semantics in ("skip-till-next-match", "contiguous"):
        assert words(stream("a1 a1 b2 b2"), f"SEQ(A, B) SEMANTICS {semantics}") == ["A1 B2"] * 4


def test_contiguous_trends_are_blocked_by_any_event_of_the_partition() -> None:
    query = "SEQ(A, B) SEMANTICS contiguous"
    assert words(stream("a1 z2 b3"), query) == []
    assert words(stream("a1 a2 b3", x=[1, 0, 1]), f"{query} WHERE A.x = 1") == []
    assert words(stream("a1 z2 b3", g=[1, 2, 1]), f"{query} WHERE [g]") == ["A1 B3"]
    assert words(stream("a1 z2 b3", g=[1, None, 1]), f"{query} WHERE [g]") == ["A1 B3"]


def test_events_with_another_value_in_a_scope_do_not_block_contiguous_trends() -> None:
    query = "A{2} SEMANTICS contiguous WHERE [A.v]"
    assert words(stream("a1 a2 a3", v=[1, 2, 1]), query) == ["A1 A3"]
    assert words(stream("a1 a2 a3", v=[1, None, 1]), query) == ["A1 A3"]
    assert words(stream("a1 z2 a3", v=[1, 2, 1]), query) == []
    # Here A has a variable outside the scope as well, so a2 belongs to every value's partition.
    assert words(stream("a1 a2 a3", v=[1, 2, 1]), "A x{2} OR SEQ(A y, B) SEMANTICS contiguous WHERE [x.v]") == []


def test_a_scope_over_what_all_events_agree_on_changes_no_trend() -> None:
    events = stream("b1 a2 b3", g=[1, 1, 1])
    query = "SEQ(A, B) OR B+ SEMANTICS skip-till-next-match WHERE [g]"
    # a2 is matched, so it lies between b1 and b3, whatever its g is asked for besides.
    assert words(events, query) == words(events, f"{query} GROUP-BY A.g") == ["A2 B3", "B1", "B3"]
