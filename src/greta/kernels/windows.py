"""Windows of a partition: which events each holds, windows of equal content once (paper, §6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel, part, small
from greta.kernels.layout import NOTHING

Int = NDArray[np.int64]

_NEVER = 2**62
_MOST_AT_FIRST = 1 << 19
"""Runs that there is room for to begin with, besides one per partition."""


class Sliding(NamedTuple):
    """Windows that slide over time."""

    within: int
    """0: one window over all."""
    slide: int
    owned: Int
    """Per partition, or once for all: the first window that counts and the one past the last."""


class WindowRuns(NamedTuple):
    """Runs of windows that hold the same events of a partition."""

    offsets: Int
    """Per partition: its slice of the runs."""
    first_window: Int
    last_window: Int
    first: Int
    """The first of its events, and the one past the last."""
    last: Int


class Barriers(NamedTuple):
    """Matches of a NOT: per partition, which slice of the ends (ascending) and starts concerns it, or -1."""

    of_partition: Int
    offsets: Int
    ends: Int
    starts: Int


class Breaks(NamedTuple):
    """Windows that differ from the one before although they hold the same events: a match left them or joined them."""

    of_partition: Int
    """[negative, partition]: its slice of the windows, or -1."""
    offsets: Int
    windows: Int
    """Ascending within a slice."""
    at: Int
    """Scratch: a position per negative."""


@inner
def first_at_or_after(time: Int, low: int, high: int, instant: int | np.int64) -> int:
    """First position in ``[low, high)`` whose time is not before ``instant``; ``high`` if none."""
    while low < high:
        middle = (low + high) // 2
        if time[middle] < instant:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def window_runs(offsets: Int, time: Int, sliding: Sliding, merge: bool, breaks: Breaks, partitions: Int) -> WindowRuns:
    """Runs of windows that hold the same events of a partition.

    Without ``merge`` every window is a run of its own; a run ends before each of the ``breaks``. At most two runs per
    event and one per break, whatever the number of windows per event is.
    """
    within, slide, owned = sliding
    # Windows after which one begins as another ends; where they never meet, more than there are.
    each = within // slide if slide > 0 and within % slide == 0 else _NEVER
    ends = np.empty(partitions.shape[0] + 1, dtype=np.int64)
    # Columns of a run: first window, last window, first event, one past the last event.
    runs = np.empty((4, _at_first(offsets, time, sliding, partitions)), dtype=np.int64)
    count = 0
    for k in range(partitions.shape[0]):
        begin = offsets[partitions[k]]
        end = offsets[partitions[k] + 1]
        ends[k] = count
        if begin == end:
            continue
        if within == 0:
            # As many runs as partitions at most, so there is room.
            _write_run(runs, count, 0, 0, begin, end)
            count += 1
            continue
        for negative in range(breaks.at.shape[0]):
            slice_ = breaks.of_partition[negative, partitions[k]]
            breaks.at[negative] = breaks.offsets[max(slice_, 0)]
        low = begin
        high = begin
        column = min(partitions[k], owned.shape[1] - 1)
        beyond = owned[1, column]
        window = max(owned[0, column], _ceil(time[begin] - within + 1, slide))
        while low < end and window < beyond:
            opens = window * slide
            closes = opens + within
            # Where an earlier window ended as this one begins, its end is the event to begin with.
            ended = count - each
            if ended >= ends[k] and runs[0, ended] == window - each:
                low = max(low, runs[3, ended])
            while low < end and time[low] < opens:
                low += 1
            if low == end:
                break
            if high < low:
                high = low
            while high < end and time[high] < closes:
                high += 1
            if low == high:
                window = max(window + 1, _ceil(time[low] - within + 1, slide))
                continue
            after = window + 1
            # Divisions take longer than all else here, and windows that slide over many events differ.
            if merge and time[low] >= opens + slide and (high == end or time[high] >= closes + slide):
                after = time[low] // slide + 1
                if high < end:
                    after = min(after, (time[high] - within) // slide + 1)
                for negative in range(breaks.at.shape[0]):
                    after = min(after, _next_break(breaks, negative, partitions[k], window))
                after = min(after, beyond)
            if count == runs.shape[1]:
                runs = _twice(runs)
            _write_run(runs, count, window, after - 1, low, high)
            count += 1
            window = after
    ends[partitions.shape[0]] = count
    return WindowRuns(ends, runs[0, :count], runs[1, :count], runs[2, :count], runs[3, :count])


@inner
def _at_first(offsets: Int, time: Int, sliding: Sliding, partitions: Int) -> int:
    """Room for runs to begin with, which grows: one per partition, and about as many as there may be, up to a limit."""
    room = 0
    if sliding.within > 0:
        each = sliding.within // sliding.slide + 2
        for k in range(partitions.shape[0]):
            begin, end = offsets[partitions[k]], offsets[partitions[k] + 1]
            if begin < end and room < _MOST_AT_FIRST:
                span = time[end - 1] - time[begin]
                most = 2 * (end - begin)
                # Less than nothing: 64 bits do not hold times so far apart.
                room += min(span // sliding.slide + each, most) if span >= 0 else most
    return int(partitions.shape[0] + min(room, _MOST_AT_FIRST) + 1)


@small
def _write_run(runs: Int, at: int, first_window: int, last_window: int, first: int, last: int) -> None:
    runs[0, at] = first_window
    runs[1, at] = last_window
    runs[2, at] = first
    runs[3, at] = last


@part
def _twice(runs: Int) -> Int:
    """The same with room for twice as many."""
    more = np.empty((runs.shape[0], 2 * runs.shape[1]), dtype=np.int64)
    for column in range(runs.shape[0]):
        for at in range(runs.shape[1]):
            more[column, at] = runs[column, at]
    return more


@inner
def _next_break(breaks: Breaks, negative: int, partition: int, window: int) -> int:
    """The first break after ``window``; asked with rising windows."""
    slice_ = breaks.of_partition[negative, partition]
    if slice_ < 0:
        return _NEVER
    at = breaks.at[negative]
    stop = breaks.offsets[slice_ + 1]
    while at < stop and breaks.windows[at] <= window:
        at += 1
    breaks.at[negative] = at
    return breaks.windows[at] if at < stop else _NEVER


@inner
def _ceil(a: int, b: int) -> int:
    return -((-a) // b)


@kernel
def clip_leading(
    partitions: Int, runs: WindowRuns, slide: int, time: Int, barriers: Barriers, first: Int, last: Int
) -> None:
    """Leading NOT: no event of a run later than the first match to end."""
    for k in range(partitions.shape[0]):
        b = barriers.of_partition[partitions[k]]
        if b < 0:
            continue
        at = barriers.offsets[b]
        stop = barriers.offsets[b + 1]
        for run in range(runs.offsets[k], runs.offsets[k + 1]):
            opens = runs.first_window[run] * slide if slide > 0 else NOTHING
            while at < stop and barriers.starts[at] < opens:
                at += 1
            if at == stop:
                break
            clipped = first_at_or_after(time, first[run], max(first[run], last[run]), barriers.ends[at] + 1)
            last[run] = min(last[run], clipped)


@kernel
def clip_trailing(
    partitions: Int, runs: WindowRuns, sliding: Sliding, time: Int, barriers: Barriers, first: Int, last: Int
) -> None:
    """Trailing NOT: no event of a run earlier than the last match to start. Starts may be in any order."""
    for k in range(partitions.shape[0]):
        b = barriers.of_partition[partitions[k]]
        if b < 0:
            continue
        at = barriers.offsets[b]
        stop = barriers.offsets[b + 1]
        latest = NOTHING
        for run in range(runs.offsets[k], runs.offsets[k + 1]):
            closes = runs.first_window[run] * sliding.slide + sliding.within
            while at < stop and (sliding.slide == 0 or barriers.ends[at] < closes):
                latest = max(latest, barriers.starts[at])
                at += 1
            if latest != NOTHING:
                clipped = first_at_or_after(time, first[run], max(first[run], last[run]), latest)
                first[run] = max(first[run], clipped)


@kernel
def cutoffs(offsets: Int, time: Int, barriers: Barriers, result: Int) -> None:
    """Per event: the latest start among the matches that ended before it; NOT in the middle.

    Where there is none, the smallest number that is not NULL.
    """
    for p in range(offsets.shape[0] - 1):
        latest = NOTHING + 1
        b = barriers.of_partition[p]
        at = barriers.offsets[b] if b >= 0 else 0
        stop = barriers.offsets[b + 1] if b >= 0 else 0
        for i in range(offsets[p], offsets[p + 1]):
            while at < stop and barriers.ends[at] < time[i]:
                latest = max(latest, barriers.starts[at])
                at += 1
            result[i] = latest
