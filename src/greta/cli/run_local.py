"""``greta run`` in this process: local files in, the rows as an Arrow table out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import greta
from greta.cli.rows import in_order
from greta.datasets.files import Format
from greta.datasets.inputs import Columns, Input
from greta.datasets.reading import read_inputs
from greta.errors import DataError
from greta.lang.nodes import Query

if TYPE_CHECKING:
    import pyarrow as pa

    from greta.engine.job import Numbers

_OPTIONS = {
    "event_type=..., or type_column=...": "--input TYPE=PATH, or --type",
    "event_type=...": "--input TYPE=PATH",
    "time_unit": "--time-unit",
}
"""What Python calls its arguments, and the command line its options."""


def answer(
    query: Query, inputs: Sequence[Input], format_: Format | None, columns: Columns, numbers: Numbers
) -> pa.Table:
    """All rows, in order of time."""
    try:
        events = read_inputs(inputs, columns, format_)
    except DataError as error:
        raise error.reworded(_OPTIONS) from error
    return in_order(greta.aggregate(events, query, time=columns.time, type=columns.type, numbers=numbers))
