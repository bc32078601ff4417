"""The arrays in which an automaton, its events and its windows reach the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]
Small = NDArray[np.int32]
Flag = NDArray[np.uint8]

# Kinds of index: how the predecessors along one (source state, link) are summed.
FREE = 0
LEAF = 1
"""A total per key: ``f(prev) = g(next)``."""
PREFIX = 2
"""A Fenwick tree over ranks: one comparison, within one key if there is an equality as well."""
BOTH_SIDES = 3
"""Two Fenwick trees: ``f(prev) != g(next)``."""
BOX = 4
"""A k-d tree: several comparisons."""
SCAN = 5
"""Vertex by vertex, over what the rank comparison leaves."""

# Comparison operators, ``previous op next``.
LESS = 0
LESS_EQUAL = 1
GREATER = 2
GREATER_EQUAL = 3
EQUALS = 4
DIFFERS = 5


class Automaton(NamedTuple):
    """A template in arrays. ``*_ptr`` arrays cut the array next to them into one slice per state, link, …"""

    states_ptr: Small
    """Per variable (bit of an event's mask): the states it enters."""
    states: Small
    start: Flag
    end: Flag
    seen: Int
    clip: Small
    """Per state: which row of the windows' bounds holds for it."""
    in_ptr: Small
    in_index: Small
    """Per state: the indexes that its predecessors are read from."""
    out_ptr: Small
    out_index: Small
    """Per state: the indexes that its vertices are put into."""
    index_kind: Small
    index_link: Small
    index_source: Small
    index_variable: Small
    """Per index: its source state, and the variable that enters it."""
    link_rank: Small
    """Per link: the rank comparison that serves LEAF, PREFIX, BOTH_SIDES and narrows SCAN, or -1."""
    link_compare_ptr: Small
    link_compare: Small
    """Per link: the comparisons that BOX and SCAN check."""
    link_program: Int
    """Per link: where its residual condition's program starts, or -1."""
    compare_previous: Small
    compare_next: Small
    compare_operator: Small
    rank_previous: Small
    rank_next: Small
    rank_operator: Small
    rank_stride: Int
    """Per rank comparison: codes are equality × stride + order; 0 without an equality."""
    program: Int
    constants: NDArray[np.float64]
    adds: Flag
    """[additive slot, state]: whether events in the state add to it."""
    add_column: Small
    """Per additive slot: its row of the weights, or -1 for weight 1."""
    maxes: Flag
    """[extreme slot, state]"""
    max_column: Small


class Events(NamedTuple):
    """Events of all partitions, sorted by (partition, time)."""

    offsets: Int
    time: Int
    mask: NDArray[np.uint64]
    """Bit v: the event may take variable v."""
    codes: NDArray[np.int64]
    """[column, event]: order-preserving codes of comparands; ``NOTHING`` is NULL."""
    values: NDArray[np.float64]
    """[column, event]: numbers of residual conditions; NaN is NULL."""
    doubles: NDArray[np.float64]
    integers: NDArray[np.int64]
    """[column, event]: weights of additive slots, in the representation of the run."""
    ranks: NDArray[np.int64]
    """[column, event]: codes of extreme slots."""
    required: Int
    """Per partition: the scopes that a trend must have met to belong to it."""


class Lanes(NamedTuple):
    """Windows of different content, per partition; several are computed at once, one per lane."""

    offsets: Int
    """Per partition in question: its first window."""
    first: NDArray[np.int64]
    """[clip, window]: first event."""
    last: NDArray[np.int64]
    """[clip, window]: one past the last event."""
