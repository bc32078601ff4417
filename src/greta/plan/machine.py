"""Automata over variables: what patterns become before they are templates.

A state is entered by events of one variable. A machine never accepts the empty word. All sizes are bounded:
a machine that would outgrow the limits raises ``QueryMeaningError`` before the work is done.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from greta.errors import QueryMeaningError

MAX_POSITIONS = 2_000
"""Most places for events in a pattern whose bounds are written out."""
MAX_TRANSITIONS = 50_000
MAX_STATES = 5_000
MAX_STEPS = 5_000_000
"""Most elementary steps of a construction that may grow exponentially."""
MAX_PAIRS = 200_000
"""Most transitions between pairs of states that are looked at to find a trend with two runs."""


class Arc(NamedTuple):
    """What a transition carries: the operator it comes from and the NOTs whose gap it crosses."""

    operator: str = "SEQ"
    negations: tuple[int, ...] = ()


@dataclass(slots=True)
class Machine:
    """States 0..n-1 with ``variables`` and ``clips``; ``follow[p][q]`` is the transition from p to q."""

    variables: list[str] = field(default_factory=list)
    clips: list[tuple[int, ...]] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: set[int] = field(default_factory=set)
    follow: list[dict[int, Arc]] = field(default_factory=list)

    @property
    def has_negations(self) -> bool:
        """Whether a NOT bears on any state or transition."""
        return any(self.clips) or any(arc.negations for arcs in self.follow for arc in arcs.values())

    @property
    def adjacent(self) -> set[tuple[str, str]]:
        """The pairs of variables whose events may follow each other directly in a trend."""
        names = self.variables
        return {(names[p], names[q]) for p, arcs in enumerate(self.follow) for q in arcs}


def exploded(what: str, limit: int) -> QueryMeaningError:
    """The error for a pattern that outgrows a limit."""
    return QueryMeaningError(
        f"the pattern explodes: it needs more than {limit:,} {what}",
        hint="use smaller bounds in {n,m} and MIN LENGTH, or + for any number of events",
    )


def is_deterministic(machine: Machine) -> bool:
    """Whether no state leads to two states of one variable. O(transitions)."""
    names = machine.variables
    return all(len({names[q] for q in targets}) == len(targets) for targets in (machine.starts, *machine.follow))


def is_ambiguous(machine: Machine) -> bool | None:
    """Whether some trend has two runs; None where that takes too long to find out.

    Two runs of one trend part somewhere, so they are a path through pairs of states from a pair of starts,
    over a pair of different states, to a pair of ends. O(states²·transitions per state²) at worst.
    """
    if is_deterministic(machine):
        return False
    groups = [_by_variable(machine, arcs) for arcs in machine.follow]
    waiting = _pairs(_by_variable(machine, machine.starts), _by_variable(machine, machine.starts))
    came_from: dict[tuple[int, int], list[tuple[int, int]]] = {pair: [] for pair in waiting}
    steps = 0
    while waiting:
        pair = waiting.pop()
        for target in _pairs(groups[pair[0]], groups[pair[1]]):
            steps += 1
            if target not in came_from:
                came_from[target] = []
                waiting.append(target)
            came_from[target].append(pair)
        if steps > MAX_PAIRS:
            return None
    back = [pair for pair in came_from if pair[0] in machine.ends and pair[1] in machine.ends]
    alive = set(back)
    while back:
        pair = back.pop()
        if pair[0] != pair[1]:
            return True
        for source in came_from[pair]:
            if source not in alive:
                alive.add(source)
                back.append(source)
    return False


def _by_variable(machine: Machine, states: Iterable[int]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for state in states:
        grouped.setdefault(machine.variables[state], []).append(state)
    return grouped


def _pairs(ones: dict[str, list[int]], others: dict[str, list[int]]) -> list[tuple[int, int]]:
    return list(
        {
            (one, other) if one <= other else (other, one)
            for variable, states in ones.items()
            for one in states
            for other in others.get(variable, ())
        }
    )


def determinise(machine: Machine) -> Machine:
    """Subset construction, then merging of states that cannot be told apart.

    Only for machines without negations: subsets would mix their conditions. Exponential in theory, so both
    the states and the steps are bounded.
    """
    by_variable: list[dict[str, int]] = [_bits(machine, arcs) for arcs in machine.follow]
    looping = [{q for q, arc in arcs.items() if arc.operator != "SEQ"} for arcs in machine.follow]
    result = Machine()
    known: dict[tuple[str, int], int] = {}
    members: list[list[int]] = []
    steps = 0

    def state(variable: str, bits: int) -> int:
        index = known.get((variable, bits))
        if index is None:
            if len(known) >= MAX_STATES:
                raise exploded("states", MAX_STATES)
            index = known[variable, bits] = len(known)
            inside = _members(bits)
            members.append(inside)
            result.variables.append(variable)
            result.clips.append(())
            result.follow.append({})
            if not machine.ends.isdisjoint(inside):
                result.ends.add(index)
        return index

    result.starts = [state(*item) for item in _bits(machine, machine.starts).items()]
    done = transitions = 0
    while done < len(known):
        targets: dict[str, int] = {}
        loops: set[int] = set()
        for position in members[done]:
            loops |= looping[position]
            steps += 1 + len(by_variable[position])
            for variable, bits in by_variable[position].items():
                targets[variable] = targets.get(variable, 0) | bits
        for variable, bits in targets.items():
            index = state(variable, bits)
            plus = index == done or loops.issuperset(members[index])
            result.follow[done][index] = Arc("+" if plus else "SEQ")
        transitions += len(targets)
        if transitions > MAX_TRANSITIONS:
            raise exploded("transitions", MAX_TRANSITIONS)
        if steps > MAX_STEPS:
            raise exploded("steps to make each trend match in one way only", MAX_STEPS)
        done += 1
    return minimise(result)


def _bits(machine: Machine, states: Iterable[int]) -> dict[str, int]:
    bits: dict[str, int] = {}
    for state in states:
        variable = machine.variables[state]
        bits[variable] = bits.get(variable, 0) | 1 << state
    return bits


def _members(bits: int) -> list[int]:
    members = []
    while bits:
        lowest = bits & -bits
        members.append(lowest.bit_length() - 1)
        bits ^= lowest
    return members


def minimise(machine: Machine) -> Machine:
    """Merge the states of a deterministic machine that accept the same continuations (Moore).

    O(states·transitions) at worst; where that is too much work the machine stays as it is.
    """
    size = len(machine.variables)
    work = sum(map(len, machine.follow)) + size
    block = _numbered((machine.variables[p], p in machine.ends) for p in range(size))
    blocks = len(set(block))
    for _ in range(max(1, MAX_STEPS // (5 * work))):
        block = _numbered((block[p], frozenset(block[q] for q in machine.follow[p])) for p in range(size))
        if len(set(block)) == blocks:
            return _merge(machine, block)
        blocks = len(set(block))
    return machine


def _numbered(keys: Iterable[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _merge(machine: Machine, block: list[int]) -> Machine:
    merged = Machine()
    for p, index in enumerate(block):
        if index == len(merged.variables):
            merged.variables.append(machine.variables[p])
            merged.clips.append(machine.clips[p])
            merged.follow.append({})
        if p in machine.ends:
            merged.ends.add(index)
        arcs = merged.follow[index]
        for q, arc in machine.follow[p].items():
            target = block[q]
            arcs[target] = Arc("+") if target == index else arcs.get(target, arc)
    merged.starts = list(dict.fromkeys(block[p] for p in machine.starts))
    return merged


def trim(machine: Machine) -> tuple[Machine, list[int]]:
    """Drop the states from which no end can be reached, and tell which are kept. O(size)."""
    sources: list[list[int]] = [[] for _ in machine.variables]
    for p, arcs in enumerate(machine.follow):
        for q in arcs:
            sources[q].append(p)
    alive, waiting = set(machine.ends), list(machine.ends)
    while waiting:
        for p in sources[waiting.pop()]:
            if p not in alive:
                alive.add(p)
                waiting.append(p)
    if len(alive) == len(machine.variables):
        return machine, list(range(len(alive)))
    kept = sorted(alive)
    number = {p: index for index, p in enumerate(kept)}
    trimmed = Machine(
        [machine.variables[p] for p in kept],
        [machine.clips[p] for p in kept],
        [number[p] for p in machine.starts if p in number],
        {number[p] for p in machine.ends},
        [{number[q]: arc for q, arc in machine.follow[p].items() if q in number} for p in kept],
    )
    return trimmed, kept


def intersect(left: Machine, right: Machine, shift: int) -> Machine:
    """The machine of the trends that both accept; the negations of ``right`` are renumbered by ``shift``.

    Two machines with one run per trend give one with one run per trend. States from which no end can be
    reached are dropped; nothing may be left.
    """
    shifted = [tuple(n + shift for n in clips) for clips in right.clips]
    result = Machine()
    known: dict[tuple[int, int], int] = {}
    pairs: list[tuple[int, int]] = []

    def state(one: int, other: int) -> int:
        index = known.get((one, other))
        if index is None:
            if len(known) >= MAX_STATES:
                raise exploded("states", MAX_STATES)
            index = known[one, other] = len(known)
            pairs.append((one, other))
            result.variables.append(left.variables[one])
            result.clips.append(left.clips[one] + shifted[other])
            result.follow.append({})
            if one in left.ends and other in right.ends:
                result.ends.add(index)
        return index

    groups = [_by_variable(right, arcs) for arcs in right.follow]
    heads = _by_variable(right, right.starts)
    result.starts = [state(p, q) for p in left.starts for q in heads.get(left.variables[p], ())]
    transitions = 0
    for source, (p, q) in enumerate(pairs):
        for target, arc in left.follow[p].items():
            for other in groups[q].get(left.variables[target], ()):
                negations = arc.negations + tuple(n + shift for n in right.follow[q][other].negations)
                result.follow[source][state(target, other)] = Arc(arc.operator, negations)
        transitions += len(result.follow[source])
        if transitions > MAX_TRANSITIONS:
            raise exploded("transitions", MAX_TRANSITIONS)
    return trim(result)[0]
