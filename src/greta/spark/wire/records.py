"""Events without a readable time: which they are, and what happens to them, in batches and streams alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.engine.stream_jobs import readable
from greta.engine.times import Clock
from greta.errors import DataError, GretaError, visible
from greta.spark.wire.columns import named

BadRecords = Literal["stop", "skip"]
_LONGEST = 500
"""Characters of a record that are shown."""


def require_known(bad_records: str) -> None:
    """Refuse a word that says neither what to do."""
    if bad_records not in get_args(BadRecords):
        raise GretaError(f"bad_records must be 'stop' or 'skip', not {bad_records!r}")


def readable_rows(
    events: Mapping[str, pa.Array | pa.ChunkedArray],
    time: str,
    clock: Clock,
    bad_records: BadRecords,
    file: str | None = None,
    texts: pa.ChunkedArray | None = None,
) -> NDArray[np.bool_] | None:
    """Where events have a readable time; None where all have.

    With ``"stop"`` an event without one is a ``DataError`` that shows its columns, and its file where one is known.
    ``texts`` has the text of records that Spark could not read, which is shown instead, and NULL for others.
    """
    column = events[time]
    if not column.null_count and clock.kind == "timestamp":
        return None
    good = readable(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]), clock)
    if good.all():
        return None
    if bad_records == "stop":
        at = int(np.argmin(good))
        row: dict[str, Any] = {name: values[at].as_py() for name, values in events.items()}
        text = None if texts is None else texts[at].as_py()
        shown = row if text is None else visible(text[:_LONGEST])
        raise DataError(
            f"{'' if file is None else f'{file}: '}an event has no readable time in column {time!r}: {shown}",
            hint="mend or remove the record, or skip and count such records with bad_records='skip'",
        )
    return good


def unreadable(time: str, kind: T.DataType) -> Column:
    """The same for Spark: whether a time cannot be read; never NULL itself."""
    column = named(time)
    if not isinstance(kind, T.NumericType):
        return column.isNull()
    most = 2.0**52 if isinstance(kind, T.IntegralType) else 9.2e9
    # NaN is greater than any number to Spark.
    return column.isNull() | (column < 0) | (column.cast("double") > most)
