"""Rows, trees and indexes by themselves: what they sum is what a walk over all that was put in finds."""

from __future__ import annotations

import math
import os
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greta.kernels import broad, numbers, stores
from greta.kernels.conditions import COMPARE_CODES, STOP
from greta.kernels.indexes import insert, new_extra, query, reset
from greta.kernels.layout import (
    BOTH_SIDES,
    BOX,
    DIFFERS,
    EQUALS,
    FREE,
    GREATER,
    GREATER_EQUAL,
    LEAF,
    LESS,
    LESS_EQUAL,
    NOTHING,
    PREFIX,
    SCAN,
    Automaton,
    Conditions,
    Operands,
    Slots,
    States,
    Steps,
)
from greta.kernels.ranks import SPARSE, dense_enough, new_ranks, new_scratch, rank_chunk, rank_partition
from greta.kernels.single import Single

# Called one by one from Python, each operation would be compiled by itself for every kind of number: minutes.
pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") != "1", reason="runs with the compiler off")

BLANKS = {
    "doubles": stores.doubles,
    "integers": stores.integers,
    "scaled": broad.scaled,
    "wide": lambda: broad.wide(2),
}
WIDTH = 3
SLOTS = Slots(adds=3, maxes=2, carried_adds=2, carried_maxes=1)


def new_rows(kind: str, count: int, slots: Slots = SLOTS) -> Any:
    rows = numbers.room(BLANKS[kind](), np.empty(0, dtype=np.float64), count, WIDTH, slots)
    numbers.clear_rows(rows, count, WIDTH)
    return rows


def cell(rows: Any, row: int, slot: int, lane: int) -> int:
    """The whole number in a place."""
    at = row * rows.words + slot * WIDTH + lane
    if not isinstance(rows.store, broad.Broad):
        return int(rows.store[at])
    apart = WIDTH * rows.adds
    if rows.store.mode == broad.SCALED:
        return int(rows.store.numbers[at]) * 2 ** (512 * int(rows.store.numbers[at + apart]))
    words = [int(rows.store.limbs[at + limb * apart]) for limb in range(rows.store.width)]
    return words[0] + (words[1] << 64)


def fill(rows: Any, row: int, low: int, high: int, draw: random.Random) -> tuple[list[list[int]], list[list[float]]]:
    """A vertex in some lanes of a row: small whole numbers per slot and lane, 0 and -∞ outside the lanes."""
    numbers.clear(rows, row, 0, WIDTH)
    adds = [[0] * WIDTH for _ in range(rows.adds)]
    maxes = [[-math.inf] * WIDTH for _ in range(rows.maxes)]
    for lane in range(low, high):
        for slot in range(rows.adds):
            adds[slot][lane] = draw.randrange(5)
            for _ in range(adds[slot][lane]):
                stores.add_one(rows.store, row * rows.words + slot * WIDTH + lane, 1)
        for slot in range(rows.maxes):
            maxes[slot][lane] = float(draw.randrange(-9, 9))
            rows.maxima[row * rows.extremes + slot * WIDTH + lane] = maxes[slot][lane]
    return adds, maxes


def lanes(draw: random.Random) -> tuple[int, int]:
    low = draw.randrange(WIDTH)
    return draw.choice(((low, draw.randrange(low, WIDTH) + 1), (0, WIDTH)))


Vertex = tuple[int, list[list[int]], list[list[float]]]


def require_sum(rows: Any, row: int, vertices: list[Vertex], low: int, high: int, before: Any) -> None:
    """Carried slots of a row are the sum of those of the vertices, other slots and lanes what they were."""
    for lane in range(WIDTH):
        inside = low <= lane < high
        for slot in range(rows.adds):
            added = sum(adds[slot][lane] for _, adds, _ in vertices) if inside and slot < rows.carried_adds else 0
            assert cell(rows, row, slot, lane) == before[0][slot][lane] + added, (slot, lane)
        for slot in range(rows.maxes):
            raised = [maxes[slot][lane] for _, _, maxes in vertices] if inside and slot < rows.carried_maxes else []
            found = rows.maxima[row * rows.extremes + slot * WIDTH + lane]
            assert found == max([before[1][slot][lane], *raised]), (slot, lane)


