"""A table and a plan, made ready: times, masks of variables, partitions, and frames of events per template."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.columns import Columns
from greta.engine.partitions import Frame, Keys, number_keys, plain_frame, split_by_scope
from greta.engine.prepared import EventTypes, Prepared
from greta.engine.times import Clock
from greta.lang.nodes import Semantics
from greta.plan.nodes import Plan

if TYPE_CHECKING:
    from greta.engine.job import Job

Int = NDArray[np.int64]
Mask = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Cut:
    """Which windows to answer: ids ``[first, last)``, and of these those of each event's time range.

    With a ``column``, events carry the number of a range of ``windows`` windows each; ranges overlap by WITHIN, are
    partitions of their own, and answer only their own windows.
    """

    first: int = -(2**62)
    last: int = 2**62
    column: str | None = None
    windows: int = 0

    def owned(self, columns: Columns, keys: Keys, lowest: int) -> NDArray[np.int64]:
        """[first and one past the last window, partition]"""
        first = max(self.first, lowest)
        if self.column is None:
            return np.array([[first], [self.last]], dtype=np.int64)
        number = columns.attribute(self.column).to_numpy(zero_copy_only=False)[keys.example].astype(np.int64)
        return np.stack((np.maximum(number * self.windows, first), np.minimum((number + 1) * self.windows, self.last)))


@dataclass(slots=True)
class Stream:
    """Everything about the events that does not depend on a template."""

    job: Job
    columns: Columns
    clock: Clock
    time: Int
    bits: dict[str, int]
    """Variable → bit in masks."""
    types: EventTypes
    keys: Keys
    offsets: Int
    order: Int
    """Rows by common partition and time: all, or those of the types that the plan speaks of."""
    mask: Mask
    """Per place in the order: the variables that its row may take."""
    owned: NDArray[np.int64]
    """[first window and one past the last, common partition (or one column for all)]: windows to answer."""
    _scope_keys: dict[str, Keys] = field(default_factory=dict)

    @staticmethod
    def of(job: Job, events: pa.Table | Prepared, cut: Cut | None = None) -> Stream:
        """Read times and types, apply local predicates, number and sort partitions."""
        prepared = events if isinstance(events, Prepared) else Prepared(job, events)
        plan, clock = job.plan, job.clock
        columns, instants = prepared.columns, prepared.instants
        if plan.window is not None:
            clock.require_room(prepared.furthest, plan.window)
        bits = {variable.name: at for at, variable in enumerate(plan.variables)}
        names = (*plan.partitioning.common, *([cut.column] if cut and cut.column else []))
        contiguous = plan.semantics is Semantics.CONTIGUOUS
        rows = prepared.partitions(names, None if contiguous else frozenset(plan.event_types))
        mask = _masks_of_types(plan, prepared.types, bits)[rows.types]
        for variable in plan.variables:
            for condition in plan.local_conditions(variable.name):
                bit = np.uint64(1 << bits[variable.name])
                mask[~columns.holds(condition)[rows.order]] &= ~bit
        owned = np.array([[clock.lowest_window], [2**62]], dtype=np.int64)
        if cut is not None:
            owned = cut.owned(columns, rows.keys, clock.lowest_window)
        types = prepared.types
        return Stream(job, columns, clock, instants, bits, types, rows.keys, rows.offsets, rows.order, mask, owned)

    @property
    def plan(self) -> Plan:
        """The job's plan."""
        return self.job.plan

    def frame_of(
        self, variables: frozenset[str], scopes: tuple[int, ...], keep_all: bool, met: frozenset[int] | None = None
    ) -> Frame:
        """The events that some variables may take (or all), cut by common attributes and by scopes.

        ``met`` has the sets of scopes, as bits, whose partitions are of use; without it all are.
        """
        wanted = self.mask_of(variables)
        frame = plain_frame(self.offsets, self.order, self.mask, wanted, keep_all)
        decided = 0
        for at in scopes:
            decided |= 1 << at
            met_so_far = None if met is None else {seen & decided for seen in met}
            scope = self.plan.partitioning.scopes[at]
            bits = self.mask_of(scope.variables)
            bound = None
            if keep_all:
                masks = _masks_of_types(self.plan, self.types, self.bits)
                bound = (((masks & ~np.uint64(bits)) == 0) & (masks != 0))[self.types.codes]
            frame = split_by_scope(frame, at, bits, self.scope_keys(scope.attribute).codes, bound, met_so_far)
        return frame

    def scope_keys(self, attribute: str) -> Keys:
        """Numbers for the values of a scope's attribute."""
        if attribute not in self._scope_keys:
            self._scope_keys[attribute] = number_keys([self.columns.attribute(attribute)], self.columns.length)
        return self._scope_keys[attribute]

    def mask_of(self, variables: frozenset[str]) -> int:
        """The bits of some variables."""
        return sum(1 << self.bits[name] for name in variables)


def _masks_of_types(plan: Plan, types: EventTypes, bits: dict[str, int]) -> Mask:
    """Per number of an event type its variables; NULL and types that the plan does not name have none."""
    masks = np.zeros(len(types.names) + 1, dtype=np.uint64)
    for at, name in enumerate(types.names):
        for variable in plan.variables:
            if name == variable.event_type:
                masks[at] |= np.uint64(1 << bits[variable.name])
    return masks
