"""Columns of events → the kernels' arrays: codes that are compared, values, weights and guards, each made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from greta.engine.codes import Codes
from greta.engine.columns import Columns, negated, plain
from greta.engine.interrupts import stop_flag
from greta.engine.partitions import Frame
from greta.engine.times import Clock
from greta.errors import DataError
from greta.kernels.layout import NOTHING, Events, Input, Operands, Weights
from greta.lang.nodes import Expression
from greta.plan.flows import Code, Guard, Position, Weight

_LARGEST_INTEGER = 2.0**63


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


@dataclass(slots=True)
class EventArrays:
    """Collects the arrays that templates read over one frame, in one family of numbers."""

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

    def input(self) -> Input:
        """The events in arrays, once all templates are compiled."""
        length = len(self.time)
        weights = self.weights.stack(length, np.float64 if self.double else np.int64)
        return Input(
            Events(self.frame.offsets, self.time, self.frame.mask, self.frame.required, stop_flag()),
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
        magnitude: Callable[[Any], Any] = np.abs if weight.absolute else _as_it_is
        result: NDArray[Any] = np.full(len(self.time), magnitude(weight.constant), dtype=dtype)
        largest = float(abs(weight.constant))
        for name, coefficient in weight.attributes:
            values: NDArray[Any] = self.columns.weights(name) if self.double else self._parts(name)
            if not self.double:
                largest += abs(coefficient) * max(abs(float(values.max(initial=0))), abs(float(values.min(initial=0))))
            own = values[self.frame.rows].astype(dtype, copy=False)
            result += magnitude(own if coefficient == 1 else coefficient * own)
        if weight.seconds:
            result += magnitude(weight.seconds * self._seconds())
        if largest >= _LARGEST_INTEGER and not self.double:
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
                f"a value of a trend does not fit 64 bits: {name} is too large",
                hint="leave numbers='exact' out, or use a smaller unit",
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


def _as_it_is(values: Any) -> Any:
    return values


def _too_large() -> DataError:
    return DataError("a value of a trend does not fit 64 bits", hint="leave numbers='exact' out, or sum a smaller unit")


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
