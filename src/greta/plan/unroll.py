"""Machine → machine whose states know how long a trend is and which scopes it has met."""

from __future__ import annotations

from collections.abc import Mapping

from greta.plan.machine import MAX_STATES, MAX_TRANSITIONS, Machine, exploded

Mark = tuple[int, int]
"""Length so far, saturated at MIN LENGTH; bit set of the scopes met."""


def unroll(machine: Machine, min_length: int, scopes: Mapping[str, int]) -> tuple[Machine, list[Mark]]:
    """Copy states until each has one mark; an end is then one that is long enough.

    ``scopes`` gives for a variable the bits of the scopes it is in. Copies are made only where marks differ,
    and copies of one state stay neighbours. O(size of the result).
    """
    if min_length == 1 and not scopes:
        return machine, [(1, 0)] * len(machine.variables)
    bits = [scopes.get(variable, 0) for variable in machine.variables]
    starts = {(p, (1, bits[p])): None for p in machine.starts}
    arcs: dict[tuple[int, Mark], list[tuple[int, Mark]]] = {}
    waiting = list(starts)
    seen = set(waiting)
    transitions = 0
    while waiting:
        copy = waiting.pop()
        p, (length, met) = copy
        longer = min(length + 1, min_length)
        arcs[copy] = [(q, (longer, met | bits[q])) for q in machine.follow[p]]
        transitions += len(arcs[copy])
        for target in arcs[copy]:
            if target not in seen:
                seen.add(target)
                waiting.append(target)
        if len(seen) > MAX_STATES:
            raise exploded("states", MAX_STATES)
        if transitions > MAX_TRANSITIONS:
            raise exploded("transitions", MAX_TRANSITIONS)
    order = sorted(arcs)
    number = {copy: index for index, copy in enumerate(order)}
    result = Machine(
        [machine.variables[p] for p, _ in order],
        [machine.clips[p] for p, _ in order],
        [number[copy] for copy in starts],
        {number[p, mark] for p, mark in order if p in machine.ends and mark[0] == min_length},
        [{number[copy]: machine.follow[p][copy[0]] for copy in arcs[p, mark]} for p, mark in order],
    )
    return result, [mark for _, mark in order]
