"""``greta run`` in this process: local files in, the rows as an Arrow table out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import greta
from greta.cli.rows import in_order
from greta.datasets.files import Format
from greta.datasets.inputs import Columns, Input
from greta.datasets.reading import column_names, read_inputs
from greta.lang.nodes import Query

if TYPE_CHECKING:
    import pyarrow as pa

    from greta.cli.trends import Wish
    from greta.engine.job import Numbers


def answer(
    query: Query, inputs: Sequence[Input], format_: Format | None, columns: Columns, numbers: Numbers, wish: Wish | None
) -> pa.Table:
    """All rows, in order of time; or the trends that are wished for."""
    if wish is not None:
        # Trends are shown with all that is known of their events.
        names = [name for each in column_names(inputs, format_) for name in each]
        columns = replace(columns, attributes=tuple(dict.fromkeys((*names, *columns.attributes))))
    events = read_inputs(inputs, columns, format_)
    if wish is not None:
        return greta.trends(events, query, time=columns.time, type=columns.type, **wish.arguments())
    return in_order(greta.aggregate(events, query, time=columns.time, type=columns.type, numbers=numbers))
