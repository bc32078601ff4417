"""A query over a stream: what of its events must be kept, and which windows a watermark leaves open."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.columns import Columns
from greta.engine.job import Job
from greta.engine.tables import as_type, contiguous, without_nulls
from greta.engine.times import Clock
from greta.lang.nodes import Semantics
from greta.lang.printer import print_expression, print_query
from greta.plan.measures import Events, Trends
from greta.plan.nodes import AccessPath, Plan

if TYPE_CHECKING:
    from greta.engine.texts import Texts


@dataclass(frozen=True)
class StreamJob(Job):
    """A job with windows, over events as a stream stores them."""

    @staticmethod
    def of(job: Job) -> StreamJob:
        """The same job over stored events, whose types are in dictionary form unless all events count."""
        contiguous = job.plan.semantics is Semantics.CONTIGUOUS
        types = pa.string() if contiguous else pa.dictionary(pa.int16(), pa.string())
        fields = [pa.field(f.name, types if f.name == job.type else f.type) for f in job.schema]
        return StreamJob(job.plan, pa.schema(fields), job.time, job.type, job.numbers)

    @cached_property
    def windows(self) -> tuple[int, int]:
        """(within, slide) in the clock's units."""
        assert self.plan.window is not None
        return self.clock.units(self.plan.window)

    @cached_property
    def common(self) -> tuple[str, ...]:
        """The attributes that every trend agrees on, in an order of their own."""
        return tuple(sorted(self.plan.partitioning.common))

    @cached_property
    def type_names(self) -> pa.Array:
        """The plan's event types, whose places are the numbers of stored ones."""
        return pa.array(self.plan.event_types, pa.string())

    @cached_property
    def event_types(self) -> list[str | None]:
        """The same as a list."""
        return list(self.plan.event_types)

    @cached_property
    def type_words(self) -> Texts:
        """The same, to find the place of a name."""
        from greta.engine.texts import Texts

        return Texts.of(self.plan.event_types)

    @property
    def keeps_totals(self) -> bool:
        """Whether running totals can stand for events: no edge predicate, NOT, AND or scope, and counts in doubles.

        Exact integers, sums and extremes may have to be computed again in wider numbers, from the events.
        """
        template, *others = self.plan.templates
        return (
            self.numbers == "double"
            and self.plan.semantics is Semantics.ANY
            and not others
            and not template.negatives
            and not self.plan.partitioning.scopes
            and all(link.path is AccessPath.FREE for link in template.links)
            and not self.plan.needs_magnitudes
            and all(isinstance(measure, Trends | Events) for measure in self.plan.measures)
        )

    @property
    def layout(self) -> dict[str, Any]:
        """What stored events depend on: a query of the same layout can go on from the same state.

        Edge predicates, aggregates, HAVING and MIN LENGTH are no part of it, since they are computed when a window
        closes; unless running totals may be stored, which depend on all but HAVING.
        """
        within, slide = self.windows
        contiguous = self.plan.semantics is Semantics.CONTIGUOUS
        totals = {"totals of": print_query(replace(self.plan.query, having=None))} if self.keeps_totals else {}
        return totals | {
            "columns": {field.name: str(field.type) for field in self.schema},
            "time": self.time,
            "type": self.type,
            "partition by": list(self.plan.partitioning.common),
            "window": [within, slide],
            "events": "all" if contiguous else sorted({_alternative(self.plan, v.name) for v in self.plan.variables}),
        }

    @property
    def fingerprint(self) -> str:
        """A short name of the layout."""
        return fingerprint(self.layout)

    @property
    def keeps(self) -> str:
        """A short name of which events are stored, whatever their columns, and until when."""
        return fingerprint([self.layout | {"columns": None}, self.plan.event_types])

    def first_open(self, watermark: int) -> int:
        """The first window that a watermark (milliseconds) leaves open: its end lies after it."""
        within, slide = self.windows
        return (watermark * self.clock.per_millisecond - within) // slide + 1

    def last_window(self, instant: int) -> int:
        """The last window that an instant in the clock's units falls into, or that begins before it."""
        return instant // self.windows[1]

    def windows_of(self, earliest: int, latest: int, first: int) -> range:
        """The windows of events between two instants in the clock's units, without those before the ``first``."""
        if self.plan.window is None:
            return range(1)
        within, slide = self.windows
        start = max((earliest - within) // slide + 1, first, self.clock.lowest_window)
        return range(start, self.last_window(latest) + 1)


def sharing(jobs: Sequence[StreamJob]) -> tuple[tuple[int, ...], ...]:
    """The numbers of queries by the events that they keep: those of one group keep them once."""
    groups: dict[str, list[int]] = {}
    for number, job in enumerate(jobs):
        groups.setdefault(str(number) if job.keeps_totals else job.keeps, []).append(number)
    return tuple(map(tuple, groups.values()))


def with_common_columns(jobs: Sequence[StreamJob], groups: tuple[tuple[int, ...], ...]) -> tuple[StreamJob, ...]:
    """The same jobs, each over the columns of all queries of its group."""
    widened = list(jobs)
    for group in groups:
        columns = {field.name: field for number in group for field in jobs[number].schema}
        for number in group:
            widened[number] = replace(jobs[number], schema=pa.schema(list(columns.values())))
    return tuple(widened)


def fingerprint(layout: Any) -> str:
    """A short name of a layout, the same in every process."""
    return hashlib.sha256(json.dumps(layout, sort_keys=True).encode()).hexdigest()[:16]


def _alternative(plan: Plan, variable: str) -> str:
    kind = next(v.event_type for v in plan.variables if v.name == variable)
    conditions = sorted(print_expression(condition) for condition in plan.local_conditions(variable))
    return " AND ".join([f"{kind} {variable}" if conditions else kind, *conditions])


def readable(column: pa.ChunkedArray, clock: Clock) -> NDArray[np.bool_]:
    """Where a time can be read: not NULL, and for numbers finite, at least 0 and not beyond all calendars."""
    good = pc.is_valid(column)
    if clock.kind != "timestamp":
        seconds = column.cast(pa.float64())
        most = 2.0**52 if clock.kind == "whole seconds" else 9.2e9
        inside = pc.and_(pc.greater_equal(seconds, 0.0), pc.less_equal(seconds, most))
        good = pc.and_(good, pc.fill_null(inside, False))
    return np.asarray(good.to_numpy(), dtype=bool)


def relevant(job: StreamJob, table: pa.Table) -> tuple[pa.Table, NDArray[np.bool_]]:
    """The rows that can matter to the plan, in the stored columns, and which they are; times must be readable.

    Rows vanish that are NULL in an attribute they must agree on, and, except under contiguous semantics, rows that may
    take no variable.
    """
    plan = job.plan
    columns = Columns(table)
    types = table.column(job.type)
    if plan.semantics is Semantics.CONTIGUOUS:
        types, keep = as_type(types, pa.string()), np.ones(table.num_rows, dtype=bool)
    else:
        # One dictionary for all chunks, so that joining them copies no text.
        codes = _numbers(types, job)
        # Those of other types are not kept: any number will do for them.
        stored = np.maximum(codes, 0).astype(np.int16)
        indices = pa.Array.from_buffers(pa.int16(), len(stored), [None, pa.py_buffer(stored)])
        types = pa.DictionaryArray.from_arrays(indices, job.type_names, safe=False)
        keep = np.zeros(table.num_rows, dtype=bool)
        for variable in plan.variables:
            may = codes == job.event_types.index(variable.event_type)
            for condition in plan.local_conditions(variable.name):
                may &= columns.holds(condition)
            keep |= may
    for name in plan.partitioning.common:
        valid = columns.valid(name)
        if valid is not None:
            keep &= valid
    kept = table if table.column_names == job.columns else table.select(job.columns)
    kept = kept.set_column(job.columns.index(job.type), job.schema.field(job.type), types)
    if not kept.schema.equals(job.schema):
        kept = kept.cast(job.schema)
    return (kept if keep.all() else kept.filter(pa.array(keep))), keep


def keyed(job: StreamJob, table: pa.Table) -> pa.Table:
    """Events as they are stored: text that partitions are made of as a dictionary, encoded once and not at each step.

    What is a dictionary already is encoded anew, so that it holds no word in vain.
    """
    for name in job.plan.partitioning.common:
        if pa.types.is_string(job.schema.field(name).type):
            words = as_type(contiguous(table.column(name)), pa.string()).dictionary_encode()
            table = table.set_column(table.column_names.index(name), name, words)
    return table


def _numbers(types: pa.ChunkedArray, job: StreamJob) -> NDArray[np.int64]:
    """Event types under the plan's own numbers; -1 where the plan knows none of the name."""
    array = contiguous(types)
    encoded = pa.types.is_dictionary(array.type)
    names = as_type(array.dictionary if encoded else array, pa.string())
    places = job.type_words.places(names)
    if names.null_count:
        places[names.is_null().to_numpy(zero_copy_only=False)] = -1
    return np.append(places, -1)[without_nulls(array.indices, len(places))] if encoded else places
