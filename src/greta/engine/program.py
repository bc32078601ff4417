"""Template → the kernels' arrays: states, indexes, comparisons, residual programs and slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from greta.engine.codes import Codes
from greta.engine.operands import EventArrays
from greta.engine.residuals import OPERATORS, Residuals
from greta.engine.same import Same
from greta.kernels.layout import (
    BEGIN_FIRST,
    BOTH_SIDES,
    BOX,
    CLIP,
    DIFFERS,
    EQUALS,
    FREE,
    GREATER,
    GREATER_EQUAL,
    IN_FIRST,
    INDEX_COLUMNS,
    LEAF,
    LESS,
    LESS_EQUAL,
    OUT_LAST,
    PREFIX,
    RANK_COLUMNS,
    SCAN,
    STATE_COLUMNS,
    STEP_COLUMNS,
    Automaton,
    Conditions,
    Slots,
    States,
    Steps,
)
from greta.plan.flows import Flow, Op, Step, Weight
from greta.plan.nodes import AccessPath, Link, Template

Int = NDArray[np.int64]

_KINDS = {
    AccessPath.FREE: FREE,
    AccessPath.EQUAL: LEAF,
    AccessPath.ORDERED: PREFIX,
    AccessPath.UNEQUAL: BOTH_SIDES,
    AccessPath.RANGES: BOX,
    AccessPath.GENERAL: SCAN,
}
"""The kind of index that serves an access path: the plan has decided."""


@dataclass(frozen=True, slots=True)
class Gap:
    """``previous op next``, codes in the order of a frame: no match of a NOT lies between two events."""

    previous: Codes
    next: Codes
    operator: int
    """EQUALS, or GREATER_EQUAL where a match may have several events."""


@dataclass(slots=True)
class Compiler(EventArrays):
    """Compiles the templates that run over one frame, in one family of numbers."""

    def compile(self, template: Template, gaps: list[Gap | None], flow: Flow) -> Automaton:
        """The template in arrays; ``gaps`` per negative in the middle."""
        return _Template(self, template, gaps).compile(flow)


class _Template:
    """One template on its way into arrays."""

    def __init__(self, compiler: Compiler, template: Template, gaps: list[Gap | None]) -> None:
        self.compiler = compiler
        self.template = template
        self.gaps = gaps
        self.comparisons: list[tuple[int, int, int]] = []
        self.rank_comparisons: list[list[int]] = []
        self.residuals = Residuals(compiler, self._comparison)

    def compile(self, flow: Flow) -> Automaton:
        """The template's states, indexes, conditions and steps as the kernels' arrays.

        One index per (source state, link): transitions that leave a state under the same conditions share it.
        """
        template = self.template
        links = [self._link(link) for link in template.links]
        shape = _shape(Same(template), tuple(self.compiler.variables.items()))
        compare_ptr, compare_flat = to_slices([link.comparisons for link in links])
        steps: list[list[int]] = []
        spans = encode_steps(self.compiler, flow, template.variables, steps)
        state_rows = shape.states.copy()
        for at, state in enumerate(template.states):
            state_rows[at, BEGIN_FIRST:STATE_COLUMNS] = spans[state.variable]
        index_rows = [[links[link].kind, link, source, bit, links[link].rank] for (source, link), bit in shape.indexes]
        return Automaton(
            States(
                ptr=shape.ptr,
                entered=shape.entered,
                state=state_rows,
                incoming=shape.incoming,
                outgoing=shape.outgoing,
                indexes=to_matrix(index_rows, INDEX_COLUMNS),
                rank=to_matrix(self.rank_comparisons, RANK_COLUMNS),
            ),
            Conditions(
                ptr=compare_ptr,
                compare=compare_flat,
                comparison=_row(self.comparisons).reshape(-1, 3),
                program_start=np.array([link.program for link in links], dtype=np.int64),
                program=np.array(self.residuals.program, dtype=np.int64),
                constants=np.array(self.residuals.constants, dtype=np.float64),
            ),
            start_and_steps(flow, steps),
            Slots(flow.adds, flow.maxes, flow.carried_adds, flow.carried_maxes),
        )

    def _link(self, link: Link) -> _Link:
        compiler = self.compiler
        equal = [compiler.comparands(e.previous, e.next) for e in link.equal]
        ordered = [(compiler.comparands(o.previous, o.next), OPERATORS[o.operator]) for o in link.ordered]
        for negative in link.negations:
            gap = self.gaps[negative]
            assert gap is not None
            if gap.operator == EQUALS:
                equal.append((gap.previous, gap.next))
            else:
                ordered.append(((gap.previous, gap.next), gap.operator))
        kind = _KINDS[link.path]
        comparisons = [self._comparison(pair, EQUALS) for pair in equal]
        comparisons += [self._comparison(pair, operator) for pair, operator in ordered]
        program = -1
        if kind == SCAN:
            program = self.residuals.emit(link.residual)
            # A range narrows a scan, all but one key does not.
            ordered = [one for one in ordered[:1] if one[1] != DIFFERS]
        rank = -1 if kind in (FREE, BOX) or not (equal or ordered) else self._rank(equal, ordered)
        return _Link(kind, rank, comparisons, program)

    def _comparison(self, pair: tuple[Codes, Codes], operator: int) -> int:
        entry = (self.compiler.codes.add(pair[0]), self.compiler.codes.add(pair[1]), operator)
        if entry not in self.comparisons:
            self.comparisons.append(entry)
        return self.comparisons.index(entry)

    def _rank(self, equal: list[tuple[Codes, Codes]], ordered: list[tuple[tuple[Codes, Codes], int]]) -> int:
        """The number of the rank comparison of some equalities and at most one other comparison."""
        pair, operator = ordered[0] if ordered else (None, EQUALS)
        stride = 0
        if pair is not None and not equal:
            previous, next_ = pair
        elif len(equal) == 1 and pair is None:
            previous, next_ = equal[0]
        else:
            mirrored = operator in (GREATER, GREATER_EQUAL)
            previous, next_, stride = self.compiler.composite(equal, pair, mirrored)
            operator = {GREATER: LESS, GREATER_EQUAL: LESS_EQUAL}.get(operator, operator)
        entry = [self.compiler.codes.add(previous), self.compiler.codes.add(next_), operator, stride]
        if entry not in self.rank_comparisons:
            self.rank_comparisons.append(entry)
        return self.rank_comparisons.index(entry)


@dataclass(frozen=True, slots=True)
class _Shape:
    """What of a template's arrays hangs on the template alone."""

    ptr: Int
    entered: Int
    states: Int
    """Rows of states, without their steps."""
    incoming: Int
    outgoing: Int
    indexes: tuple[tuple[tuple[int, int], int], ...]
    """(source state, link), and the bit of the source's variable."""


