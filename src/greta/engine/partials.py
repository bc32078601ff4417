"""Results on their way between processes: rows of intermediate values that merge in any order.

A partial row holds a window's number, the GROUP-BY attributes, and per slot a number: as a plain column, and as
text (hexadecimal fraction) where it does not fit one. Backends compute partials next to the data, bring equal
groups together by any means, and finish them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from greta.engine.codes import Decoder, encode
from greta.engine.columns import negated
from greta.engine.compute import decoders, merged_groups
from greta.engine.frames import Stream
from greta.engine.job import WINDOW, Job
from greta.engine.merging import merge
from greta.engine.partitions import number_keys
from greta.engine.results import Merged, decode_extremes, finish
from greta.engine.tables import contiguous, take_rows
from greta.engine.values import prepare
from greta.kernels.layout import NOTHING
from greta.plan.measures import Combine


def partial_rows(stream: Stream) -> pa.Table:
    """Partial rows of one stream: each (group, window) at most once."""
    merged, groups = merged_groups(stream)
    return write_partials(stream.job, merged, groups.attributes, decoders(stream))


def write_partials(job: Job, merged: Merged, attributes: dict[str, pa.Array], ways: dict[int, Decoder]) -> pa.Table:
    """Values per group and window as partial rows."""
    plan, schema = job.plan, job.partial_schema
    columns: list[pa.Array] = [pa.array(merged.window)]
    columns += [
        _cast(take_rows(attributes[name], merged.group), schema.field(f"group_{at}").type)
        for at, name in enumerate(plan.group)
    ]
    for at, measure in enumerate(plan.measures):
        type_ = schema.field(f"measure_{at}").type
        if measure.compared is not None:
            columns.append(decode_extremes(measure, merged.maxes[at], ways[at]).cast(type_))
        elif measure.combine is Combine.MAX:
            columns.append(_write_peaks(merged.maxes[at], type_))
        else:
            columns += _write_numbers(merged.adds[at], type_)
    return pa.table(columns, schema=schema)


def finish_partials(job: Job, parts: pa.Table) -> pa.Table:
    """The rows from partial rows. Equal groups must all be in ``parts``."""
    rows, schema = finish(job, *_read_partials(job, parts)), job.output_schema
    return rows if rows.schema.equals(schema) else rows.cast(schema)


def merge_partials(job: Job, parts: pa.Table) -> pa.Table:
    """The same partial rows with each (group, window) once."""
    return write_partials(job, *_read_partials(job, parts))


def _read_partials(job: Job, parts: pa.Table) -> tuple[Merged, dict[str, pa.Array], dict[int, Decoder]]:
    """(values per group and window, what each group agrees on, the way back from codes of extremes)"""
    plan = job.plan
    names = [f"group_{at}" for at in range(len(plan.group))]
    keys = number_keys([prepare(parts.column(name)) for name in names], parts.num_rows, null_is_a_value=True)
    adds: dict[int, NDArray[Any]] = {}
    maxes: dict[int, NDArray[Any]] = {}
    ways: dict[int, Decoder] = {}
    for at, measure in enumerate(plan.measures):
        column = parts.column(f"measure_{at}")
        if measure.compared is not None:
            codes, ways[at] = encode(prepare(column))
            maxes[at] = negated(codes) if measure.sign < 0 else codes
        elif measure.combine is Combine.MAX:
            maxes[at] = _read_peaks(column)
        else:
            adds[at] = _read_numbers(column, parts.column(f"wide_{at}"))
    window = prepare(parts.column(WINDOW)).to_numpy(zero_copy_only=False)
    merged = merge([Merged(keys.codes.astype(np.int64), window, adds, maxes)])
    attributes = {
        name: _cast(take_rows(parts.column(f"group_{at}"), keys.example), job.schema.field(name).type)
        for at, name in enumerate(plan.group)
    }
    return merged, attributes, ways


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """The array in that type; Arrow itself casts text alone into a dictionary."""
    if array.type == type_:
        return array
    if pa.types.is_dictionary(type_) and not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    return array.cast(type_)


def _write_peaks(peaks: NDArray[Any], type_: pa.DataType) -> pa.Array:
    """Largest values as they are kept, sign included; NULL where there is none."""
    nothing = -np.inf if peaks.dtype == np.float64 else NOTHING
    return pa.array(peaks, mask=peaks == nothing).cast(type_)


def _read_peaks(column: pa.ChunkedArray) -> NDArray[Any]:
    nothing = pa.scalar(-np.inf if pa.types.is_floating(column.type) else int(NOTHING), column.type)
    return np.asarray(contiguous(pc.fill_null(column, nothing)).to_numpy(zero_copy_only=False))


def _write_numbers(column: NDArray[Any], type_: pa.DataType) -> list[pa.Array]:
    if column.dtype != object:
        return [
            pa.array(column.astype(type_.to_pandas_dtype(), copy=False)),
            pa.nulls(len(column), pa.string()),
        ]
    plain: list[Any] = []
    wide: list[str | None] = []
    for value in column.tolist():
        kept = _fits(value, type_)
        plain.append(kept)
        wide.append(None if kept is not None else _hexadecimal(Fraction(value)))
    return [pa.array(plain, type=type_), pa.array(wide, type=pa.string())]


def _fits(value: Any, type_: pa.DataType) -> Any:
    if type_ == pa.int64():
        return int(value) if -(2**63) < value < 2**63 else None
    if isinstance(value, float):
        return value
    try:
        return float(value) if Fraction(float(value)) == value else None
    except OverflowError:
        return None


def _hexadecimal(value: Fraction) -> str:
    return f"{value.numerator:x}/{value.denominator:x}"


def _read_numbers(column: pa.ChunkedArray, wide: pa.ChunkedArray) -> NDArray[Any]:
    if wide.null_count == len(wide):
        return np.asarray(contiguous(column).to_numpy(zero_copy_only=False))
    result = np.array(column.to_pylist(), dtype=object)
    for row, text in enumerate(wide.to_pylist()):
        if text is not None:
            numerator, denominator = text.split("/")
            value = Fraction(int(numerator, 16), int(denominator, 16))
            result[row] = value.numerator if value.denominator == 1 else value
    return result
