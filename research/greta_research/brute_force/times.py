"""Events and windows of brute force: times as whole nanoseconds, so that no window border is blurred."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import NamedTuple

from greta.errors import DataError
from greta.lang.nodes import Within
from greta_research.brute_force.expressions import known

_SECOND = 10**9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """An event of the input; two events are never equal, whatever they hold."""

    index: int
    time: int
    event_type: object
    attributes: Mapping[str, object]
    clock: type[float] | tzinfo | None
    """How the input writes time: ``float`` for seconds, else the time zone of its datetimes, if any."""

    def get(self, name: str) -> object:
        """The value of an attribute; None where it is missing, NULL or NaN."""
        return known(self.attributes.get(name))


class Window(NamedTuple):
    """``[start, stop)`` as the input writes time; None for the one window of a query without WITHIN."""

    start: object
    stop: object


def read_events(rows: Sequence[Mapping[str, object]], time: str, kind: str) -> list[Event]:
    """The events sorted by time; raises ``DataError`` for a time that is not one."""
    events = [
        Event(index, _nanoseconds(row.get(time), index, time), row.get(kind), row, _clock(row.get(time)))
        for index, row in enumerate(rows)
    ]
    if len({isinstance(row.get(time), datetime) for row in rows}) > 1:
        raise DataError(f"column {time} mixes numbers and datetimes", hint="write all times in one way")
    return sorted(events, key=lambda event: event.time)


def windows_of(window: Within | None, events: list[Event]) -> Iterator[tuple[Window, list[Event]]]:
    """Every window that holds an event, with its events, by start.

    Windows are aligned to 0 (the epoch, for datetimes); with plain numbers none starts before 0.
    """
    if window is None:
        if events:
            yield Window(None, None), events
        return
    within, slide = (length.milliseconds * 10**6 for length in (window.within, window.slide))
    numbers = {
        number
        for event in events
        for number in range((event.time - within) // slide + 1, event.time // slide + 1)
        if number >= 0 or event.clock is not float
    }
    for number in sorted(numbers):
        start, stop = number * slide, number * slide + within
        clock = events[0].clock
        inside = [event for event in events if start <= event.time < stop]
        yield Window(_written(start, clock), _written(stop, clock)), inside


def _clock(time: object) -> type[float] | tzinfo | None:
    return time.tzinfo if isinstance(time, datetime) else float


def _nanoseconds(time: object, index: int, column: str) -> int:
    match time:
        case datetime():
            aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
            return (aware - _EPOCH) // timedelta(microseconds=1) * 1000
        case int() if not isinstance(time, bool):
            return time * _SECOND
        case float() if math.isfinite(time):
            # The shortest decimal that reads as this float is what was meant: 0.3 is 300 ms, not less.
            return round(Decimal(repr(time)) * _SECOND)
        case _:
            raise DataError(
                f"event {index}: {time!r} in column {column} is not a time",
                hint="give every event a finite number of seconds, or a datetime",
            )


def _written(nanoseconds: int, clock: type[float] | tzinfo | None) -> object:
    if clock is float:
        whole, left = divmod(nanoseconds, _SECOND)
        return whole if not left else nanoseconds / _SECOND
    moment = _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    return moment.astimezone(clock) if isinstance(clock, tzinfo) else moment.replace(tzinfo=None)
