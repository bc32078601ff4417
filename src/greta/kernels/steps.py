"""The steps of a flow, run for one event: what starting a trend, or taking part in one, does to a row's slots.

The numbers of operations are those of ``greta.plan.flows.Op``; a test holds the two together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import INNER_OPTIONS, inner
from greta.kernels.layout import FACTOR, GUARD, OPERATION, ORIGIN, TARGET, WEIGHT, Int, Weights
from greta.kernels.numbers import LANE_0, ONE_LANE, Arena, Rows, by_arena
from greta.kernels.single import Single
from greta.kernels.stores import add_product, by_store, copy, is_zero, nothing_in, zero

ADD = 0
COPY = 1
ZERO = 2
RAISE = 3
PUT = 4
JOIN = 5
LOWER = 6
RAISE_IF = 7
CLEAR = 8


def take_steps(
    arena: Arena, steps: Int, weights: Weights, first: int, last: int, i: int, row: int, low: int, high: int
) -> None:
    """Run the steps ``[first, last)`` for event ``i`` on the lanes ``[low, high)`` of a row."""
    chosen: Any = _single_steps if isinstance(arena, Single) else _rows_steps
    chosen(arena, steps, weights, first, last, i, row, low, high)


@inner
def _single_steps(
    single: Single,
    steps: Int,
    weights: Weights,
    first: int,
    last: int,
    i: int,
    row: int,
    low: int,  # noqa: ARG001
    high: int,  # noqa: ARG001
) -> None:
    """The same as ``_rows_steps`` for one lane of doubles."""
    store = single.store
    for at in range(first, last):
        guard = steps[at, GUARD]
        if guard >= 0 and weights.guards[guard, i] == 0:
            continue
        operation = steps[at, OPERATION]
        target = row * single.adds + steps[at, TARGET]
        origin = row * single.adds + steps[at, ORIGIN]
        weight = float(steps[at, FACTOR])
        if steps[at, WEIGHT] >= 0:
            weight = weights.doubles[steps[at, WEIGHT], i]
        if operation == ADD:
            if weight != 0.0 and store[origin] != 0.0:
                store[target] += weight * store[origin]
        elif operation == COPY:
            store[target] = store[origin]
        elif operation == ZERO:
            store[target] = 0.0
        else:
            adds, maxes = single.adds, single.maxes
            rows = Rows(store, single.maxima, ONE_LANE, adds, maxes, adds, maxes, adds, maxes)
            target, origin = steps[at, TARGET], steps[at, ORIGIN]
            _change_extremes(rows, operation, target, origin, weight, row, LANE_0, ONE_LANE)


@inner
def _rows_steps(
    rows: Rows, steps: Int, weights: Weights, first: int, last: int, i: int, row: int, low: int, high: int
) -> None:
    for at in range(first, last):
        guard = steps[at, GUARD]
        if guard >= 0 and weights.guards[guard, i] == 0:
            continue
        operation = steps[at, OPERATION]
        target = steps[at, TARGET]
        origin = steps[at, ORIGIN]
        integer = steps[at, FACTOR]
        double = float(integer)
        column = steps[at, WEIGHT]
        if column >= 0:
            # Weights are in the representation of the run: one of the two arrays is empty.
            if weights.doubles.shape[0] > 0:
                double = weights.doubles[column, i]
            else:
                integer = weights.integers[column, i]
        if operation <= ZERO:
            a = row * rows.words + target * rows.width + low
            b = row * rows.words + origin * rows.width + low
            if operation == ADD:
                add_product(rows.store, a, b, high - low, double, integer)
            elif operation == COPY:
                copy(rows.store, a, b, high - low)
            else:
                zero(rows.store, a, high - low)
        else:
            weight = in_maxima(rows.maxima, double, integer)
            _change_extremes(rows, operation, target, origin, weight, row, low, high)


def in_maxima(maxima: NDArray[Any], double: float, integer: int) -> Any:
    """A weight in the representation of the extremes."""
    return double if maxima.dtype == np.float64 else integer


@inner
def _a_double(maxima: NDArray[np.float64], double: float, integer: int) -> float:  # noqa: ARG001
    return double


@inner
def _an_integer(maxima: NDArray[np.int64], double: float, integer: int) -> int:  # noqa: ARG001
    return integer


@inner
def _change_extremes(
    rows: Rows, operation: int, target: int, origin: int, weight: Any, row: int, low: int, high: int
) -> None:
    """One step on extreme slots, lane by lane."""
    nothing = nothing_in(rows.maxima)
    a = row * rows.extremes + target * rows.width
    b = row * rows.extremes + origin * rows.width
    result = rows.maxima[a + low : a + high]
    source = rows.maxima[b + low : b + high]
    if operation == RAISE:
        for i in range(result.shape[0]):
            if weight > result[i] and not is_zero(rows.store, row * rows.words + low + i):
                result[i] = weight
    elif operation == PUT:
        for i in range(result.shape[0]):
            result[i] = source[i] + weight if source[i] != nothing else nothing
    elif operation == JOIN:
        for i in range(result.shape[0]):
            if source[i] != nothing:
                result[i] = max(result[i], source[i] + weight)
    elif operation == LOWER:
        for i in range(result.shape[0]):
            if result[i] != nothing:
                result[i] = min(result[i], weight)
    elif operation == RAISE_IF:
        for i in range(result.shape[0]):
            if source[i] != nothing:
                result[i] = max(result[i], weight)
    else:
        for i in range(result.shape[0]):
            result[i] = nothing


by_store(in_maxima, _a_double, _an_integer, _an_integer)
by_arena(take_steps, _single_steps, _rows_steps, INNER_OPTIONS)
