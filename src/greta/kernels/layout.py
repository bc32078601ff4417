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
"""One running total."""
LEAF = 1
"""A total per key: ``f(prev) = g(next)``."""
PREFIX = 2
"""A Fenwick tree: one comparison, within one key if there is an equality as well."""
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

# Columns of ``Automaton.state``.
START = 0
"""1 where a trend may start."""
END = 1
"""1 where a trend may end."""
SEEN = 2
"""The scopes that a trend has met."""
CLIP = 3
"""Which row of the windows' bounds holds."""
IN_FIRST = 4
IN_LAST = 5
"""The slice of ``incoming``: the indexes that predecessors are read from."""
OUT_FIRST = 6
OUT_LAST = 7
"""The slice of ``outgoing``: the indexes that vertices are put into."""
BEGIN_FIRST = 8
BEGIN_LAST = 9
"""The slice of ``steps`` that starting a trend takes."""
PART_FIRST = 10
PART_LAST = 11
"""The slice of ``steps`` that taking part takes."""
STATE_COLUMNS = 12

# Columns of ``Automaton.index``.
KIND = 0
LINK = 1
SOURCE = 2
"""The state whose vertices it holds."""
VARIABLE = 3
"""The variable that enters this state."""
RANK = 4
"""The rank comparison that serves LEAF, PREFIX, BOTH_SIDES and narrows SCAN, or -1."""
INDEX_COLUMNS = 5

# Columns of ``Automaton.rank``: comparisons whose codes become places in a tree.
PREVIOUS = 0
NEXT = 1
"""Columns of ``Events.codes``."""
OPERATOR = 2
STRIDE = 3
"""Codes are equality × stride + order; 0 without an equality."""
RANK_COLUMNS = 4

# Columns of ``Automaton.steps``; operations are those of ``greta.plan.flows.Op``.
OPERATION = 0
TARGET = 1
ORIGIN = 2
WEIGHT = 3
"""Column of the events' weights, or -1 for the constant ``FACTOR``."""
FACTOR = 4
GUARD = 5
"""Column of the events' guards, or -1."""
STEP_COLUMNS = 6


class Automaton(NamedTuple):
    """A template in arrays, and what its vertices hold. ``*_ptr`` cuts the array next to it into slices."""

    states_ptr: Small
    """Per variable (bit of an event's mask): the states it enters."""
    states: Small
    state: Int
    """[state, column]"""
    incoming: Small
    outgoing: Small
    index: Int
    """[index, column]"""
    rank: Int
    """[rank comparison, column]"""
    compare_ptr: Small
    compare: Small
    """Per link: the comparisons that BOX and SCAN check."""
    comparison: Small
    """[comparison, (previous, next, operator)]"""
    program_start: Int
    """Per link: where its residual condition's program starts, or -1."""
    program: Int
    constants: NDArray[np.float64]
    steps: Int
    """[step, column]"""
    start_adds: Flag
    start_maxes: Flag
    """Per slot: whether it is 1 (additive) or 0 (extreme) for a trend that has just started."""
    carried_adds: int
    carried_maxes: int
    """Slots that indexes hold: the first so many."""


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
    """[column, event]: weights of steps, in the representation of the run."""
    guards: NDArray[np.uint8]
    """[guard, event]"""
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
