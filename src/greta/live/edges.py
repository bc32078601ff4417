"""Plan → one template for a graph, and what its NOTs at the edges do there: windows they close, results they void (§5).

A leading NOT shuts events that come after the end of a match out of all windows that hold the match: they begin with a
later lane. A trailing NOT makes all trends void that have an event before the start of a match: their results and the
indexes that lead on from them are forgotten. Both are decided when the match comes, so nothing is looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from greta.engine.frames import Stream
from greta.engine.partitions import Frame
from greta.engine.program import clip_sets
from greta.kernels.live import Blocks
from greta.kernels.live import Edges as EdgeArrays
from greta.plan.nodes import Link, Place, Plan, State, Template, Transition

Int = NDArray[np.int64]

NEVER = -(2**62)


def whole_template(plan: Plan) -> Template:
    """The plan's template; of an outermost AND all three side by side, which share no state."""
    if not plan.conjunction:
        return plan.templates[0]
    left, _, both = plan.templates
    states: list[State] = []
    transitions: list[Transition] = []
    links: list[Link] = []
    # The NOTs of both sides are those of the left one, then those of the right one.
    for template, shift in zip(plan.templates, (0, len(left.negatives), 0), strict=True):
        first, link = len(states), len(links)
        states += [
            replace(state, index=state.index + first, clips=_shifted(state.clips, shift)) for state in template.states
        ]
        transitions += [
            replace(one, source=one.source + first, target=one.target + first, link=one.link + link)
            for one in template.transitions
        ]
        links += [
            replace(one, negations=_shifted(one.negations, shift), lasting=_shifted(one.lasting, shift))
            for one in template.links
        ]
    return Template(both.pattern, tuple(states), tuple(transitions), tuple(links), both.negatives)


def _shifted(numbers: tuple[int, ...], by: int) -> tuple[int, ...]:
    return tuple(number + by for number in numbers)


@dataclass(frozen=True, slots=True)
class Edges:
    """NOTs at the edges of a template."""

    variables: frozenset[str]
    """Those of these NOTs."""
    leading: tuple[tuple[int, ...], ...]
    """Per clip of the kernels: its leading NOTs. Empty where there are none at all."""
    trailing: tuple[tuple[int, ...], ...]
    """Per block: its trailing NOTs."""
    side: tuple[int, ...]
    """Per block: its side of an outermost AND (left, right, both), or 0."""
    sides: int
    """How many sides there are: some may have no state."""
    blocks: Blocks

    @staticmethod
    def of(template: Template, sources: list[int], lengths: Sequence[int]) -> Edges:
        """``sources``: per order, the state that it leads from; ``lengths``: how many states each side has."""
        places = [negative.place for negative in template.negatives]
        sides = [side for side, length in enumerate(lengths) for _ in range(length)]
        blocks: dict[tuple[int, tuple[int, ...]], int] = {}
        of_state = []
        for state, side in zip(template.states, sides, strict=True):
            trailing = tuple(at for at in state.clips if places[at] is Place.TRAILING)
            of_state.append(blocks.setdefault((side, trailing), len(blocks)))
        leading = tuple(tuple(at for at in clips if places[at] is Place.LEADING) for clips in clip_sets(template))
        edges = [n.template.variables for n in template.negatives if n.place is not Place.BETWEEN]
        return Edges(
            frozenset[str]().union(*edges),
            leading if any(leading) else (),
            tuple(trailing for _, trailing in blocks),
            tuple(side for side, _ in blocks),
            len(lengths),
            Blocks(*(np.array(of, dtype=np.int64) for of in (of_state, [of_state[at] for at in sources], sides))),
        )

    def arrays(self, matches: list[Latest], slide: int, endless: bool) -> EdgeArrays:
        """What the NOTs do to the events of a frame; ``matches`` per NOT."""
        if not self.variables:
            return _NO_EDGES
        length = len(matches[0].before) if matches else 0
        alive = np.full((len(self.leading), length), NEVER, dtype=np.int64)
        for row, negatives in zip(alive, self.leading, strict=True):
            for at in negatives:
                before = matches[at].before
                first = np.ones(length, dtype=np.int64) if endless else before // slide + 1
                np.maximum(row, np.where(before > NEVER, first, NEVER), out=row)
        void = np.zeros((len(self.trailing) if any(self.trailing) else 0, length), dtype=np.uint8)
        for flags, negatives in zip(void, self.trailing, strict=False):
            for at in negatives:
                flags[matches[at].here] = 1
        return EdgeArrays(alive, void)

    def stretch(self, block: int, matches: list[Latest]) -> list[Int]:
        """Per event, for the trailing NOTs of a block: the latest match up to it, since which trends are not void."""
        return [matches[at].until for at in self.trailing[block]]


