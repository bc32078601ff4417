"""Vertices of one window, and how many trends go on from each → one trend, each as likely as any other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greta.kernels.compiler import inner, kernel, small
from greta.kernels.conditions import STACK
from greta.kernels.layout import (
    DIFFERS,
    EQUALS,
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    NOTHING,
    Automaton,
    Input,
    Int,
)
from greta.kernels.walk import Walkable, follows, too_far

_STEP = 2.0**512
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LAST_CODE = np.int64(2**63 - 1)

# Kinds of ``Ahead``: whether an event may follow.
_NEVER = 0
_ALWAYS = 1
_BETWEEN = 2
"""Where its code lies between two others."""
_ASK = 3
"""Where all conditions hold."""


@inner
def _uniform(random: NDArray[np.uint64]) -> float:
    """The next random number in [0, 1), by SplitMix64."""
    random[0] += _GOLDEN
    bits = random[0]
    bits = (bits ^ (bits >> np.uint64(30))) * _MIX_1
    bits = (bits ^ (bits >> np.uint64(27))) * _MIX_2
    bits ^= bits >> np.uint64(31)
    return float(bits >> np.uint64(11)) * 2.0**-53


@inner
def _relative(mantissa: float, exponent: float, unit: float) -> float:
    """A count in the unit of another one's exponent; what is too small to matter is 0."""
    if exponent == unit:
        return mantissa
    if exponent == unit - 1.0:
        return mantissa / _STEP
    return 0.0 if exponent < unit else mantissa * _STEP


class Ahead(NamedTuple):
    """What may come right after one vertex, per state that follows."""

    kind: Int
    """``_NEVER``, ``_ALWAYS``, ``_BETWEEN`` (a code decides) or ``_ASK`` (all conditions do)."""
    column: Int
    """The codes that decide."""
    low: Int
    high: Int
    """Codes in ``[low, high]`` may follow."""


@inner
def _look_ahead(graph: Walkable, automaton: Automaton, input_: Input, v: int, ahead: Ahead) -> None:
    """Find out what may follow ``v``: a condition of one comparison becomes the codes that fulfil it."""
    conditions = automaton.conditions
    for state in range(ahead.kind.shape[0]):
        link = graph.link[graph.state[v], state]
        ahead.kind[state] = _NEVER
        if link < 0:
            continue
        ahead.kind[state] = _ASK
        comparisons = conditions.ptr[link + 1] - conditions.ptr[link]
        if conditions.program_start[link] >= 0 or comparisons > 1:
            continue
        if comparisons == 0:
            ahead.kind[state] = _ALWAYS
            continue
        # Arrays run against time: what follows is the previous event to the automaton.
        comparison = conditions.comparison[conditions.compare[conditions.ptr[link]]]
        code, operator = input_.operands.codes[comparison[1], graph.event[v]], comparison[2]
        low, high = NOTHING + 1, _LAST_CODE
        if operator == LESS or operator == LESS_EQUAL or operator == EQUALS:
            high = code
        if operator == GREATER or operator == GREATER_EQUAL or operator == EQUALS:
            low = code
        if code == NOTHING or (operator == LESS and code == low) or (operator == GREATER and code == high):
            ahead.kind[state] = _NEVER
        elif operator != DIFFERS:
            ahead.kind[state] = _BETWEEN
            ahead.column[state] = comparison[0]
            ahead.low[state] = low + 1 if operator == GREATER else low
            ahead.high[state] = high - 1 if operator == LESS else high


@small
def _may_follow(
    graph: Walkable, automaton: Automaton, input_: Input, ahead: Ahead, v: int, w: int, stack: NDArray[np.float64]
) -> bool:
    """The same as ``follows``, after a look ahead from ``v``, for a ``w`` of a later time or the next layer."""
    state = graph.state[w]
    kind = ahead.kind[state]
    if kind == _BETWEEN:
        code = input_.operands.codes[ahead.column[state], graph.event[w]]
        return bool(ahead.low[state] <= code <= ahead.high[state])
    return bool(kind == _ALWAYS or (kind == _ASK and follows(graph, automaton, input_, v, w, stack)))


@inner
def _first_after(graph: Walkable, input_: Input, v: int) -> int:
    """The first vertex that is not of the time (or layer) of ``v``."""
    w = v - 1
    if graph.layer.shape[0] > 0:
        while w >= 0 and graph.layer[w] <= graph.layer[v]:
            w -= 1
    else:
        time = input_.events.time
        while w >= 0 and time[graph.event[w]] == time[graph.event[v]]:
            w -= 1
    return w


@kernel
def draw(
    graph: Walkable,
    automaton: Automaton,
    input_: Input,
    total: NDArray[np.float64],
    random: NDArray[np.uint64],
    path: Int,
) -> int:
    """Draw one of ``total`` (mantissa, exponent) trends, each as likely as any other; its length in ``path``.

    What follows is taken in proportion to how many trends go on from it; there are most of them at the earliest
    vertices, so few have to be looked at.
    """
    stack = np.empty(STACK, dtype=np.float64)
    states = graph.variable.shape[0]
    ahead = Ahead(
        np.empty(states, dtype=np.int64),
        np.empty(states, dtype=np.int64),
        np.empty(states, dtype=np.int64),
        np.empty(states, dtype=np.int64),
    )
    mantissa, exponent = total[0], total[1]
    length = 0
    v = -1
    while input_.events.stop[0] == 0:
        rest = _uniform(random) * mantissa
        if v >= 0 and graph.ends[v] != 0:
            rest -= _relative(1.0, 0.0, exponent)
            if rest < 0.0:
                return length
        chosen = -1
        w = graph.event.shape[0] - 1
        if v >= 0:
            _look_ahead(graph, automaton, input_, v, ahead)
            w = _first_after(graph, input_, v)
        while w >= 0 and not too_far(graph, v, w):
            if graph.starts[w] != 0 if v < 0 else _may_follow(graph, automaton, input_, ahead, v, w, stack):
                chosen = w
                rest -= _relative(graph.counts[w, 0], graph.counts[w, 1], exponent)
                if rest < 0.0:
                    break
            w -= 1
        if chosen < 0:
            return length
        v = chosen
        path[length] = v
        length += 1
        mantissa, exponent = graph.counts[v, 0], graph.counts[v, 1]
    return length
