"""Rows that come a few at a time → lines on stdout, each whole and at once: aligned for people, JSON for machines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from greta.cli.output import print_json
from greta.cli.rows import in_order, word

if TYPE_CHECKING:
    import pyarrow as pa

_GAP = "  "


class LineRows:
    """Prints rows; columns are named once, and as wide as the widest value so far."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._widths: list[int] = []

    def show(self, rows: pa.Table) -> None:
        """Print rows by window and then by their other columns, and flush."""
        if not rows.num_rows:
            return
        ordered = in_order(rows)
        if self._as_json:
            for row in ordered.to_pylist():
                print_json(row)
            return
        cells = [["" if value is None else word(value) for value in row.values()] for row in ordered.to_pylist()]
        if not self._widths:
            self._widths = [0] * ordered.num_columns
            cells.insert(0, list(ordered.column_names))
        self._widths = [max(width, *(len(line[at]) for line in cells)) for at, width in enumerate(self._widths)]
        for line in cells:
            padded = _GAP.join(cell.ljust(width) for cell, width in zip(line, self._widths, strict=True))
            sys.stdout.write(padded.rstrip() + "\n")
        sys.stdout.flush()
