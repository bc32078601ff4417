"""Values of measures from several graphs: partitions of one group, and both sides of an outermost AND (§9)."""

from __future__ import annotations

from typing import Any

from greta.graph.totals import greatest, plus
from greta.plan.measures import Combine, Measure, Trends


def combined(measures: tuple[Measure, ...], one: list[Any], other: list[Any]) -> list[Any]:
    """The values over the trends of both."""
    return [
        plus(a, b) if measure.combine is Combine.ADD else greatest(a, b)
        for measure, a, b in zip(measures, one, other, strict=True)
    ]


def nothing(measures: tuple[Measure, ...]) -> list[Any]:
    """The values over no trends."""
    return [0 if measure.combine is Combine.ADD else None for measure in measures]


def paired(measures: tuple[Measure, ...], left: list[Any], right: list[Any], both: list[Any]) -> list[Any]:
    """X trends only left, Y only right and Z on both sides make XY + XZ + YZ + Z(Z-1)/2 pairs of different trends.

    The other measures run over both trends of every pair.
    """
    z = both[0]
    x, y = left[0] - z, right[0] - z
    partners_of_x, partners_of_y, partners_of_z = y + z, x + z, x + y + z - 1
    taken = ((left, x and partners_of_x), (right, y and partners_of_y), (both, z and partners_of_z))
    result = nothing(measures)
    for at, measure in enumerate(measures):
        if isinstance(measure, Trends):
            result[at] = x * y + x * z + y * z + z * (z - 1) // 2
        elif measure.combine is Combine.MAX:
            # A trend of both sides shows in the extremes of each; where it has no partner, nothing has.
            for side, has_partner in taken:
                result[at] = greatest(result[at], side[at]) if has_partner else result[at]
        elif any(isinstance(side[at], float) for side in (left, right, both)):
            # Infinite sums have no differences: one with a partner makes the whole infinite.
            result[at] = sum(side[at] for side, has_partner in taken if has_partner and isinstance(side[at], float))
        else:
            a, b, c = left[at], right[at], both[at]
            result[at] = (a - c) * partners_of_x + (b - c) * partners_of_y + c * partners_of_z
    return result
