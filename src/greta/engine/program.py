"""Template → the kernels' arrays: states, indexes, comparisons, residual programs and slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from greta.engine.codes import Codes
from greta.engine.columns import Columns, plain, sides
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
    LEAF,
    LESS,
    LESS_EQUAL,
    PREFIX,
    SCAN,
    Automaton,
)
from greta.kernels.numbers import NOTHING
from greta.lang.nodes import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Boolean,
    Comparison,
    Expression,
    Name,
    Negative,
    Not,
    Number,
    Or,
    Text,
)
from greta.plan.nodes import Link, Slot, SlotKind, Template

Int = NDArray[np.int64]

OPERATORS = {"<": LESS, "<=": LESS_EQUAL, ">": GREATER, ">=": GREATER_EQUAL, "=": EQUALS, "!=": DIFFERS}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
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
    """Collects the arrays of the templates that run over one frame."""

    columns: Columns
    variables: dict[str, int]
    """Variable → bit."""
    rows: Int
    """Rows of the table, in the order of the frame."""
    time: Codes
    """In the order of the frame."""
    codes: Store = field(default_factory=Store)
    values: Store = field(default_factory=Store)
    doubles: Store = field(default_factory=Store)
    integers: Store = field(default_factory=Store)
    ranks: Store = field(default_factory=Store)
    _gathered: dict[Any, NDArray[Any]] = field(default_factory=dict)
    _composites: dict[tuple[int, ...], tuple[Codes, Codes, int]] = field(default_factory=dict)

    def compile(
        self,
        template: Template,
        gaps: list[Gap | None],
        adds: list[Slot],
        maxes: list[Slot],
        double: bool,
    ) -> Automaton:
        """The template in arrays; ``gaps`` per negative in the middle."""
        return _Template(self, template, gaps).compile(adds, maxes, double)

    def gather(self, key: Any, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """A column in the order of the frame, made once per key."""
        if key not in self._gathered:
            self._gathered[key] = make()[self.rows]
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
        self, equal: list[tuple[Codes, Codes]], ordered: tuple[Codes, Codes] | None
    ) -> tuple[Codes, Codes, int]:
        """One pair of codes for several equalities and at most one comparison: equality × stride + order."""
        key = tuple(id(codes) for pair in (*equal, *([ordered] if ordered else [])) for codes in pair)
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
                previous, next_ = _combine(previous, low, stride), _combine(next_, high, stride)
            self._composites[key] = previous, next_, stride
        return self._composites[key]


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
        self.rank_comparisons: list[tuple[int, int, int, int]] = []
        self.program: list[int] = []
        self.constants: list[float] = []

    def compile(self, adds: list[Slot], maxes: list[Slot], double: bool) -> Automaton:
        template = self.template
        states = template.states
        clip_classes = {clips: at for at, clips in enumerate(clip_sets(template))}
        links = [self._link(link) for link in template.links]
        by_variable: list[list[int]] = [[] for _ in range(65)]
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
        variable_of = [self.compiler.variables[state.variable] for state in states]
        states_ptr, states_flat = _slices(by_variable[:64])
        in_ptr, in_flat = _slices(incoming)
        out_ptr, out_flat = _slices(outgoing)
        compare_ptr, compare_flat = _slices([link.comparisons for link in links])
        return Automaton(
            states_ptr=states_ptr,
            states=states_flat,
            start=np.array([s.start for s in states], dtype=np.uint8),
            end=np.array([s.end for s in states], dtype=np.uint8),
            seen=np.array([s.seen for s in states], dtype=np.int64),
            clip=_small([clip_classes[s.clips] for s in states]),
            in_ptr=in_ptr,
            in_index=in_flat,
            out_ptr=out_ptr,
            out_index=out_flat,
            index_kind=_small([links[link].kind for _, link in indexes]),
            index_link=_small([link for _, link in indexes]),
            index_source=_small([source for source, _ in indexes]),
            index_variable=_small([variable_of[source] for source, _ in indexes]),
            link_rank=_small([link.rank for link in links]),
            link_compare_ptr=compare_ptr,
            link_compare=compare_flat,
            link_program=np.array([link.program for link in links], dtype=np.int64),
            compare_previous=_small([c[0] for c in self.comparisons]),
            compare_next=_small([c[1] for c in self.comparisons]),
            compare_operator=_small([c[2] for c in self.comparisons]),
            rank_previous=_small([r[0] for r in self.rank_comparisons]),
            rank_next=_small([r[1] for r in self.rank_comparisons]),
            rank_operator=_small([r[2] for r in self.rank_comparisons]),
            rank_stride=np.array([r[3] for r in self.rank_comparisons], dtype=np.int64),
            program=np.array(self.program, dtype=np.int64),
            constants=np.array(self.constants, dtype=np.float64),
            adds=self._applies(adds),
            add_column=_small([self._weights(slot, double) for slot in adds]),
            maxes=self._applies(maxes),
            max_column=_small([self._extremes(slot) for slot in maxes]),
        )

    def _applies(self, slots: list[Slot]) -> NDArray[np.uint8]:
        rows = [[state.variable in slot.variables for state in self.template.states] for slot in slots]
        return np.array(rows, dtype=np.uint8).reshape(len(slots), len(self.template.states))

    def _weights(self, slot: Slot, double: bool) -> int:
        store = self.compiler.doubles if double else self.compiler.integers
        dtype = np.float64 if double else np.int64
        columns = self.compiler.columns
        name = slot.attribute
        match slot.kind:
            case SlotKind.TRENDS | SlotKind.EVENTS:
                return -1
            case SlotKind.VALUES:
                assert name is not None
                valid = columns.valid(name)
                if valid is None:
                    return -1
                return store.add(self.compiler.gather(("valid", name, dtype), lambda: valid.astype(dtype)))
            case SlotKind.SUM:
                assert name is not None
                weights = columns.weights(name)
                return store.add(self.compiler.gather(("weight", name, dtype), lambda: weights.astype(dtype)))
            case SlotKind.MIN | SlotKind.MAX:
                raise DataError("an extreme has no weight")
            case _:
                assert_never(slot.kind)

    def _extremes(self, slot: Slot) -> int:
        if slot.attribute is None:
            return self.compiler.ranks.add(self.compiler.time)
        codes, _ = self.compiler.columns.extremes(slot.attribute)
        if slot.kind is SlotKind.MIN:
            codes = np.where(codes == NOTHING, NOTHING, -codes)
        return self.compiler.ranks.add(self.compiler.gather(("rank", slot.attribute, slot.kind), lambda: codes))

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
        comparisons = [self._comparison(pair, EQUALS) for pair in equal]
        comparisons += [self._comparison(pair, operator) for pair, operator in ordered]
        if link.residual:
            start = len(self.program)
            for count, condition in enumerate(link.residual):
                self._emit_condition(condition)
                if count:
                    self.program += [op.AND, 0]
            self.program += [op.STOP, 0]
            rank = self._rank(equal, ordered[:1]) if equal or ordered else -1
            return _Link(SCAN, rank, comparisons, start)
        if not comparisons:
            return _Link(FREE, -1, comparisons, -1)
        if not ordered:
            return _Link(LEAF, self._rank(equal, []), comparisons, -1)
        if len(ordered) > 1:
            return _Link(BOX, -1, comparisons, -1)
        kind = BOTH_SIDES if ordered[0][1] == DIFFERS else PREFIX
        return _Link(kind, self._rank(equal, ordered), comparisons, -1)

    def _comparison(self, pair: tuple[Codes, Codes], operator: int) -> int:
        entry = (self.compiler.codes.add(pair[0]), self.compiler.codes.add(pair[1]), operator)
        if entry not in self.comparisons:
            self.comparisons.append(entry)
        return self.comparisons.index(entry)

    def _rank(self, equal: list[tuple[Codes, Codes]], ordered: list[tuple[tuple[Codes, Codes], int]]) -> int:
        operator = ordered[0][1] if ordered else EQUALS
        stride = 0
        if not equal:
            previous, next_ = ordered[0][0]
        elif len(equal) == 1 and not ordered:
            previous, next_ = equal[0]
        else:
            previous, next_, stride = self.compiler.composite(equal, ordered[0][0] if ordered else None)
        entry = (self.compiler.codes.add(previous), self.compiler.codes.add(next_), operator, stride)
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
            case Attribute() | Name() | Aggregate() | Text():
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


def _small(items: list[int]) -> NDArray[np.int32]:
    return np.array(items, dtype=np.int32)
