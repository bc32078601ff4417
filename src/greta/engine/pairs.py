"""Outermost AND: from the trends of each side and of both to pairs of different trends (§9).

With X trends only left, Y only right and Z on both sides there are XY + XZ + YZ + Z(Z-1)/2 pairs; the other
aggregates run over the events of both trends of every pair.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.engine.run import Values
from greta.kernels.layout import NOTHING
from greta.plan.measures import Combine, Measure, Trends


def pair_up(measures: tuple[Measure, ...], left: Values, right: Values, both: Values) -> Values:
    """Values per run of the pairs. Counts are exact whatever their size: differences need it."""
    x, y, z = (_objects(side.adds[0]) for side in (left, right, both))
    x, y = x - z, y - z
    with_left, with_right, with_both = y + z, x + z, x + y + z - 1
    paired = _Paired((with_left > 0) & (x > 0), (with_right > 0) & (y > 0), (with_both > 0) & (z > 0))
    adds: dict[int, NDArray[Any]] = {}
    maxes: dict[int, NDArray[Any]] = {}
    for at, measure in enumerate(measures):
        if isinstance(measure, Trends):
            adds[at] = x * y + x * z + y * z + z * (z - 1) // 2
        elif measure.combine is Combine.MAX:
            maxes[at] = _extreme(paired, left.maxes[at], right.maxes[at], both.maxes[at])
        else:
            sides = [_objects(side.adds[at]) for side in (left, right, both)]
            infinite = [_infinite(side) for side in sides]
            a, b, c = (np.where(beyond, 0, side) for beyond, side in zip(infinite, sides, strict=True))
            adds[at] = (a - c) * with_left + (b - c) * with_right + c * with_both
            _add_infinite(paired, sides, infinite, adds[at])
    return Values(adds, maxes)


class _Paired(NamedTuple):
    """Per run: whether the trends only left, only right and on both sides exist and have partners.

    A side's own value runs over its trends and those of both; where only the former or only the latter have
    partners, the other part must not show. Trends only left pair with those right, so they have no partner only if
    there are none right at all; those of both lack partners only if there is but one trend, and then there is no pair.
    """

    left: NDArray[Any]
    right: NDArray[Any]
    both: NDArray[Any]


def _add_infinite(
    paired: _Paired, sides: list[NDArray[Any]], infinite: list[NDArray[np.bool_]], result: NDArray[Any]
) -> None:
    """Infinite values have no differences: the sum is infinite as soon as one of them has a partner."""
    for row in np.flatnonzero(np.logical_or.reduce(infinite)):
        found = [s[row] for taken, s, beyond in zip(paired, sides, infinite, strict=True) if taken[row] and beyond[row]]
        if found:
            result[row] = sum(found)


def _infinite(column: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array([isinstance(value, float) for value in column.tolist()], dtype=bool)


def _extreme(paired: _Paired, *sides: NDArray[Any]) -> NDArray[Any]:
    """An extreme counts where its trend has a partner. Extremes are codes, or doubles with -∞ for none."""
    nothing = -np.inf if sides[0].dtype == np.float64 else NOTHING
    result = np.full(len(paired.left), nothing, dtype=sides[0].dtype)
    for taken, side in zip(paired, sides, strict=True):
        result = np.maximum(result, np.where(taken.astype(bool), side, nothing))
    return result


def _objects(column: NDArray[Any]) -> NDArray[Any]:
    """Python numbers: integers of any size, and doubles as exact fractions where they are finite."""
    if column.dtype == np.int64:
        return column.astype(object)
    return np.array([_fraction(value) for value in column.tolist()], dtype=object).reshape(len(column))


def _fraction(value: Any) -> Any:
    from fractions import Fraction

    return Fraction(value) if isinstance(value, float) and np.isfinite(value) else value
