"""Time cut into ranges that overlap by WITHIN, so that one partition may run in many tasks (and little memory).

A range owns ``[r·length, (r+1)·length)``: the windows that start in it. It receives every event of those windows;
events of windows in two ranges go to both.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, lcm

import numpy as np
from numpy.typing import NDArray

from greta.engine.times import Clock
from greta.plan.nodes import Plan

Int = NDArray[np.int64]

_OVERLAPS = 8
_OVERLAPS_UNKEYED = 3
"""Length of a range in overlaps: 1/8 more events to move, and 1/3 where ranges are all there is to share out."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges of ``length`` milliseconds, a multiple of every slide, for queries whose windows last up to ``within``.

    ``step`` is the greatest slide where all slides are the same: windows then start at its multiples only.
    """

    length: int
    within: int
    step: int

    def windows(self, plan: Plan) -> int:
        """How many of a query's windows a range owns."""
        assert plan.window is not None
        return self.length // plan.window.slide

    def number(self, time: Int, clock: Clock) -> tuple[Int, Int]:
        """(first, last) range of each event; first > last where an event lies in no window."""
        scale = clock.per_millisecond
        length, within, step = self.length * scale, self.within * scale, self.step * scale
        last_start = time // step * step
        first_start = (time - within) // step * step + step
        if clock.lowest_window == 0:
            np.maximum(first_start, 0, out=first_start)
        empty = first_start > last_start
        first, last = first_start // length, last_start // length
        last[empty] = first[empty] - 1
        return first, last


def plan_ranges(plans: tuple[Plan, ...], cut: float | None) -> Ranges | None:
    """Ranges that suit all these queries, None where time cannot be cut.

    ``cut`` is a range's length in multiples of the longest WITHIN; 0 asks for no cut, None for a length that
    moves an eighth more events than there are (a third more where the queries have no partitions to share out).
    """
    windows = [plan.window for plan in plans]
    if cut == 0 or any(window is None for window in windows):
        return None
    known = [window for window in windows if window is not None]
    unit = lcm(*(window.slide for window in known))
    within = max(window.within for window in known)
    if cut is not None:
        wanted = cut * within
    else:
        overlap = max(window.within - window.slide for window in known)
        keyed = any(plan.partitioning.common for plan in plans)
        wanted = max(overlap, unit) * (_OVERLAPS if keyed else _OVERLAPS_UNKEYED)
    length = max(1, ceil(wanted / unit)) * unit
    if length > 8 * max(wanted, within):
        # Slides that hardly ever meet: a range would be longer than is of use.
        return None
    step = known[0].slide if len({window.slide for window in known}) == 1 else 1
    return Ranges(length, within, step)
