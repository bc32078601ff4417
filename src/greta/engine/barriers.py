"""Matches of negative sub-patterns, reduced to what they forbid: (end, latest start) per partition (§5.2).

Whether a match lies in a window, closes it, opens it or fills a gap depends only on when it ends and on the
latest start among the matches that end there; so negative templates run once, without windows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from greta.engine.codes import Codes
from greta.engine.frames import Stream
from greta.engine.interrupts import heed
from greta.engine.partitions import Frame
from greta.engine.program import Compiler, Gap
from greta.kernels.layout import CLIP, EQUALS, GREATER_EQUAL, NOTHING, SEEN, Lanes
from greta.kernels.propagate import Results, propagate
from greta.kernels.sorting import argsort, order_by_group
from greta.kernels.stores import doubles
from greta.kernels.windows import Barriers, Breaks, cutoffs
from greta.plan.flows import latest_start
from greta.plan.nodes import NegativeTemplate, Place, Template

Int = NDArray[np.int64]


_NONE = np.empty(0, dtype=np.int64)
_NO_BREAKS = Breaks(np.empty((0, 0), dtype=np.int64), np.zeros(1, dtype=np.int64), _NONE, _NONE)


def all_barriers(stream: Stream, template: Template, frame: Frame, positive_scopes: tuple[int, ...]) -> list[Barriers]:
    """Barriers of every negative of a template, as seen from its frame."""
    return [_barriers(stream, negative, frame, positive_scopes) for negative in template.negatives]


def middle_gaps(stream: Stream, template: Template, frame: Frame, barriers: list[Barriers]) -> list[Gap | None]:
    """Per negative in the middle: when two events of the frame have no match between them."""
    result: list[Gap | None] = []
    if not template.negatives:
        return result
    time = stream.time[frame.rows]
    for negative, barrier in zip(template.negatives, barriers, strict=True):
        if negative.place is not Place.BETWEEN:
            result.append(None)
            continue
        before = _latest_before(frame, time, barrier)
        if negative.template.transitions:
            result.append(Gap(time, before, GREATER_EQUAL))
        else:
            # A match is an instant: none lies between where the latest one up to the earlier event is the latest
            # one before the later event.
            result.append(Gap(_latest_before(frame, time, barrier._replace(ends=barrier.ends - 1)), before, EQUALS))
    return result


def _latest_before(frame: Frame, time: Int, barriers: Barriers) -> Codes:
    found = np.empty(len(frame.rows), dtype=np.int64)
    cutoffs(frame.offsets, time, barriers, found)
    return found


def window_breaks(templates: tuple[Template, ...], barriers: list[list[Barriers]], within: int, slide: int) -> Breaks:
    """The windows from which on a leading or trailing negative clips otherwise than before.

    A match that starts at s is in no window after s // slide, one that ends at e in none up to (e - within) // slide.
    """
    edges = [
        (negative, barrier)
        for template, own in zip(templates, barriers, strict=True)
        for negative, barrier in zip(template.negatives, own, strict=True)
        if negative.place is not Place.BETWEEN and slide > 0
    ]
    if not edges:
        return _NO_BREAKS
    of_partition, offsets, windows = [], [np.zeros(1, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    slices, size = 0, 0
    for negative, barrier in edges:
        instants = barrier.starts if negative.place is Place.LEADING else barrier.ends - within
        found = instants // slide + 1
        slice_ = np.repeat(np.arange(len(barrier.offsets) - 1), np.diff(barrier.offsets))
        windows.append(found[np.lexsort((found, slice_))])
        offsets.append(barrier.offsets[1:] + size)
        of_partition.append(np.where(barrier.of_partition < 0, -1, barrier.of_partition + slices))
        slices += len(barrier.offsets) - 1
        size += len(found)
    return Breaks(
        np.array(of_partition, dtype=np.int64).reshape(len(edges), -1 if edges else 0),
        np.concatenate(offsets),
        np.concatenate(windows),
        np.empty(len(edges), dtype=np.int64),
    )


def _barriers(stream: Stream, negative: NegativeTemplate, parent: Frame, positive_scopes: tuple[int, ...]) -> Barriers:
    """The matches of one negative, by end, in slices for the parent's partitions."""
    template = negative.template
    own, nested = template.variables, _nested(template)
    # A value that only a NOT within this one has tells matches apart as well, if it must be the trend's.
    scopes = tuple(
        at
        for at, scope in enumerate(stream.plan.partitioning.scopes)
        if scope.variables & own or (at in positive_scopes and scope.variables & nested)
    )
    frame = stream.frame_of(own | nested if scopes else own, scopes, keep_all=False)
    frame = replace(frame, mask=frame.mask & np.uint64(stream.mask_of(own)))
    inner = all_barriers(stream, template, frame, scopes)
    latest = _latest_starts(stream, template, frame, inner)
    partition = np.repeat(np.arange(len(frame.offsets) - 1), np.diff(frame.offsets))
    hit = np.flatnonzero(latest != NOTHING)
    time = stream.time[frame.rows[hit]]
    shared = [at for at, s in enumerate(scopes) if s in positive_scopes]
    if shared:
        parent_key = _keys(parent, [positive_scopes.index(scopes[at]) for at in shared])
        known, number = np.unique(_keys(frame, shared), axis=1, return_inverse=True)
        of_partition = _lookup(known, parent_key)
    else:
        known, number = np.unique(frame.common, return_inverse=True)
        of_partition = _common_lookup(known, parent.common)
    by_end = argsort(time)
    group = number.reshape(-1)[partition[hit]].astype(np.int32)
    offsets, order = order_by_group(group, known.shape[-1], by_end)
    return Barriers(of_partition, offsets, time[order], latest[hit][order])


