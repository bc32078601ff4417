"""What travels to the executors: plans, columns and how events are shared out. Frozen, pickled with the tasks."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from greta.engine.frames import Cut
from greta.engine.job import Job
from greta.lang.nodes import Semantics
from greta.plan.nodes import Plan
from greta.spark.batch.ranges import Ranges
from greta.spark.wire.places import Places
from greta.spark.wire.records import BadRecords

CODE = pa.int16()
"""How an event type travels where its name need not; the code after the last known type stands for all others."""

SLAB = "\x00slab"
"""Column with the number of an event's time range, where ranges overlap; no DataFrame has such a name."""

SHARE = "\x00share"
"""Column with the number of a partition's share: its part of the keys.

A share is always in one task. Parts of a group are summed per share first, and shares at the end, so doubles are
added in one order however many tasks there are.
"""

SHARES = 256


@dataclass(frozen=True, slots=True)
class Channel:
    """Queries whose events are shared out alike: the same partition attributes, the same ranges of time."""

    common: tuple[str, ...]
    queries: tuple[int, ...]
    """Positions in the job's jobs."""
    columns: tuple[str, ...]
    """What these queries read: time and type, then attributes."""
    types: frozenset[int] | None
    """Codes of the event types that play a part; None for all."""
    ranges: Ranges | None

    def cut(self, plan: Plan) -> Cut | None:
        """Which windows each range answers for a query; ranges that do not overlap answer all they have."""
        if self.ranges is None or not self.ranges.overlap:
            return None
        return Cut(column=SLAB, windows=self.ranges.windows(plan))


@dataclass(frozen=True, slots=True)
class SparkJob:
    """The jobs of one or several queries over the same DataFrame, and how their events are shared out."""

    jobs: tuple[Job, ...]
    channels: tuple[Channel, ...]
    schema: pa.Schema
    """The events as the engine sees them: all columns that any query reads."""
    types: tuple[str, ...] | None
    """Event types by code, where the type column travels as a code; None where it travels as text."""
    tasks: int
    direct: bool
    """Whether no group of the only query has parts of a window in two tasks, so that rows need not meet again."""
    bad_records: BadRecords = "stop"
    """What happens to events without a readable time."""

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans of the queries."""
        return tuple(job.plan for job in self.jobs)

    @property
    def time(self) -> str:
        """The time column, the same for all queries."""
        return self.jobs[0].time

    @property
    def type(self) -> str:
        """The type column, the same for all queries."""
        return self.jobs[0].type

    @property
    def wire(self) -> list[str]:
        """Columns in the order in which they travel to be packed, before one place per channel."""
        return [name for name in self.schema.names if name != self.type or self.types is None]

    @property
    def key_types(self) -> list[pa.DataType]:
        """The types of all attributes by which events are shared out."""
        return [self.schema.field(name).type for channel in self.channels for name in channel.common]

    @property
    def places(self) -> Places:
        """What the place of an event in a channel tells: its share of the keys, and its type unless all have one."""
        return Places(SHARES, None if self.one_type else self.types)

    @property
    def one_type(self) -> bool:
        """Whether every event that passes the filter has the same type, so that none need say it."""
        return (
            self.types is not None
            and len(self.types) == 1
            and all(plan.semantics is not Semantics.CONTIGUOUS for plan in self.plans)
        )

    def events_schema(self, channel: Channel) -> pa.Schema:
        """The events of a channel, as the engine sees them."""
        return pa.schema([self.schema.field(name) for name in channel.columns])

    def packed_schema(self, channel: Channel) -> pa.Schema:
        """The events of a channel in a blob, with what must travel with each of them: every byte is copied often.

        No type where all have the same, no share where no parts are summed, no range where the time tells it.
        """
        fields = [
            pa.field(name, CODE) if name == self.type and self.types is not None else self.schema.field(name)
            for name in channel.columns
            if name != self.type or not self.one_type
        ]
        if channel.ranges is None or not self.direct:
            fields.append(pa.field(SHARE, pa.int16()))
        if channel.ranges is not None and channel.ranges.overlap:
            fields.append(pa.field(SLAB, pa.int64()))
        return pa.schema(fields)


def relevant_types(plans: list[Plan], types: tuple[str, ...] | None) -> frozenset[int] | None:
    """Codes of the types that some of the queries speak of; None where all events count."""
    if types is None or any(plan.semantics is Semantics.CONTIGUOUS for plan in plans):
        return None
    spoken = {name for plan in plans for name in plan.event_types}
    return frozenset(code for code, name in enumerate(types) if name in spoken)
