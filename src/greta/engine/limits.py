"""How much one computation may hold: rows are counted before they are made, and refused beyond a limit.

The limit is ``GRETA_MAX_ROWS`` of the environment, read at every computation; about 100 bytes a row are needed.
"""

from __future__ import annotations

import os

from greta.errors import DataError, SetupError

MAX_ROWS = "GRETA_MAX_ROWS"
USUAL_MAX_ROWS = 30_000_000
_ROW_BYTES = 100


def most_rows() -> int:
    """How many rows a computation may make; raises SetupError for a limit that is no number."""
    text = os.environ.get(MAX_ROWS)
    if text is None:
        return USUAL_MAX_ROWS
    try:
        return int(text.replace("_", ""))
    except ValueError as error:
        raise SetupError(f"{MAX_ROWS} is {text!r}, and it must be a number of rows", hint="e.g. 100_000_000") from error


def require_rows(rows: int, what: str, way_out: str) -> None:
    """Raise DataError where so many rows are more than may be made."""
    if rows <= (limit := most_rows()):
        return
    raise DataError(
        f"{what}: {rows:,} rows, about {rows * _ROW_BYTES / 1e9:,.1f} GB of memory, and {limit:,} is the limit",
        hint=f"{way_out}; or raise the limit in the environment: {MAX_ROWS}={rows}",
    )
