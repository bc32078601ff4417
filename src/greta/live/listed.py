"""Links that no sum answers → what is kept of their vertices, and how these are tested against new events.

A batch compiles conditions for the values that it has. Here they are compiled once, for values of any push, so that
what they read of an event must not depend on others: codes of numbers and words, and doubles that hold whole numbers
exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.columns import Columns, plain
from greta.engine.digits import bound_of
from greta.engine.frames import Stream
from greta.engine.job import Job
from greta.engine.program import Compiler, Gap
from greta.kernels import conditions as op
from greta.kernels.layout import DIFFERS, EQUALS, GREATER_EQUAL, Automaton, Conditions, Operands
from greta.kernels.lists import (
    KEPT_FIRST,
    KEPT_LAST,
    LISTED,
    NEXT,
    ORDER_COLUMNS,
    PREVIOUS,
    PROGRAM,
    STRICT,
    TEST_COLUMNS,
    TEST_FIRST,
    TEST_LAST,
    Orders,
    Pairs,
)
from greta.lang.nodes import Comparison, Expression
from greta.lang.walk import walk
from greta.live.edges import whole_template
from greta.live.orders import Order, Surprise, Words, compared_codes, orders_of
from greta.plan.flows import latest_start
from greta.plan.nodes import Equal, Template

Int = NDArray[np.int64]

_LARGEST = 2**53
"""Integers up to this are doubles without a loss."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A side of a comparison; ``ordered``: not for equality alone."""

    previous: Expression
    next: Expression
    later: bool
    ordered: bool

    def codes(self, columns: Columns, words: Words) -> Int:
        """A code per event, the same whatever other events there are; raises Surprise where there is none."""
        if self.ordered:
            return compared_codes(columns, self.previous, self.next)[self.later]
        return words.codes(columns, Equal(self.previous, self.next))[self.later]


@dataclass(frozen=True, slots=True)
class CutOff:
    """The time of an event, or, of a later one, the latest start of a NOT's matches that ended before it."""

    negative: int
    later: bool


@dataclass(frozen=True, slots=True)
class Listing:
    """What lists keep and read of events, by column."""

    codes: tuple[Compared | CutOff, ...] = ()
    numbers: tuple[Expression, ...] = ()
    limits: tuple[tuple[Expression, int], ...] = ()
    """Integers that conditions compute with, and how large they may be."""

    def require_limits(self, columns: Columns) -> None:
        """Raise Surprise where doubles might not hold what conditions compute of integers."""
        for expression, largest in self.limits:
            extremes = pc.min_max(columns.evaluate(expression))
            if max(abs(int(extremes[end].as_py() or 0)) for end in ("min", "max")) > largest:
                raise Surprise("a condition between two events computes with integers beyond 2^53")

    def pairs(self, columns: Columns, words: Words, rows: Int, cut_offs: Sequence[tuple[Int, Int] | None]) -> Pairs:
        """The columns of some events of a table, in their order, and room for one more.

        ``cut_offs``, per NOT: of these events, the times and the latest starts.
        """
        if not self.codes and not self.numbers and not self.limits:
            return _NO_PAIRS
        self.require_limits(columns)
        codes = np.empty((len(self.codes), len(rows) + 1), dtype=np.int64)
        for at, code in enumerate(self.codes):
            match code:
                case Compared():
                    codes[at, :-1] = code.codes(columns, words)[rows]
                case CutOff(negative=negative, later=later):
                    sides = cut_offs[negative]
                    assert sides is not None
                    codes[at, :-1] = sides[later]
        numbers = np.empty((len(self.numbers), len(rows) + 1))
        for at, expression in enumerate(self.numbers):
            numbers[at, :-1] = columns.numbers(expression)[rows]
        return Pairs(Operands(codes, numbers), np.empty(op.STACK if len(self.codes) + len(self.numbers) else 0))


_NO_PAIRS = Pairs(Operands(np.empty((0, 1), dtype=np.int64), np.empty((0, 1))), np.empty(0))


