"""The arrays in which an automaton, its events and its windows reach the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]
Flag = NDArray[np.uint8]

NOTHING = np.int64(-(2**63))
"""The extreme of no trend at all, and the code of NULL; among doubles it is -∞."""

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

# Columns of ``States.state``.
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

# Columns of ``States.indexes``.
KIND = 0
LINK = 1
SOURCE = 2
"""The state whose vertices it holds."""
VARIABLE = 3
"""The variable that enters this state."""
RANK = 4
"""The rank comparison that serves LEAF, PREFIX, BOTH_SIDES and narrows SCAN, or -1."""
INDEX_COLUMNS = 5

# Columns of ``States.rank``: comparisons whose codes become places in a tree.
PREVIOUS = 0
NEXT = 1
"""Columns of ``Operands.codes``."""
OPERATOR = 2
STRIDE = 3
"""Codes are equality × stride + order; 0 without an equality."""
RANK_COLUMNS = 4

# Columns of ``Steps.steps``; operations are those of ``greta.plan.flows.Op``.
OPERATION = 0
TARGET = 1
ORIGIN = 2
WEIGHT = 3
"""Column of the events' weights, or -1 for the constant ``FACTOR``."""
FACTOR = 4
GUARD = 5
"""Column of the events' guards, or -1."""
STEP_COLUMNS = 6


class States(NamedTuple):
    """States and transitions of a template. ``*_ptr`` cuts the array next to it into slices."""

    ptr: Int
    """Per variable (bit of an event's mask): the states it enters."""
    entered: Int
    state: Int
    """[state, column]"""
    incoming: Int
    outgoing: Int
    indexes: Int
    """[index, column]"""
    rank: Int
    """[rank comparison, column]"""


class Conditions(NamedTuple):
    """What must hold between two adjacent events, for indexes that check it pair by pair."""

    ptr: Int
    compare: Int
    """Per link: its comparisons."""
    comparison: Int
    """[comparison, (previous, next, operator)]"""
    program_start: Int
    """Per link: where its residual condition's program starts, or -1."""
    program: Int
    constants: NDArray[np.float64]


class Steps(NamedTuple):
    """What starting a trend and taking part in one do to a vertex's slots."""

    steps: Int
    """[step, column]"""
    start_adds: Flag
    start_maxes: Flag
    """Per slot: whether it is 1 (additive) or 0 (extreme) for a trend that has just started."""


class Slots(NamedTuple):
    """How many slots a vertex has, and how many of them, the first ones, indexes hold."""

    adds: int
    maxes: int
    carried_adds: int
    carried_maxes: int


class Automaton(NamedTuple):
    """A template in arrays, and what its vertices hold. Kernels take the parts that they need."""

    states: States
    conditions: Conditions
    steps: Steps
    slots: Slots


class Events(NamedTuple):
    """Events of all partitions, sorted by (partition, time)."""

    offsets: Int
    time: Int
    mask: NDArray[np.uint64]
    """Bit v: the event may take variable v."""
    required: Int
    """Per partition: the scopes that a trend must have met to belong to it."""
    stop: Flag = np.zeros(1, dtype=np.uint8)
    """Not 0 where a kernel is to leave its work undone; another thread may raise it at any time."""


class Operands(NamedTuple):
    """What conditions read of events."""

    codes: NDArray[np.int64]
    """[column, event]: order-preserving codes of comparands; ``NOTHING`` is NULL."""
    values: NDArray[np.float64]
    """[column, event]: numbers of residual conditions; NaN is NULL."""


class Weights(NamedTuple):
    """What steps read of events."""

    doubles: NDArray[np.float64]
    integers: NDArray[np.int64]
    """[column, event]: weights in the representation of the run; the other array is empty."""
    guards: NDArray[np.uint8]
    """[guard, event]"""


class Input(NamedTuple):
    """All that kernels read of events."""

    events: Events
    operands: Operands
    weights: Weights


class Lanes(NamedTuple):
    """Windows of different content, per partition; several are computed at once, one per lane."""

    offsets: Int
    """Per partition in question: its first window."""
    first: NDArray[np.int64]
    """[clip, window]: first event."""
    last: NDArray[np.int64]
    """[clip, window]: one past the last event."""
