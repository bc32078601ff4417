"""What Spark's own operators behind a stream's rows need: a watermark on ``window_end``.

A row comes out once the watermark has passed the end of its window, so rows are never late by their ``window_end``:
it carries the stream's watermark on, and ``rows.groupBy(window("window_end", "1 hour"))`` works as behind any stream. A
*second* watermark would stand still until the first row comes, and hold back the first, which the row waits for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T  # noqa: N812 - its usual name

from greta.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

END = "window_end"
WATERMARK = "spark.watermarkDelayMs"
"""The key in a column's metadata that says to Spark: this is the event time, and so late may it be."""


def carry_watermark(rows: DataFrame) -> DataFrame:
    """The same rows, ready for stateful operators; ``withWatermark`` keeps the watermark that is there, or is refused.

    Where times are plain numbers or have no zone there is no watermark to carry, and ``withWatermark`` is refused.
    """
    if marked := isinstance(_end_type(rows), T.TimestampType):
        rows = rows.withMetadata(END, {WATERMARK: 0})

    def with_watermark(eventTime: str, delayThreshold: str) -> DataFrame:  # noqa: N803 - Spark's own names
        if marked and eventTime == END:
            return rows
        raise DataError(
            f"the rows of a stream cannot have a second watermark, on {eventTime} ({delayThreshold}): it would wait "
            "for rows, and they for it",
            hint=f"they carry the stream's watermark on {END} already; group by window({END!r}, …) without another"
            if marked
            else "write them to a table or topic, and aggregate them in a query of their own",
        )

    found: Any = rows
    found.withWatermark = with_watermark
    return rows


def without_watermark(rows: DataFrame) -> DataFrame:
    """Rows for files, which would keep the mark: whoever reads them as a stream has another watermark."""
    return rows.withMetadata(END, {}) if isinstance(_end_type(rows), T.TimestampType) else rows


def _end_type(rows: DataFrame) -> T.DataType | None:
    return next((field.dataType for field in rows.schema.fields if field.name == END), None)