def why_no_lists(job: Job) -> str | None:
    """Why vertices of some link cannot be kept one by one; None where they can, or where no link needs it."""
    return _why_no_lists(job, whole_template(job.plan))


def _why_no_lists(job: Job, template: Template) -> str | None:
    stream = Stream.of(job, job.schema.empty_table())
    frame = stream.frame_of(template.variables, (), False)
    compiler = Compiler(stream.columns, stream.bits, frame, stream.time, stream.clock, double=True)
    gaps = no_gaps(template)
    automaton = compiler.compile(template, gaps, latest_start(template.variables))
    try:
        _, listing = list_links(template, orders_of(template)[0], automaton, compiler, gaps)
        for code in listing.codes:
            if isinstance(code, Compared):
                code.codes(stream.columns, Words({}))
    except Surprise as surprise:
        return str(surprise)
    whys = (_why_no_lists(job, negative.template) for negative in template.negatives)
    return next((why for why in whys if why is not None), None)


def no_gaps(template: Template) -> list[Gap | None]:
    """Gaps without events, per NOT: arrays that tell the sides of each apart."""
    return [
        Gap(
            np.empty(0, dtype=np.int64),
            np.empty(0, dtype=np.int64),
            GREATER_EQUAL if negative.template.transitions else EQUALS,
        )
        for negative in template.negatives
    ]


def list_links(
    template: Template, orders: list[Order], automaton: Automaton, compiler: Compiler, gaps: list[Gap | None]
) -> tuple[Orders, Listing]:
    """The orders in arrays, and what those without a sum read of events.

    The automaton was compiled over no events; raises Surprise where a condition needs integers beyond 2^53 as it is.
    """
    return _Lists(template, automaton, compiler, gaps).of(orders)