@pytest.mark.parametrize("kind", BLANKS)
@given(size=st.integers(1, 20), seed=st.integers(0, 2**32))
def test_a_tree_sums_its_first_places_in_every_lane_and_every_kind_of_number(kind: str, size: int, seed: int) -> None:
    draw = random.Random(seed)
    base, new, result = 2, size + 2, size + 3
    rows = new_rows(kind, size + 4)
    put: list[Vertex] = []
    for _ in range(6):
        place, (low, high) = draw.randrange(size), lanes(draw)
        put.append((place, *fill(rows, new, low, high, draw)))
        numbers.add_to_tree(rows, new, base, place, size, low, high)
        count, (low, high) = draw.randrange(size + 1), lanes(draw)
        before = fill(rows, result, 0, WIDTH, draw)
        numbers.sum_tree(rows, result, base, count, low, high)
        require_sum(rows, result, [vertex for vertex in put if vertex[0] < count], low, high, before)
    for row in (0, 1):
        require_sum(rows, row, [], 0, WIDTH, ([[0] * WIDTH] * rows.adds, [[-math.inf] * WIDTH] * rows.maxes))
    assert not stores.overflowed(rows.store)


def one_lane(rows: int, slots: Slots) -> Single:
    """Cleared rows without lanes."""
    return Single(np.zeros(rows * slots.adds), np.full(rows * slots.maxes, -np.inf), *slots)


@given(size=st.integers(1, 40), carried=st.integers(1, 5), extremes=st.integers(0, 2), seed=st.integers(0, 2**32))
def test_a_tree_of_single_lanes_sums_its_first_places(size: int, carried: int, extremes: int, seed: int) -> None:
    draw = random.Random(seed)
    slots = Slots(carried + 1, extremes + 1, carried, extremes)
    single = one_lane(size + 2, slots)
    adds, maxima = single.store.reshape(-1, slots.adds), single.maxima.reshape(-1, slots.maxes)
    put = np.zeros((size, slots.adds))
    highest = np.full((size, slots.maxes), -np.inf)
    for _ in range(10):
        place = draw.randrange(size)
        adds[size + 1] = [draw.randrange(9) for _ in range(slots.adds)]
        maxima[size + 1] = [draw.randrange(9) for _ in range(slots.maxes)]
        put[place] += adds[size + 1]
        highest[place] = np.maximum(highest[place], maxima[size + 1])
        numbers.add_to_tree(single, size + 1, 1, place, size, 0, 1)
        count = draw.randrange(size + 1)
        adds[size + 1], maxima[size + 1] = 100, 4
        numbers.sum_tree(single, size + 1, 1, count, 0, 1)
        assert (adds[size + 1, :carried] == 100 + put[:count, :carried].sum(axis=0)).all()
        assert (maxima[size + 1, :extremes] == highest[:count, :extremes].max(axis=0, initial=4)).all()
        assert adds[size + 1, carried] == 100
        assert maxima[size + 1, extremes] == 4
    assert (adds[0] == 0).all()
    assert (maxima[0] == -np.inf).all()


@pytest.mark.parametrize("kind", BLANKS)
@given(seed=st.integers(0, 2**32))
def test_rows_add_what_is_carried_and_results_add_all(kind: str, seed: int) -> None:
    draw = random.Random(seed)
    rows = new_rows(kind, 3)
    (low, high), (wide_low, wide_high) = lanes(draw), (0, WIDTH)
    vertex = (0, *fill(rows, 1, wide_low, wide_high, draw))
    before = fill(rows, 2, wide_low, wide_high, draw)
    numbers.add_row(rows, 2, 1, low, high)
    require_sum(rows, 2, [vertex], low, high, before)
    numbers.add_result(rows, 1, low, high)
    for lane in range(WIDTH):
        for slot in range(rows.adds):
            assert cell(rows, 0, slot, lane) == (vertex[1][slot][lane] if low <= lane < high else 0)
        for slot in range(rows.maxes):
            expected = vertex[2][slot][lane] if low <= lane < high else -math.inf
            assert rows.maxima[slot * WIDTH + lane] == expected
    some = any(vertex[1][0][lane] for lane in range(low, high))
    assert numbers.is_alive(rows, 1, low, high) == some


@pytest.mark.parametrize("kind", BLANKS)
def test_a_row_starts_and_is_cleared_in_its_lanes_alone(kind: str) -> None:
    rows = new_rows(kind, 2)
    numbers.start(rows, 1, 1, 3, np.array([1, 0, 1], dtype=np.uint8), np.array([0, 1], dtype=np.uint8))
    assert [[cell(rows, 1, slot, lane) for lane in range(WIDTH)] for slot in range(3)] == [
        [0, 1, 1],
        [0, 0, 0],
        [0, 1, 1],
    ]
    assert rows.maxima[rows.extremes :].tolist() == [-math.inf] * 3 + [-math.inf, 0.0, 0.0]
    numbers.clear(rows, 1, 2, 3)
    assert [cell(rows, 1, 0, lane) for lane in range(WIDTH)] == [0, 1, 0]
    numbers.clear_rows(rows, 2, 2)
    assert [cell(rows, 1, 2, lane) for lane in range(WIDTH)] == [0, 0, 0]


