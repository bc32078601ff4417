"""Inputs and a query → an error where a column is missing, before anything is read or started."""

from __future__ import annotations

from collections.abc import Sequence

from greta.cli.engines import obstacle
from greta.datasets.files import Format, format_of
from greta.datasets.inputs import Columns, Input
from greta.datasets.readers import demand_header
from greta.datasets.reading import column_names
from greta.errors import DataError, did_you_mean
from greta.lang.nodes import Query
from greta.plan.analyze import analyze

_LITTLE_JSON = 10_000_000
"""Bytes of JSON lines that are read in a moment to learn their columns."""


def columns_at_hand(inputs: Sequence[Input], format_: Format | None) -> bool:
    """Whether the columns' names are read in a moment: from headers, or from a little JSON."""
    if obstacle(inputs, format_) is not None:
        return False
    files = [file for each in inputs for file in each.files()]
    return all(format_of(file, format_) != "jsonl" or file.stat().st_size < _LITTLE_JSON for file in files)


def check_columns(query: Query, inputs: Sequence[Input], format_: Format | None, columns: Columns) -> None:
    """``SchemaError`` at the place in the query where no input has a column; ``DataError`` for times and types."""
    everything: dict[str, None] = {}
    for each, names in zip(inputs, column_names(inputs, format_), strict=True):
        everything |= dict.fromkeys(names)
        roles = [("time", columns.time, "--time")]
        roles += [] if each.event_type else [("type", columns.type, "--type, or --input TYPE=PATH")]
        for role, name, option in roles:
            if name not in names:
                demand_header(each.path, names)
                hint = did_you_mean(name, names) or f"name the column with {option}"
                there = ", ".join(names[:20]) or "none"
                raise DataError(f"{each.path}: the events have no {role} column {name!r} (columns: {there})", hint=hint)
    analyze(query, dict.fromkeys([*everything, columns.time, columns.type]))
