"""Edge predicates of a transition: one that a vertex tree answers by a range, and the rest (§6, "Edge Predicates")."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from greta.engine.instants import NANOSECONDS, read_instants
from greta.graph.events import Event, Stream
from greta.graph.expressions import evaluate
from greta.kernels.layout import NOTHING
from greta.lang.nodes import (
    And,
    Attribute,
    Comparison,
    ComparisonOperator,
    Expression,
    Not,
    Number,
    Or,
    Text,
)
from greta.plan.nodes import Link

_NULL = int(NOTHING)


class Comparands:
    """``previous op next``, both sides as whole numbers that are ordered as the values are; None for NULL."""

    def __init__(
        self, stream: Stream, previous: Expression, operator: ComparisonOperator, following: Expression
    ) -> None:
        left, right = stream.columns.comparands(previous, following)
        self.operator = operator
        self._previous: list[int] = left.tolist()
        self._next: list[int] = right.tolist()

    def of_previous(self, event: Event) -> int | None:
        """What an earlier event is compared by."""
        code = self._previous[event.row]
        return None if code == _NULL else code

    def of_next(self, event: Event) -> int | None:
        """What a later event is compared by."""
        code = self._next[event.row]
        return None if code == _NULL else code

    def holds(self, earlier: Event, later: Event) -> bool:
        """Whether the comparison is true; over NULL it is not."""
        p, q = self.of_previous(earlier), self.of_next(later)
        if p is None or q is None:
            return False
        match self.operator:
            case "=":
                return p == q
            case "!=":
                return p != q
            case "<":
                return p < q
            case "<=":
                return p <= q
            case ">":
                return p > q
            case ">=":
                return p >= q


class EdgeConditions:
    """What must hold between adjacent events, negation apart.

    ``ranged`` is the comparison that trees are sorted by, an equality if there is one; None where all vertices
    of a tree are candidates.
    """

    def __init__(self, stream: Stream, link: Link) -> None:
        comparisons = [Comparands(stream, c.previous, "=", c.next) for c in link.equal]
        comparisons += [Comparands(stream, c.previous, c.operator, c.next) for c in link.ordered]
        self.ranged = comparisons[0] if comparisons else None
        self._others = comparisons[1:]
        self._residual = [_with_instants(condition, stream) for condition in link.residual]
        self._stream = stream
        self.complete = not self._others and not self._residual
        """Whether the range query answers all predicates."""

    def hold(self, earlier: Event, later: Event) -> bool:
        """Whether the predicates hold that the range query has not answered."""
        return all(c.holds(earlier, later) for c in self._others) and all(
            self._is_true(condition, earlier, later) for condition in self._residual
        )

    def _is_true(self, condition: Expression, earlier: Event, later: Event) -> bool:
        def lookup(leaf: Attribute) -> object:
            return self._stream.values(leaf.name)[(later if leaf.next else earlier).row]

        return evaluate(condition, lookup) is True


def _with_instants(condition: Expression, stream: Stream) -> Expression:
    """Text that is compared with a time stamp becomes whole nanoseconds, as the attributes are."""
    match condition:
        case Comparison(left=left, right=right):
            return replace(condition, left=_instant(left, right, stream), right=_instant(right, left, stream))
        case And(parts=parts) | Or(parts=parts):
            return replace(condition, parts=tuple(_with_instants(part, stream) for part in parts))
        case Not(operand=operand):
            return replace(condition, operand=_with_instants(operand, stream))
        case _:
            return condition


def _instant(side: Expression, other: Expression, stream: Stream) -> Expression:
    if not isinstance(side, Text) or not isinstance(other, Attribute):
        return side
    type_ = stream.columns.attribute(other.name).type
    if not pa.types.is_timestamp(type_):
        return side
    stamp: Any = read_instants(pa.scalar(side.value), type_.unit)
    return Number(stamp.value * NANOSECONDS[stamp.type.unit])
