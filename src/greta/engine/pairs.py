"""Outermost AND: from the trends of each side and of both to pairs of different trends (§9).

With X trends only left, Y only right and Z on both sides there are XY + XZ + YZ + Z(Z-1)/2 pairs; the other
aggregates run over the events of both trends of every pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from greta.engine.run import Values
from greta.kernels.numbers import NOTHING
from greta.plan.nodes import Slot, SlotKind


def pair_up(slots: tuple[Slot, ...], left: Values, right: Values, both: Values) -> Values:
    """Values per run of the pairs. Counts are exact whatever their size: differences need it."""
    x, y, z = (_objects(side.adds[0]) for side in (left, right, both))
    x, y = x - z, y - z
    with_left, with_right, with_both = y + z, x + z, x + y + z - 1
    adds: dict[int, NDArray[Any]] = {}
    maxes: dict[int, NDArray[np.int64]] = {}
    for at, slot in enumerate(slots):
        if slot.kind is SlotKind.TRENDS:
            adds[at] = x * y + x * z + y * z + z * (z - 1) // 2
        elif slot.kind in (SlotKind.MIN, SlotKind.MAX):
            maxes[at] = _extreme(at, left, right, both, with_left > 0, with_right > 0, with_both > 0, x, y, z)
        else:
            a, b, c = (_objects(side.adds[at]) for side in (left, right, both))
            adds[at] = (a - c) * with_left + (b - c) * with_right + c * with_both
    return Values(adds, maxes)


def _extreme(
    at: int,
    left: Values,
    right: Values,
    both: Values,
    pairs_left: NDArray[np.bool_],
    pairs_right: NDArray[np.bool_],
    pairs_both: NDArray[np.bool_],
    x: NDArray[Any],
    y: NDArray[Any],
    z: NDArray[Any],
) -> NDArray[np.int64]:
    """An extreme counts where its trend has a partner.

    The left side's extreme runs over X and Z together; where only Z's or only X's trends have partners, the other
    part must not show. X's trends pair with Y and Z, so they have none only if Y = Z = 0; Z's lack partners only if
    X = Y = 0 and Z = 1, and then there is no pair at all.
    """
    nothing = np.full(len(x), NOTHING, dtype=np.int64)
    result = nothing.copy()
    take_left = pairs_left & (x > 0)
    take_right = pairs_right & (y > 0)
    take_both = pairs_both & (z > 0)
    for taken, side in ((take_left, left), (take_right, right), (take_both, both)):
        result = np.maximum(result, np.where(taken.astype(bool), side.maxes[at], nothing))
    return result


def _objects(column: NDArray[Any]) -> NDArray[Any]:
    """Python numbers: integers of any size, and doubles as exact fractions where they are finite."""
    if column.dtype == np.int64:
        return column.astype(object)
    return np.array([_fraction(value) for value in column.tolist()], dtype=object).reshape(len(column))


def _fraction(value: Any) -> Any:
    from fractions import Fraction

    return Fraction(value) if isinstance(value, float) and np.isfinite(value) else value
