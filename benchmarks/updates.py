"""What rows of open windows cost in a stream of this process: ``python benchmarks/updates.py``.

Falling prices of 2,000 companies, WITHIN 10 minutes SLIDE 10 seconds, ``emit="update"``. The first window is filled;
then 100 pushes of 100 events each are measured, which bring the rows that they change: by company, by sector, and of
all. Prints the processor time of a push, since machines are shared.
"""

from __future__ import annotations

from time import process_time

import numpy as np
import pyarrow as pa

import greta

QUERY = """
RETURN {returned} COUNT(*), MIN(S.price) PATTERN Stock S+
WHERE [{keys}] AND S.price > NEXT(S).price {group} WITHIN 10 minutes SLIDE 10 seconds
"""
GROUPS = {"company": "GROUP-BY company", "sector": "GROUP-BY sector", "all": ""}
COMPANIES, SECTORS, EVENTS, PUSH, MEASURED = 2_000, 20, 60_000, 100, 100


def trades() -> pa.Table:
    """Ten minutes of trades."""
    draw = np.random.default_rng(1)
    companies = draw.integers(0, COMPANIES, EVENTS)
    return pa.table(
        {
            "type": ["Stock"] * EVENTS,
            "time": pa.array(np.sort(draw.integers(0, 600_000, EVENTS)), pa.timestamp("ms")),
            "company": companies,
            "sector": companies % SECTORS,
            "price": np.round(draw.normal(50, 5, EVENTS)),
        }
    )


def main() -> None:
    """Print a line per grouping."""
    events = trades()
    filled = EVENTS - MEASURED * PUSH
    for name, group in GROUPS.items():
        returned = f"{name}," if group else ""
        keys = "company, sector" if name == "sector" else "company"
        query = QUERY.format(returned=returned, keys=keys, group=group)
        stream = greta.stream(query, schema=events.schema, emit="update")
        stream.push(events.slice(0, filled))
        seconds, rows = [], 0
        for at in range(filled, EVENTS, PUSH):
            piece = events.slice(at, PUSH)
            began = process_time()
            rows += stream.push(piece).num_rows
            seconds.append(process_time() - began)
        middle, slowest = 1_000 * float(np.median(seconds)), 1_000 * max(seconds)
        print(f"{name:8} {middle:6.1f} ms in the middle {slowest:6.1f} at most {rows / MEASURED:8,.0f} rows a push")


if __name__ == "__main__":
    main()
