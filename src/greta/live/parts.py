"""New events of a query with a scope → parts: one per value that some variables agree on, and one for trends without.

Free events, which have no say in the value, are in all parts of their common partition; events of the scope's variables
are in the part of their value. A value that is new may follow earlier free events. These are all that the part without
a value has, so a new part begins as a copy of it::

    time         a1  a2  b3(u)  a4  b5(v)          SEQ(A+, B) WHERE [B.g]
    part of -    a1  a2         a4
    part of u    ──copy─▶ b3    a4
    part of v    ──────────copy────▶ b5
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.frames import Stream
from greta.engine.partitions import Frame, split_by_scope
from greta.engine.stream_jobs import StreamJob
from greta.live.keys import keys_of, values_of
from greta.live.partitions import Partitions
from greta.plan.nodes import Scope

Int = NDArray[np.int64]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """The events of a push by parts, those that there were before included."""

    frame: Frame
    used: Int
    """The parts that have events."""
    keys: list[Key]
    """What each of them agrees on: the common values, and that of the scope, None for the part without."""
    own: NDArray[np.bool_]
    """Which of them have events of their own value."""

    @staticmethod
    def of(job: StreamJob, scope: Scope, partitions: Partitions, stream: Stream, frame: Frame) -> Parts:
        """Cut a frame of common partitions; ``partitions`` has the parts that there are."""
        table, bits = stream.columns.table, np.uint64(stream.mask_of(scope.variables))
        codes = stream.scope_keys(scope.attribute)
        examples = table.take(pa.array(codes.example))
        values: list[Any] = [value for (value,) in values_of((scope.attribute,), examples)]
        having = np.flatnonzero(np.diff(frame.offsets))
        keys = keys_of(job, table.take(pa.array(stream.keys.example[having])))
        common: dict[int, Key] = dict(zip(having.tolist(), keys, strict=True))
        # Where a partition has free events, all of its parts get them.
        partition = np.repeat(np.arange(len(frame.offsets) - 1), np.diff(frame.offsets))
        code_of = {value: code for code, value in enumerate(values)}
        others: list[tuple[int, int]] = []
        for at in np.unique(partition[(frame.mask & ~bits) != 0]).tolist():
            there = (value for value in partitions.parts.get(common[at], ()) if value is not None)
            others += [(at, code_of.setdefault(value, len(code_of))) for value in there]
        pairs = np.array(others, dtype=np.int64).reshape(-1, 2)
        cut = split_by_scope(frame, 0, int(bits), codes.codes, None, None, (pairs[:, 0], pairs[:, 1]))
        used = np.flatnonzero(np.diff(cut.offsets))
        # The code of a part without a value is -1.
        names = [*code_of, None]
        of_part = cut.scope_values[0, used].tolist()
        part = np.repeat(np.arange(len(cut.offsets) - 1), np.diff(cut.offsets))
        own = np.zeros(len(cut.offsets) - 1, dtype=bool)
        own[part[(cut.mask & bits) != 0]] = True
        named = zip(cut.common[used].tolist(), of_part, strict=True)
        return Parts(cut, used, [(*common[at], names[code]) for at, code in named], own[used])

    def numbers(self, partitions: Partitions, window: int, last: int) -> tuple[Int, list[tuple[int, int]]]:
        """The numbers of the parts, new ones for those that are not there; (part, new one that begins as it is).

        ``window`` is the first open one, ``last`` the last one that an event is in.
        """
        there = partitions.of_key
        copies = [
            (there[without], key)
            for key in self.keys
            if key not in there and (without := (*key[:-1], None)) in there and key[-1] is not None
        ]
        numbers = partitions.numbers(self.keys, window, last)
        partitions.own_last[numbers[self.own]] = last
        return numbers, [(old, there[key]) for old, key in copies]