HOLDS = {
    LESS: lambda a, b: a < b,
    LESS_EQUAL: lambda a, b: a <= b,
    GREATER: lambda a, b: a > b,
    GREATER_EQUAL: lambda a, b: a >= b,
    EQUALS: lambda a, b: a == b,
    DIFFERS: lambda a, b: a != b,
}
CODES = st.sampled_from((3, 1, 2, 0, 5, 4, 2, 3, -7, 2**62, int(NOTHING)))


def automaton_of(kind: int, link: list[tuple[int, int, int]], ranked: tuple[int, int, int, int] | None) -> Automaton:
    """One index of that kind, whose link has these (previous, next, operator), and a rank comparison if there is one.

    SCAN runs all comparisons but the first as a program.
    """
    rank = np.array([ranked] if ranked else [], dtype=np.int64).reshape(-1, 4)
    indexes = np.array([[kind, 0, 0, 0, 0 if ranked else -1]], dtype=np.int64)
    program, start = [], -1
    compared = list(range(len(link)))
    if kind == SCAN and len(link) > 1:
        compared, start = [0], 0
        for at in range(1, len(link)):
            program += [COMPARE_CODES, at, *([12, 0] if at > 1 else [])]
        program += [STOP, 0]
    none = np.empty(0, dtype=np.int32)
    return Automaton(
        States(none, none, np.empty((0, 12), dtype=np.int64), none, none, indexes, rank),
        Conditions(
            np.array([0, len(compared)], dtype=np.int32),
            np.array(compared, dtype=np.int32),
            np.array(link, dtype=np.int32).reshape(-1, 3),
            np.array([start], dtype=np.int64),
            np.array(program or [STOP, 0], dtype=np.int64),
            np.empty(0),
        ),
        Steps(np.empty((0, 6), dtype=np.int64), np.ones(1, dtype=np.uint8), np.empty(0, dtype=np.uint8)),
        Slots(1, 0, 1, 0),
    )


def require_index(
    automaton: Automaton, codes: Any, link: list[tuple[int, int, int]], extent: tuple[int, int] | None = None
) -> None:
    """Put event after event in, and let each read what may come before it: as many as a walk over all finds."""
    events = codes.shape[1]
    first, last = extent or (0, events)
    rank, states = automaton.states.rank, automaton.states
    whole, scratch = new_ranks(rank, events, events), new_scratch(rank, events)
    rank_partition(rank, codes, 0, events, whole, scratch)
    ranks, origin = whole, 0
    if extent is not None:
        ranks = new_ranks(rank, last - first, min(SPARSE * (last - first), events))
        rank_chunk(rank, whole, first, last - first, ranks, scratch)
        assert dense_enough(ranks, last - first)
        origin = first
    operands = Operands(codes, np.empty((0, events)))
    extra = new_extra(automaton, operands, np.ones(events, dtype=np.uint64), last - first)
    base = np.empty(1, dtype=np.int64)
    used = reset(states.indexes, base, ranks, extra, first, last)
    counts = one_lane(used + 2, Slots(1, 0, 1, 0))
    put: list[tuple[int, int]] = []
    for j in range(first, last):
        counts.store[used] = 0
        query(counts, states, base, ranks, extra, 0, j, origin, used, (0, 1))
        expected = sum(
            value
            for i, value in put
            if all(
                codes[previous, i] != NOTHING
                and codes[following, j] != NOTHING
                and HOLDS[operator](codes[previous, i], codes[following, j])
                for previous, following, operator in link
            )
        )
        assert counts.store[used] == expected, j
        counts.store[used + 1] = j - first + 1
        insert(counts, states, base, ranks, extra, 0, j, origin, used + 1, (0, 1))
        put.append((j, j - first + 1))


KINDS = {EQUALS: LEAF, DIFFERS: BOTH_SIDES}


