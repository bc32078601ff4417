"""A dashboard of open windows: bars that grow as events come, and stay when their window has ended.

``python examples/live_dashboard.py`` makes up a market and draws it in the terminal. ``emit="update"`` returns only the
rows that have changed, so that drawing costs what has happened, not what there is.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

import greta

QUERY = """
RETURN company, COUNT(*) AS falls
PATTERN Stock S+
WHERE [company] AND S.price > NEXT(S).price
GROUP-BY company
WITHIN 4 seconds SLIDE 2 seconds
"""
SHOWN = 9


class Board:
    """The latest row of each window and company."""

    def __init__(self) -> None:
        self.rows: dict[tuple[float, str], dict[str, Any]] = {}

    def update(self, changed: list[dict[str, Any]]) -> None:
        """Take rows in; old windows go."""
        for row in changed:
            self.rows[row["window_start"], row["company"]] = row
        for key in sorted(self.rows)[: -SHOWN or None]:
            del self.rows[key]

    def draw(self) -> Table:
        """A bar per row, on a logarithmic scale."""
        table = Table("window", "company", "falls", "", title="Ways in which prices fall")
        for (start, company), row in sorted(self.rows.items()):
            bar = "█" * round(2 * math.log2(row["falls"] + 1))
            style = "green" if row["final"] else "yellow"
            table.add_row(f"{start:g} s to {row['window_end']:g} s", company, f"{row['falls']:g}", f"[{style}]{bar}")
        return table


def market(seconds: float) -> Iterator[list[dict[str, Any]]]:
    """A made-up market: three trades in each tenth of a second."""
    draw = random.Random(2)
    for tenth in range(round(seconds * 10)):
        yield [
            {
                "type": "Stock",
                "time": tenth / 10 + place / 200,
                "company": draw.choice(("acme", "globex", "initech")),
                "price": round(draw.uniform(9, 11), 2),
            }
            for place in range(3)
        ]


def main(seconds: float = 15.0, speed: float = 1.0, console: Console | None = None) -> Board:
    """Draw the market until it closes."""
    stream, board = greta.stream(QUERY, emit="update"), Board()
    with Live(board.draw(), console=console, refresh_per_second=10) as screen:
        for trades in market(seconds):
            board.update(stream.push(trades).to_pylist())
            screen.update(board.draw())
            time.sleep(0.1 / speed)
        board.update(stream.close().to_pylist())
        screen.update(board.draw())
    return board


if __name__ == "__main__":
    main()
