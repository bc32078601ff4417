"""Time stamps in other units, with and without a zone, and as text → whole numbers that compare as the instants do.

A time stamp without a zone, in a column or as text, is taken as UTC, as everywhere else.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from greta.errors import DataError, visible

_UNITS = ("s", "ms", "us", "ns")
NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_COUNT = pa.decimal128(19, 0)


def read_instants(text: Any, unit: str) -> Any:
    """Text, as an array or a scalar, as time stamps in UTC without a zone.

    In microseconds where the unit cannot hold them: every date that can be written fits these.
    """
    for type_ in (pa.timestamp(unit), pa.timestamp(unit, "UTC"), pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return text.cast(type_).cast(pa.timestamp(type_.unit))
        except pa.ArrowInvalid:
            continue
    shown = f"{visible(str(text.as_py()))!r}" if isinstance(text, pa.Scalar) else "some text"
    raise DataError(
        f"a time stamp is compared with {shown}, which is none",
        hint="write it as '2024-01-02T09:30:00', or with a zone as '2024-01-02T09:30:00Z', all in one way",
    )


def instants_alike(*values: Any) -> list[Any]:
    """Time stamps and text, arrays or scalars, as integers or decimals that compare as the instants do."""
    finest = max((v.type.unit for v in values if pa.types.is_timestamp(v.type)), key=_UNITS.index)
    stamps = [v if pa.types.is_timestamp(v.type) else read_instants(v, finest) for v in values]
    finest = max((v.type.unit for v in stamps), key=_UNITS.index)
    try:
        return [v.cast(pa.timestamp(finest, v.type.tz)).cast(pa.int64()) for v in stamps]
    except pa.ArrowInvalid:
        # Too far from 1970 for the finest unit's 64 bits.
        return [pc.multiply(v.cast(pa.int64()).cast(_COUNT), _factor(v.type.unit)) for v in stamps]


def _factor(unit: str) -> pa.Scalar:
    return pa.scalar(Decimal(NANOSECONDS[unit]), pa.decimal128(10, 0))
