"""The columns that kernels read, each computed once however often a plan asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.codes import Codes, Decoder, as_array, encode, encode_together
from greta.engine.instants import instants_alike
from greta.engine.same import Same
from greta.engine.tables import as_type, contiguous, extreme_type, without_nulls
from greta.engine.values import evaluate, is_whole, prepare
from greta.kernels.layout import NOTHING
from greta.lang.nodes import Attribute, Expression
from greta.plan.conditions import attributes, rebuilt

_EXACT = 2**53
"""Integers up to this are doubles without a loss."""

LIMB = 60
"""Bits of a part of a wide integer: small enough that kernels take it as a weight."""


@dataclass(slots=True)
class Columns:
    """Columns of one table, evaluated on demand."""

    table: pa.Table
    _prepared: dict[str, pa.Array] = field(default_factory=dict)
    _codes: dict[Any, list[Codes]] = field(default_factory=dict)
    _extremes: dict[tuple[str, bool], tuple[NDArray[Any], Decoder]] = field(default_factory=dict)
    _limbs: dict[str, list[NDArray[np.int64]]] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Number of events."""
        return int(self.table.num_rows)

    def attribute(self, name: str) -> pa.Array:
        """An attribute's values, NaN as NULL."""
        if name not in self._prepared:
            self._prepared[name] = prepare(self.table.column(name))
        return self._prepared[name]

    def key(self, name: str) -> pa.Array:
        """An attribute's values for telling them apart: text that came as a proper dictionary stays one."""
        type_ = self.table.schema.field(name).type
        if pa.types.is_dictionary(type_) and pa.types.is_string(type_.value_type):
            array = contiguous(self.table.column(name))
            words = array.dictionary
            if words.null_count == 0 and len(words.unique()) == len(words):
                return array
        return self.attribute(name)

    def evaluate(self, expression: Expression) -> pa.Array:
        """An expression's values for every event."""
        return as_array(evaluate(expression, self.attribute), self.length)

    def is_whole(self, expression: Expression) -> bool:
        """Whether an expression's values are integers."""
        return is_whole(self.evaluate(expression).type)

    def holds(self, condition: Expression) -> NDArray[np.bool_]:
        """Where a condition is true; NULL is not."""
        truth = self.evaluate(condition)
        return without_nulls(truth, value=False)

    def comparands(self, previous: Expression, next_: Expression) -> tuple[Codes, Codes]:
        """Codes of both sides of a comparison; the same array where both are the same expression."""
        key = (plain(previous), plain(next_))
        if key not in self._codes:
            if key[0] == key[1]:
                codes, _ = encode(self.evaluate(previous))
                self._codes[key] = [codes, codes]
            else:
                left, right = self.evaluate(previous), self.evaluate(next_)
                if left.type != right.type and (pa.types.is_timestamp(left.type) or pa.types.is_timestamp(right.type)):
                    left, right = instants_alike(left, right)
                self._codes[key] = encode_together(left, right)[0]
        left_codes, right_codes = self._codes[key]
        return left_codes, right_codes

    def numbers(self, expression: Expression) -> NDArray[np.float64]:
        """Values as doubles, NaN for NULL; booleans as 1 and 0."""
        array = self.evaluate(expression)
        if pa.types.is_temporal(array.type):
            array = array.cast(pa.timestamp("us") if pa.types.is_timestamp(array.type) else array.type)
            array = array.view(pa.int64())
        return without_nulls(array.cast(pa.float64(), safe=False), np.nan)

    def extremes(self, name: str, double: bool) -> tuple[NDArray[Any], Decoder]:
        """What MIN and MAX compare of an attribute, as integers or as doubles, and the way back.

        NULL is NOTHING among integers and -∞ among doubles. Numbers that are doubles anyway stay as they are;
        everything else is as good as its rank.
        """
        if (name, double) not in self._extremes:
            array = self.attribute(name)
            compared, decode = _in_doubles(array) if double else encode(array)
            type_ = extreme_type(self.table.schema.field(name).type)
            self._extremes[name, double] = compared, _converting(decode, type_)
        return self._extremes[name, double]

    def weights(self, name: str) -> NDArray[Any]:
        """The attribute's values with 0 for NULL, in int64 or float64."""
        array = self.attribute(name)
        if pa.types.is_decimal(array.type):
            array = array.cast(pa.float64())
        return without_nulls(array, 0)

    def limbs(self, name: str) -> list[NDArray[np.int64]]:
        """A whole number's parts, the least significant first: it is the sum of ``part << (LIMB * place)``.

        One part where all values are fit to be weights, which is nearly always.
        """
        if name not in self._limbs:
            array = self.attribute(name)
            whole = without_nulls(array, 0)
            self._limbs[name] = _limbs(whole) if len(whole) else [np.empty(0, dtype=np.int64)]
        return self._limbs[name]

    def valid(self, name: str) -> NDArray[np.bool_] | None:
        """Where the attribute is not NULL; None: everywhere."""
        array = self.attribute(name)
        return None if array.null_count == 0 else array.is_valid().to_numpy(zero_copy_only=False)