_NO_EDGES = EdgeArrays(np.empty((0, 0), dtype=np.int64), np.empty((0, 0), dtype=np.uint8))


@dataclass(frozen=True, slots=True)
class Latest:
    """Per event of a frame: the latest match of a NOT, as an instant (of several events: its start); NEVER for none."""

    until: Int
    """Up to the event's own time."""
    before: Int
    """Earlier than the event."""
    here: NDArray[np.bool_]
    """Whether the event is a match itself."""


def latest_matches(stream: Stream, frame: Frame, variables: frozenset[str], known: Int) -> tuple[Latest, Frame]:
    """The latest matches, and the frame of all that are new.

    ``known``: per partition of the frame, the latest match of earlier pushes. A frame may begin with older events.
    """
    matches = stream.frame_of(variables, (), False)
    instants, time = stream.time[matches.rows], stream.time[frame.rows]
    known = np.repeat(known, np.diff(frame.offsets))
    match = np.zeros(len(stream.time), dtype=bool)
    match[matches.rows] = True
    until = np.maximum(_last(stream, frame, matches, instants, "right"), np.where(known <= time, known, NEVER))
    before = np.maximum(_last(stream, frame, matches, instants, "left"), np.where(known < time, known, NEVER))
    return Latest(until, before, match[frame.rows]), matches


@dataclass(frozen=True, slots=True)
class CutOffs:
    """New events that a NOT of several events may have, and which of its matches have ended."""

    matches: Frame
    starts: Int
    """Per event: the latest start of a match that ends at it or earlier, in its partition; NEVER: none does."""

    @staticmethod
    def of(matches: Frame, latest: NDArray[np.float64], origin: int) -> CutOffs:
        """``latest``: per event, the latest start of a match that ends there, since the origin; -∞: none does."""
        hit = np.isfinite(latest)
        starts = np.full(len(hit), NEVER, dtype=np.int64)
        starts[hit] = latest[hit].astype(np.int64) + origin
        # The latest so far: with its partition in front, a place among all starts never goes back.
        distinct, rank = np.unique(starts, return_inverse=True)
        first = np.repeat(np.arange(len(matches.offsets) - 1), np.diff(matches.offsets)) * len(distinct)
        return CutOffs(matches, distinct[np.maximum.accumulate(first + rank.reshape(-1)) - first])


def cut_offs(stream: Stream, frame: Frame, cut: CutOffs, known: Int) -> tuple[Latest, Frame]:
    """As ``latest_matches``, for matches that last: an event's own time, and the latest start of those ended before it.

    No match lies between two events where the earlier one is not before the cut-off of the later one.
    """
    before = _last(stream, frame, cut.matches, cut.starts, "left")
    before = np.maximum(before, np.repeat(known, np.diff(frame.offsets)))
    return Latest(stream.time[frame.rows], before, np.zeros(len(frame.rows), dtype=bool)), cut.matches


def _last(stream: Stream, frame: Frame, matches: Frame, values: Int, side: Literal["left", "right"]) -> Int:
    """Per event: the value of the last match before it in its partition (up to it: ``right``); NEVER for none."""
    # Matches are sorted by (common partition, time): a place among all times makes that one number.
    times = np.unique(stream.time)

    def places(one: Frame) -> Int:
        common = np.repeat(one.common, np.diff(one.offsets))
        return common * len(times) + np.searchsorted(times, stream.time[one.rows])

    own = np.repeat(frame.common, np.diff(frame.offsets))
    up_to = np.searchsorted(places(matches), places(frame), side=side)
    return np.where(up_to > matches.offsets[own], np.append(values, NEVER)[up_to - 1], NEVER)
