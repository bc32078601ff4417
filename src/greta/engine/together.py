"""Jobs that differ in their patterns alone → the rows of each, from one pass over the events.

What such jobs have in common is found out once for all: the order of events, their windows, groups and bounds, and
the columns of the answer. Their templates run side by side (``greta.kernels.together``), one window at a time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import reduce
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.compute import decoders
from greta.engine.frames import Stream
from greta.engine.interrupts import heed, stop_flag
from greta.engine.job import Job
from greta.engine.merging import join, merge, merge_block, require_result
from greta.engine.operands import EventArrays
from greta.engine.prepared import Partitions, Prepared
from greta.engine.program import encode_steps, start_and_steps, to_matrix, to_slices
from greta.engine.results import Groups, Merged, finish_all, group_partitions
from greta.engine.run import Block, Execution, Runs, Values
from greta.errors import DataError
from greta.kernels.layout import Slots, Steps
from greta.kernels.together import FAMILY_COLUMNS, Answers, Family, TypedEvents, propagate_together
from greta.lang.nodes import Expression, Semantics
from greta.plan.flows import Flow
from greta.plan.measures import Combine, build_flow
from greta.plan.nodes import AccessPath, Plan

Int = NDArray[np.int64]

_MOST_WINDOWS = 6
"""Windows per event up to which reading each window by itself takes less time than several at once, query by query."""


def rows_together(jobs: Sequence[Job], prepared: Prepared) -> list[pa.Table | None]:
    """Per job its rows, or None where it must run by itself.

    That is where no other job is of its family, where a number of its answer needs a wider representation, and where
    the events cannot be read as some job asks: the error should speak of that job.
    """
    rows: list[pa.Table | None] = [None] * len(jobs)
    families: dict[Hashable, list[int]] = {}
    for at, job in enumerate(jobs):
        if _can_share(job):
            families.setdefault(_kinship(job.plan, _flow(job, prepared)), []).append(at)
    for members in families.values():
        if len(members) > 1:
            try:
                tables = _Run([jobs[at] for at in members], prepared).tables()
            except DataError:
                continue
            for at, table in zip(members, tables, strict=True):
                rows[at] = table
    return rows


def _can_share(job: Job) -> bool:
    """Whether a job's template is all running totals, in windows that overlap little and numbers of one word."""
    plan = job.plan
    return (
        job.numbers == "double"
        and not job.adds_times
        and plan.semantics is Semantics.ANY
        and not plan.conjunction
        and not plan.templates[0].negatives
        and not plan.partitioning.scopes
        and all(link.path is AccessPath.FREE for link in plan.templates[0].links)
        and (plan.window is None or plan.window.per_event <= _MOST_WINDOWS)
    )


def _kinship(plan: Plan, flow: Flow) -> Hashable:
    """What plans of one family have in common: all but their patterns, and what measures say about variables."""
    slots = (flow.adds, flow.maxes, flow.carried_adds, flow.carried_maxes)
    starts = (flow.start_adds, flow.start_maxes, flow.results)
    measures = tuple((measure.combine, measure.compared, measure.sign) for measure in plan.measures)
    outputs = tuple((output.name, output.finish, output.measures) for output in plan.outputs)
    shown = (plan.group, plan.returned, plan.computed, plan.columns, plan.having)
    # One plan stands for all where results of partitions are added up.
    added = plan.may_be_infinite
    return (plan.partitioning.common, plan.window, measures, outputs, shown, slots, starts, added)


def _flow(job: Job, prepared: Prepared) -> Flow:
    plan = job.plan
    attributes = {name for measure in plan.measures for name in measure.attributes}
    complete = frozenset(name for name in attributes if prepared.columns.valid(name) is None)
    return build_flow(plan.measures, plan.templates[0].variables, complete)