def _in_doubles(values: pa.Array) -> tuple[NDArray[np.float64], Decoder]:
    """Values, or their ranks, as doubles without a loss."""
    if pa.types.is_floating(values.type):
        plain = without_nulls(values, -np.inf)
        # Of those that are not finite, all are NULL.
        if np.count_nonzero(np.isfinite(plain)) + values.null_count == len(plain):
            return plain, lambda numbers: pa.array(numbers, type=pa.float64())
    elif pa.types.is_integer(values.type):
        whole = without_nulls(values, 0)
        if abs(int(whole.max(initial=0))) <= _EXACT and abs(int(whole.min(initial=0))) <= _EXACT:
            doubles = whole.astype(np.float64)
            doubles[without_nulls(values.is_null(), value=False)] = -np.inf
            return doubles, lambda numbers: pa.array(numbers.astype(np.int64))
    codes, decode = encode(values)
    null = codes == NOTHING
    ranked = np.unique(codes[~null])
    ranks = np.where(null, -np.inf, np.searchsorted(ranked, codes)).astype(np.float64)
    return ranks, lambda numbers: decode(ranked[numbers.astype(np.int64)] if len(ranked) else codes[:0])


def _converting(decode: Decoder, type_: pa.DataType) -> Decoder:
    return lambda codes: as_type(decode(codes), type_)


def _limbs(whole: NDArray[Any]) -> list[NDArray[np.int64]]:
    if whole.dtype == np.int64 and whole.max() < 2**LIMB and whole.min() >= -(2**LIMB):
        return [whole]
    rest = whole if whole.dtype == np.int64 else np.array([int(value) for value in whole], dtype=object)
    parts = []
    while rest.max() >= 2**LIMB or rest.min() < -(2**LIMB):
        parts.append((rest & (2**LIMB - 1)).astype(np.int64))
        rest = rest >> LIMB
    return [*parts, rest.astype(np.int64)]


def negated(codes: NDArray[Any]) -> NDArray[Any]:
    """The same in the opposite order; what is nothing stays nothing."""
    nothing = -np.inf if codes.dtype == np.float64 else NOTHING
    return np.where(codes == nothing, nothing, -codes)


def plain(expression: Expression) -> Expression:
    """The expression without variables: what is computed from one event's attributes."""
    return _plain(Same(expression))


@lru_cache(maxsize=1024)
def _plain(same: Same[Expression]) -> Expression:
    return rebuilt(same.value, lambda leaf: Attribute("", leaf.name) if isinstance(leaf, Attribute) else leaf)


def sides(expression: Expression) -> frozenset[bool]:
    """Which events an edge condition speaks of: False the earlier, True the later."""
    return frozenset(attribute.next for attribute in attributes(expression))
