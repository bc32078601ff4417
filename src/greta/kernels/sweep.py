"""One pass over the events of a few windows: vertices are made, linked to what came before, and forgotten."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from greta.kernels import boxes as box_trees
from greta.kernels import fenwick
from greta.kernels import scans as scan_lists
from greta.kernels.boxes import Boxes
from greta.kernels.compiler import inner
from greta.kernels.layout import BOX, FREE, SCAN, Automaton, Events, Lanes
from greta.kernels.numbers import Rows, add_one, add_product, add_span, clear_span, is_zero, span
from greta.kernels.ranks import Ranks
from greta.kernels.scans import Scans

_ONE = np.uint64(1)
_NONE = np.uint64(0)


@inner
def largest_tick(automaton: Automaton, events: Events, first: int, last: int) -> int:
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
def sweep(
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
    first: int,
    last: int,
    free_row: int,
    required: int,
    pending_state: NDArray[np.int64],
    pending_event: NDArray[np.int64],
    pending_low: NDArray[np.int64],
    pending_high: NDArray[np.int64],
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
    store, maxima, words = rows.store, rows.maxima, rows.words
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
                    lanes_here = span(rows, low, high)
                    clear_span(store, maxima, lanes_here, row)
                    alive = False
                    if start[state] != 0:
                        add_one(store, row * words + lanes_here.skip, high - low, adds)
                        alive = True
                    for into in range(in_ptr[state], in_ptr[state + 1]):
                        index = in_index[into]
                        kind = kinds[index]
                        if kind == FREE:
                            add_span(store, maxima, lanes_here, row, base[index])
                        elif kind == BOX:
                            box_trees.query(
                                automaton,
                                events,
                                store,
                                maxima,
                                lanes_here,
                                base[index],
                                trees,
                                ordinal[index],
                                index,
                                i,
                                row,
                                first,
                            )
                        elif kind == SCAN:
                            scan_lists.query(
                                automaton,
                                events,
                                store,
                                maxima,
                                lanes_here,
                                base[index],
                                lists,
                                ordinal[index],
                                index,
                                ranks,
                                first,
                                i,
                                row,
                            )
                        else:
                            r = rank_of[index]
                            rank = rank_next[r, i - first]
                            if rank >= 0:
                                one, two = 0, distinct[r]
                                if strides[r] > 0:
                                    one, two = bucket_first[r, rank], bucket_last[r, rank]
                                fenwick.query(
                                    store,
                                    maxima,
                                    lanes_here,
                                    base[index],
                                    kind,
                                    operators[r],
                                    distinct[r],
                                    one,
                                    two,
                                    rank,
                                    row,
                                )
                    if not alive:
                        for lane in range(low, high):
                            if not is_zero(store, row * words + lane * adds):
                                alive = True
                                break
                        if not alive:
                            continue
                    if adds > 1 or maxes > 0:
                        take_part(automaton, events, rows, state, i, row, low, high)
                    if end[state] != 0 and seen[state] == required:
                        add_span(store, maxima, lanes_here, 0, row)
                        if latest.shape[0] > 0:
                            latest[i] = max(latest[i], maxima[row * rows.extremes])
                    if out_ptr[state] < out_ptr[state + 1]:
                        pending_state[waiting] = state
                        pending_event[waiting] = i
                        pending_low[waiting] = low
                        pending_high[waiting] = high
                        waiting += 1
                mask >>= _ONE
                variable += 1
            i += 1
        for at in range(waiting):
            state = pending_state[at]
            event = pending_event[at]
            row = free_row + at
            lanes_here = span(rows, pending_low[at], pending_high[at])
            for out in range(out_ptr[state], out_ptr[state + 1]):
                index = out_index[out]
                kind = kinds[index]
                if kind == FREE:
                    add_span(store, maxima, lanes_here, base[index], row)
                elif kind == BOX:
                    box_trees.insert(store, maxima, lanes_here, base[index], trees, ordinal[index], event - first, row)
                elif kind == SCAN:
                    scan_lists.insert(
                        automaton,
                        store,
                        maxima,
                        lanes_here,
                        base[index],
                        lists,
                        ordinal[index],
                        index,
                        ranks,
                        first,
                        event,
                        row,
                    )
                else:
                    r = rank_of[index]
                    rank = rank_previous[r, event - first]
                    if rank >= 0:
                        one, two = 0, distinct[r]
                        if strides[r] > 0:
                            one, two = bucket_first[r, rank], bucket_last[r, rank]
                        fenwick.insert(
                            store,
                            maxima,
                            lanes_here,
                            base[index],
                            kind,
                            operators[r],
                            distinct[r],
                            one,
                            two,
                            rank,
                            row,
                        )


@inner
def take_part(
    automaton: Automaton, events: Events, rows: Rows, state: int, i: int, row: int, low: int, high: int
) -> None:
    """Add the event's own share to its row: weight × count, and its extremes where a trend reaches it."""
    adds = rows.adds
    at = row * rows.words + low * adds
    for slot in range(1, adds):
        if automaton.adds[slot, state] != 0:
            column = automaton.add_column[slot]
            if column < 0:
                add_product(rows.store, at, high - low, adds, slot, 1.0, 1)
            elif events.doubles.shape[0] > 0:
                add_product(rows.store, at, high - low, adds, slot, events.doubles[column, i], 0)
            else:
                add_product(rows.store, at, high - low, adds, slot, 0.0, events.integers[column, i])
    for slot in range(rows.maxes):
        if automaton.maxes[slot, state] != 0:
            value = events.ranks[automaton.max_column[slot], i]
            for lane in range(low, high):
                cell = row * rows.extremes + lane * rows.maxes + slot
                if value > rows.maxima[cell] and not is_zero(rows.store, row * rows.words + lane * adds):
                    rows.maxima[cell] = value
