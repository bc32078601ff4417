"""Sums over the partitions of a group, kept in a tree: a partition that changes costs the logarithm of their number.

    1: u + v + w
  2: u + v    3: w         a node is the sum of the two below it; nothing is ever subtracted,
4: u   5: v   6: w   7: -  so that no digits are lost
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]
Double = NDArray[np.float64]
Key = tuple[Any, ...]

_TOLD, _ROOT = 0, 1


@dataclass(frozen=True, slots=True)
class Shape:
    """Values of open windows in a row: columns that are added up, then those of which the largest counts."""

    adds: int
    columns: int
    width: int
    """Lanes of each column."""
    compared: tuple[int, ...]
    """The columns that rows are made of."""
    largest: float
    """From here on, sums that have changed may look the same."""

    @property
    def empty(self) -> Double:
        """No trend, and no extreme."""
        maxes = self.columns - self.adds
        return np.concatenate((np.zeros(self.adds * self.width), np.full(maxes * self.width, -np.inf)))

    def places(self, lanes: Int) -> Int:
        """[lane, column]: where the values of some lanes are."""
        return lanes[:, None] + self.width * np.arange(self.columns)

    def joined(self, left: Double, right: Double) -> Double:
        """Rows that stand for two each."""
        cut = self.adds * self.width
        with np.errstate(over="ignore", invalid="ignore"):
            return np.concatenate((left[:, :cut] + right[:, :cut], np.maximum(left[:, cut:], right[:, cut:])), axis=1)


@dataclass(slots=True)
class Sums:
    """The values of a group's partitions, and their sum."""

    shape: Shape
    base: int
    """The window of the first lane, in all rows; they are moved when they are next written to."""
    places: dict[Key, int] = field(default_factory=dict)
    """Partition → its leaf."""
    unused: list[int] = field(default_factory=lambda: [0])
    nodes: Double = field(init=False)
    """[node, column and lane]: what was told of the sum, the sum, and the nodes below it down to the leaves."""

    def __post_init__(self) -> None:
        self.nodes = np.tile(self.shape.empty, (2, 1))

    @property
    def _leaves(self) -> int:
        return len(self.nodes) // 2

    def put(self, base: int, keys: Sequence[Key], values: Double) -> tuple[Int, Double]:
        """Give partitions new values, whose lanes begin at the window ``base``, from which on windows are open.

        Returns the lanes in which the sum is not as it was told, or so large that nobody knows, and its values in them,
        which are told from then on.
        """
        self._move(base)
        while len(self.unused) < sum(key not in self.places for key in keys):
            self._grow()
        for key in keys:
            if key not in self.places:
                self.places[key] = self.unused.pop()
        at = self._leaves + np.array([self.places[key] for key in keys])
        self.nodes[at] = values
        while (at := np.unique(at // 2))[0] >= _ROOT:
            self.nodes[at] = self.shape.joined(self.nodes[2 * at], self.nodes[2 * at + 1])
        told, now = self.nodes[_TOLD], self.nodes[_ROOT]
        differ = (now != told) | (np.abs(now) >= self.shape.largest) & (now != self.shape.empty)
        differ = differ.reshape(self.shape.columns, self.shape.width)[list(self.shape.compared)].any(axis=0)
        # The first column counts trends: a window without one has no row.
        lanes = np.flatnonzero(differ & (now[: self.shape.width] != 0))
        self.nodes[_TOLD] = now
        return lanes, now[self.shape.places(lanes)]

    def _grow(self) -> None:
        had = self._leaves
        self.unused += range(2 * had - 1, had - 1, -1)
        leaves = self.nodes[had:]
        levels = [np.concatenate((leaves, np.tile(self.shape.empty, (had, 1))))]
        while len(levels[0]) > 1:
            levels.insert(0, self.shape.joined(levels[0][::2], levels[0][1::2]))
        self.nodes = np.concatenate((self.nodes[:1], *levels))

    def _move(self, base: int) -> None:
        """Let lanes begin at a window: those before it are closed."""
        closed, shape = min(base - self.base, self.shape.width), self.shape
        if closed > 0:
            lanes = self.nodes.reshape(-1, shape.columns, shape.width)
            moved = np.tile(shape.empty, (len(self.nodes), 1)).reshape(lanes.shape)
            moved[:, :, : shape.width - closed] = lanes[:, :, closed:]
            self.nodes, self.base = moved.reshape(len(self.nodes), -1), base

    def let_go(self, known: Collection[Key]) -> None:
        """Forget the partitions that are not known, whose windows are all closed.

        Sums have them until their lanes are moved, which is before anybody looks at them.
        """
        gone = [key for key in self.places if key not in known]
        for key in gone:
            self.nodes[self._leaves + self.places[key]] = self.shape.empty
            self.unused.append(self.places.pop(key))
