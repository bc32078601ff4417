"""Which rows of open windows have changed since they were told of: those of partitions with new events are looked at.

    told        partition u: windows 3 4 5      v: 3 4      w: 2 3
    events of   u, w
    read        u: 3 4 5 6                                  w: 3 4
    changed     u: 5 6                                      w: 4

So an update costs what the partitions cost that events came for. Where groups have several partitions, their sums are
at the root of a tree (``greta.live.sums``), and changing one costs the logarithm of their number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from greta.live.graphs import Graph, Reading
from greta.live.partitions import Partitions
from greta.live.program import Program
from greta.live.rows import EXACT, are_beyond
from greta.live.sums import Shape, Sums
from greta.plan.measures import Combine

Int = NDArray[np.int64]
Double = NDArray[np.float64]
Key = tuple[Any, ...]


@dataclass(slots=True)
class Told:
    """The results of open windows as they were told of, by what the events of a partition or group agree on.

    It belongs to a stream, not to a graph: numbers of partitions are given out anew where a graph is made again. It
    is not for an outermost AND, where the results of a partition are paired before they are added to others.
    """

    program: Program
    partitions: Partitions | None = None
    """Those of the graph that was asked last."""
    rows: dict[Key, tuple[int, Double]] = field(default_factory=dict)
    """Where each partition is a group: the window of its first lane, and its values as they were told."""
    sums: dict[Key, Sums] = field(default_factory=dict)
    """Where groups have several partitions: the values of these, their sums, and what was told of them."""
    first: int | None = None
    """The first open window, the last time."""
    columns: Int = field(init=False)
    """The slots that rows are made of, and those that tell whether exact ones have all their digits."""
    shape: Shape = field(init=False)

    def __post_init__(self) -> None:
        plan, flow, adds = self.program.job.plan, self.program.flow, self.program.slots.adds
        slots = {
            slot + adds * (measure.combine is Combine.MAX)
            for measure, slot in zip(plan.measures, flow.results, strict=True)
        }
        self.columns = np.array(sorted(slots | set(self.program.checked)), dtype=np.int64)
        compared = tuple(at for at, slot in enumerate(self.columns.tolist()) if slot in slots)
        largest = EXACT if self.program.job.numbers == "exact" else np.inf
        self.shape = Shape(int((self.columns < adds).sum()), len(self.columns), self.program.width, compared, largest)

    @property
    def _grouping(self) -> list[int] | None:
        """The places of GROUP-BY attributes in keys; None where every partition is a group."""
        group, agreed = self.program.job.plan.group, self.program.agreed
        if set(group) == set(agreed):
            return None
        return [agreed.index(name) for name in group]

    @property
    def bytes(self) -> int:
        """Size of what was told."""
        return sum(row.nbytes for _, row in self.rows.values()) + sum(one.nodes.nbytes for one in self.sums.values())

    def changes(self, graph: Graph) -> list[Reading]:
        """The results of groups that have changed since the last time; from now on these are what was told."""
        self._let_go(graph)
        numbers = self._touched(graph.partitions)
        if not len(numbers):
            return []
        keys = [graph.partitions.key[number] for number in numbers.tolist()]
        reading = graph.read(*graph.open_range(numbers), numbers)
        row = np.searchsorted(numbers, reading.partition)
        now = np.tile(self.shape.empty, (len(keys), 1))
        now[row[:, None], self.shape.places(reading.window - graph.base)] = reading.values[:, 0, self.columns]
        grouping = self._grouping
        if grouping is not None:
            return self._of_groups(graph, grouping, keys, now)
        changed = self._differ(keys, row, reading)
        for key, one in zip(keys, now, strict=True):
            self.rows[key] = graph.base, one.copy()
        return [reading.only(changed)]

    def _touched(self, partitions: Partitions) -> Int:
        """The numbers of partitions with events since the last time, ascending."""
        touched, partitions.touched = partitions.touched, []
        asked, self.partitions = self.partitions, partitions
        # Where some variables alone agree on an attribute, events are in partitions that they do not name.
        if touched is None or asked is not partitions or self.program.job.plan.partitioning.scopes:
            return np.sort(partitions.all_numbers())
        numbers = np.unique(np.concatenate(touched)) if touched else np.empty(0, dtype=np.int64)
        # What has been given back may be among them.
        return numbers[np.isin(numbers, partitions.all_numbers())]

    def _differ(self, keys: list[Key], row: Int, reading: Reading) -> NDArray[np.bool_]:
        """Which windows of partitions are not as they were told, or were not told of."""
        nothing = (0, self.shape.empty)
        told = [self.rows.get(key, nothing) for key in keys]
        lane = reading.window - np.array([base for base, _ in told])[row]
        inside = (lane >= 0) & (lane < self.shape.width)
        before = np.stack([one for _, one in told])[row[:, None], self.shape.places(np.where(inside, lane, 0))]
        # What was read has a trend, and differs from the zeros of a window that had none.
        differ = (before != reading.values[:, 0, self.columns])[:, list(self.shape.compared)].any(axis=1)
        # Beyond the digits of doubles, what has changed may look the same.
        return np.asarray(~inside | differ | are_beyond(self.program, reading))

    def _of_groups(self, graph: Graph, grouping: list[int], keys: list[Key], now: Double) -> list[Reading]:
        """The groups and windows whose sums have changed; by partition where a sum needs more digits than doubles."""
        rows_of: dict[Key, list[int]] = {}
        for at, key in enumerate(keys):
            rows_of.setdefault(tuple(key[place] for place in grouping), []).append(at)
        group, lanes, values = [], [], []
        for at, (name, rows) in enumerate(rows_of.items()):
            sums = self.sums.get(name)
            if sums is None:
                sums = self.sums[name] = Sums(self.shape, graph.base)
            lane, found = sums.put(graph.base, [keys[row] for row in rows], now[rows])
            group.append(np.full(len(lane), at))
            lanes.append(lane)
            values.append(found)
        every = np.zeros((sum(map(len, lanes)), 1, self.program.slots.adds + self.program.slots.maxes))
        every[:, 0, self.columns] = np.concatenate(values)
        of_row = np.concatenate(group)
        examples = np.fromiter((keys[rows[0]] for rows in rows_of.values()), dtype=object, count=len(rows_of))
        windows = np.concatenate(lanes) + graph.base
        reading = Reading(of_row, windows, every, examples[of_row], of_row, list(rows_of))
        beyond = are_beyond(self.program, reading)
        if not beyond.any():
            return [reading]
        names = list(rows_of)
        apart = [self._apart(graph, names[at], reading, beyond & (reading.partition == at)) for at in range(len(names))]
        return [reading.only(~beyond), *apart]

    def _apart(self, graph: Graph, name: Key, reading: Reading, cells: NDArray[np.bool_]) -> Reading:
        """The partitions of a group one by one, in some of the windows of a reading."""
        known = graph.partitions.of_key
        numbers = np.array(sorted(known[key] for key in self.sums[name].places if key in known), dtype=np.int64)
        each = graph.read(*graph.open_range(numbers), numbers)
        return each.only(np.isin(each.window, reading.window[cells]))

    def _let_go(self, graph: Graph) -> None:
        """Forget partitions whose windows are all closed."""
        if self.first == graph.first:
            return
        self.first, known = graph.first, graph.partitions.of_key
        self.rows = {key: row for key, row in self.rows.items() if key in known}
        for sums in self.sums.values():
            sums.let_go(known)
        self.sums = {name: sums for name, sums in self.sums.items() if sums.places}
