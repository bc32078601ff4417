"""Where the vertices of a graph are kept: time panes, and in them vertex trees (§7, data structure figure)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from greta.graph.conditions import EdgeConditions
from greta.graph.events import Event, Windows
from greta.lang.nodes import ComparisonOperator
from greta.plan.nodes import State

Total = list[Any]
"""Intermediate aggregates of one vertex in one window; see ``totals``."""


@dataclass(slots=True, eq=False)
class Vertex:
    """An event in a state. ``totals`` is the paper's Window Hash Table: an aggregate per window.

    ``invalid`` holds the links over which a negative match no longer lets it connect; a vertex without any way
    to go on is ``pruned``. ``clipped`` ones never were in the graph: a leading or trailing NOT shuts them out.
    Under MAXIMAL, a ``continued`` one starts no trend in any window, and none ends with it in windows where it is
    ``followed``.
    """

    event: Event
    state: State
    totals: dict[int, Total]
    invalid: set[int] = field(default_factory=set)
    pruned: bool = False
    clipped: bool = False
    continued: bool = False
    followed: set[int] = field(default_factory=set)


class VertexTree:
    """Vertices of one state, sorted by what an edge predicate compares, so that it becomes a range query.

    A sorted list stands for the paper's tree: finding a range is O(log n), what dominates is walking it.
    """

    __slots__ = ("_keys", "_vertices")

    def __init__(self) -> None:
        self._keys: list[int] = []
        self._vertices: list[Vertex] = []

    def __iter__(self) -> Iterator[Vertex]:
        return iter(self._vertices)

    def insert(self, key: int, vertex: Vertex) -> None:
        """Add a vertex behind those with the same key."""
        self._vertices.insert(bisect_right(self._keys, key), vertex)
        insort(self._keys, key)

    def keep(self, wanted: list[bool]) -> None:
        """Forget the vertices that are not wanted. O(n)."""
        self._keys = [key for key, stays in zip(self._keys, wanted, strict=True) if stays]
        self._vertices = [vertex for vertex, stays in zip(self._vertices, wanted, strict=True) if stays]

    def range(self, operator: ComparisonOperator, key: int) -> list[Vertex]:
        """The vertices v with ``v op key``."""
        low, high = bisect_left(self._keys, key), bisect_right(self._keys, key)
        match operator:
            case "<":
                return self._vertices[:low]
            case "<=":
                return self._vertices[:high]
            case ">":
                return self._vertices[high:]
            case ">=":
                return self._vertices[low:]
            case "=":
                return self._vertices[low:high]
            case "!=":
                return self._vertices[:low] + self._vertices[high:]


Place = tuple[int, int]
"""(state, link): where vertices are looked up. A state's vertices have a tree for every link that leaves it."""


@dataclass(slots=True)
class Pane:
    """The vertices of one stretch of time; ``trees`` is the Event Type Hash Table, by state and link."""

    expires: int | None
    trees: dict[Place, VertexTree] = field(default_factory=dict)


class Panes:
    """All panes in order of time."""

    def __init__(self, windows: Windows, conditions: list[EdgeConditions]) -> None:
        self._windows = windows
        self._conditions = conditions
        self._panes: dict[int, Pane] = {}

    def insert(self, vertex: Vertex, leaving: tuple[int, ...]) -> None:
        """Put a vertex into the tree of every link that leaves its state.

        NULL satisfies no predicate, so a vertex that a link compares by NULL is not found there at all.
        """
        time, length = vertex.event.time, self._windows.pane
        number = 0 if length is None else time // length
        if number not in self._panes:
            self._panes[number] = Pane(self._windows.last_end(time))
        pane = self._panes[number]
        for link in leaving:
            ranged = self._conditions[link].ranged
            key = 0 if ranged is None else ranged.of_previous(vertex.event)
            if key is not None:
                pane.trees.setdefault((vertex.state.index, link), VertexTree()).insert(key, vertex)

    def find(self, place: Place, later: Event) -> Iterator[Vertex]:
        """The vertices that satisfy the link's predicates with a later event: a range of each pane's tree."""
        conditions = self._conditions[place[1]]
        key = 0 if conditions.ranged is None else conditions.ranged.of_next(later)
        if key is None:
            return
        operator: ComparisonOperator = "=" if conditions.ranged is None else conditions.ranged.operator
        for pane in self._panes.values():
            if place in pane.trees:
                found = pane.trees[place].range(operator, key)
                yield from found if conditions.complete else (v for v in found if conditions.hold(v.event, later))

    def purge(self, now: int) -> None:
        """Delete the panes whose windows have all ended (§7): whole panes, never single events."""
        while self._panes:
            number, pane = next(iter(self._panes.items()))
            if pane.expires is None or pane.expires > now:
                break
            del self._panes[number]

    def clear(self) -> None:
        """Forget all vertices."""
        self._panes.clear()

    def invalidate(self, link: int, before: int) -> Iterator[Vertex]:
        """Take vertices earlier than ``before`` out of a link's trees; gives those that were taken out."""
        for pane in self._panes.values():
            for (_, of_link), tree in pane.trees.items():
                if of_link != link:
                    continue
                stays = [vertex.event.time >= before for vertex in tree]
                yield from [vertex for vertex, kept in zip(tree, stays, strict=True) if not kept]
                tree.keep(stays)

    def drop_pruned(self) -> None:
        """Take pruned vertices out of all trees."""
        for pane in self._panes.values():
            for tree in pane.trees.values():
                tree.keep([not vertex.pruned for vertex in tree])
