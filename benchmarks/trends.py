"""Show 5 uniform and 5 longest trends of a million events in one window, beside counting them, in processor time.

python benchmarks/trends.py [events]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import process_time

import numpy as np
import pyarrow as pa

import greta

QUERY = "RETURN {} PATTERN S+ WHERE S.price > NEXT(S).price"


def seconds(runs: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """Processor time of the fastest of some runs, after one that loads kernels; in turn, to share noise."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(1 + rounds):
        for name, run in runs.items():
            began = process_time()
            run()
            taken[name].append(process_time() - began)
    return {name: min(times[1:]) for name, times in taken.items()}


def main() -> None:
    """Print times, and their ratios to counting."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    price = np.random.default_rng(1).integers(0, 100_000, count)
    names = pa.DictionaryArray.from_arrays(np.zeros(count, dtype=np.int8), ["S"])
    events = pa.table({"type": names, "time": np.arange(count), "price": price})
    plain = QUERY.format("COUNT(*)")
    taken = seconds(
        {
            "doubles": lambda: greta.aggregate(events, plain),
            "exponents": lambda: greta.aggregate(events, QUERY.format("LOG2(COUNT(*)) AS bits")),
            "sample": lambda: greta.trends(events, plain, n=5, pick="sample"),
            "longest": lambda: greta.trends(events, plain, n=5, pick="longest"),
        }
    )
    print(f"{count:,} events: counting in doubles {taken['doubles']:.3f} s, with exponents {taken['exponents']:.3f} s")
    for pick in ("sample", "longest"):
        ratios = f"{taken[pick] / taken['doubles']:.1f} × doubles, {taken[pick] / taken['exponents']:.1f} × exponents"
        print(f"5 trends, {pick}: {taken[pick]:.3f} s, {ratios}")


if __name__ == "__main__":
    main()
