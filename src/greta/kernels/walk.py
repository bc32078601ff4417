"""Vertices of one window, latest first, and what they lead to → single trends, walked from first event to last.

The pass that made the vertices ran against time, so each holds the number of trends (or the extremes of the values of
trends) that *go on* from it. A walk starts at a vertex where trends start and takes one that follows, again and again:
vertices that follow one of them lie before it in the arrays, the earliest next to it::

    vertex      0    1    2    3    4           events of a walk: 4 → 3 → 1
    event       e5   e4   e3   e2   e1          scanned for what follows 3: 2, 1, 0
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel, part
from greta.kernels.conditions import STACK, linked
from greta.kernels.layout import (
    BEGIN_FIRST,
    BEGIN_LAST,
    FACTOR,
    GUARD,
    OPERATION,
    ORIGIN,
    PART_FIRST,
    PART_LAST,
    TARGET,
    WEIGHT,
    Automaton,
    Input,
    Int,
    Weights,
)
from greta.kernels.steps import CLEAR, JOIN, LOWER, PUT, RAISE, RAISE_IF

_NOTHING = -math.inf


class Walkable(NamedTuple):
    """All vertices of a window from which a trend can be finished, latest first."""

    event: Int
    state: Int
    layer: Int
    """Where event selection links neighbouring layers alone: the layer, counted from the first event; else empty."""
    starts: NDArray[np.uint8]
    """Whether a trend may start at the vertex."""
    ends: NDArray[np.uint8]
    """Whether a trend may end at the vertex."""
    counts: NDArray[np.float64]
    """[vertex, (mantissa, exponent in steps of 512 bits)]: how many trends go on from it."""
    maxima: NDArray[np.float64]
    """[vertex, slot]"""
    link: Int
    """[state, state that follows]: the link between them, or -1."""
    variable: Int
    """Per state. Vertices of one event and variable lie next to each other."""


class Found(NamedTuple):
    """Trends as paths of vertices, and the largest value that is smaller than what was asked for."""

    vertices: Int
    offsets: Int
    """Trend k has the vertices ``[offsets[k], offsets[k + 1])``."""
    next_level: float


@inner
def follows(graph: Walkable, automaton: Automaton, input_: Input, v: int, w: int, stack: NDArray[np.float64]) -> bool:
    """Whether vertex ``w`` may come right after ``v``."""
    link = graph.link[graph.state[v], graph.state[w]]
    if link < 0:
        return False
    if graph.layer.shape[0] > 0:
        if graph.layer[w] != graph.layer[v] + 1:
            return False
    elif input_.events.time[graph.event[w]] == input_.events.time[graph.event[v]]:
        return False
    return linked(automaton.conditions, input_.operands, link, graph.event[w], graph.event[v], stack)


@inner
def too_far(graph: Walkable, v: int, w: int) -> bool:
    """Whether neither ``w`` nor anything later can follow ``v``."""
    return graph.layer.shape[0] > 0 and v >= 0 and graph.layer[w] > graph.layer[v] + 1


@kernel
def enumerate_trends(
    graph: Walkable,
    automaton: Automaton,
    input_: Input,
    slot: int,
    level: float,
    below: float,
    slack: float,
    depth_limit: int,
    most: int,
) -> Found:
    """The first ``most`` trends whose value is at least ``level - slack`` and under ``below``.

    ``slot`` is the extreme slot of the value; -1: all trends, whatever they are worth. Prefixes are on a stack. For
    each there is the *worth* that what follows has for the whole trend, as a function of the slots x of the vertex
    that follows, ``max(rest, max over slots of min(x + add, cap))``: it tells the best trend that goes on there, so no
    prefix is gone into in vain. Trends come in the order of their events and variables, whatever states they go
    through: a prefix ends in all the states at once that its events and variables lead to. Vertices that are worth too
    little are passed over by a tree of maxima, so that a trend of a million events has no million scans behind it.
    """
    slots = graph.maxima.shape[1]
    stack = np.empty(STACK, dtype=np.float64)
    path = np.empty(depth_limit + 1, dtype=np.int64)
    # The vertices at the end of a prefix: those of one event and variable, in all states that the prefix leads to.
    members = np.empty((depth_limit + 1, graph.variable.shape[0]), dtype=np.int64)
    sizes = np.empty(depth_limit + 1, dtype=np.int64)
    at = np.empty(depth_limit + 2, dtype=np.int64)
    # A prefix has its own set when it grows; memory that no prefix is as long for is never touched.
    add = np.empty((depth_limit + 2, slots))
    cap = np.empty((depth_limit + 2, slots))
    rest = np.empty(depth_limit + 2)
    add[0], cap[0], rest[0] = _NOTHING, math.inf, _NOTHING
    begin_add, begin_cap = np.empty(slots), np.empty(slots)
    vertices = np.empty(1024, dtype=np.int64)
    offsets = np.zeros(most + 1, dtype=np.int64)
    trends = 0
    next_level = _NOTHING
    tree = np.empty((0, slots))
    needs = np.empty(slots)
    if slot >= 0:
        add[0, slot] = 0.0
        tree = _peaks(graph.maxima)
    depth = 0
    at[0] = graph.event.shape[0]
    while depth >= 0 and trends < most and input_.events.stop[0] == 0:
        w = at[depth] - 1
        size = 0
        # The next event and variable that follow and lead to a trend of enough value.
        while w >= 0 and size == 0:
            if slot >= 0:
                enough = min(level - slack, next_level + slack)
                if rest[depth] < enough:
                    _needed(add[depth], cap[depth], enough, needs)
                    w = _last_with(tree, needs, w + 1)
            if w < 0 or (depth > 0 and too_far(graph, path[depth - 1], w)):
                break
            event, variable = graph.event[w], graph.variable[graph.state[w]]
            while w >= 0 and graph.event[w] == event and graph.variable[graph.state[w]] == variable:
                worth = 0.0
                if slot >= 0:
                    worth = _worth(add[depth], cap[depth], rest[depth], graph.maxima[w])
                if worth >= level - slack or worth > next_level:
                    taken = depth == 0 and graph.starts[w] != 0
                    for k in range(sizes[depth - 1] if depth > 0 else 0):
                        if follows(graph, automaton, input_, members[depth - 1, k], w, stack):
                            taken = True
                            break
                    if taken and worth >= level - slack:
                        members[depth, size] = w
                        size += 1
                    elif taken:
                        next_level = worth
                w -= 1
        at[depth] = w + 1
        if size == 0:
            depth -= 1
            continue
        chosen = members[depth, 0]
        ending = -1
        for k in range(size):
            if graph.ends[members[depth, k]] != 0:
                ending = members[depth, k]
        path[depth] = chosen
        sizes[depth] = size
        for s in range(slots):
            add[depth + 1, s], cap[depth + 1, s] = add[depth, s], cap[depth, s]
        rest[depth + 1] = rest[depth]
        state, event = automaton.states.state[graph.state[chosen]], graph.event[chosen]
        rest[depth + 1] = _pull_back(
            automaton.steps.steps, input_.weights, state[PART_FIRST], state[PART_LAST], event,
            add[depth + 1], cap[depth + 1], rest[depth + 1],
        )  # fmt: skip
        depth += 1
        at[depth] = at[depth - 1]
        if ending < 0:
            continue
        # The trend that ends here.
        value = 0.0
        if slot >= 0:
            for s in range(slots):
                begin_add[s], begin_cap[s] = add[depth, s], cap[depth, s]
            state = automaton.states.state[graph.state[ending]]
            value = _pull_back(
                automaton.steps.steps, input_.weights, state[BEGIN_FIRST], state[BEGIN_LAST], event,
                begin_add, begin_cap, rest[depth],
            )  # fmt: skip
            for s in range(slots):
                if automaton.steps.start_maxes[s] != 0:
                    value = max(value, min(begin_add[s], begin_cap[s]))
        if value >= level - slack:
            if value < below:
                while offsets[trends] + depth > vertices.shape[0]:
                    vertices = _twice(vertices)
                for step in range(depth):
                    vertices[offsets[trends] + step] = path[step]
                offsets[trends + 1] = offsets[trends] + depth
                trends += 1
        elif value > next_level:
            next_level = value
    return Found(vertices[: offsets[trends]], offsets[: trends + 1], next_level)


@part
def _twice(vertices: Int) -> Int:
    """The same with as much room again.

    ``np.concatenate``, like every copy of a slice, takes seconds to compile: its errors are put together of text.
    """
    larger = np.empty(2 * vertices.shape[0], dtype=np.int64)
    for at in range(vertices.shape[0]):
        larger[at] = vertices[at]
    return larger


@part
def _peaks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A tree of maxima over rows: node ``k`` has the children ``2k`` and ``2k + 1``, the rows are its last half."""
    size = 1
    while size <= values.shape[0]:
        size *= 2
    tree = np.full((2 * size, values.shape[1]), _NOTHING)
    for row in range(values.shape[0]):
        for s in range(values.shape[1]):
            tree[size + row, s] = values[row, s]
    for node in range(size - 1, 0, -1):
        for s in range(values.shape[1]):
            tree[node, s] = max(tree[2 * node, s], tree[2 * node + 1, s])
    return tree


