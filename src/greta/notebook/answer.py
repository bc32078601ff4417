"""Rows → what a notebook shows of them: a table of the first ones, and the first aggregate over time as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from greta.drawing.svg import escape
from greta.lang.nodes import ReturnAttribute
from greta.lang.parser import parse
from greta.notebook.picture import lines_over_time
from greta.studio.charts import chart

_SHOWN = 20
_BOUNDS = ("window_start", "window_end")


@dataclass(frozen=True, slots=True)
class Chart:
    """Which column is drawn over the time of windows, a line for each group."""

    column: str
    groups: tuple[str, ...]
    slide: float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of a query, or trends, as a notebook shows them; ``table`` has all of them."""

    table: pa.Table
    chart: Chart | None

    @staticmethod
    def of(query: str, table: pa.Table) -> Answer:
        """The rows of a query; several windows are worth a picture."""
        parsed = parse(query)
        groups = tuple(item.name for item in parsed.returns if isinstance(item, ReturnAttribute))
        values = [name for name in table.column_names if name not in (*_BOUNDS, *groups)]
        if parsed.window is None or not values or len(table.column("window_start").unique()) < 2:
            return Answer(table, None)
        return Answer(table, Chart(values[0], groups, parsed.window.slide.milliseconds / 1_000))

    def __repr__(self) -> str:
        """The first rows as text."""
        return str(self.table.slice(0, _SHOWN).to_pandas()) if _has_pandas() else str(self.table)

    def _repr_html_(self) -> str:
        """The picture, then the first rows."""
        return self._picture() + self._rows()

    def _picture(self) -> str:
        if self.chart is None:
            return ""
        drawn = chart(self.table, self.chart.column, self.chart.groups, self.chart.slide)
        return lines_over_time(drawn)

    def _rows(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.table.column_names)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(_word(value))}</td>' for value in row.values())}</tr>"
            for row in self.table.slice(0, _SHOWN).to_pylist()
        )
        rest = self.table.num_rows - _SHOWN
        said = f"<p>… and {rest:,} more rows: --into VARIABLE keeps all of them</p>" if rest > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{said}"


def _word(value: Any) -> str:
    """A cell for people: times without what they do not have, numbers with the digits that they have."""
    match value:
        case None:
            return "NULL"
        case datetime():
            return str(value.replace(tzinfo=None))
        case float() if value.is_integer() and abs(value) < 2**53:
            return f"{value:,.0f}"
        case float():
            return f"{value:.6g}"
        case _:
            return str(value)


def _has_pandas() -> bool:
    from importlib.util import find_spec

    return find_spec("pandas") is not None
