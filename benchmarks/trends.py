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


def seconds(run: Callable[[], object]) -> float:
    """Processor time of the fastest of three runs, after one that loads kernels."""
    run()
    taken = []
    for _ in range(3):
        began = process_time()
        run()
        taken.append(process_time() - began)
    return min(taken)


def main() -> None:
    """Print times, and their ratios to counting."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    price = np.random.default_rng(1).integers(0, 100_000, count)
    names = pa.DictionaryArray.from_arrays(np.zeros(count, dtype=np.int8), ["S"])
    events = pa.table({"type": names, "time": np.arange(count), "price": price})
    in_doubles = seconds(lambda: greta.aggregate(events, QUERY.format("COUNT(*)")))
    in_bits = seconds(lambda: greta.aggregate(events, QUERY.format("LOG2(COUNT(*)) AS bits")))
    print(f"{count:,} events: counting in doubles {in_doubles:.3f} s, with exponents {in_bits:.3f} s")
    for pick in ("sample", "longest"):
        taken = seconds(lambda pick=pick: greta.trends(events, QUERY.format("COUNT(*)"), n=5, pick=pick))  # type: ignore[misc]
        ratios = f"{taken / in_doubles:.1f} × doubles, {taken / in_bits:.1f} × with exponents"
        print(f"5 trends, {pick}: {taken:.3f} s, {ratios}")


if __name__ == "__main__":
    main()
