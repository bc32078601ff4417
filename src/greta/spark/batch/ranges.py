"""Time cut into ranges that overlap by WITHIN, so that one partition may run in many tasks (and little memory).

A range owns ``[r·length, (r+1)·length)``: the windows that start in it. It receives every event of those windows;
events of windows in two ranges go to both.

How long ranges are must be settled before the first event moves. Without having seen any, they last some overlaps,
which bounds what the cut can cost; counts per share of the keys tell whether a cut is needed at all, and how fine.
"""

from __future__ import annotations

from collections.abc import Sequence
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

_UNEVEN = 1.25
"""How many times its fair part the busiest task may have before time is cut."""

_PIECES = 4
"""Pieces per task that a busy partition is cut into, so that tasks end at about the same time."""

_MOST_EVENTS = 2_000_000
"""Events that a task should hold at once."""


@dataclass(frozen=True, slots=True)
class Share:
    """What was counted for one share of the keys: its events, and from when to when in seconds."""

    number: int
    events: int
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges of ``length`` milliseconds, a multiple of every slide, for queries whose windows last up to ``within``.

    ``step`` is the greatest slide where all slides are the same: windows then start at its multiples only.
    """

    length: int
    within: int
    step: int

    @property
    def overlap(self) -> bool:
        """Whether an event may be in several ranges, and windows in a range that does not own them."""
        return self.within > self.step

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
    if cut == 0:
        return None
    if cut is not None:
        return _ranges(plans, cut * max((plan.window.within for plan in plans if plan.window), default=0))
    keyed = any(plan.partitioning.common for plan in plans)
    return _ranges(plans, _overlap(plans) * (_OVERLAPS if keyed else _OVERLAPS_UNKEYED))


def plan_measured_ranges(plans: tuple[Plan, ...], shares: Sequence[Share], tasks: int) -> Ranges | None:
    """Ranges for events that were counted, None where tasks get enough alike without a cut, or time cannot be cut.

    Never shorter than the overlap: at most twice as many events move.
    """
    total = sum(share.events for share in shares)
    if not total:
        return None
    loads = [0] * tasks
    for share in shares:
        loads[share.number % tasks] += share.events
    largest = max(shares, key=lambda share: share.events)
    if max(loads) * tasks <= _UNEVEN * total and largest.events <= _MOST_EVENTS:
        return None
    pieces = max(_PIECES * tasks * largest.events / total, largest.events / _MOST_EVENTS)
    wanted = (largest.last - largest.first) * 1_000 / pieces
    return _ranges(plans, max(wanted, _overlap(plans)))


def _overlap(plans: tuple[Plan, ...]) -> int:
    """Milliseconds that neighbouring ranges have in common, or a slide where they have nothing."""
    windows = [plan.window for plan in plans if plan.window is not None]
    longest = max((window.within - window.slide for window in windows), default=0)
    return max(longest, lcm(*(window.slide for window in windows)))


def _ranges(plans: tuple[Plan, ...], wanted: float) -> Ranges | None:
    """Ranges of about this many milliseconds."""
    windows = [plan.window for plan in plans]
    if any(window is None for window in windows):
        return None
    known = [window for window in windows if window is not None]
    unit = lcm(*(window.slide for window in known))
    within = max(window.within for window in known)
    length = max(1, ceil(wanted / unit)) * unit
    if length > 8 * max(wanted, within):
        # Slides that hardly ever meet: a range would be longer than is of use.
        return None
    step = known[0].slide if len({window.slide for window in known}) == 1 else 1
    return Ranges(length, within, step)
