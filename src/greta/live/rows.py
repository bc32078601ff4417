"""Results that were read of an online graph → partial rows, in the columns that all parts of an answer have."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from greta.engine.codes import Decoder
from greta.engine.job import Job
from greta.engine.merging import merge
from greta.engine.pairs import pair_up
from greta.engine.partials import write_partials
from greta.engine.results import Merged
from greta.engine.run import Values
from greta.engine.tables import as_type, extreme_type, plain_type
from greta.kernels.layout import NOTHING
from greta.live.changes import among, cell_of
from greta.live.graphs import Reading
from greta.live.kept import Kept
from greta.live.keys import key_column
from greta.live.program import Program, whole_numbers
from greta.plan.measures import Combine

EXACT = 2.0**53
"""Whole numbers below this are doubles without a loss."""


def partial_rows(program: Program, readings: list[Reading], kept: Kept | None) -> pa.Table:
    """Partial rows of what was read; windows whose numbers did not fit are computed from their events.

    ``kept`` has these events; None: the program needs none, since its numbers always fit.
    """
    tables = []
    for reading in readings:
        beyond = are_beyond(program, reading)
        if beyond.any():
            assert kept is not None
            # Events tell their common key alone, so all of its parts are computed again.
            places = len(program.job.common)
            common = {at: key[:places] for at, key in zip(reading.partition.tolist(), reading.key, strict=True)}
            keys = {common[at] for at in reading.partition[beyond].tolist()}
            again = np.array([at for at, key in common.items() if key in keys], dtype=np.int64)
            first, last = int(reading.window.min()), int(reading.window.max()) + 1
            rows = kept.partials(first, last, list(keys))
            # Of groups that were not read as a whole, what was computed from events would be a part.
            tables.append(among(rows, _cells(program, reading), cell_of(program.job)))
            reading = reading.only(~np.isin(reading.partition, again))
        tables.append(_partials(program, reading))
    return pa.concat_tables(tables) if tables else program.job.no_partials


def are_beyond(program: Program, reading: Reading) -> NDArray[np.bool_]:
    """Which results do not fit doubles, and have to be computed from their events."""
    job, values = program.job, reading.values
    doubles = values[:, :, : program.slots.adds]
    if job.plan.conjunction and job.plan.templates[-1].states:
        # Pairs of trends that both sides have are made of differences, which need all digits.
        return np.asarray(~(np.abs(doubles) < EXACT).all(axis=(1, 2)))
    beyond = np.zeros(len(values), dtype=bool)
    if job.numbers == "exact":
        beyond |= ~(values[:, :, list(program.checked)] < EXACT).all(axis=(1, 2))
        floating = [at for at in sorted(job.floating) if job.plan.measures[at].combine is Combine.ADD]
        doubles = doubles[:, :, [program.flow.results[at] for at in floating]]
    odd = ~np.isfinite(doubles) if job.plan.needs_magnitudes or job.plan.conjunction else np.isnan(doubles)
    return np.asarray(beyond | odd.any(axis=(1, 2)))


def _partials(program: Program, reading: Reading) -> pa.Table:
    values = _values(program, reading, 0)
    if program.job.plan.conjunction:
        sides = (values, _values(program, reading, 1), _values(program, reading, 2))
        values = pair_up(program.job.plan.measures, *map(partial(_whole, program.job), sides))
        paired = np.asarray(values.adds[0] != 0, dtype=bool)
        reading = reading.only(paired)
        values = Values(*({at: column[paired] for at, column in some.items()} for some in (values.adds, values.maxes)))
    return _written(program, reading, values)


def _written(program: Program, reading: Reading, values: Values) -> pa.Table:
    """Partial rows of the groups and windows of a reading, with these values."""
    job, plan = program.job, program.job.plan
    merged = merge([Merged(reading.group, reading.window, values.adds, values.maxes)])
    attributes = {
        name: key_column([group[at] for group in reading.groups], job.schema.field(name).type)
        for at, name in enumerate(plan.group)
    }
    ways = {
        at: _decoder(job.schema.field(measure.compared).type)
        for at, measure in enumerate(plan.measures)
        if measure.compared is not None
    }
    return write_partials(job, merged, attributes, ways)


def _cells(program: Program, reading: Reading) -> pa.Table:
    """The groups and windows of a reading, as partial rows without values."""
    values = np.zeros_like(reading.values)
    nothing = replace(reading, values=values)
    return _written(program, nothing, _values(program, nothing, 0))


def _values(program: Program, reading: Reading, side: int) -> Values:
    """The measures of one side of an outermost AND, or of the one pattern that there is."""
    job, values = program.job, Values({}, {})
    whole = whole_numbers(job) if job.numbers == "exact" else []
    for at, (measure, slot) in enumerate(zip(job.plan.measures, program.flow.results, strict=True)):
        extreme = measure.combine is Combine.MAX
        column: NDArray[Any] = reading.values[:, side, program.slots.adds + slot if extreme else slot]
        # Integers are added to those of other partitions without a loss.
        (values.maxes if extreme else values.adds)[at] = _integers(column) if at in whole else column
    return values


def _integers(column: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole doubles as integers; the extreme of nothing is that of integers."""
    none = np.isneginf(column)
    return np.where(none, NOTHING, np.where(none, 0.0, column).astype(np.int64))


def _whole(job: Job, values: Values) -> Values:
    """Values whose whole numbers are integers, as far as doubles hold these."""
    small = {at: at not in job.floating and (np.abs(column) < EXACT).all() for at, column in values.adds.items()}
    adds = {at: column.astype(np.int64) if small[at] else column for at, column in values.adds.items()}
    return Values(adds, values.maxes)


def _decoder(type_: pa.DataType) -> Decoder:
    def decode(numbers: NDArray[Any]) -> pa.Array:
        array = pa.array(numbers.astype(np.int64) if pa.types.is_integer(plain_type(type_)) else numbers)
        return as_type(array, extreme_type(type_))

    return decode
