"""The open windows of a query in one graph, or in bands where all of them at once would take too much memory.

A row of a graph has a number for every open window, thousands of bytes where hundreds of windows overlap. A band is a
graph of some neighbouring windows. That of the windows which end next is brought forward by each event; the one after
it takes in kept events faster than they come, until it has them all when its turn comes::

    now                                          ▼
    W0 … W63      ●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●   the current band, whose windows end one after another
    W64 … W127          ●●●●●●●●●●●                  the following one, half-way
    W128 …                                           nothing but the kept events

Each event is linked once in every band that it is in, and nothing is computed when a window ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pyarrow as pa

from greta.live.choice import new_graph
from greta.live.graphs import NEVER, Graph, Reading
from greta.live.kept import Kept
from greta.live.orders import NoRoom
from greta.live.program import Program

_FEWEST = 8
"""Windows of a band at least: with fewer, an event is linked so often that windows cost less when they end."""
_SHARE = 3
"""A graph has room while it takes this part of the memory at most: another one grows beside it."""
_MOST = 0.6
"""One graph is for all windows unless these will take more than this part of the memory once a window is full."""
_CAUTION = 0.75
"""How much of its share a band is planned to take, since events may come faster."""
_LITTLE = 8
"""Bands that take less than this part of the memory become larger."""


@dataclass(slots=True)
class Bands:
    """Graphs of the open windows of one query."""

    program: Program
    most_bytes: int
    """What all graphs together may take."""
    lanes: int | None
    """Windows of the next band; None: one graph is for all windows, while there is room."""
    together: bool = False
    """Whether one graph must be for all windows, room or not."""
    grows: bool = False
    """Whether bands may become larger; not while graphs are made that have had no room, which might go on for ever."""
    current: Graph = field(init=False)
    following: Graph | None = field(init=False, default=None)
    _turn: int = field(init=False, default=NEVER)
    """The instant at which the current band's turn came, since when the following one grows."""
    _until: int = field(init=False, default=NEVER)
    """The instant up to which the last call went."""

    def __post_init__(self) -> None:
        most = self.most_bytes
        self.current = new_graph(self.program, most) if self.lanes is None else self._band(NEVER, most)

    def _band(self, first: int, most: int) -> Graph:
        """A graph without events of at most so many bytes, for the windows from this one on.

        NEVER: which these are is not known yet.
        """
        assert self.lanes is not None
        graph = new_graph(replace(self.program, width=self.lanes), min(most, self.most_bytes // 2))
        if first > NEVER:
            graph.start(first)
            graph.beyond, graph.until = first + self.lanes, first * self.program.slide
        return graph

    def start(self, window: int) -> None:
        """Return no window before this one; to be told before any event comes."""
        if self.lanes is None:
            self.current.start(window)
        else:
            self.current = self._band(window, self.most_bytes)

    @property
    def bytes(self) -> int:
        """Size of all graphs, about."""
        return self.current.bytes + (0 if self.following is None else self.following.bytes)

    def advance(self, events: pa.Table, until: int, kept: Kept | None) -> list[Reading]:
        """Take in events in order of time, all before ``until``; the results of windows that end up to it.

        ``kept`` has these events and all others of open windows, where graphs may be bands. Raises Surprise, NoRoom
        where all graphs together have no room; nothing that they hold is of use then.
        """
        if self.lanes is None:
            readings = self.current.advance(events, until)
            if self._is_full() and not self.together and kept is not None:
                will_take = self.current.bytes / kept.part_of_window
                if will_take > _MOST * self.most_bytes:
                    self._go_on_in_bands(kept, until)
        else:
            assert kept is not None
            readings = self._advance_bands(kept, until)
        self._until = until
        return readings

    def _advance_bands(self, kept: Kept, until: int) -> list[Reading]:
        if self.current.first == NEVER:
            self.current = self._band(self._next_window(kept, NEVER, until), self.most_bytes)
        readings = []
        while until >= self._end:
            readings += _take_in(self.current, kept, self._end)
            self._turn = self._end
            after = self._next_window(kept, self.current.beyond, until)
            if self.following is None or self.following.beyond <= after:
                self.following = self._band(after, self.most_bytes)
            self.current, self.following = self.following, None
        readings += _take_in(self.current, kept, until)
        self._catch_up(kept, until, bool(readings))
        if self.bytes > self.most_bytes:
            raise NoRoom
        return readings

    def _is_full(self) -> bool:
        """Whether the current graph takes more memory than leaves room for the next one."""
        return _SHARE * self.current.bytes > self.most_bytes

    def _go_on_in_bands(self, kept: Kept, until: int) -> None:
        """Let the graph of all windows be for the next ones to end alone; the others become bands."""
        lanes = self.lanes_that_fit(kept, self.program.overlap // 2)
        if lanes is None:
            return
        if _SHARE * self.current.bytes > (_SHARE - 1) * self.most_bytes:
            # So much came at once that there is no room for a band beside it.
            raise NoRoom
        self.lanes, self._turn = lanes, until
        self.current.beyond = self.current.base + lanes

    def fewer_lanes(self, kept: Kept) -> int | None:
        """How many windows a band may have where graphs had no room; None: with so few, bands do not pay."""
        if self.lanes is None:
            most = self.program.overlap // 2
        elif self.current.program is self.program:
            # The graph of all windows has outlived the time when there was room for it.
            most = self.lanes
        else:
            most = self.lanes - 1
        return self.lanes_that_fit(kept, most)

    def lanes_that_fit(self, kept: Kept, most: int) -> int | None:
        """How many windows a band may have by what the graphs take now, at most so many; None: too few to pay."""
        if not self.program.may_have_bands or most < _FEWEST or self.program.overlap < 2 * _FEWEST:
            return None
        graphs = [self.current] if self.following is None else [self.current, self.following]
        of_a_lane = max(graph.bytes / graph.program.width for graph in graphs) / kept.part_of_window
        return max(_FEWEST, min(most, int(_CAUTION * self.most_bytes / _SHARE / max(of_a_lane, 1))))

    @property
    def _end(self) -> int:
        """The instant at which the last window of the current band ends."""
        return (self.current.beyond - 1) * self.program.slide + self.program.within

    def _next_window(self, kept: Kept, window: int, until: int) -> int:
        """The first window from this one on that holds a kept event, or may get one."""
        since = NEVER if window == NEVER else window * self.program.slide
        instant = kept.next_instant(since)
        return max(window, self.program.first_window(until if instant is None else min(instant, until)))

    def _catch_up(self, kept: Kept, until: int, waited_for: bool) -> None:
        """Let the following band take in as many events as are due, so that it has all one slide before its turn.

        Events have come since its first window opened; from the current band's turn on they are taken in at an even
        pace. Where somebody waits for rows, that is left to the next call, if it is little and that call comes in time.
        """
        if self.following is None:
            self.following = self._next_band(kept)
        slide, following = self.program.slide, self.following
        begin, turn, ready = following.first * slide, self._turn, self._end - slide
        missing, time = ready - begin, max(1, ready - turn)
        due = min(until, begin + missing * (until - turn) // time)
        in_time = until + (until - self._until) < ready
        if due <= following.until or (waited_for and in_time and (due - following.until) * time <= missing * slide):
            return
        _take_in(following, kept, due)

    def _next_band(self, kept: Kept) -> Graph:
        """The band after the current one, of as many windows as there is room for."""
        assert self.lanes is not None
        if self._is_full():
            self.lanes = self.lanes_that_fit(kept, self.lanes) or self.lanes
        elif self.grows and _LITTLE * self.current.bytes < self.most_bytes:
            self.lanes = self.lanes_that_fit(kept, min(2 * self.lanes, self.program.overlap // 2)) or self.lanes
        return self._band(self.current.beyond, self.most_bytes - self.current.bytes)


def _take_in(graph: Graph, kept: Kept, until: int) -> list[Reading]:
    """Let a graph take in the kept events before an instant that it has not had; the windows that end up to it."""
    return graph.advance(kept.between(graph.until, until), until)