def _nested(template: Template) -> frozenset[str]:
    """The variables of all NOTs within a template."""
    return frozenset[str]().union(*(n.template.variables | _nested(n.template) for n in template.negatives))


def _keys(frame: Frame, scopes: list[int]) -> Int:
    """[common number and scope values, partition]"""
    return np.vstack((frame.common[None, :], frame.scope_values[scopes]))


def _lookup(known: Int, wanted: Int) -> Int:
    """Per wanted key: its place among the known ones, with "none" for values that no negative event has."""
    names = {tuple(key): at for at, key in enumerate(known.T.tolist())}
    beginnings = {key[:length] for key in names for length in range(1, len(key) + 1)}

    def place(common: int, *values: int) -> int:
        found: tuple[int, ...] = (common,)
        for value in values:
            found = (*found, value) if (*found, value) in beginnings else (*found, -1)
        return names.get(found, -1)

    return np.array([place(*key) for key in wanted.T.tolist()], dtype=np.int64)


def _common_lookup(known: Int, wanted: Int) -> Int:
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, at, -1).astype(np.int64)


def _latest_starts(stream: Stream, template: Template, frame: Frame, inner: list[Barriers]) -> Int:
    """Per event of the frame: the latest start of a match that ends there."""
    time = stream.time[frame.rows]
    if not template.transitions:
        return np.where(frame.mask != 0, time, NOTHING)
    compiler = Compiler(stream.columns, stream.bits, frame, time, stream.clock, double=True)
    gaps = middle_gaps(stream, template, frame, inner)
    automaton = compiler.compile(template, gaps, latest_start(template.variables))
    # A match is one in every window and whatever scopes it has met.
    automaton.states.state[:, [SEEN, CLIP]] = 0
    partitions = len(frame.offsets) - 1
    input_ = compiler.input()
    input_ = input_._replace(events=input_.events._replace(required=np.zeros(partitions, dtype=np.int64)))
    whole = Lanes(
        np.arange(partitions + 1, dtype=np.int64),
        np.ascontiguousarray(frame.offsets[:-1]).reshape(1, -1),
        np.ascontiguousarray(frame.offsets[1:]).reshape(1, -1),
    )
    results = Results(np.empty((partitions, 1)), np.empty((partitions, 1)), np.zeros(partitions, dtype=np.uint8))
    latest = np.full(len(time), -1.0)
    propagate(automaton, input_, whole, np.arange(partitions), 1, doubles(), results, latest, np.empty((0, 0)))
    heed()
    started = latest.astype(np.int64)
    return np.where(started < 0, NOTHING, time[started])