@inner
def _needed(add: NDArray[np.float64], cap: NDArray[np.float64], enough: float, needs: NDArray[np.float64]) -> None:
    """What each slot of a vertex must be at least for a worth of ``enough``, give or take rounding; ∞: it never is."""
    for s in range(needs.shape[0]):
        needs[s] = math.inf
        if add[s] != _NOTHING and cap[s] >= enough:
            needs[s] = enough - add[s]
            if abs(needs[s]) < math.inf:
                needs[s] -= 4e-16 * (abs(enough) + abs(add[s]))


@inner
def _has(tree: NDArray[np.float64], node: int, needs: NDArray[np.float64]) -> bool:
    for s in range(needs.shape[0]):
        if tree[node, s] >= needs[s]:
            return True
    return False


@inner
def _last_with(tree: NDArray[np.float64], needs: NDArray[np.float64], before: int) -> int:
    """The last row before ``before`` that has what is needed in some slot, or -1; O(log n)."""
    size: int = tree.shape[0] // 2
    node = size + before
    while node > 1:
        if node % 2 == 1 and _has(tree, node - 1, needs):
            node -= 1
            while node < size:
                node = 2 * node + 1 if _has(tree, 2 * node + 1, needs) else 2 * node
            return node - size
        node //= 2
    return -1


