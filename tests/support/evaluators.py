"""One matrix of values and expressions over them, for every evaluator of expressions that the project has.

A *pair* is a value of ``x`` and a value of ``y``, each from a column of one kind. A condition over both is asked of
every pair; which pairs it holds for is what evaluators must agree on. ``brute_force`` says what is right, one value at
a time: it shares no code with any of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa

from greta.lang.nodes import And, Attribute, Equivalence, Expression
from greta.lang.parser import parse
from greta_research.brute_force.expressions import evaluate

INF, NAN = math.inf, math.nan

COLUMNS: dict[str, pa.Array] = {
    "int64": pa.array([None, 0, 1, -7, 4, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)], pa.int64()),
    "float64": pa.array(
        [None, 0.0, -0.0, 1.0, -7.5, 4.0, 2.0**53, 1e308, -1e308, 5e-324, INF, -INF, NAN], pa.float64()
    ),
    "float32": pa.array([None, 0.0, 1.0, -7.5, 0.1, 3.4e38], pa.float32()),
    "int8": pa.array([None, 0, 1, 4, -7, 127, -128], pa.int8()),
    "uint64": pa.array([None, 0, 1, 4, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1], pa.uint64()),
    "decimal(38,0)": pa.array([None, *map(Decimal, (0, 1, 4, -7, 2**63, 10**37, 10**37 + 1))], pa.decimal128(38, 0)),
    "text": pa.array([None, "", "a", "b", "ab", "é", "😀", "10", "9"], pa.string()),
    "boolean": pa.array([None, True, False], pa.bool_()),
}

KINDS = [
    ("int64", "int64"),
    ("int64", "float64"),
    ("float64", "int64"),
    ("float64", "float64"),
    ("float32", "float64"),
    ("int8", "int64"),
    ("uint64", "int64"),
    ("uint64", "uint64"),
    ("decimal(38,0)", "int64"),
    ("text", "text"),
    ("boolean", "boolean"),
]
"""Which columns meet: the kind of ``x``, the kind of ``y``."""

COMPARISONS = ["{x} = {y}", "{x} != {y}", "{x} < {y}", "{x} <= {y}", "{x} > {y}", "{x} >= {y}", "NOT {x} < {y}"]
LOGIC = [
    "{x} < {y} OR {x} = {y}",
    "NOT ({x} = {y} AND {x} <= {y})",
    "({x} < {y} OR {y} < {x}) AND NOT {x} = {y}",
]
ARITHMETIC = [
    "{x} + {y} > 0",
    "{x} - {y} = 0",
    "{x} - {y} > 1",
    "-{x} < {y}",
    "{x} + 1 > {y}",
    "{x} * 2 >= {y} - 1",
    "{x} / 4 < {y}",
    "{x} % 4 = {y}",
    "{x} % 0 = {y}",
    "{x} / 0 != {y}",
]
PRODUCTS = ["{x} * {y} > 0", "{x} * {y} = {x}", "{x} % {y} = 0", "{x} * {y} - {y} != 0"]
"""Of one value each of two events: computed pair by pair, in doubles or in digits (decision 36)."""
QUOTIENTS = ["{x} / {y} = 1", "{x} / {y} > 0.5"]
"""Of two integers beyond 2⁵³ they depend on when is rounded: both are made doubles first, save by brute force."""


def conditions(kinds: tuple[str, str]) -> list[str]:
    """All conditions that make sense for columns of these kinds."""
    if kinds[0] == "boolean":
        return [*COMPARISONS[:2], "{x}", "NOT {x} OR {y}", "{x} AND NOT {y}"]
    if kinds[0] == "text":
        return [*COMPARISONS, *LOGIC]
    quotients = QUOTIENTS if kinds[0] == "int8" or kinds == ("float64", "float64") else []
    return [*COMPARISONS, *LOGIC, *ARITHMETIC, *PRODUCTS, *quotients]


@dataclass(frozen=True)
class Pairs:
    """All pairs of values of two columns; a pair's place is its number."""

    x: pa.Array
    y: pa.Array

    @staticmethod
    def of(kinds: tuple[str, str]) -> Pairs:
        left, right = COLUMNS[kinds[0]], COLUMNS[kinds[1]]
        places = list(product(range(len(left)), range(len(right))))
        return Pairs(left.take(pa.array([i for i, _ in places])), right.take(pa.array([j for _, j in places])))

    def __len__(self) -> int:
        return len(self.x)

    def in_one_event(self) -> pa.Table:
        """An event A per pair, with both values."""
        count = len(self)
        return pa.table({"type": ["A"] * count, "time": range(count), "id": range(count), "x": self.x, "y": self.y})

    def in_two_events(self) -> pa.Table:
        """Per pair an event A with x, and a B with y right after it."""
        count = len(self)
        first = pa.table(
            {"type": ["A"] * count, "time": range(count), "id": range(count), "x": self.x, "y": self.y.slice(0, 0)}
            | {"y": pa.nulls(count, self.y.type)}
        )
        second = pa.table(
            {"type": ["B"] * count, "time": range(count, 2 * count), "id": range(count)}
            | {"x": pa.nulls(count, self.x.type), "y": self.y}
        )
        return pa.concat_tables([first, second])

    def judged(self, condition: str) -> list[int]:
        """The pairs that a condition holds for, by brute force."""
        expression = parsed(condition.format(x="A.x", y="A.y"))
        values = [(_plain(x), _plain(y)) for x, y in zip(self.x.to_pylist(), self.y.to_pylist(), strict=True)]
        return [at for at, pair in enumerate(values) if _holds(expression, pair)]


def parsed(condition: str) -> Expression:
    """The condition as the parser reads it."""
    parts = parse(f"RETURN COUNT(*) PATTERN A WHERE {condition}").where
    expressions = tuple(part for part in parts if not isinstance(part, Equivalence))
    return expressions[0] if len(expressions) == 1 else And(expressions)


def _holds(expression: Expression, pair: tuple[object, object]) -> bool:
    def lookup(leaf: Any) -> object:
        assert isinstance(leaf, Attribute)
        return pair[0] if leaf.name == "x" else pair[1]

    return evaluate(expression, lookup) is True


def _plain(value: object) -> object:
    """Whole decimals as integers: brute force knows no other whole numbers."""
    return int(value) if isinstance(value, Decimal) else value
