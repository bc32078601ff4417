"""A table of events, made ready for one query or many: times, event types, partitions and their order, each once.

What depends on the events alone is worked out when the first query asks for it, and kept for the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.columns import Columns
from greta.engine.partitions import Keys, number_keys, order_events
from greta.engine.tables import as_type, contiguous, without_nulls
from greta.engine.times import furthest_from_zero

if TYPE_CHECKING:
    from greta.engine.job import Job

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EventTypes:
    """The event type of each row, as a number."""

    names: list[str | None]
    codes: NDArray[np.integer]
    """Per row: the place of its type in ``names``, or one past them for NULL."""


@dataclass(frozen=True, slots=True)
class Partitions:
    """Rows by partition and time."""

    keys: Keys
    offsets: Int
    """Partition p has the rows ``order[offsets[p]:offsets[p + 1]]``."""
    order: Int
    types: NDArray[np.integer]
    """Per place in the order: the number of the row's event type."""


class Prepared:
    """Events that jobs with the same time and type columns can read.

    ``shared`` says that many jobs will: then rows are looked up by event type, so that each job looks only at events
    of the types it speaks of. For one job alone, that would be a pass more.
    """

    def __init__(self, job: Job, table: pa.Table, *, shared: bool = False) -> None:
        self.table = table
        self.columns = Columns(table)
        self.clock = job.clock
        self.shared = shared
        self._time = job.time
        self._type = job.type
        self._partitions: dict[tuple[str, ...], Partitions] = {}

    @cached_property
    def instants(self) -> Int:
        """Per row: its time in the clock's units."""
        return self.clock.read(self.table.column(self._time), self._time)

    @cached_property
    def furthest(self) -> int:
        """The largest distance of a time from 0."""
        return furthest_from_zero(self.instants)

    @cached_property
    def types(self) -> EventTypes:
        """Event types in numbers."""
        array = contiguous(self.table.column(self._type))
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        names: list[str | None] = as_type(encoded.dictionary, pa.string()).to_pylist()
        indices = encoded.indices.cast(pa.int64()) if encoded.indices.null_count else encoded.indices
        codes = without_nulls(indices, len(names))
        if self.shared and len(names) < 2**8:
            # Every job reads them: an eighth of the bytes is an eighth of the time.
            codes = codes.astype(np.uint8)
        return EventTypes(names, codes)

    def keys(self, attributes: tuple[str, ...]) -> Keys:
        """Numbers for what the rows have in these columns."""
        return number_keys([self.columns.key(name) for name in attributes], self.table.num_rows)

    def partitions(self, attributes: tuple[str, ...], event_types: frozenset[str] | None) -> Partitions:
        """The rows by what they agree on and by time; of these event types, or of all."""
        if attributes not in self._partitions:
            keys = self.keys(attributes)
            offsets, order = order_events(self.instants, keys)
            self._partitions[attributes] = Partitions(keys, offsets, order, self.types.codes[order])
        everything = self._partitions[attributes]
        if event_types is None or not self.shared:
            return everything
        return self._only(everything, event_types)

    def _only(self, everything: Partitions, event_types: frozenset[str]) -> Partitions:
        """The same without the rows of other types; partitions keep their numbers, though they may be empty."""
        spoken = [code for code, name in enumerate(self.types.names) if name in event_types]
        if len(spoken) == len(self.types.names):
            return everything
        # Comparing bytes is several times faster than looking each of them up.
        kept = np.zeros(len(everything.types), dtype=bool)
        for code in spoken:
            kept |= everything.types == code
        places = np.flatnonzero(kept)
        offsets = np.searchsorted(places, everything.offsets)
        return Partitions(everything.keys, offsets, everything.order[places], everything.types[places])
