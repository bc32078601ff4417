"""Plan → filter: which rows can take no variable, said in Spark's own expressions so that readers can skip them.

A row may only be dropped where it certainly plays no part, so whatever cannot be said in Spark with the very same
meaning is left out, and the engine judges the rows that come through.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from greta.lang.nodes import (
    And,
    Arithmetic,
    Attribute,
    Boolean,
    Comparison,
    Expression,
    Negative,
    Not,
    Number,
    Or,
    Semantics,
    Text,
)
from greta.plan.nodes import AttributeType, Plan
from greta.spark.wire.columns import named
from greta.spark.wire.relevance import Conditions, variables_by_type

_COMPARE: dict[str, Callable[[Any, Any], Column]] = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}
_CALCULATE: dict[str, Callable[[Any, Any], Column]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / F.nullif(right, F.lit(0.0)),
}
_NUMBERS = (AttributeType.INTEGER, AttributeType.FLOAT)


def fractions(fields: Iterable[pa.Field]) -> frozenset[str]:
    """The attributes that are decimals with digits after the point."""
    return frozenset(field.name for field in fields if pa.types.is_decimal(field.type) and field.type.scale > 0)


def useful(plans: Sequence[Plan], type_: str, decimals: Collection[str] = ()) -> Column | None:
    """Whether a row can play a part in one of the queries; None where all rows can.

    ``decimals`` are the attributes with digits after the point: the engine compares them exactly, whatever their scales
    are, and Spark only in as many digits as its own types have, so conditions on them are left to the engine.

    Under ``contiguous`` every event of a partition stands between others, so only rows without a partition go.
    NaN is NULL to the engine and a number to Spark: a row that this lets through is only judged once more.
    A type that some variable takes without conditions needs none, however many queries have some.
    """
    kinds = {name: kind for name, kind in plans[0].schema or () if name not in decimals}
    alike: dict[tuple[str, ...], list[Plan]] = {}
    for plan in plans:
        alike.setdefault(plan.partitioning.common, []).append(plan)
    wanted = []
    for common, members in alike.items():
        conditions = [named(name).isNotNull() for name in common]
        if all(plan.semantics is not Semantics.CONTIGUOUS for plan in members):
            conditions += _of_some_variable(members, type_, kinds)
        if not conditions:
            return None
        wanted.append(reduce(and_, conditions))
    return reduce(or_, wanted)


def _of_some_variable(plans: Sequence[Plan], type_: str, kinds: Mapping[str, AttributeType]) -> list[Column]:
    """What the rows that some variable takes have in common: their type, then conditions that depend on it."""
    takes = variables_by_type(plans)
    of_type = named(type_).isin(*takes)
    if all(() in choices for choices in takes.values()):
        return [of_type]
    parts = []
    for name, choices in takes.items():
        said = [_all_of(conditions, kinds) for conditions in choices] if () not in choices else []
        known = [condition for condition in said if condition is not None]
        own = named(type_) == name
        parts.append(own & reduce(or_, known) if known and len(known) == len(said) else own)
    return [of_type, reduce(or_, parts)]


def _all_of(conditions: Conditions, kinds: Mapping[str, AttributeType]) -> Column | None:
    """Those of a variable's local predicates that can be said."""
    said = [_truth(condition, kinds) for condition in conditions]
    kept = [condition for condition in said if condition is not None]
    return reduce(and_, kept) if kept else None


def _truth(condition: Expression, kinds: Mapping[str, AttributeType]) -> Column | None:
    match condition:
        case Boolean(value=value):
            return F.lit(value)
        case Attribute(name=name):
            return named(name) if kinds.get(name) is AttributeType.BOOLEAN else None
        case Not(operand=operand):
            inner = _truth(operand, kinds)
            return None if inner is None else ~inner
        case And(parts=parts) | Or(parts=parts):
            said = [_truth(part, kinds) for part in parts]
            known = [part for part in said if part is not None]
            if len(known) < len(parts):
                return None
            return reduce(and_ if isinstance(condition, And) else or_, known)
        case Comparison(operator=operator, left=left, right=right):
            return _comparison(operator, left, right, kinds)
        case _:
            return None


def _comparison(
    operator: str, left: Expression, right: Expression, kinds: Mapping[str, AttributeType]
) -> Column | None:
    one, other = _value(left, kinds), _value(right, kinds)
    if one is None or other is None:
        return None
    families = [AttributeType.FLOAT if kind in _NUMBERS else kind for kind in (one[1], other[1])]
    if families[0] is not families[1] or families[0] is AttributeType.TIMESTAMP:
        return None
    if AttributeType.FLOAT in (one[1], other[1]):
        return _COMPARE[operator](_double(one), _double(other))
    return _COMPARE[operator](one[0], other[0])


def _value(expression: Expression, kinds: Mapping[str, AttributeType]) -> tuple[Column, AttributeType] | None:
    """A column and its kind; None where Spark would compute another value than the engine."""
    match expression:
        case Number(value=int(value)) if abs(value) >= 2**63:
            # As a double it could not be told from the largest values of a column.
            return None
        case Number(value=float(value)):
            return F.lit(value), AttributeType.FLOAT
        case Number(value=value):
            return F.lit(value), AttributeType.INTEGER
        case Text(value=text):
            return F.lit(text), AttributeType.TEXT
        case Boolean(value=truth):
            return F.lit(truth), AttributeType.BOOLEAN
        case Attribute(name=name) if name in kinds:
            # The cast drops a collation: the engine compares characters.
            column = named(name).cast("string") if kinds[name] is AttributeType.TEXT else named(name)
            return column, kinds[name]
        case Negative(operand=operand):
            inner = _value(operand, kinds)
            return None if inner is None or inner[1] is not AttributeType.FLOAT else (-_double(inner), inner[1])
        case Arithmetic(operator=operator, left=left, right=right):
            one, other = _value(left, kinds), _value(right, kinds)
            # Whole numbers overflow differently, and % is left to the engine.
            if one is None or other is None or operator == "%":
                return None
            if operator != "/" and AttributeType.FLOAT not in (one[1], other[1]):
                return None
            return _CALCULATE[operator](_double(one), _double(other)), AttributeType.FLOAT
        case _:
            return None


def _double(value: tuple[Column, AttributeType]) -> Column:
    return value[0].cast("double")
