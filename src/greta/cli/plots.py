"""Rows → picture: every aggregate over the start of its window, a line per group."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greta.errors import DataError
from greta.lang.nodes import Query, ReturnAttribute, ReturnValue

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_LINES = 12
"""Groups with the largest values are drawn; more lines than this tell nobody anything."""


def draw(table: pa.Table, query: Query, file: Path) -> None:
    """Draw a query's rows into a PNG or SVG file."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    groups = [item.name for item in query.returns if isinstance(item, ReturnAttribute)]
    aggregates = [item.name for item in query.returns if isinstance(item, ReturnValue)]
    rows = table.to_pylist()
    # The picture shows counts that grow as 2ⁿ, hence a logarithmic axis where values spread over decades.
    figure, axes = plt.subplots(
        len(aggregates), 1, figsize=(10, 3.2 * len(aggregates)), sharex=True, squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes[:, 0], aggregates, strict=True):
        lines = _lines(rows, groups, name)
        for label, points in lines:
            axis.plot([x for x, _ in points], [y for _, y in points], label=label, linewidth=1.2)
        values = [y for _, points in lines for _, y in points if y > 0]
        if values and max(values) > 1000 * min(values):
            axis.set_yscale("log")
        axis.set_ylabel(name)
        axis.grid(alpha=0.3)
        if groups and lines:
            axis.legend(title=", ".join(groups), loc="upper left", fontsize="small")
    axes[-1, 0].set_xlabel("start of the window")
    figure.autofmt_xdate()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, dpi=120)
    except OSError as error:
        raise DataError(f"{file}: cannot be written: {error.strerror}") from error
    finally:
        plt.close(figure)


def _lines(rows: list[dict[str, Any]], groups: list[str], name: str) -> list[tuple[str, list[tuple[Any, float]]]]:
    """(label, points in order of time) of the groups with the largest values."""
    lines: dict[str, list[tuple[Any, float]]] = defaultdict(list)
    for row in rows:
        value = _number(row[name])
        if value is not None:
            lines[", ".join(str(row[group]) for group in groups)].append((row["window_start"], value))
    largest = sorted(lines, key=lambda label: -max(y for _, y in lines[label]))[:_MOST_LINES]
    return [(label, lines[label]) for label in sorted(largest)]


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
