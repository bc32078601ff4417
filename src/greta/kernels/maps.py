"""What a stretch of events makes of running totals: matrices that follow one another.

Additive slots are linear in (+, ·), extreme ones in (max, +); that a trend reaches a total is an extreme of its own,
0 or NOTHING. A map is a matrix with a column per total and per result, and a row per total before, in front of them
one for trends that start within the stretch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, part, small
from greta.kernels.layout import Int, Slots

Doubles = NDArray[np.float64]

NONE_REACHED = -np.inf
"""The extreme of no trend."""


class Shape(NamedTuple):
    """How maps are laid out: columns one after another, each with a row per total and one in front of them."""

    adds: int
    maxes: int
    """Totals of all indexes."""
    carried_adds: int
    carried_maxes: int
    """Totals of an index; of the extremes, the first is whether a trend reaches it."""
    add_rows: int
    max_rows: int
    add_size: int
    max_size: int
    """Numbers of a map."""


class Maps(NamedTuple):
    """Maps of stretches of events, counted from 0: map · size + column · rows + row."""

    adds: Doubles
    maxes: Doubles


@inner
def shape_of(indexes: int, slots: Slots) -> Shape:
    """The layout for so many indexes, each with a total per carried slot."""
    carried_maxes = 1 + slots.carried_maxes if slots.maxes > 0 else 0
    adds, maxes = indexes * slots.carried_adds, indexes * carried_maxes
    sizes = ((adds + slots.adds) * (1 + adds), (maxes + slots.maxes) * (1 + maxes))
    return Shape(adds, maxes, slots.carried_adds, carried_maxes, 1 + adds, 1 + maxes, sizes[0], sizes[1])


@part
def room_for(count: int, shape: Shape) -> Maps:
    """Room for so many maps, of unset content."""
    return Maps(np.empty(count * shape.add_size), np.empty(count * shape.max_size))


@part
def more_room(maps: Maps, begins: Int, shape: Shape) -> tuple[Maps, Int]:
    """The same maps with room for twice as many."""
    more, more_begins = room_for(2 * begins.shape[0], shape), np.empty(2 * begins.shape[0], dtype=np.int64)
    for i in range(maps.adds.shape[0]):
        more.adds[i] = maps.adds[i]
    for i in range(maps.maxes.shape[0]):
        more.maxes[i] = maps.maxes[i]
    for i in range(begins.shape[0]):
        more_begins[i] = begins[i]
    return more, more_begins


@small
def make_nothing(maps: Maps, number: int, shape: Shape) -> None:
    """The map of no events: every total stays what it is, and nothing is added to a result."""
    at = number * shape.add_size
    for i in range(shape.add_size):
        maps.adds[at + i] = 0.0
    for total in range(shape.adds):
        maps.adds[at + total * shape.add_rows + 1 + total] = 1.0
    at = number * shape.max_size
    for i in range(shape.max_size):
        maps.maxes[at + i] = NONE_REACHED
    for total in range(shape.maxes):
        maps.maxes[at + total * shape.max_rows + 1 + total] = 0.0


@small
def follow(maps: Maps, first: int, then: int, result: int, shape: Shape) -> None:
    """Make the map of one stretch and of the one right after it."""
    numbers, rows = maps.adds, shape.add_rows
    one, other, goal = first * shape.add_size, then * shape.add_size, result * shape.add_size
    for column in range(0, shape.add_size, rows):
        for row in range(column, column + rows):
            numbers[goal + row] = numbers[one + row] if column >= shape.adds * rows else 0.0
        # Trends that start in the second stretch have their own row there.
        numbers[goal + column] += numbers[other + column]
        for total in range(shape.adds):
            factor = numbers[other + column + 1 + total]
            # A zero makes nothing of anything, not even of infinity.
            if factor != 0.0 and abs(factor) < np.inf:
                for row in range(rows):
                    numbers[goal + column + row] += numbers[one + total * rows + row] * factor
            elif factor != 0.0:
                for row in range(rows):
                    if numbers[one + total * rows + row] != 0.0:
                        numbers[goal + column + row] += numbers[one + total * rows + row] * factor
    numbers, rows = maps.maxes, shape.max_rows
    one, other, goal = first * shape.max_size, then * shape.max_size, result * shape.max_size
    for column in range(0, shape.max_size, rows):
        for row in range(column, column + rows):
            numbers[goal + row] = numbers[one + row] if column >= shape.maxes * rows else NONE_REACHED
        numbers[goal + column] = max(numbers[goal + column], numbers[other + column])
        for total in range(shape.maxes):
            more = numbers[other + column + 1 + total]
            if more == NONE_REACHED:
                continue
            for row in range(rows):
                if numbers[one + total * rows + row] != NONE_REACHED:
                    raised = numbers[one + total * rows + row] + more
                    numbers[goal + column + row] = max(numbers[goal + column + row], raised)