@pytest.mark.parametrize("operator", HOLDS)
@pytest.mark.parametrize("following", [0, 1])
@example(drawn=[(2, 0), (3, 0), (5, 2)], skip=1, count=2)  # the equal of the last event lies outside of the range
@given(st.lists(st.tuples(CODES, CODES), min_size=1, max_size=30), st.integers(0, 29), st.integers(1, 30))
def test_a_tree_answers_a_comparison_as_a_walk_does(
    operator: int, following: int, drawn: list[tuple[int, int]], skip: int, count: int
) -> None:
    codes = np.array(drawn, dtype=np.int64).T.copy()
    link = [(0, following, operator)]
    automaton = automaton_of(KINDS.get(operator, PREFIX), link, (0, following, operator, 0))
    require_index(automaton, codes, link)
    first = min(skip, len(drawn) - 1)
    require_index(automaton, codes, link, (first, min(first + count, len(drawn))))


SMALL = st.sampled_from((0, 1, 2, 3, 1, int(NOTHING)))


def composed(key: int, order: int, stride: int) -> int:
    return int(NOTHING) if NOTHING in (key, order) else key * stride + order


@pytest.mark.parametrize("operator", [LESS, LESS_EQUAL, DIFFERS])
@pytest.mark.parametrize("own", [True, False])
@given(st.lists(st.tuples(SMALL, SMALL, SMALL, SMALL), min_size=1, max_size=30), st.integers(0, 29), st.integers(1, 30))
def test_a_tree_answers_an_equality_beside_a_comparison_as_a_walk_does(
    operator: int, own: bool, drawn: list[tuple[int, int, int, int]], skip: int, count: int
) -> None:
    # Columns: key and order of both sides, then both as one code, as trees take them.
    stride = 4
    rows = [(a, b, *((a, b) if own else (c, d))) for a, b, c, d in drawn]
    codes = np.array([(*row, composed(*row[:2], stride), composed(*row[2:], stride)) for row in rows]).T.copy()
    link = [(0, 2, EQUALS), (1, 3, operator)]
    following = 4 if own else 5
    automaton = automaton_of(KINDS.get(operator, PREFIX), link, (4, following, operator, stride))
    require_index(automaton, codes, link)
    first = min(skip, len(drawn) - 1)
    require_index(automaton, codes, link, (first, min(first + count, len(drawn))))


COMPARED = st.sampled_from((LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUALS))


@given(
    st.lists(st.tuples(CODES, CODES, CODES, CODES), min_size=1, max_size=60),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), COMPARED), min_size=1, max_size=3),
    st.integers(0, 59),
)
def test_a_box_answers_several_comparisons_as_a_walk_does(
    drawn: list[Any], link: list[tuple[int, int, int]], skip: int
) -> None:
    codes = np.array(drawn, dtype=np.int64).T.copy()
    require_index(automaton_of(BOX, link, None), codes, link)
    require_index(automaton_of(BOX, link, None), codes, link, (min(skip, len(drawn) - 1), len(drawn)))


@given(
    st.lists(st.tuples(CODES, CODES, CODES, CODES), min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from(sorted(HOLDS))), min_size=1, max_size=3),
    st.booleans(),
    st.integers(0, 39),
)
def test_a_list_answers_any_comparisons_as_a_walk_does(
    drawn: list[Any], link: list[tuple[int, int, int]], ranked: bool, skip: int
) -> None:
    codes = np.array(drawn, dtype=np.int64).T.copy()
    narrowed = (*link[0], 0) if ranked and link[0][2] != DIFFERS else None
    require_index(automaton_of(SCAN, link, narrowed), codes, link)
    require_index(automaton_of(SCAN, link, narrowed), codes, link, (min(skip, len(drawn) - 1), len(drawn)))


@given(st.lists(CODES, min_size=1, max_size=20))
def test_a_running_total_sums_everything(drawn: list[int]) -> None:
    require_index(automaton_of(FREE, [], None), np.array([drawn], dtype=np.int64), [])


@pytest.mark.parametrize("operator", [LESS, GREATER_EQUAL, EQUALS, DIFFERS])
@pytest.mark.parametrize("different", [5, 300])
def test_a_large_partition_with_few_codes_is_ranked_as_a_small_one(operator: int, different: int) -> None:
    draw = random.Random(different)
    codes = np.array([[draw.choice((NOTHING, *range(-3, different))) for _ in range(2000)]], dtype=np.int64)
    rank = np.array([[0, 0, operator, 0]], dtype=np.int64)
    whole = new_ranks(rank, 2000, 2000)
    rank_partition(rank, codes, 0, 2000, whole, new_scratch(rank, 2000))
    sign = -1 if operator == GREATER_EQUAL else 1
    known = sorted({sign * code for code in codes[0].tolist() if code != NOTHING})
    place = {sign * code: at for at, code in enumerate(known)} | {int(NOTHING): -1}
    assert whole.distinct[0] == len(known)
    assert whole.place[0].tolist() == [place[code] for code in codes[0].tolist()]
