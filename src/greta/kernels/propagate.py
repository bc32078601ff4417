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
from greta.kernels.boxes import new_boxes, nodes_for
from greta.kernels.compiler import inner, kernel
from greta.kernels.layout import BOX, FREE, SCAN, Automaton, Events, Lanes
from greta.kernels.numbers import NOTHING, Store, clear, clear_span, overflowed, put, room, span, word, words_of
from greta.kernels.ranks import SPARSE, new_ranks, new_scratch, rank_chunk, rank_partition
from greta.kernels.scans import new_scans
from greta.kernels.sweep import largest_tick, sweep


@kernel
def propagate(
    automaton: Automaton,
    events: Events,
    lanes: Lanes,
    partitions: NDArray[np.int64],
    width: int,
    blank: Store,
    words: NDArray[Any],
    maxima: NDArray[np.int64],
    latest: NDArray[np.int64],
    carried: NDArray[Any],
    failed: NDArray[np.uint8],
) -> None:
    """Compute every window of the given partitions, ``width`` lanes at a time.

    Numbers are of the kind of ``blank``. ``words[window]`` and ``maxima[window]`` receive the results; ``failed``
    marks the partitions in which a number did not fit. If ``latest`` is not empty it receives, per event, the
    largest first extreme of a trend that ends there (the latest start, for negation). If ``carried`` is not empty,
    windows go on from earlier events: ``carried[window]`` holds the result and the total of each index so far, and is
    brought up to date; this takes an automaton whose indexes are all FREE, without extremes. O(log n) per event, window
    and transition with one comparison; memory for the events of ``width`` windows.
    """
    adds = automaton.adds.shape[0]
    maxes = automaton.maxes.shape[0]
    indexes = automaton.index_kind.shape[0]
    chunk, partition_events = _largest(events, lanes, partitions, width)
    whole = new_ranks(automaton, partition_events, 2 * partition_events)
    ranks = new_ranks(automaton, chunk, min(SPARSE * chunk, 2 * partition_events))
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
    rows = room(blank, capacity, width, adds, maxes)
    rank_of = np.empty(indexes, dtype=np.int64)
    for index in range(indexes):
        rank_of[index] = automaton.link_rank[automaton.index_link[index]]
    lows = np.empty(lanes.first.shape[0], dtype=np.int64)
    highs = np.empty(lanes.first.shape[0], dtype=np.int64)
    pending_state = np.empty(64, dtype=np.int64)
    pending_event = np.empty(64, dtype=np.int64)
    pending_low = np.empty(64, dtype=np.int64)
    pending_high = np.empty(64, dtype=np.int64)
    per_number = words_of(blank)
    cells = adds * width
    for k in range(partitions.shape[0]):
        p = partitions[k]
        begin = events.offsets[p]
        end = events.offsets[p + 1]
        if lanes.offsets[k] == lanes.offsets[k + 1]:
            continue
        if automaton.rank_operator.shape[0] > 0:
            rank_partition(automaton, events, begin, end, whole, scratch)
        waiting = largest_tick(automaton, events, begin, end)
        if waiting > pending_state.shape[0]:
            pending_state = np.empty(waiting, dtype=np.int64)
            pending_event = np.empty(waiting, dtype=np.int64)
            pending_low = np.empty(waiting, dtype=np.int64)
            pending_high = np.empty(waiting, dtype=np.int64)
        for window in range(lanes.offsets[k], lanes.offsets[k + 1], width):
            stop = min(window + width, lanes.offsets[k + 1])
            first, last = _extent(lanes, window, stop)
            if first >= last and carried.shape[0] == 0:
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
            if used + waiting > capacity:
                capacity = used + waiting + (used + waiting) // 2
                rows = room(blank, capacity, width, adds, maxes)
            if stop - window == width:
                clear(rows, 0, used)
            else:
                here = span(rows, 0, stop - window)
                for row in range(used):
                    clear_span(rows.store, rows.maxima, here, row)
            if carried.shape[0] > 0:
                for w in range(window, stop):
                    for at in range(carried.shape[1]):
                        put(rows.store, at // adds * cells + (w - window) * adds + at % adds, carried[w, at])
            sweep(
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
                first,
                last,
                used,
                events.required[p],
                pending_state,
                pending_event,
                pending_low,
                pending_high,
                latest,
                rank_of,
                lows,
                highs,
            )
            for w in range(window, stop):
                for limb in range(adds * per_number):
                    # Words of one number lie ``cells`` apart.
                    words[w, limb] = word(rows.store, limb // adds * cells + (w - window) * adds + limb % adds)
                for x in range(maxes):
                    maxima[w, x] = rows.maxima[(w - window) * maxes + x]
            if carried.shape[0] > 0:
                for w in range(window, stop):
                    for at in range(carried.shape[1]):
                        carried[w, at] = word(rows.store, at // adds * cells + (w - window) * adds + at % adds)
            if overflowed(rows.store):
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
