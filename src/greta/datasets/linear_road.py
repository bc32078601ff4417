"""Position reports in Linear Road's form: the stream of Q3 (§10.1, Linear Road data set).

Vehicles travel on expressways of 100 one-mile segments in two directions and report every 30 seconds. Their
number grows until the stream reaches its peak rate. They slow down on full roads and behind accidents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from greta.datasets.blocks import (
    BLOCK,
    START,
    TIME,
    Flags,
    Floats,
    Ints,
    block_random,
    check_size,
    cut,
    demand,
    microseconds,
    words,
)

TRAFFIC_SCHEMA = pa.schema(
    [
        pa.field("type", pa.string(), nullable=False),
        pa.field("time", TIME, nullable=False),
        ("vehicle", pa.int64()),
        ("speed", pa.int64()),
        ("expressway", pa.int64()),
        ("lane", pa.int64()),
        ("direction", pa.int64()),
        ("segment", pa.int64()),
        ("position", pa.int64()),
    ]
)
PERIOD = 30
"""Seconds between two reports of a vehicle."""
SEGMENTS = 100
MILE = 5280
"""Feet per segment."""

_STREAM = 2
_TYPES = ("Position", "Accident")
_ENTRY_LANE, _EXIT_LANE = 0, 4
_FULL = 600
"""Vehicles on a segment of three lanes at which traffic stands still."""
_SLOWDOWN = (0.1, 0.25, 0.45, 0.65, 0.85)
"""Speed left on the segment of an accident and on the four before it."""
_FEET_PER_PERIOD = MILE / 3600 * PERIOD
"""Feet that one mile per hour makes between two reports."""


def traffic(
    events: int,
    *,
    expressways: int = 3,
    peak_rate: float = 4000.0,
    initial_rate: float = 100.0,
    ramp: float = 10_800.0,
    accidents: float = 6.0,
    start: datetime = START,
    seed: int = 0,
) -> pa.Table:
    """Traffic as one table; ``traffic_batches`` explains the arguments."""
    batches = traffic_batches(
        events,
        expressways=expressways,
        peak_rate=peak_rate,
        initial_rate=initial_rate,
        ramp=ramp,
        accidents=accidents,
        start=start,
        seed=seed,
    )
    return pa.Table.from_batches(batches, schema=TRAFFIC_SCHEMA)


def traffic_batches(
    events: int,
    *,
    expressways: int = 3,
    peak_rate: float = 4000.0,
    initial_rate: float = 100.0,
    ramp: float = 10_800.0,
    accidents: float = 6.0,
    start: datetime = START,
    seed: int = 0,
    chunk: int = BLOCK,
) -> Iterator[pa.RecordBatch]:
    """Position reports and accidents in batches of ``chunk``, in order of time.

    The same arguments give the same events whatever ``chunk`` is, and fewer events are the beginning of more.
    Memory grows with the number of vehicles on the road, 30 seconds times the rate, and not with the stream.

    Times are whole seconds, speeds miles per hour, positions feet from the western end of the expressway.
    Direction 0 is east. A vehicle enters on lane 0, travels on lanes 1–3 and gives its last report on lane 4.

    Args:
        events: How many reports and accidents.
        expressways: How many expressways.
        peak_rate: Events per second at last.
        initial_rate: Events per second at first.
        ramp: The seconds in between; then the rate stays. With the defaults the three hours of the ramp are about 22
            million events.
        accidents: Mean number of accidents per hour and expressway. Each lasts 10 to 20 minutes and is an
            ``Accident`` event every 30 seconds, with expressway, direction and segment and NULL in all else.
        start: The time from which reports come.
        seed: Another seed gives other events.
        chunk: Events per batch.
    """
    check_size(events, chunk)
    demand(expressways >= 1, f"expressways is {expressways}", "ask for at least one")
    demand(
        0 < initial_rate <= peak_rate,
        f"the rate goes from {initial_rate} to {peak_rate}",
        "give 0 < initial_rate <= peak_rate",
    )
    demand(ramp >= 0, f"ramp is {ramp}", "give the seconds until the peak, or 0 to begin with it")
    demand(accidents >= 0, f"accidents is {accidents}", "give a number per hour, or 0 for none")
    road = _Road(expressways, accidents)
    return cut(_rounds(road, initial_rate, peak_rate, ramp, start, seed), TRAFFIC_SCHEMA, events, chunk)


def _rounds(
    road: _Road, initial: float, peak: float, ramp: float, start: datetime, seed: int
) -> Iterator[pa.RecordBatch]:
    """One block for every 30 seconds, in which each vehicle reports once."""
    began = microseconds(start) // 1_000_000 * 1_000_000
    fleet = _Fleet.arriving(block_random(seed, _STREAM, 0), 0, 0, road.expressways)
    vehicles = 0
    number = 0
    while True:
        random = block_random(seed, _STREAM, 1, number)
        reached = min(1.0, number * PERIOD / ramp) if ramp else 1.0
        target = max(1, round((initial + (peak - initial) * reached) * PERIOD))
        fleet = fleet.remaining()
        road.strike(random, number)
        fleet.drive(random, road.speed_left(fleet))
        arrivals = max(0, target - len(fleet.vehicle) - len(road.standing))
        fleet = fleet.joined(_Fleet.arriving(random, vehicles, arrivals, road.expressways))
        vehicles += arrivals
        yield _reports(fleet, road, began + number * PERIOD * 1_000_000)
        number += 1


@dataclass(slots=True)
class _Fleet:
    """The vehicles on the road, in the order in which they report; one array per attribute."""

    vehicle: Ints
    second: npt.NDArray[np.uint8]
    expressway: Ints
    direction: Ints
    position: Floats
    ahead: Floats
    lane: Ints
    speed: Ints
    wish: Floats

    @classmethod
    def arriving(cls, random: np.random.Generator, first: int, count: int, expressways: int) -> Self:
        """New vehicles on the entry lane, anywhere on the road, numbered from ``first``."""
        direction = random.integers(0, 2, count)
        position = random.uniform(0, SEGMENTS * MILE, count)
        wish = random.normal(65, 9, count).clip(35, 100)
        return cls(
            vehicle=np.arange(first, first + count, dtype=np.int64),
            second=random.integers(0, PERIOD, count).astype(np.uint8),
            expressway=random.integers(0, expressways, count),
            direction=direction,
            position=position,
            ahead=MILE * (1 + random.exponential(10, count)),
            lane=np.full(count, _ENTRY_LANE, dtype=np.int64),
            speed=np.rint(wish * random.uniform(0.4, 0.8, count)).astype(np.int64),
            wish=wish,
        )

    def drive(self, random: np.random.Generator, speed_left: Floats) -> None:
        """Move everyone on by 30 seconds; whoever arrives changes to the exit lane."""
        count = len(self.vehicle)
        aim = self.wish * speed_left
        speed = self.speed + 0.5 * (aim - self.speed) + 4 * random.standard_normal(count)
        self.speed = np.rint(speed).astype(np.int64).clip(0, 100)
        way = self.speed * _FEET_PER_PERIOD
        self.position = self.position + np.where(self.direction == 0, way, -way)
        self.ahead = self.ahead - way
        changes = (self.lane == _ENTRY_LANE) | (random.random(count) < 0.1)
        self.lane = np.where(changes, random.integers(1, 4, count), self.lane)
        at_end = (self.position < 0) | (self.position >= SEGMENTS * MILE)
        self.lane[(self.ahead <= 0) | at_end] = _EXIT_LANE
        self.position = self.position.clip(0, SEGMENTS * MILE - 1)

    def remaining(self) -> Self:
        """The fleet without those who gave their last report."""
        return self._take(self.lane != _EXIT_LANE)

    def joined(self, arrivals: Self) -> Self:
        """Both fleets together, again in the order in which they report."""
        both = type(self)(*(np.concatenate([getattr(self, f.name), getattr(arrivals, f.name)]) for f in fields(self)))
        return both._take(np.argsort(both.second, kind="stable"))

    def _take(self, which: Flags | npt.NDArray[np.intp]) -> Self:
        return type(self)(*(getattr(self, f.name)[which] for f in fields(self)))

    @property
    def segment(self) -> Ints:
        """The mile each vehicle is on."""
        return self.position.astype(np.int64) // MILE


@dataclass(frozen=True, slots=True)
class _Accident:
    expressway: int
    direction: int
    segment: int
    second: int
    cleared: int
    """The round from which the road is free again."""


class _Road:
    """Expressways and the accidents on them."""

    def __init__(self, expressways: int, accidents: float) -> None:
        self.expressways = expressways
        self.standing: list[_Accident] = []
        self._mean = accidents * expressways * PERIOD / 3600

    def strike(self, random: np.random.Generator, number: int) -> None:
        """Clear the accidents that are over and let new ones happen, ordered by their second."""
        fresh = [
            _Accident(
                expressway=int(random.integers(self.expressways)),
                direction=int(random.integers(2)),
                segment=int(random.integers(SEGMENTS)),
                second=int(random.integers(PERIOD)),
                cleared=number + int(random.integers(20, 40, endpoint=True)),
            )
            for _ in range(int(random.poisson(self._mean)))
        ]
        standing = [a for a in self.standing if a.cleared > number]
        self.standing = sorted(standing + fresh, key=lambda accident: accident.second)

    def speed_left(self, fleet: _Fleet) -> Floats:
        """The share of its wished speed that each vehicle can drive where it is."""
        place = (fleet.expressway * 2 + fleet.direction) * SEGMENTS + fleet.segment
        vehicles = np.bincount(place, minlength=self.expressways * 2 * SEGMENTS)
        share = (1 - vehicles / _FULL).clip(min=0.1).reshape(self.expressways, 2, SEGMENTS)
        for accident in self.standing:
            upstream = -1 if accident.direction == 0 else 1
            for miles, left in enumerate(_SLOWDOWN):
                segment = accident.segment + upstream * miles
                if 0 <= segment < SEGMENTS:
                    share[accident.expressway, accident.direction, segment] *= left
        slowed: Floats = share.ravel()[place]
        return slowed


def _reports(fleet: _Fleet, road: _Road, began: int) -> pa.RecordBatch:
    """The events of one round: everyone's position, and the accidents in between."""
    standing = road.standing
    seconds = np.concatenate([fleet.second, np.array([a.second for a in standing], dtype=np.uint8)])
    order = np.argsort(seconds, kind="stable")
    accident = np.zeros(len(seconds), dtype=np.bool_)
    accident[len(fleet.vehicle) :] = True
    accident = accident[order]

    def column(values: Ints, of_accidents: list[int] | None = None) -> pa.Array:
        rest = np.array(of_accidents or [0] * len(standing), dtype=np.int64)
        return pa.array(np.concatenate([values, rest])[order], mask=None if of_accidents else accident)

    columns = [
        words(accident.astype(np.int8), _TYPES),
        pa.array(began + seconds[order].astype(np.int64) * 1_000_000).cast(TIME),
        column(fleet.vehicle),
        column(fleet.speed),
        column(fleet.expressway, [a.expressway for a in standing]),
        column(fleet.lane),
        column(fleet.direction, [a.direction for a in standing]),
        column(fleet.segment, [a.segment for a in standing]),
        column(fleet.position.astype(np.int64)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=TRAFFIC_SCHEMA)
