"""A warning where a Kafka backlog that is read in parts makes events late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from greta.spark.stream.run import Status

_WARNING = """\
{count:,} events came too late and were dropped while a topic is read in parts (--records-per-trigger): \
its partitions are further apart in time than --lateness allows
hint: start with a new checkpoint, a new output and a longer --lateness, or without --records-per-trigger until \
the backlog is read\
"""


@dataclass(slots=True)
class Backlog:
    """Watches the late events of a topic that is read in parts, and warns at the first of them.

    Within one micro-batch no event makes another late; from one to the next, the latest event of any partition does.
    """

    say: Callable[[str], None]
    before: int
    """Late events of earlier runs."""
    said: bool = False

    def take(self, status: Status) -> None:
        """Take in a micro-batch."""
        if not self.said and status.late_events > self.before:
            self.said = True
            self.say(_WARNING.format(count=status.late_events - self.before))