class _Run:
    """One family over its events; what does not depend on the pattern is taken from its first job."""

    def __init__(self, jobs: Sequence[Job], prepared: Prepared) -> None:
        self.jobs = jobs
        self.prepared = prepared
        self.plan = jobs[0].plan
        self.flows = [_flow(job, prepared) for job in jobs]
        self.events = prepared.partitions(self.plan.partitioning.common, None)
        self.stream = _stream_of_all(jobs[0], prepared, self.events)
        self.execution = Execution(self.stream, "double")
        self.groups = group_partitions(self.stream, self.execution.frame, ())

    def tables(self) -> list[pa.Table | None]:
        """Per job its rows; None where a number is too large for a double and that matters."""
        execution, templates = self.execution, len(self.jobs)
        arrays = EventArrays(self.stream.columns, {}, execution.frame, execution.time, self.stream.clock, double=True)
        family, steps = self._family(arrays)
        events = TypedEvents(execution.frame.offsets, execution.time, self.events.types, stop_flag())
        weights = arrays.input().weights
        flow = self.flows[0]
        slots = Slots(flow.adds, flow.maxes, flow.carried_adds, flow.carried_maxes)
        parts: list[Merged] = []
        too_large = np.zeros(templates, dtype=bool)
        stacked = _stacked(self.groups, templates)
        for partitions in execution.cut(templates):
            runs = execution.runs(partitions)
            count = len(runs.first_window)
            answers = Answers(np.empty((templates, count, flow.adds)), np.empty((templates, count, flow.maxes)))
            propagate_together(family, steps, slots, events, weights, runs.lanes[0], partitions, answers)
            heed()
            strange = ~np.isfinite(answers.words) if self.plan.needs_magnitudes else np.isnan(answers.words)
            too_large |= strange.any(axis=(1, 2))
            parts.append(merge_block(self.plan, self._block(runs, answers), stacked))
            require_result(sum(len(part.window) for part in parts))
        if not parts:
            return [None] * templates
        merged = join(parts) if self.groups.whole or len(parts) == 1 else merge(parts, self.plan)
        tables = self._finished(merged)
        return [None if large else table for large, table in zip(too_large, tables, strict=True)]

    def _family(self, arrays: EventArrays) -> tuple[Family, Steps]:
        """The templates of all jobs in arrays, their states numbered through."""
        steps: list[list[int]] = []
        states: list[list[int]] = []
        incoming: list[int] = []
        by_type: dict[str, list[int]] = {}
        for number, (job, flow) in enumerate(zip(self.jobs, self.flows, strict=True)):
            template, first = job.plan.templates[0], len(states)
            spans = encode_steps(arrays, flow, template.variables, steps)
            sources: list[list[int]] = [[] for _ in template.states]
            leaves = [0] * len(template.states)
            for transition in template.transitions:
                sources[transition.target].append(first + transition.source)
                leaves[transition.source] = 1
            for at, state in enumerate(template.states):
                into = (len(incoming), len(incoming) + len(sources[at]))
                incoming += sources[at]
                allowed = _guard(arrays, job.plan.local_conditions(state.variable))
                span = spans[state.variable]
                states.append([state.start, state.end, 0, 0, *into, 0, leaves[at], *span, number, allowed])
                by_type.setdefault(state.event_type, []).append(first + at)
        # NULL is a type past the last one, which enters no state.
        names = [*self.prepared.types.names, None]
        ptr, entered = to_slices([by_type.get(name, []) if name is not None else [] for name in names])
        table = to_matrix(states, FAMILY_COLUMNS)
        family = Family(ptr, entered, table, np.array(incoming, dtype=np.int64), len(self.jobs))
        return family, start_and_steps(self.flows[0], steps)

    def _block(self, runs: Runs, answers: Answers) -> Block:
        """The results of all templates as those of one, with as many times the partitions."""
        templates = len(answers.words)
        partitions = len(self.groups.of_partition)
        numbers = (runs.partitions + partitions * np.arange(templates)[:, None]).ravel()
        lengths = np.tile(np.diff(runs.offsets), templates)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        first, last = np.tile(runs.first_window, templates), np.tile(runs.last_window, templates)
        values = Values({}, {})
        for at, slot in enumerate(self.flows[0].results):
            if self.plan.measures[at].combine is Combine.MAX:
                values.maxes[at] = answers.maxima[:, :, slot].ravel()
            else:
                values.adds[at] = answers.words[:, :, slot].ravel()
        return Block(Runs(numbers, [], offsets, first, last), [values])

    def _finished(self, merged: Merged) -> list[pa.Table]:
        """Rows by template, window and group, cut by template."""
        groups = _count(self.groups)
        template, group = np.divmod(merged.group, groups)
        order = np.lexsort((group, merged.window, template))
        adds = {at: column[order] for at, column in merged.adds.items()}
        maxes = {at: column[order] for at, column in merged.maxes.items()}
        table, keep = finish_all(
            self.jobs[0],
            Merged(group[order], merged.window[order], adds, maxes),
            self.groups.attributes,
            decoders(self.stream),
        )
        template = template[order]
        if keep is not None:
            table, template = table.filter(pa.array(keep)), template[keep]
        ends = np.searchsorted(template, np.arange(len(self.jobs) + 1)).tolist()
        return [table.slice(begin, end - begin) for begin, end in pairwise(ends)]


def _stream_of_all(job: Job, prepared: Prepared, events: Partitions) -> Stream:
    """All events, as if each could take every variable of the job: which types and conditions hold is the family's."""
    plan, clock = job.plan, job.clock
    if plan.window is not None:
        clock.require_room(prepared.furthest, plan.window)
    bits = {variable.name: at for at, variable in enumerate(plan.variables)}
    mask = np.full(len(events.order), (1 << len(bits)) - 1, dtype=np.uint64)
    owned = np.array([[clock.lowest_window], [2**62]], dtype=np.int64)
    places = (events.keys, events.offsets, events.order)
    return Stream(job, prepared.columns, clock, prepared.instants, bits, prepared.types, *places, mask, owned)


def _guard(arrays: EventArrays, conditions: tuple[Expression, ...]) -> int:
    """The column that says which events satisfy some conditions; -1 for all."""
    if not conditions:
        return -1
    holds = arrays.columns.holds
    return arrays.guards.add(
        arrays.gather(conditions, lambda: reduce(np.logical_and, map(holds, conditions)).astype(np.uint8))
    )


def _stacked(groups: Groups, templates: int) -> Groups:
    """Groups of their own for each template: group g of template t is t · groups + g."""
    numbers = np.arange(templates)[:, None] * _count(groups)
    return Groups((numbers + groups.of_partition).ravel(), groups.attributes, groups.whole)


def _count(groups: Groups) -> int:
    return int(groups.of_partition.max(initial=0)) + 1