@inner
def _worth(add: NDArray[np.float64], cap: NDArray[np.float64], rest: float, slots: NDArray[np.float64]) -> float:
    worth = rest
    for s in range(slots.shape[0]):
        if slots[s] != _NOTHING and add[s] != _NOTHING:
            worth = max(worth, min(slots[s] + add[s], cap[s]))
    return worth


@inner
def _pull_back(
    steps: Int,
    weights: Weights,
    first: int,
    last: int,
    i: int,
    add: NDArray[np.float64],
    cap: NDArray[np.float64],
    rest: float,
) -> float:
    """Turn the worth of slots after the steps ``[first, last)`` of event ``i`` into that of the slots before them.

    Steps are taken back last first: after ``target = source + w`` the target's worth is the source's, w higher.
    """
    for at in range(last - 1, first - 1, -1):
        operation, target, origin = steps[at, OPERATION], steps[at, TARGET], steps[at, ORIGIN]
        if operation < RAISE or (steps[at, GUARD] >= 0 and weights.guards[steps[at, GUARD], i] == 0):
            continue
        weight = float(steps[at, FACTOR])
        if steps[at, WEIGHT] >= 0:
            weight = weights.doubles[steps[at, WEIGHT], i]
        if operation == CLEAR:
            add[target] = _NOTHING
            cap[target] = math.inf
        elif add[target] == _NOTHING:
            if operation == PUT and target != origin:
                cap[target] = math.inf
        elif operation == RAISE:
            rest = max(rest, min(weight + add[target], cap[target]))
        elif operation == LOWER:
            cap[target] = min(cap[target], weight + add[target])
        elif operation == RAISE_IF:
            # Its origin is 0 or nothing.
            add[origin] = max(add[origin], min(weight + add[target], cap[target]))
        elif operation == PUT and target == origin:
            add[target] += weight
        elif operation in (PUT, JOIN):
            add[origin] = max(add[origin], add[target] + weight)
            cap[origin] = cap[target]
            if operation == PUT:
                add[target] = _NOTHING
                cap[target] = math.inf
    return rest
