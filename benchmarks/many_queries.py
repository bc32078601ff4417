"""Many queries in one call, beside one query alone: ``python benchmarks/many_queries.py [queries] [events]``.

Patterns SEQ(x, y, z+, …) over events of 14 types, without edge predicates, as the papers on sharing trend aggregation
among queries ask them. Processor time of one run each, after a run over a few events that loads the kernels.
"""

from __future__ import annotations

import random
import sys
from time import process_time

import numpy as np
import pyarrow as pa

import greta

TYPES = [f"T{number}" for number in range(14)]


def make_events(count: int, seed: int = 1) -> pa.Table:
    """Events of all types in 20 groups, a hundred a second."""
    random_numbers = np.random.default_rng(seed)
    return pa.table(
        {
            "time": pa.array(np.arange(count) * 10, pa.timestamp("ms")),
            "type": pa.array(TYPES).take(pa.array(random_numbers.integers(0, len(TYPES), count))),
            "group": random_numbers.integers(0, 20, count),
        }
    )


def make_queries(count: int, seed: int = 1) -> list[str]:
    """Patterns of three to five types, the third under a plus."""
    chance = random.Random(seed)
    queries = []
    for _ in range(count):
        names = chance.sample(TYPES, chance.randint(3, 5))
        names[2] += "+"
        queries.append(
            f"RETURN group, COUNT(*) PATTERN SEQ({', '.join(names)}) WHERE [group] GROUP-BY group WITHIN 5 minutes"
        )
    return queries


def main(queries: int = 100, events: int = 100_000) -> None:
    """Print the time of one query, of all in one call, of all in calls of their own, and the ratios."""
    table, asked = make_events(events), make_queries(queries)
    few = table.slice(0, 1_000)
    greta.aggregate(few, asked)
    greta.aggregate(few, asked[0])
    began = process_time()
    greta.aggregate(table, asked[0])
    one = process_time() - began
    began = process_time()
    together = greta.aggregate(table, asked)
    many = process_time() - began
    began = process_time()
    apart = [greta.aggregate(table, query) for query in asked]
    separate = process_time() - began
    assert together.drop_columns("query").equals(pa.concat_tables(apart))
    print(f"one query          {one * 1e3:8.1f} ms")
    print(f"{queries} in one call    {many * 1e3:8.1f} ms, {many / one:.1f} times one")
    print(f"{queries} calls          {separate * 1e3:8.1f} ms, {separate / one:.1f} times one")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