@dataclass(slots=True)
class _Lists:
    """The arrays of listed orders on their way."""

    template: Template
    automaton: Automaton
    compiler: Compiler
    gaps: list[Gap | None]
    codes: dict[tuple[int, bool], int] = field(default_factory=dict)
    """(the compiler's column, whether it is read of the later event) → column."""
    numbers: dict[int, int] = field(default_factory=dict)
    tests: list[list[int]] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    comparisons: list[tuple[int, int, int]] = field(default_factory=list)
    program: list[int] = field(default_factory=list)

    def of(self, orders: list[Order]) -> tuple[Orders, Listing]:
        """All orders; codes of those with one comparison come in their order."""
        rows = np.full((len(orders), ORDER_COLUMNS), -1, dtype=np.int64)
        column = 0
        for row, order in zip(rows, orders, strict=True):
            row[STRICT], row[LISTED] = order.strict, order.listed
            if order.listed:
                self._list(row, order)
            elif order.compared is not None or order.cut is not None:
                row[PREVIOUS], row[NEXT] = column, column + 1
                column += 2
        none = np.empty(0, dtype=np.int64)
        conditions = Conditions(
            none,
            none,
            np.array(self.comparisons, dtype=np.int64).reshape(-1, 3),
            none,
            np.array(self.program, dtype=np.int64),
            self.automaton.conditions.constants,
        )
        made = Orders(
            rows,
            np.array(self.tests, dtype=np.int64).reshape(-1, TEST_COLUMNS),
            np.array(self.kept, dtype=np.int64),
            conditions,
        )
        residual = [c for order in orders if order.listed for c in self.template.links[order.link].residual]
        return made, Listing(self._named(), self._expressions(), _limits(residual, self.compiler.columns))

    def _list(self, row: Int, order: Order) -> None:
        """Tests, kept columns and condition of one order; equalities have led to the list already."""
        conditions = self.automaton.conditions
        first = conditions.ptr[order.link] + len(order.keys) + len(order.negations)
        kept: list[int] = []
        row[TEST_FIRST], row[KEPT_FIRST] = len(self.tests), len(self.kept)
        for comparison in conditions.compare[first : conditions.ptr[order.link + 1]]:
            previous, next_, operator = conditions.comparison[comparison].tolist()
            kept.append(self._code(previous, later=False))
            self.tests.append([self._code(next_, later=True), operator])
        start = int(conditions.program_start[order.link])
        if start >= 0:
            row[PROGRAM] = len(self.program)
            self._copy_program(start, kept)
        self.kept += kept
        row[TEST_LAST], row[KEPT_LAST] = len(self.tests), len(self.kept)

    def _copy_program(self, start: int, kept: list[int]) -> None:
        """The condition of a link, with columns of its own; what it reads of the earlier event is kept."""
        program, operation = self.automaton.conditions.program.tolist(), -1
        while operation != op.STOP:
            operation, argument = program[start : start + 2]
            start += 2
            if operation >= op.WIDTH:
                raise Surprise("a condition between two events computes with integers beyond 2^53")
            if operation == op.COMPARE_CODES:
                previous, next_, operator = self.automaton.conditions.comparison[argument].tolist()
                columns = self._code(previous, later=False), self._code(next_, later=True)
                argument = len(self.comparisons)
                self.comparisons.append((*columns, operator))
                kept.append(columns[0])
            elif operation in (op.PREVIOUS, op.NEXT):
                argument = self.numbers.setdefault(argument, len(self.numbers))
                if operation == op.PREVIOUS:
                    kept.append(-1 - argument)
            self.program += [operation, argument]

    def _code(self, column: int, *, later: bool) -> int:
        return self.codes.setdefault((column, later), len(self.codes))

    def _named(self) -> tuple[Compared | CutOff, ...]:
        """What the columns of codes are."""
        compiler = self.compiler
        gathered = {id(array): key for key, array in compiler._gathered.items()}
        ordered = {
            column
            for previous, next_, operator in self.automaton.conditions.comparison.tolist()
            for column in (previous, next_)
            if operator not in (EQUALS, DIFFERS)
        }
        sides = {
            id(array): at for at, gap in enumerate(self.gaps) if gap is not None for array in (gap.previous, gap.next)
        }

        def named(column: int, later: bool) -> Compared | CutOff:
            array = compiler.codes.arrays[column]
            if id(array) in sides:
                return CutOff(sides[id(array)], later)
            _, previous, next_, _ = gathered[id(array)]
            return Compared(previous, next_, later, column in ordered)

        return tuple(named(column, later) for column, later in self.codes)

    def _expressions(self) -> tuple[Expression, ...]:
        """What the columns of numbers are."""
        gathered = {id(array): key for key, array in self.compiler._gathered.items()}
        return tuple(gathered[id(self.compiler.values.arrays[column])][1] for column in self.numbers)


@dataclass(slots=True)
class _Large:
    """Columns whose integers are all of one size; notes which expressions were asked for."""

    columns: Columns
    size: int
    asked: dict[Expression, None] = field(default_factory=dict)

    def is_whole(self, expression: Expression) -> bool:
        """Whether an expression's values are integers."""
        return self.columns.is_whole(expression)

    def evaluate(self, expression: Expression) -> pa.Array:
        """A value of that size."""
        self.asked[plain(expression)] = None
        return pa.array([self.size])


def _limits(conditions: list[Expression], columns: Columns) -> tuple[tuple[Expression, int], ...]:
    """Expressions over one event and how large they may be so that no comparison computes with more than 2^53."""
    limits: dict[Expression, int] = {}
    for condition in conditions:
        for node, _ in walk(condition):
            if not isinstance(node, Comparison):
                continue
            large = _Large(columns, _LARGEST)
            while large.size > 0:
                bounds = [bound_of(side, large) for side in (node.left, node.right)]
                if not any(bound is not None and bound.needs_digits for bound in bounds):
                    break
                large.size //= 2
            for expression in large.asked:
                limits[expression] = min(large.size, limits.get(expression, _LARGEST))
    return tuple(limits.items())
