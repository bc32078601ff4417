"""Aggregates flow along the edges of a graph that is never built: skip-till-any-match (§4.2, Algorithm 2).

Events are read in time order, a tick at a time. The row of a new vertex is the sum of its predecessors' rows,
read from one index per incoming transition, plus its own share; when the tick ends, the row joins the indexes of
its state. Several windows are computed at once, one per lane of a row: a lane starts trends only at events of
its window and adds to its result only until the window ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from greta.kernels import boxes as box_trees
from greta.kernels import fenwick
from greta.kernels import scans as scan_lists
from greta.kernels.boxes import Boxes, new_boxes, nodes_for
from greta.kernels.compiler import inner, kernel
from greta.kernels.layout import BOX, FREE, SCAN, Automaton, Events, Lanes
from greta.kernels.numbers import (
    NOTHING,
    Rows,
    add_cells,
    add_one,
    add_product,
    add_row,
    clear,
    is_zero,
    room,
)
from greta.kernels.ranks import Ranks, new_ranks, new_scratch, rank_chunk, rank_partition
from greta.kernels.scans import Scans, new_scans

_ONE = np.uint64(1)
_NONE = np.uint64(0)


@kernel
def propagate(
    automaton: Automaton,
    events: Events,
    lanes: Lanes,
    partitions: NDArray[np.int64],
    width: int,
    blank: Rows,
    words: NDArray[Any],
    maxima: NDArray[np.int64],
    latest: NDArray[np.int64],
    failed: NDArray[np.uint8],
) -> None:
    """Compute every window of the given partitions, ``width`` lanes at a time.

    Numbers are of the kind of ``blank``. ``words[window]`` and ``maxima[window]`` receive the results; ``failed``
    marks the partitions in which a number did not fit. If ``latest`` is not empty it receives, per event, the
    largest first extreme of a trend that ends there (the latest start, for negation). O(log n) per event, window
    and transition with one comparison; memory for the events of ``width`` windows.
    """
    adds = automaton.adds.shape[0]
    maxes = automaton.maxes.shape[0]
    indexes = automaton.index_kind.shape[0]
    overflow = blank.overflow
    chunk, partition_events = _largest(events, lanes, partitions, width)
    whole = new_ranks(automaton, partition_events)
    ranks = new_ranks(automaton, chunk)
    scratch = new_scratch(automaton, partition_events)
    ordinal = np.zeros(indexes, dtype=np.int64)
    box_count = 0
    scan_count = 0
    for index in range(indexes):
        if automaton.index_kind[index] == BOX:
            ordinal[index] = box_count
            box_count += 1
        elif automaton.index_kind[index] == SCAN:
            ordinal[index] = scan_count
            scan_count += 1
    trees = new_boxes(automaton, box_count, chunk)
    lists = new_scans(scan_count, chunk)
    base = np.empty(indexes, dtype=np.int64)
    capacity = 256
    rows = room(blank, capacity, adds * width, maxes * width)
    rank_of = np.empty(indexes, dtype=np.int64)
    for index in range(indexes):
        rank_of[index] = automaton.link_rank[automaton.index_link[index]]
    lows = np.empty(lanes.first.shape[0], dtype=np.int64)
    highs = np.empty(lanes.first.shape[0], dtype=np.int64)
    pending_state = np.empty(64, dtype=np.int64)
    pending_event = np.empty(64, dtype=np.int64)
    per_number = rows.words // rows.cells
    for k in range(partitions.shape[0]):
        p = partitions[k]
        begin = events.offsets[p]
        end = events.offsets[p + 1]
        if lanes.offsets[k] == lanes.offsets[k + 1]:
            continue
        overflow[0] = 0
        if automaton.rank_operator.shape[0] > 0:
            rank_partition(automaton, events, begin, end, whole, scratch)
        for window in range(lanes.offsets[k], lanes.offsets[k + 1], width):
            stop = min(window + width, lanes.offsets[k + 1])
            first, last = _extent(lanes, window, stop)
            if first >= last:
                for w in range(window, stop):
                    words[w] = 0
                    maxima[w] = NOTHING
                continue
            if automaton.rank_operator.shape[0] > 0:
                rank_chunk(automaton, whole, first - begin, last - first, ranks, scratch)
            used = 1
            for index in range(indexes):
                base[index] = used
                kind = automaton.index_kind[index]
                if kind == FREE:
                    used += 1
                elif kind == BOX:
                    box_trees.build(automaton, events, trees, ordinal[index], index, first, last)
                    size = trees.size[ordinal[index]]
                    used += nodes_for(size) + size
                elif kind == SCAN:
                    scan_lists.reset(automaton, lists, ordinal[index], index, ranks)
                    used += last - first
                else:
                    r = automaton.link_rank[automaton.index_link[index]]
                    used += fenwick.rows_for(kind, ranks.distinct[r])
            waiting = _largest_tick(automaton, events, first, last)
            if used + waiting > capacity:
                capacity = used + waiting + (used + waiting) // 2
                rows = room(blank, capacity, adds * width, maxes * width)
            if waiting > pending_state.shape[0]:
                pending_state = np.empty(waiting, dtype=np.int64)
                pending_event = np.empty(waiting, dtype=np.int64)
            clear(rows, 0, used)
            _sweep(
                automaton,
                events,
                lanes,
                rows,
                base,
                ordinal,
                trees,
                lists,
                ranks,
                window,
                stop,
                width,
                first,
                last,
                used,
                events.required[p],
                pending_state,
                pending_event,
                latest,
                rank_of,
                lows,
                highs,
            )
            for w in range(window, stop):
                for word in range(adds * per_number):
                    # Cells are aggregate-major; words of one number lie ``cells`` apart.
                    limb = word // adds
                    cell = (word % adds) * width + (w - window)
                    words[w, word] = rows.numbers[limb * rows.cells + cell]
                for x in range(maxes):
                    maxima[w, x] = rows.maxima[x * width + (w - window)]
            if overflow[0] != 0:
                failed[k] = 1
                break


@inner
def _largest(events: Events, lanes: Lanes, partitions: NDArray[np.int64], width: int) -> tuple[int, int]:
    """The most events that any ``width`` windows span, and any partition holds."""
    chunk = 0
    partition = 0
    for k in range(partitions.shape[0]):
        p = partitions[k]
        partition = max(partition, events.offsets[p + 1] - events.offsets[p])
        for window in range(lanes.offsets[k], lanes.offsets[k + 1], width):
            low, high = _extent(lanes, window, min(window + width, lanes.offsets[k + 1]))
            chunk = max(chunk, high - low)
    return chunk, partition


@inner
def _extent(lanes: Lanes, window: int, stop: int) -> tuple[int, int]:
    low = lanes.first[0, window]
    high = low
    started = False
    for clip in range(lanes.first.shape[0]):
        for w in range(window, stop):
            if lanes.first[clip, w] < lanes.last[clip, w]:
                if not started:
                    low = lanes.first[clip, w]
                    high = lanes.last[clip, w]
                    started = True
                else:
                    low = min(low, lanes.first[clip, w])
                    high = max(high, lanes.last[clip, w])
    return low, high


@inner
def _largest_tick(automaton: Automaton, events: Events, first: int, last: int) -> int:
    """The most vertices that one tick can bring."""
    most = 0
    here = 0
    for i in range(first, last):
        if i == first or events.time[i] != events.time[i - 1]:
            here = 0
        mask = events.mask[i]
        variable = 0
        while mask != _NONE:
            if mask & _ONE != _NONE:
                here += automaton.states_ptr[variable + 1] - automaton.states_ptr[variable]
            mask >>= _ONE
            variable += 1
        most = max(most, here)
    return most


@inner
def _sweep(
    automaton: Automaton,
    events: Events,
    lanes: Lanes,
    rows: Rows,
    base: NDArray[np.int64],
    ordinal: NDArray[np.int64],
    trees: Boxes,
    lists: Scans,
    ranks: Ranks,
    window: int,
    stop: int,
    width: int,
    first: int,
    last: int,
    free_row: int,
    required: int,
    pending_state: NDArray[np.int64],
    pending_event: NDArray[np.int64],
    latest: NDArray[np.int64],
    rank_of: NDArray[np.int64],
    lows: NDArray[np.int64],
    highs: NDArray[np.int64],
) -> None:
    """Read the events ``[first, last)`` once for the windows ``[window, stop)``; row 0 collects the results.

    Arrays of the inner loops are taken out of their tuples first: a call that is handed a tuple costs more than
    the work of most vertices.
    """
    adds = automaton.adds.shape[0]
    maxes = automaton.maxes.shape[0]
    time = events.time
    masks = events.mask
    states_ptr, states = automaton.states_ptr, automaton.states
    start, end, seen, clips = automaton.start, automaton.end, automaton.seen, automaton.clip
    in_ptr, in_index = automaton.in_ptr, automaton.in_index
    out_ptr, out_index = automaton.out_ptr, automaton.out_index
    kinds = automaton.index_kind
    lane_first, lane_last = lanes.first, lanes.last
    rank_next, rank_previous, distinct = ranks.next, ranks.previous, ranks.distinct
    bucket_first, bucket_last = ranks.bucket_first, ranks.bucket_last
    operators, strides = automaton.rank_operator, automaton.rank_stride
    lows[:] = window
    highs[:] = window
    i = first
    while i < last:
        tick = time[i]
        waiting = 0
        while i < last and time[i] == tick:
            # Bounds never fall from window to window, so the lanes that hold an event are next to each other.
            for clip in range(lows.shape[0]):
                low = lows[clip]
                while low < stop and lane_last[clip, low] <= i:
                    low += 1
                high = max(highs[clip], low)
                while high < stop and lane_first[clip, high] <= i:
                    high += 1
                lows[clip] = low
                highs[clip] = high
            mask = masks[i]
            variable = 0
            while mask != _NONE:
                if mask & _ONE == _NONE:
                    mask >>= _ONE
                    variable += 1
                    continue
                for at in range(states_ptr[variable], states_ptr[variable + 1]):
                    state = states[at]
                    low = lows[clips[state]] - window
                    high = highs[clips[state]] - window
                    if low >= high:
                        continue
                    row = free_row + waiting
                    clear(rows, row, row + 1)
                    alive = False
                    if start[state] != 0:
                        add_one(rows, row, low, high)
                        alive = True
                    for into in range(in_ptr[state], in_ptr[state + 1]):
                        index = in_index[into]
                        kind = kinds[index]
                        if kind == FREE:
                            add_row(rows, row, base[index])
                        elif kind == BOX:
                            box_trees.query(
                                automaton, events, rows, base[index], trees, ordinal[index], index, i, row, first
                            )
                        elif kind == SCAN:
                            scan_lists.query(
                                automaton, events, rows, base[index], lists, ordinal[index], index, ranks, first, i, row
                            )
                        else:
                            r = rank_of[index]
                            rank = rank_next[r, i - first]
                            if rank >= 0:
                                one, two = 0, distinct[r]
                                if strides[r] > 0:
                                    one, two = bucket_first[r, rank], bucket_last[r, rank]
                                fenwick.query(rows, base[index], kind, operators[r], distinct[r], one, two, rank, row)
                    if not alive:
                        for lane in range(low, high):
                            if not is_zero(rows, row, lane):
                                alive = True
                                break
                        if not alive:
                            continue
                    if adds > 1 or maxes > 0:
                        _take_part(automaton, events, rows, state, i, row, width)
                    if end[state] != 0 and seen[state] == required:
                        for slot in range(adds):
                            add_cells(rows, 0, row, slot * width + low, slot * width + high)
                        for slot in range(maxes):
                            for lane in range(slot * width + low, slot * width + high):
                                rows.maxima[lane] = max(rows.maxima[lane], rows.maxima[row * rows.extremes + lane])
                        if latest.shape[0] > 0:
                            latest[i] = max(latest[i], rows.maxima[row * rows.extremes])
                    if out_ptr[state] < out_ptr[state + 1]:
                        pending_state[waiting] = state
                        pending_event[waiting] = i
                        waiting += 1
                mask >>= _ONE
                variable += 1
            i += 1
        for at in range(waiting):
            state = pending_state[at]
            event = pending_event[at]
            row = free_row + at
            for out in range(out_ptr[state], out_ptr[state + 1]):
                index = out_index[out]
                kind = kinds[index]
                if kind == FREE:
                    add_row(rows, base[index], row)
                elif kind == BOX:
                    box_trees.insert(rows, base[index], trees, ordinal[index], event - first, row)
                elif kind == SCAN:
                    scan_lists.insert(
                        automaton, rows, base[index], lists, ordinal[index], index, ranks, first, event, row
                    )
                else:
                    r = rank_of[index]
                    rank = rank_previous[r, event - first]
                    if rank >= 0:
                        one, two = 0, distinct[r]
                        if strides[r] > 0:
                            one, two = bucket_first[r, rank], bucket_last[r, rank]
                        fenwick.insert(rows, base[index], kind, operators[r], distinct[r], one, two, rank, row)


@inner
def _take_part(automaton: Automaton, events: Events, rows: Rows, state: int, i: int, row: int, width: int) -> None:
    """Add the event's own share to its row: weight × count, and its extremes where a trend reaches it."""
    for slot in range(1, automaton.adds.shape[0]):
        if automaton.adds[slot, state] != 0:
            column = automaton.add_column[slot]
            if column < 0:
                add_product(rows, row, slot, width, 1.0, 1)
            elif events.doubles.shape[0] > 0:
                add_product(rows, row, slot, width, events.doubles[column, i], 0)
            else:
                add_product(rows, row, slot, width, 0.0, events.integers[column, i])
    for slot in range(automaton.maxes.shape[0]):
        if automaton.maxes[slot, state] != 0:
            value = events.ranks[automaton.max_column[slot], i]
            at = row * rows.extremes + slot * width
            for lane in range(width):
                if value > rows.maxima[at + lane] and not is_zero(rows, row, lane):
                    rows.maxima[at + lane] = value
