"""References that kernels do not count are none that they give away, and numbers are read where they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys
from numpy.typing import NDArray

from greta.kernels.compiler import KERNEL_OPTIONS, part

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="runs with the compiler off")  # type: ignore[attr-defined]


class Pair(NamedTuple):
    """Two arrays that a kernel is handed together."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]


@part
def swapped(pair: Pair) -> Pair:
    """A tuple of what callers hold, which outlives the call."""
    return Pair(pair.second, pair.first)


@part
def longer(row: NDArray[np.int64]) -> NDArray[np.int64]:
    """A copy of twice the length."""
    new = np.zeros(2 * len(row), dtype=np.int64)
    for at in range(len(row)):
        new[at] = row[at]
    return new


@numba.njit(**KERNEL_OPTIONS)  # type: ignore[untyped-decorator]
def gone_through(pair: Pair, times: int) -> tuple[NDArray[np.int64], Pair, int]:
    """Hand out fields of arguments, and arrays that are replaced in a loop by others or by what they were."""
    row, turned, total = pair.first, swapped(pair), 0
    for number in range(times):
        if number % 2:
            row = longer(row)
        elif number % 3 == 0:
            row = turned.first
        turned = swapped(turned)
        total += row[-1] + row[0]
    return row, turned, total


@numba.njit(**KERNEL_OPTIONS)  # type: ignore[untyped-decorator]
def corners(table: NDArray[np.float64], flags: NDArray[np.bool_]) -> float:
    """Numbers of a table by two indices from either end, changed in place."""
    for at in range(len(flags)):
        flags[-1 - at] = table[at, -1] > 1
    table[-1, 0] = 7
    return table[np.uint64(0), -2] + table[-1, 0]


@pytest.fixture
def counting() -> Iterator[None]:
    """Let Numba count what it allocates."""
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


@pytest.mark.usefixtures("counting")
@pytest.mark.parametrize("times", range(8))
def test_what_kernels_allocate_is_let_go_and_what_they_hand_out_is_kept(times: int) -> None:
    def run() -> tuple[list[int], list[list[int]], int]:
        row, turned, total = gone_through(Pair(np.arange(3), np.arange(3, 6)), times)
        np.full(1000, 9)  # where memory that was let go too early would be used again
        return row.tolist(), [array.tolist() for array in turned], total

    expected = gone_through.py_func(Pair(np.arange(3), np.arange(3, 6)), times)
    assert run() == (expected[0].tolist(), [array.tolist() for array in expected[1]], expected[2])
    before = rtsys.get_allocation_stats()
    for _ in range(20):
        run()
    after = rtsys.get_allocation_stats()
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free


@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_of_tables_are_read_and_written_where_they_are(order: str) -> None:
    def table() -> NDArray[np.float64]:
        return np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 0.5]], order=order)  # type: ignore[call-overload, no-any-return]

    ours, plain, flags, expected = table(), table(), np.zeros(2, np.bool_), np.zeros(2, np.bool_)
    assert corners(ours, flags) == corners.py_func(plain, expected) == 8
    assert ours.tolist() == plain.tolist()
    assert flags.tolist() == expected.tolist()
