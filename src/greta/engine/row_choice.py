"""Which row of an answer is meant: a window and a group, given in part or not at all → both in full.

Windows are judged by themselves, so once the window is clear only its events are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.frames import Cut
from greta.engine.job import Job
from greta.engine.tables import plain_type
from greta.errors import GretaError, did_you_mean
from greta.plan.nodes import Window

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of an answer."""

    window: int | None
    """The number of its window; None without WITHIN."""
    group: Mapping[str, object] = field(default_factory=dict)
    """A value per GROUP-BY attribute."""

    def bounds(self, job: Job) -> tuple[pa.Scalar, pa.Scalar]:
        """``window_start`` and ``window_end``, as rows of the answer have them."""
        if self.window is None or job.plan.window is None:
            none = pa.scalar(None, type=job.clock.bounds_type(None))
            return none, none
        within, slide = job.clock.units(job.plan.window)
        start, end = job.clock.write(np.array([0, within]) + self.window * slide, job.plan.window)
        return start, end


def choose_row(
    job: Job, table: pa.Table, window: object, group: Mapping[str, object] | None
) -> tuple[Row | None, pa.Table, Int | None]:
    """The first row that fits, the events of its window, and where they are in the table (None: everywhere).

    No row where the answer has none at all; raises ``GretaError`` where it has some, or may have, but none that fits.
    """
    plan = job.plan
    group = typed_group(job, {} if group is None else group)
    number = None if window is None else window_number(job, window)
    table, places = _inside(job, table, number)
    settled = (plan.window is None or number is not None) and set(plan.group) == set(group)
    if settled and plan.having is None:
        return Row(number, group), table, places
    # The rows themselves, with all that tells them apart.
    rows = replace(job, plan=replace(plan, returned=plan.group, columns=())).run(table, _only(number))
    fitting = matching({name: rows.column(name).combine_chunks() for name in plan.group}, group)
    if (plan.group and not len(fitting)) or not rows.num_rows:
        if not rows.num_rows and window is None and not group:
            return None, table, places
        raise no_such_row(window, group)
    first = _first(rows.take(pa.array(fitting)) if plan.group else rows, plan.group)
    if number is None and plan.window is not None:
        number = window_number(job, first.column("window_start")[0].as_py())
        table, places = _inside(job, table, number)
    return Row(number, {name: first.column(name)[0].as_py() for name in plan.group}), table, places


def _first(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """The first row in order of windows and then of groups, NULL first, however the events came."""
    if pc.count(rows.column("window_start")).as_py():
        start = rows.column("window_start")
        rows = rows.filter(pc.equal(start, pc.min(start)))
    for name in names:
        values = rows.column(name).to_pylist()
        least = None if None in values else min(values)
        rows = rows.filter(pa.array([value == least for value in values]))
    return rows.slice(0, 1)


def matching(attributes: Mapping[str, pa.Array], group: Mapping[str, object]) -> Int:
    """The groups that have these values; without GROUP-BY there is one group, 0."""
    if not attributes:
        return np.zeros(1, dtype=np.int64)
    length = len(next(iter(attributes.values())))
    fits = np.ones(length, dtype=bool)
    for name, value in group.items():
        fits &= np.array([_same(other, value) for other in attributes[name].to_pylist()], dtype=bool)
    return np.flatnonzero(fits)


def no_such_row(window: object, group: Mapping[str, object]) -> GretaError:
    """The error for a row that the answer does not have."""
    asked = [f"window_start {window}"] if window is not None else []
    asked += [f"{name} {value!r}" for name, value in group.items()]
    return GretaError(
        f"no row of the answer has {' and '.join(asked)}",
        hint="take window_start and the GROUP-BY attributes from a row that greta.aggregate returns",
    )


def _same(one: object, other: object) -> bool:
    both_nan = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
    return one is other or both_nan or bool(one == other)


def _only(number: int | None) -> Cut | None:
    return None if number is None else Cut(number, number + 1)


def typed_group(job: Job, group: Mapping[str, object]) -> dict[str, object]:
    """The values of a group in the types of their columns: text stands for the number or time that it reads as.

    Raises ``GretaError`` for a name that the query does not group by.
    """
    names = job.plan.group
    _demand_mapping(group, names)
    typed = {}
    for name, value in group.items():
        if name not in names:
            hint = did_you_mean(name, names) or (f"it groups by {', '.join(names)}" if names else "leave group out")
            raise GretaError(f"the query does not group by {name!r}", hint=hint)
        type_ = plain_type(job.schema.field(name).type)
        if isinstance(value, str) and not pa.types.is_null(type_):
            try:
                value = pa.scalar(value).cast(type_).as_py()
            except pa.ArrowException as error:
                raise GretaError(
                    f"group {name} is {value!r}, which is no {type_}", hint="take it from a row of greta.aggregate"
                ) from error
        typed[name] = value
    return typed


def _demand_mapping(group: object, names: Sequence[str]) -> None:
    if not isinstance(group, Mapping):
        example = f"{{{(names or ('sector',))[0]!r}: {group!r}}}"
        raise GretaError(f"group is {group!r}, which is no mapping of names to values", hint=f"write {example}")


def _inside(job: Job, table: pa.Table, number: int | None) -> tuple[pa.Table, Int | None]:
    """The events of a window, and their places in the table."""
    if number is None or job.plan.window is None:
        return table, None
    within, slide = job.clock.units(job.plan.window)
    time = job.clock.read(table.column(job.time), job.time)
    places = np.flatnonzero((time >= number * slide) & (time < number * slide + within))
    return table.take(pa.array(places)), places


def window_number(job: Job, start: object) -> int:
    """The number of the window that starts at this instant."""
    window, clock = job.plan.window, job.clock
    if window is None:
        raise GretaError("the query has no windows", hint="leave window out, or add WITHIN to the query")
    _, slide = clock.units(window)
    units = _units(job, window, start)
    if units % slide:
        raise GretaError(
            f"no window starts at {start}",
            hint="windows start at multiples of SLIDE; take window_start from a row of greta.aggregate",
        )
    return units // slide


def _units(job: Job, window: Window, start: object) -> int:
    """An instant, as a row of the answer has it, in units of the clock."""
    clock = job.clock
    try:
        if clock.kind == "timestamp":
            scalar = _moment(start) if isinstance(start, str) else pa.scalar(start)
            return int(scalar.cast(pa.timestamp(clock.unit, scalar.type.tz)).value)
        number: float = pa.scalar(start).cast(clock.bounds_type(window)).as_py()
        return round(number * 1_000 * clock.per_millisecond)
    except (pa.ArrowException, AttributeError, TypeError) as error:
        raise GretaError(
            f"window is {start!r}, which is no {'time stamp' if clock.kind == 'timestamp' else 'number'}",
            hint="take window_start from a row of greta.aggregate",
        ) from error


def _moment(text: str) -> pa.Scalar:
    """A time in ISO 8601; without a zone it is in UTC."""
    try:
        return pa.scalar(text).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return pa.scalar(text).cast(pa.timestamp("us", "UTC"))
