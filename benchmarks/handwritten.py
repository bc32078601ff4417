"""Q1, Q2 and Q3 of the paper in one window, written by hand with Numba: what the engine is measured against.

Each program knows its query: one partition, events in order of time, no two of one time, no NULLs. It reads the columns
of an Arrow table, numbers the compared values, and counts along one Fenwick tree. ``python benchmarks/handwritten.py``
prints the processor times of both, the best of a few calls, and the ratios.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import greta

SIZES = (20_000, 100_000, 1_000_000)

Q1 = "RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price"
Q2 = "RETURN SUM(M.cpu) PATTERN SEQ(Start S, Measurement M+, End E) WHERE M.load < NEXT(M).load"
Q3 = "RETURN COUNT(*), AVG(P.speed) PATTERN SEQ(NOT Accident A, Position P+) WHERE P.speed > NEXT(P).speed"


@numba.njit(cache=True)
def _falls(rank: NDArray[np.int64], size: int) -> float:
    tree = np.zeros(size + 1)
    total = 0.0
    for place in rank:
        count = 1.0
        k = place
        while k > 0:
            count += tree[k]
            k &= k - 1
        total += count
        k = place + 1
        while k <= size:
            tree[k] += count
            k += k & -k
    return total


def by_hand_1(table: pa.Table) -> tuple[float, ...]:
    """Trends of falling prices."""
    values, rank = np.unique(-table["price"].to_numpy(), return_inverse=True)
    return (_falls(rank, len(values)),)


@numba.njit(cache=True)
def _rises(kind: NDArray[np.int8], rank: NDArray[np.int64], cpu: NDArray[np.float64], size: int) -> float:
    tree = np.zeros((size + 1, 2))
    started, count_so_far, sum_so_far, total = 0.0, 0.0, 0.0, 0.0
    for i in range(kind.shape[0]):
        if kind[i] == 0:
            started += 1
        elif kind[i] == 2:
            total += sum_so_far
        else:
            count, summed = started, 0.0
            k = rank[i]
            while k > 0:
                count += tree[k, 0]
                summed += tree[k, 1]
                k &= k - 1
            summed += count * cpu[i]
            count_so_far += count
            sum_so_far += summed
            k = rank[i] + 1
            while k <= size:
                tree[k, 0] += count
                tree[k, 1] += summed
                k += k & -k
    return total


def by_hand_2(table: pa.Table) -> tuple[float, ...]:
    """Sum of CPU over trends of rising load between a start and an end."""
    kind = table["type"].chunk(0).indices.to_numpy()
    values, rank = np.unique(table["load"].to_numpy(), return_inverse=True)
    return (_rises(kind, rank, table["cpu"].to_numpy(), len(values)),)


@numba.njit(cache=True)
def _slows(
    kind: NDArray[np.int8], rank: NDArray[np.int64], speed: NDArray[np.float64], size: int
) -> tuple[float, float, float]:
    tree = np.zeros((size + 1, 3))
    trends, events, summed = 0.0, 0.0, 0.0
    for i in range(kind.shape[0]):
        if kind[i] == 1:
            break
        a, b, c = 1.0, 0.0, 0.0
        k = rank[i]
        while k > 0:
            a += tree[k, 0]
            b += tree[k, 1]
            c += tree[k, 2]
            k &= k - 1
        b += a
        c += a * speed[i]
        trends += a
        events += b
        summed += c
        k = rank[i] + 1
        while k <= size:
            tree[k, 0] += a
            tree[k, 1] += b
            tree[k, 2] += c
            k += k & -k
    return trends, events, summed


def by_hand_3(table: pa.Table) -> tuple[float, ...]:
    """Trends of slowing down before the first accident, and their average speed."""
    kind = table["type"].chunk(0).indices.to_numpy()
    speed = table["speed"].to_numpy()
    values, rank = np.unique(-speed, return_inverse=True)
    trends, events, summed = _slows(kind, rank, speed, len(values))
    return trends, summed / events


def _types(codes: NDArray[np.int8], names: list[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names))


def _walk(count: int, seed: int, drift: float) -> NDArray[np.float64]:
    """A random walk in hundredths; against the drift, trends stay short enough to be counted in doubles."""
    return np.round(100 + np.cumsum(np.random.default_rng(seed).normal(drift, 0.05, count)), 2)


def stocks(count: int) -> pa.Table:
    """Prices of one company, an event a second."""
    types = _types(np.zeros(count, np.int8), ["Stock"])
    return pa.table({"type": types, "time": np.arange(count), "price": _walk(count, 0, 0)})


def measurements(count: int) -> pa.Table:
    """A mapper that starts and ends its jobs every hundred measurements or so."""
    chance = np.random.default_rng(1)
    codes = chance.choice(np.array([0, 1, 2], np.int8), count, p=[0.01, 0.98, 0.01])
    types = _types(codes, ["Start", "Measurement", "End"])
    cpu = np.round(chance.uniform(0, 100, count), 1)
    return pa.table({"type": types, "time": np.arange(count), "load": _walk(count, 2, -0.01), "cpu": cpu})


def positions(count: int) -> pa.Table:
    """A vehicle, and an accident near the end."""
    codes = np.zeros(count, np.int8)
    codes[-10] = 1
    types = _types(codes, ["Position", "Accident"])
    return pa.table({"type": types, "time": np.arange(count), "speed": _walk(count, 3, 0.01)})


@dataclass(frozen=True)
class Beside:
    """A query, and the program that was written for it."""

    name: str
    query: str
    by_hand: Callable[[pa.Table], tuple[float, ...]]
    events: Callable[[int], pa.Table]


PROGRAMS = (
    Beside("Q1", Q1, by_hand_1, stocks),
    Beside("Q2", Q2, by_hand_2, measurements),
    Beside("Q3", Q3, by_hand_3, positions),
)


def best(work: Callable[[], object], repeats: int) -> float:
    """Processor seconds of a call, the best of a few."""
    least = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return least


def compare(program: Beside, size: int, repeats: int) -> tuple[float, float]:
    """Processor seconds by hand and by the engine, which agree on the result."""
    table = program.events(size)
    plan = greta.analyze(program.query)
    (row,) = greta.aggregate(table, plan).drop_columns(["window_start", "window_end"]).to_pylist()
    np.testing.assert_allclose(program.by_hand(table), tuple(row.values()), rtol=1e-9)
    by_hand, by_greta = float("inf"), float("inf")
    # In turns, so that a busy machine slows both down.
    for _ in range(repeats):
        by_hand = min(by_hand, best(lambda: program.by_hand(table), 1))
        by_greta = min(by_greta, best(lambda: greta.aggregate(table, plan), 1))
    return by_hand, by_greta


def main() -> None:
    """Print a row per program and size."""
    for program in PROGRAMS:
        for size in SIZES:
            by_hand, by_greta = compare(program, size, 7)
            times = f"by hand {by_hand * 1e3:8.2f} ms  greta {by_greta * 1e3:8.2f} ms"
            print(f"{program.name} {size:>9,}  {times}  {by_greta / by_hand:.2f}", flush=True)


if __name__ == "__main__":
    main()
