"""Inputs of a command → the names of their columns, and all their events in one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from greta.datasets.files import Format, format_of
from greta.datasets.inputs import Columns, Input
from greta.datasets.loaders import load
from greta.datasets.readers import Source
from greta.errors import DataError


def column_names(inputs: Sequence[Input], format_: Format | None) -> list[list[str]]:
    """Per input: the columns that some file of it has."""
    return [_names(each.files(), format_) for each in inputs]


def _names(files: Sequence[Path], format_: Format | None) -> list[str]:
    return list(dict.fromkeys(name for file in files for name in Source(file, format_of(file, format_)).names()))


def read_inputs(inputs: Sequence[Input], columns: Columns, format_: Format | None) -> pa.Table:
    """All events in one table, NULL where a file lacks an attribute; ``DataError`` names the file that is wrong."""
    tables = [_read(file, each, columns, format_) for each in inputs for file in each.files()]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"the inputs do not go together: {error}", hint="give their columns the same types") from error


def _read(file: Path, each: Input, columns: Columns, format_: Format | None) -> pa.Table:
    """One file. Attributes are read under other names, as they may be called time or type themselves."""
    names = _names([file], format_)
    wanted = [name for name in columns.attributes if name in names and name not in (columns.time, columns.type)]
    table = load(
        file,
        columns={f"attribute {at}": name for at, name in enumerate(wanted)},
        time=columns.time,
        time_unit=columns.time_unit,
        type_column=columns.type,
        event_type=each.event_type,
        format=format_of(file, format_),
    )
    return table.rename_columns([columns.type, columns.time, *wanted])
