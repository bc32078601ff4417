"""The kernels' numbers by themselves: integers with a flag, wide integers and scaled doubles against Python's own."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greta.kernels import broad
from greta.kernels import stores as numbers

CELLS = 3
"""Numbers of a row here; those of several words lie this far apart."""
WIDTHS = st.sampled_from((1, 2, 3))


def whole(width: int) -> st.SearchStrategy[int]:
    """Integers of so many limbs, most of them near a place where a carry, a sign or a limb begins."""
    low, high = -(2 ** (64 * width - 1)), 2 ** (64 * width - 1) - 1
    powers = [sign * 2**bit for bit in (0, 31, 32, 63, 64, 95, 127, 128, 64 * width - 2) for sign in (1, -1)]
    near = st.builds(lambda power, step: power + step, st.sampled_from([0, *powers]), st.integers(-2, 2))
    edges = st.sampled_from((low, low + 1, high, high - 1))
    return st.one_of(near, edges, st.integers(low, high)).map(lambda value: min(max(value, low), high))


WEIGHTS = st.one_of(
    st.sampled_from((0, 1, -1, 2, 2**32, -(2**32), 2**63 - 1, -(2**63), 2**62)), st.integers(-(2**63), 2**63 - 1)
)


def wide_store(width: int, rows: list[list[int]]) -> Any:
    store = broad.new_store(broad.wide(width), len(rows), CELLS)
    for row, values in enumerate(rows):
        for cell, value in enumerate(values):
            for limb in range(width):
                word = value >> (64 * limb) & (2**64 - 1)
                store.limbs[(row * width + limb) * CELLS + cell] = word
    return store


def wide_value(store: Any, row: int, cell: int) -> int:
    limbs = [int(store.limbs[(row * store.width + limb) * CELLS + cell]) for limb in range(store.width)]
    value = sum(word << (64 * limb) for limb, word in enumerate(limbs))
    return value - 2 ** (64 * store.width) if limbs[-1] >> 63 else value


def fits(value: int, width: int) -> bool:
    return -(2 ** (64 * width - 1)) <= value < 2 ** (64 * width - 1)


@given(st.data(), WIDTHS)
def test_wide_integers_add_as_integers_do_and_say_where_they_do_not_fit(data: st.DataObject, width: int) -> None:
    row = st.lists(whole(width), min_size=CELLS, max_size=CELLS)
    a, b = data.draw(row), data.draw(row)
    store = wide_store(width, [[0] * CELLS, a, b])
    numbers.add(store, 1 * CELLS * width, 2 * CELLS * width, CELLS)
    sums = [x + y for x, y in zip(a, b, strict=True)]
    assert numbers.overflowed(store) == (not all(fits(total, width) for total in sums))
    assert not numbers.overflowed(store)
    for cell, total in enumerate(sums):
        assert (wide_value(store, 1, cell) - total) % 2 ** (64 * width) == 0
        assert wide_value(store, 2, cell) == b[cell]
        assert wide_value(store, 0, cell) == 0


@given(st.data(), WIDTHS, WEIGHTS)
def test_wide_products_are_exact_or_say_that_they_do_not_fit(data: st.DataObject, width: int, weight: int) -> None:
    start, factor = data.draw(whole(width)), data.draw(whole(width))
    store = wide_store(width, [[1, start, 2], [3, factor, 4]])
    numbers.add_product(store, 1, CELLS * width + 1, 1, float(weight), np.int64(weight))
    product, total = factor * weight, start + factor * weight
    if not numbers.overflowed(store):
        assert wide_value(store, 0, 1) == total
    else:
        assert not (abs(product) < 2 ** (64 * width - 1) and fits(total, width))
    assert [wide_value(store, 0, cell) for cell in (0, 2)] == [1, 2]
    assert [wide_value(store, 1, cell) for cell in range(CELLS)] == [3, factor, 4]


@pytest.mark.parametrize("weight", [3, -3])
def test_a_wide_product_carries_from_limb_to_limb(weight: int) -> None:
    # Thrice the second limb is all ones, so that what the first one carries runs over.
    factor = 2**64 - 1 + (0x5555_5555_5555_5555 << 64)
    store = wide_store(3, [[1, 0, 2], [3, factor, 4]])
    numbers.add_product(store, 1, CELLS * 3 + 1, 1, float(weight), np.int64(weight))
    assert wide_value(store, 0, 1) == factor * weight


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_wide_product_that_reaches_the_bit_of_the_sign_does_not_fit(width: int) -> None:
    store = wide_store(width, [[1, 0, 2], [3, 2 ** (64 * width - 2), 4]])
    numbers.add_product(store, 1, CELLS * width + 1, 1, 2.0, np.int64(2))
    assert numbers.overflowed(store)


@given(st.data(), WIDTHS)
def test_one_more_carries_through_all_limbs(data: st.DataObject, width: int) -> None:
    # A trend starts in a row that holds counts, which are never negative.
    values = data.draw(st.lists(whole(width).map(lambda value: max(value, 0)), min_size=CELLS, max_size=CELLS))
    store = wide_store(width, [values])
    numbers.add_one(store, 0, CELLS)
    assert numbers.overflowed(store) == any(not fits(value + 1, width) for value in values)
    for cell, value in enumerate(values):
        assert (wide_value(store, 0, cell) - value - 1) % 2 ** (64 * width) == 0


def test_a_wide_number_is_zero_only_if_all_its_limbs_are() -> None:
    for width in (1, 2, 3):
        values = [0, 2 ** (64 * (width - 1)), 1]
        store = wide_store(width, [values])
        assert [numbers.is_zero(store, cell) for cell in range(CELLS)] == [True, False, False]


MANTISSAS = st.one_of(
    st.sampled_from((1.0, -1.0, 2.0**255, -(2.0**255), 2.0**-256, 1.5 * 2.0**255, 3.0, 0.0)),
    st.floats(2.0**-256, 2.0**256, exclude_max=True),
)
SCALED = st.tuples(MANTISSAS, st.integers(-3, 3)).map(lambda pair: pair if pair[0] else (0.0, 0))


def scaled_store(*values: tuple[float, int]) -> Any:
    store = broad.new_store(broad.scaled(), len(values), CELLS)
    numbers.zero(store, 0, CELLS * len(values) * 2)
    store.numbers[:] = 0.0
    for row, (mantissa, exponent) in enumerate(values):
        store.numbers[2 * row * CELLS] = mantissa
        store.numbers[(2 * row + 1) * CELLS] = exponent
    return store


def scaled_value(store: Any, row: int) -> Fraction:
    """The number in the first cell of a row, whose form must be the only one it has."""
    mantissa, exponent = float(store.numbers[2 * row * CELLS]), float(store.numbers[(2 * row + 1) * CELLS])
    if mantissa == 0.0:
        assert exponent == 0.0
    else:
        assert 2.0**-256 <= abs(mantissa) < 2.0**256
    return exact(mantissa, int(exponent))


def exact(mantissa: float, exponent: int) -> Fraction:
    return Fraction(mantissa) * Fraction(2) ** (512 * exponent)


@example((2.0**-250, 1), (2.0**250, 0))  # exponents differ, and the smaller number still counts
@example((2.0**250, 0), (2.0**-250, 1))
@given(SCALED, SCALED)
def test_scaled_doubles_add_to_the_last_bit_of_the_larger_one(a: tuple[float, int], b: tuple[float, int]) -> None:
    store = scaled_store(a, b)
    numbers.add(store, 0, 2 * CELLS, 1)
    one, other = exact(*a), exact(*b)
    assert abs(scaled_value(store, 0) - one - other) <= max(abs(one), abs(other)) * Fraction(2) ** -52
    assert scaled_value(store, 1) == other
    assert not numbers.overflowed(store)


@given(SCALED, SCALED, st.floats(allow_nan=False, allow_infinity=False))
def test_scaled_doubles_take_weights_of_any_size(a: tuple[float, int], b: tuple[float, int], weight: float) -> None:
    store = scaled_store(a, b)
    numbers.add_product(store, 0, 2 * CELLS, 1, weight, np.int64(0))
    one, product = exact(*a), exact(*b) * Fraction(weight)
    assert abs(scaled_value(store, 0) - one - product) <= max(abs(one), abs(product)) * Fraction(2) ** -51


@pytest.mark.parametrize("count", [1, 600, 3000])
def test_scaled_doubles_grow_without_an_end(count: int) -> None:
    store = scaled_store((1.0, 0), (0.0, 0))
    for _ in range(count):
        numbers.copy(store, 2 * CELLS, 0, 1)
        numbers.add(store, 0, 2 * CELLS, 1)
    assert scaled_value(store, 0) == 2**count
    numbers.add_one(store, 2 * CELLS, 1)
    assert scaled_value(store, 1) == (2 ** (count - 1) + 1 if count < 53 else 2 ** (count - 1))


def test_an_infinite_weight_makes_a_scaled_double_infinite_and_zero_stays_zero() -> None:
    store = scaled_store((1.0, 2), (3.0, 1), (0.0, 0))
    numbers.add_product(store, 0, 4 * CELLS, 1, math.inf, np.int64(0))
    assert scaled_value(store, 0) == exact(1.0, 2)
    numbers.add_product(store, 0, 2 * CELLS, 1, -math.inf, np.int64(0))
    assert store.numbers[0] == -math.inf


LIMIT = numbers.LARGEST_INTEGER


def test_the_nodes_on_a_path_add_up_within_64_bits() -> None:
    # A tree of any size that fits into memory has fewer than 64 of them, and a flag is looked at only afterwards.
    assert 64 * LIMIT < 2**63


def integer_store(values: list[int]) -> Any:
    store = np.zeros(len(values) + 1, dtype=np.int64)
    store[:-1] = values
    return store


@pytest.mark.parametrize(
    ("a", "b", "flag"),
    [
        (LIMIT - 2, 1, False),
        (LIMIT - 1, 1, True),
        (LIMIT - 1, 0, False),
        (-LIMIT, 0, False),
        (-LIMIT, -1, True),
        (LIMIT, -1, False),
    ],
)
def test_integers_raise_their_flag_where_they_become_too_large(a: int, b: int, flag: bool) -> None:
    store = integer_store([7, a, 7, b])
    numbers.add(store, 1, 3, 1)
    assert store[:-1].tolist() == [7, a + b, 7, b]
    assert numbers.overflowed(store) == flag
    assert not numbers.overflowed(store)
    trees = integer_store([0, a, b])
    numbers.sum_path(trees, 1, 2, 1, 1, 1)
    assert (trees[1], numbers.overflowed(trees)) == (a + b, flag)
    trees = integer_store([0, a, b])
    numbers.add_path(trees, 2, 1, 0, 1, 1, 1)
    assert (trees[1], numbers.overflowed(trees)) == (a + b, flag)


@given(st.integers(-LIMIT, LIMIT), st.integers(-LIMIT, LIMIT), WEIGHTS)
def test_products_of_integers_never_wrap(start: int, factor: int, weight: int) -> None:
    store = integer_store([start, factor])
    numbers.add_product(store, 0, 1, 1, float(weight), np.int64(weight))
    if numbers.overflowed(store):
        # The product is judged as a double, so what is as large as the limit but for its last digits may be refused.
        assert abs(factor * weight) > LIMIT * (1 - 2**-50) or abs(start + factor * weight) > LIMIT
    else:
        assert store[0] == start + factor * weight


def test_a_weight_of_zero_adds_nothing_even_to_what_is_infinite() -> None:
    store = np.array([1.0, math.inf, 0.0])
    numbers.add_product(store, 0, 1, 1, 0.0, 0)
    assert store[0] == 1.0
    store = np.array([1.0, 0.0, 0.0])
    numbers.add_product(store, 0, 1, 1, math.inf, 0)
    assert store[0] == 1.0
