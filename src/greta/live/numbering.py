"""What events agree on → numbers that stay the same from push to push, found without a tuple of Python per event.

Text gets a number per word, other values are their own codes; a row of codes is looked up by its hash. All of it may be
forgotten at any time: what is not found here is looked up by its values, and put here again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.codes import double_codes
from greta.engine.columns import Columns
from greta.engine.partitions import Keys
from greta.engine.prepared import EventTypes, Prepared
from greta.engine.stream_jobs import StreamJob
from greta.engine.tables import contiguous, plain_type, without_nulls
from greta.engine.texts import Texts
from greta.kernels.numbering import find_rows, number_rows, put_rows

Int = NDArray[np.int64]

_FEW = 4096


@dataclass(slots=True)
class Values:
    """Numbers of values that are not numbers themselves, each given out once."""

    texts: Texts = field(default_factory=lambda: Texts(0))
    others: dict[Any, int] = field(default_factory=dict)
    following: int = 0
    """The next number of the others."""

    def codes(self, array: pa.Array, type_: pa.DataType) -> Int:
        """The code of each value of a column that has a type, as it is prepared; that of NULL may be any."""
        if pa.types.is_string(array.type):
            return self.texts.numbers(array)
        if pa.types.is_dictionary(array.type):
            words = self.texts.numbers(array.dictionary) if len(array.dictionary) else np.zeros(1, dtype=np.int64)
            return np.asarray(words[without_nulls(array.indices, 0)])
        if pa.types.is_floating(type_):
            return double_codes(without_nulls(array, 0.0))
        if pa.types.is_boolean(type_):
            return without_nulls(array.cast(pa.int64()), 0)
        if pa.types.is_timestamp(type_) or pa.types.is_date(type_):
            return without_nulls(array.view(pa.int64()), 0)
        if pa.types.is_integer(type_) and not pa.types.is_uint64(type_):
            return without_nulls(array, 0)
        # Integers that may need more than 64 bits in some push are numbered in all of them.
        return np.array([self._number(value) for value in array.to_pylist()], dtype=np.int64)

    def _number(self, value: Any) -> int:
        number = self.others.get(value)
        if number is None:
            number = self.others[value] = self.following
            self.following += 1
        return number

    def forget_some(self, most: int) -> None:
        """Forget values where they are more than that and some; those that come again get new numbers."""
        if self.texts.count > most + _FEW:
            self.texts.forget()
        if len(self.others) > most + _FEW:
            self.others = {}


@dataclass(slots=True)
class Lookup:
    """Rows of codes whose numbers are found by hashing."""

    columns: int
    known: Int = field(init=False)
    """[column, number]"""
    valid: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(16, dtype=bool))
    """Per number: whether its codes are those of something."""
    slots: Int = field(default_factory=lambda: np.full(64, -1, dtype=np.int64))
    taken: int = 0
    """Slots that are not empty."""

    def __post_init__(self) -> None:
        self.known = np.zeros((self.columns, 16), dtype=np.int64)

    def find(self, codes: Int) -> Int:
        """Per column of ``codes``: its number; -1 where it has none."""
        return find_rows(self.slots, self.known, self.valid, codes)

    def put(self, codes: Int, numbers: Int) -> None:
        """Let codes have these numbers."""
        if not len(numbers):
            return
        most = int(numbers.max()) + 1
        if most > len(self.valid):
            had, room = len(self.valid), 2 * most
            known, valid = np.zeros((self.columns, room), dtype=np.int64), np.zeros(room, dtype=bool)
            known[:, :had], valid[:had] = self.known, self.valid
            self.known, self.valid = known, valid
        self.known[:, numbers], self.valid[numbers] = codes, True
        self.taken += len(numbers)
        if 2 * self.taken > len(self.slots):
            # Slots of numbers that were forgotten, or have other codes by now, are left behind.
            numbers = np.flatnonzero(self.valid)
            self.taken = len(numbers)
            self.slots = np.full(1 << (4 * self.taken).bit_length(), -1, dtype=np.int64)
        put_rows(self.slots, self.known, numbers)

    def forget(self, numbers: Int) -> None:
        """Let some numbers not be found."""
        self.valid[numbers[numbers < len(self.valid)]] = False


class NewTable(Prepared):
    """The events of a push, whose partitions are told apart by codes that stay the same."""

    def __init__(self, job: StreamJob, table: pa.Table, values: Values) -> None:
        super().__init__(job, table)
        self._job = job
        self._values = values

    @cached_property
    def furthest(self) -> int:
        """The largest distance of a time from 0; events are in order of time."""
        instants = self.instants
        return max(abs(int(instants[0])), abs(int(instants[-1]))) if len(instants) else 0

    @cached_property
    def types(self) -> EventTypes:
        """Event types in the plan's own numbers, where events are stored under these."""
        array = contiguous(self.table.column(self._type))
        if pa.types.is_dictionary(array.type) and array.dictionary.equals(self._job.type_names):
            return EventTypes(self._job.event_types, without_nulls(array.indices, len(self._job.event_types)))
        return super().types

    def keys(self, attributes: tuple[str, ...]) -> Keys:
        """The keys of the events; their parts are the codes, by the order of the names."""
        if not attributes:
            return super().keys(attributes)
        names = sorted(attributes)
        arrays = [_key(self.columns, name) for name in names]
        types = [plain_type(self.table.schema.field(name).type) for name in names]
        codes = np.stack([self._values.codes(*one) for one in zip(arrays, types, strict=True)])
        numbers, example = number_rows(codes, _nulls(arrays))
        return Keys(numbers, len(example), example, tuple(codes))


def _key(columns: Columns, name: str) -> pa.Array:
    """An attribute's values; text in dictionary form, as events are kept, stays in it."""
    array = contiguous(columns.table.column(name))
    text = pa.types.is_dictionary(array.type) and pa.types.is_string(array.type.value_type)
    return array if text and not array.dictionary.null_count else columns.attribute(name)


def _nulls(arrays: Sequence[pa.Array]) -> NDArray[np.bool_]:
    """Where one of some arrays is NULL."""
    null = np.zeros(len(arrays[0]), dtype=bool)
    for array in arrays:
        if array.null_count:
            null |= array.is_null().to_numpy(zero_copy_only=False)
    return null