@lru_cache(maxsize=512)
def _shape(same: Same[Template], variables: tuple[tuple[str, int], ...]) -> _Shape:
    """The states and indexes of a template; ``variables``: each with its bit in masks."""
    template, bits = same.value, dict(variables)
    states = template.states
    by_variable: list[list[int]] = [[] for _ in range(64)]
    for state in states:
        by_variable[bits[state.variable]].append(state.index)
    indexes: dict[tuple[int, int], int] = {}
    incoming: list[list[int]] = [[] for _ in states]
    outgoing: list[list[int]] = [[] for _ in states]
    for transition in template.transitions:
        key = (transition.source, transition.link)
        if key not in indexes:
            indexes[key] = len(indexes)
            outgoing[transition.source].append(indexes[key])
        incoming[transition.target].append(indexes[key])
    clips = {clip: at for at, clip in enumerate(clip_sets(template))}
    ptr, entered = to_slices(by_variable)
    in_ptr, in_flat = to_slices(incoming)
    out_ptr, out_flat = to_slices(outgoing)
    rows = np.zeros((len(states), STATE_COLUMNS), dtype=np.int64)
    for at, state in enumerate(states):
        rows[at, : CLIP + 1] = state.start, state.end, state.seen, clips[state.clips]
        rows[at, IN_FIRST : OUT_LAST + 1] = in_ptr[at], in_ptr[at + 1], out_ptr[at], out_ptr[at + 1]
    sources = tuple((key, bits[states[key[0]].variable]) for key in indexes)
    return _Shape(ptr, entered, rows, in_flat, out_flat, sources)


@dataclass(frozen=True, slots=True)
class _Link:
    kind: int
    rank: int
    comparisons: list[int]
    program: int


def encode_steps(
    arrays: EventArrays, flow: Flow, variables: frozenset[str], rows: list[list[int]]
) -> dict[str, tuple[int, int, int, int]]:
    """Add the steps of a flow to ``rows``; per variable the slices for starting a trend and for taking part in one."""
    spans: dict[str, tuple[int, int, int, int]] = {}
    for variable in variables:
        ends = [len(rows)]
        for steps in (flow.starting, flow.taking_part):
            rows += [_step(arrays, step) for step in steps.get(variable, ())]
            ends.append(len(rows))
        spans[variable] = (ends[0], ends[1], ends[1], ends[2])
    return spans


def _step(arrays: EventArrays, step: Step) -> list[int]:
    column, factor = -1, 0
    match step.weight:
        case None:
            pass
        case Weight(constant=factor, attributes=(), seconds=0):
            pass
        case weight:
            column = arrays.weight(weight)
            if step.op in (Op.PUT, Op.JOIN):
                arrays.require_room(column)
    guard = -1 if step.guard is None else arrays.guard(step.guard)
    return [step.op, step.target, step.source, column, factor, guard]


def start_and_steps(flow: Flow, steps: list[list[int]]) -> Steps:
    """What starting a trend does to the slots, and the steps, as the kernels' arrays."""
    return Steps(
        steps=to_matrix(steps, STEP_COLUMNS),
        start_adds=np.array([slot in flow.start_adds for slot in range(flow.adds)], dtype=np.uint8),
        start_maxes=np.array([slot in flow.start_maxes for slot in range(flow.maxes)], dtype=np.uint8),
    )


def clip_sets(template: Template) -> list[tuple[int, ...]]:
    """The different sets of leading and trailing negatives that states are clipped by; never empty."""
    return list(dict.fromkeys(state.clips for state in template.states)) or [()]


def to_slices(lists: list[list[int]]) -> tuple[Int, Int]:
    """(where each list begins, and where the last one ends; all items)"""
    return _row([0, *accumulate(map(len, lists))]), _row([item for items in lists for item in items])


def _row(items: Sequence[object]) -> Int:
    return np.array(items, dtype=np.int64)


def to_matrix(rows: Sequence[Sequence[int]], columns: int) -> Int:
    """Rows of numbers as an array, of so many columns even where there is no row."""
    return np.array(rows, dtype=np.int64).reshape(len(rows), columns)
