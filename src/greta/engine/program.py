"""Template → the kernels' arrays: states, indexes, comparisons, residual programs and slots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from greta.engine.codes import Codes
from greta.engine.columns import Columns, negated, plain, sides
from greta.engine.partitions import Frame
from greta.engine.separation import separated
from greta.engine.times import Clock
from greta.engine.values import as_double
from greta.errors import DataError
from greta.kernels import conditions as op
from greta.kernels.layout import (
    BOTH_SIDES,
    BOX,
    DIFFERS,
    EQUALS,
    FREE,
    GREATER,
    GREATER_EQUAL,
    INDEX_COLUMNS,
    LEAF,
    LESS,
    LESS_EQUAL,
    NOTHING,
    PREFIX,
    RANK_COLUMNS,
    SCAN,
    STATE_COLUMNS,
    STEP_COLUMNS,
    Automaton,
    Conditions,
    Events,
    Input,
    Operands,
    Slots,
    States,
    Steps,
    Weights,
)
from greta.lang.nodes import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Boolean,
    Call,
    Comparison,
    Expression,
    Name,
    Negative,
    Not,
    Number,
    Or,
    Text,
    TrendAggregate,
)
from greta.plan.flows import Code, Flow, Guard, Op, Position, Step, Weight
from greta.plan.nodes import AccessPath, Link, State, Template

Int = NDArray[np.int64]

OPERATORS = {"<": LESS, "<=": LESS_EQUAL, ">": GREATER, ">=": GREATER_EQUAL, "=": EQUALS, "!=": DIFFERS}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_KINDS = {
    AccessPath.FREE: FREE,
    AccessPath.EQUAL: LEAF,
    AccessPath.ORDERED: PREFIX,
    AccessPath.UNEQUAL: BOTH_SIDES,
    AccessPath.RANGES: BOX,
    AccessPath.GENERAL: SCAN,
}
"""The kind of index that serves an access path: the plan has decided."""
_LARGEST_INTEGER = 2.0**63
_ARITHMETIC = {"+": op.ADD, "-": op.SUBTRACT, "*": op.MULTIPLY, "/": op.DIVIDE, "%": op.REMAINDER}


@dataclass(slots=True)
class Store:
    """Columns for the kernels, in the order of a frame, each stored once."""

    arrays: list[NDArray[Any]] = field(default_factory=list)

    def add(self, array: NDArray[Any]) -> int:
        """The number of a column, a new one only for an array not yet there."""
        for at, known in enumerate(self.arrays):
            if known is array:
                return at
        self.arrays.append(array)
        return len(self.arrays) - 1

    def stack(self, length: int, dtype: type[Any]) -> NDArray[Any]:
        """All columns as one [column, event] array."""
        if not self.arrays:
            return np.empty((0, length), dtype=dtype)
        return np.stack(self.arrays) if len(self.arrays) > 1 else self.arrays[0].reshape(1, length)


@dataclass(frozen=True, slots=True)
class Gap:
    """``previous op next``, codes in the order of a frame: no match of a NOT lies between two events."""

    previous: Codes
    next: Codes
    operator: int
    """EQUALS, or GREATER_EQUAL where a match may have several events."""


@dataclass(slots=True)
class Compiler:
    """Collects the arrays of the templates that run over one frame, in one family of numbers."""

    columns: Columns
    variables: dict[str, int]
    """Variable → bit."""
    frame: Frame
    time: Codes
    """In the order of the frame, in units of the clock."""
    clock: Clock
    double: bool
    split: bool = False
    """Whether integers that are too large to be weights are taken apart."""
    limb: int = 0
    """Which part of them this is for."""
    codes: Store = field(default_factory=Store)
    values: Store = field(default_factory=Store)
    weights: Store = field(default_factory=Store)
    guards: Store = field(default_factory=Store)
    _gathered: dict[Any, NDArray[Any]] = field(default_factory=dict)
    _composites: dict[tuple[int, ...], tuple[Codes, Codes, int]] = field(default_factory=dict)

    def compile(self, template: Template, gaps: list[Gap | None], flow: Flow) -> Automaton:
        """The template in arrays; ``gaps`` per negative in the middle."""
        return _Template(self, template, gaps).compile(flow)

    def input(self) -> Input:
        """The events in arrays, once all templates are compiled."""
        length = len(self.time)
        weights = self.weights.stack(length, np.float64 if self.double else np.int64)
        return Input(
            Events(self.frame.offsets, self.time, self.frame.mask, self.frame.required),
            Operands(self.codes.stack(length, np.int64), self.values.stack(length, np.float64)),
            Weights(
                doubles=weights if self.double else np.empty((0, length)),
                integers=np.empty((0, length), dtype=np.int64) if self.double else weights,
                guards=self.guards.stack(length, np.uint8),
            ),
        )

    def weight(self, weight: Weight | Code | Position) -> int:
        """The column of a step's weight."""
        return self.weights.add(self._made(weight, lambda: self._weight(weight)))

    def _weight(self, weight: Weight | Code | Position) -> NDArray[Any]:
        dtype = np.float64 if self.double else np.int64
        if isinstance(weight, Position):
            return np.arange(len(self.time)).astype(dtype)
        if isinstance(weight, Code):
            codes, _ = self.columns.extremes(weight.attribute, self.double)
            return negated(codes)[self.frame.rows] if weight.sign < 0 else codes[self.frame.rows]
        result: NDArray[Any] = np.full(len(self.time), weight.constant, dtype=dtype)
        largest = float(abs(weight.constant))
        for name, coefficient in weight.attributes:
            values: NDArray[Any] = self.columns.weights(name) if self.double else self._parts(name)
            largest += abs(coefficient) * max(abs(float(values.max(initial=0))), abs(float(values.min(initial=0))))
            result += coefficient * values[self.frame.rows].astype(dtype)
        if weight.seconds:
            result += weight.seconds * self._seconds()
        if not self.double and largest >= _LARGEST_INTEGER:
            raise _too_large()
        return result

    def require_room(self, column: int) -> None:
        """Refuse weights of extremes whose sums may not fit: a largest value of trends has no wider form."""
        weights = self.weights.arrays[column]
        if not self.double and np.abs(weights.astype(np.float64)).sum() >= _LARGEST_INTEGER / 2:
            raise _too_large()

    def _parts(self, name: str) -> NDArray[np.int64]:
        """The part of an attribute's integers that this pass is for."""
        if not self.split:
            values = self.columns.weights(name)
            if values.dtype == np.int64:
                return values
            raise DataError(
                f"a value of a trend does not fit 64 bits: {name} is too large\n"
                "hint: leave numbers='exact' out, or use a smaller unit"
            )
        parts = self.columns.limbs(name)
        return parts[self.limb] if self.limb < len(parts) else np.zeros_like(parts[0])

    def _seconds(self) -> NDArray[Any]:
        """Seconds since the first event of the partition: lengths of time do not depend on when it was."""
        lengths = np.diff(self.frame.offsets)
        first = self.time[self.frame.offsets[:-1][lengths > 0]]
        since = self.time - np.repeat(first, lengths[lengths > 0])
        per_second = 1_000 * self.clock.per_millisecond
        return since / per_second if self.double else since // per_second

    def guard(self, guard: Guard) -> int:
        """The column of a step's guard."""
        return self.guards.add(self._made(guard, lambda: self._guard(guard)))

    def _guard(self, guard: Guard) -> NDArray[np.uint8]:
        result = np.ones(self.columns.length, dtype=bool)
        for names, holds in ((guard.valid, True), (guard.missing, False)):
            for name in names:
                valid = self.columns.valid(name)
                if valid is not None:
                    result &= valid == holds
                elif not holds:
                    result[:] = False
        return result[self.frame.rows].astype(np.uint8)

    def _made(self, key: Any, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        if key not in self._gathered:
            self._gathered[key] = make()
        return self._gathered[key]

    def gather(self, key: Any, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """A column in the order of the frame, made once per key."""
        if key not in self._gathered:
            self._gathered[key] = make()[self.frame.rows]
        return self._gathered[key]

    def numbers(self, expression: Expression) -> NDArray[np.float64]:
        """A number per event for residual conditions."""
        return self.gather(("number", plain(expression)), lambda: self.columns.numbers(expression))

    def comparands(self, previous: Expression, next_: Expression) -> tuple[Codes, Codes]:
        """Codes of both sides of a comparison; one array where both are the same expression."""
        left, right = plain(previous), plain(next_)
        first = self.gather(("code", left, right, False), lambda: self.columns.comparands(previous, next_)[0])
        if left == right:
            return first, first
        return first, self.gather(("code", left, right, True), lambda: self.columns.comparands(previous, next_)[1])

    def composite(
        self, equal: list[tuple[Codes, Codes]], ordered: tuple[Codes, Codes] | None, mirrored: bool
    ) -> tuple[Codes, Codes, int]:
        """One pair of codes for several equalities and at most one comparison: equality × stride + order.

        ``mirrored``: the larger codes of the comparison come first, so that ``>`` becomes ``<``.
        """
        pairs = (*equal, *([ordered] if ordered else []))
        key = (mirrored, *(id(codes) for pair in pairs for codes in pair))
        if key not in self._composites:
            previous, next_ = _dense_pair(*equal[0])
            for pair in equal[1:]:
                more_previous, more_next = _dense_pair(*pair)
                size = int(max(more_previous.max(initial=0), more_next.max(initial=0))) + 1
                previous, next_ = _dense_pair(_combine(previous, more_previous, size), _combine(next_, more_next, size))
            stride = 0
            if ordered is not None:
                low, high = _dense_pair(*ordered)
                stride = int(max(low.max(initial=0), high.max(initial=0))) + 1
                if mirrored:
                    low, high = _mirrored(low, stride), _mirrored(high, stride)
                previous, next_ = _combine(previous, low, stride), _combine(next_, high, stride)
            self._composites[key] = previous, next_, stride
        return self._composites[key]


def _too_large() -> DataError:
    return DataError("a value of a trend does not fit 64 bits\nhint: leave numbers='exact' out, or sum a smaller unit")


def _mirrored(codes: Codes, size: int) -> Codes:
    return np.where(codes == NOTHING, NOTHING, size - 1 - codes)


def _dense_pair(previous: Codes, next_: Codes) -> tuple[Codes, Codes]:
    """Codes 0, 1, 2, … in the same order; NULL stays NULL."""
    known = np.unique(np.concatenate((previous, next_)))
    known = known[known != NOTHING]

    def dense(codes: Codes) -> Codes:
        result = np.searchsorted(known, codes)
        result[codes == NOTHING] = NOTHING
        return result

    first = dense(previous)
    return first, first if previous is next_ else dense(next_)


def _combine(high: Codes, low: Codes, size: int) -> Codes:
    result = high * size + low
    result[(high == NOTHING) | (low == NOTHING)] = NOTHING
    return result


class _Template:
    """One template on its way into arrays."""

    def __init__(self, compiler: Compiler, template: Template, gaps: list[Gap | None]) -> None:
        self.compiler = compiler
        self.template = template
        self.gaps = gaps
        self.comparisons: list[tuple[int, int, int]] = []
        self.rank_comparisons: list[list[int]] = []
        self.program: list[int] = []
        self.constants: list[float] = []

    def compile(self, flow: Flow) -> Automaton:
        """The template's states, indexes, conditions and steps as the kernels' arrays.

        One index per (source state, link): transitions that leave a state under the same conditions share it.
        """
        template = self.template
        states = template.states
        links = [self._link(link) for link in template.links]
        by_variable: list[list[int]] = [[] for _ in range(64)]
        for state in states:
            by_variable[self.compiler.variables[state.variable]].append(state.index)
        indexes: dict[tuple[int, int], int] = {}
        incoming: list[list[int]] = [[] for _ in states]
        outgoing: list[list[int]] = [[] for _ in states]
        for transition in template.transitions:
            key = (transition.source, transition.link)
            if key not in indexes:
                indexes[key] = len(indexes)
                outgoing[transition.source].append(indexes[key])
            incoming[transition.target].append(indexes[key])
        states_ptr, states_flat = _slices(by_variable)
        in_ptr, in_flat = _slices(incoming)
        out_ptr, out_flat = _slices(outgoing)
        compare_ptr, compare_flat = _slices([link.comparisons for link in links])
        steps, spans = self._steps(flow)
        clips = {clip: at for at, clip in enumerate(clip_sets(template))}
        state_rows = [
            [
                state.start,
                state.end,
                state.seen,
                clips[state.clips],
                in_ptr[at],
                in_ptr[at + 1],
                out_ptr[at],
                out_ptr[at + 1],
                *spans[state.variable],
            ]
            for at, state in enumerate(states)
        ]
        index_rows = [
            [links[link].kind, link, source, self._bit(states[source]), links[link].rank] for source, link in indexes
        ]
        return Automaton(
            States(
                ptr=states_ptr,
                entered=states_flat,
                state=_matrix(state_rows, STATE_COLUMNS),
                incoming=in_flat,
                outgoing=out_flat,
                indexes=_matrix(index_rows, INDEX_COLUMNS),
                rank=_matrix(self.rank_comparisons, RANK_COLUMNS),
            ),
            Conditions(
                ptr=compare_ptr,
                compare=compare_flat,
                comparison=_small(self.comparisons).reshape(-1, 3),
                program_start=np.array([link.program for link in links], dtype=np.int64),
                program=np.array(self.program, dtype=np.int64),
                constants=np.array(self.constants, dtype=np.float64),
            ),
            Steps(
                steps=steps,
                start_adds=np.array([slot in flow.start_adds for slot in range(flow.adds)], dtype=np.uint8),
                start_maxes=np.array([slot in flow.start_maxes for slot in range(flow.maxes)], dtype=np.uint8),
            ),
            Slots(flow.adds, flow.maxes, flow.carried_adds, flow.carried_maxes),
        )

    def _bit(self, state: State) -> int:
        return self.compiler.variables[state.variable]

    def _steps(self, flow: Flow) -> tuple[Int, dict[str, tuple[int, int, int, int]]]:
        """All steps, and per variable the slices for starting a trend and for taking part in one."""
        rows: list[list[int]] = []
        spans: dict[str, tuple[int, int, int, int]] = {}
        for variable in self.template.variables:
            ends = [len(rows)]
            for steps in (flow.starting, flow.taking_part):
                rows += [self._step(step) for step in steps.get(variable, ())]
                ends.append(len(rows))
            spans[variable] = (ends[0], ends[1], ends[1], ends[2])
        return _matrix(rows, STEP_COLUMNS), spans

    def _step(self, step: Step) -> list[int]:
        column, factor = -1, 0
        match step.weight:
            case None:
                pass
            case Weight(constant=factor, attributes=(), seconds=0):
                pass
            case weight:
                column = self.compiler.weight(weight)
                if step.op in (Op.PUT, Op.JOIN):
                    self.compiler.require_room(column)
        guard = -1 if step.guard is None else self.compiler.guard(step.guard)
        return [step.op, step.target, step.source, column, factor, guard]

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
            program = len(self.program)
            for count, condition in enumerate(link.residual):
                self._emit_condition(condition)
                if count:
                    self.program += [op.AND, 0]
            self.program += [op.STOP, 0]
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

    def _emit_condition(self, condition: Expression) -> None:
        """Postfix code that leaves 1, 0 or NaN."""
        match condition:
            case _ if len(sides(condition)) < 2:
                self._emit_number(condition)
            case And(parts=parts) | Or(parts=parts):
                for count, part in enumerate(parts):
                    self._emit_condition(part)
                    if count:
                        self.program += [op.AND if isinstance(condition, And) else op.OR, 0]
            case Not(operand=operand):
                self._emit_condition(operand)
                self.program += [op.NOT, 0]
            case Comparison(operator=operator, left=left, right=right):
                a, b = sides(left), sides(right)
                if a <= {False} and b <= {True}:
                    pair = self.compiler.comparands(left, right)
                    self.program += [op.COMPARE_CODES, self._comparison(pair, OPERATORS[operator])]
                elif a <= {True} and b <= {False}:
                    pair = self.compiler.comparands(right, left)
                    self.program += [op.COMPARE_CODES, self._comparison(pair, OPERATORS[_MIRRORED[operator]])]
                elif (apart := separated(condition, self.compiler.columns.is_whole)) is not None:
                    pair = self.compiler.comparands(*apart)
                    self.program += [op.COMPARE_CODES, self._comparison(pair, OPERATORS[operator])]
                else:
                    self._emit_number(left)
                    self._emit_number(right)
                    self.program += [op.COMPARE, OPERATORS[operator]]
            case _:
                self._emit_number(condition)

    def _emit_number(self, expression: Expression) -> None:
        """Postfix code that leaves a number, NaN for NULL."""
        about = sides(expression)
        match expression:
            case Number(value=value):
                self._emit_constant(as_double(value))
            case Boolean(value=truth):
                self._emit_constant(float(truth))
            case _ if len(about) <= 1:
                column = self.compiler.values.add(self.compiler.numbers(expression))
                self.program += [op.NEXT if True in about else op.PREVIOUS, column]
            case Negative(operand=operand):
                self._emit_number(operand)
                self.program += [op.NEGATE, 0]
            case Arithmetic(operator=operator, left=left, right=right):
                self._emit_number(left)
                self._emit_number(right)
                self.program += [_ARITHMETIC[operator], 0]
            case Comparison() | And() | Or() | Not():
                self._emit_condition(expression)
            case Attribute() | Name() | Aggregate() | TrendAggregate() | Call() | Text():
                raise DataError("a condition between two events cannot be computed")
            case _:
                assert_never(expression)

    def _emit_constant(self, value: float) -> None:
        self.constants.append(value)
        self.program += [op.CONSTANT, len(self.constants) - 1]


@dataclass(frozen=True, slots=True)
class _Link:
    kind: int
    rank: int
    comparisons: list[int]
    program: int


def clip_sets(template: Template) -> list[tuple[int, ...]]:
    """The different sets of leading and trailing negatives that states are clipped by; never empty."""
    return list(dict.fromkeys(state.clips for state in template.states)) or [()]


def _slices(lists: list[list[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return _small([0, *accumulate(map(len, lists))]), _small([item for items in lists for item in items])


def _small(items: Sequence[object]) -> NDArray[np.int32]:
    return np.array(items, dtype=np.int32)


def _matrix(rows: Sequence[Sequence[int]], columns: int) -> Int:
    return np.array(rows, dtype=np.int64).reshape(len(rows), columns)
