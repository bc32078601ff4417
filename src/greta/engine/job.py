"""A query bound to the columns of its events: what it reads, how time counts, what its rows look like.

Every door binds once, by ``Job.bind``, and asks the job from then on. A job is frozen and pickles, so the executors of
a cluster run the one that was bound where the query was asked. Binding needs no kernel; running loads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, get_args

import pyarrow as pa

from greta.engine.same import Same
from greta.engine.tables import (
    SchemaKey,
    attribute_type,
    extreme_type,
    plain_type,
    require_column,
    require_event_types,
    schema_of,
)
from greta.engine.times import Clock
from greta.errors import GretaError, GretaWarning, QueryMeaningError, QuerySyntaxError, SchemaError, Span
from greta.lang.nodes import Query
from greta.plan.analyze import analyze
from greta.plan.cautions import idle_conditions, ordered_attributes, scanned_conditions
from greta.plan.measures import Combine, Measure
from greta.plan.nodes import AttributeType, Output, Plan

if TYPE_CHECKING:
    from greta.engine.frames import Cut
    from greta.engine.prepared import Prepared

Numbers = Literal["double", "exact"]
"""How counts and integer sums are returned: as doubles, or as digits of any size."""

WINDOW = "window"
"""The column of a partial row that holds its window's number."""

_NUMBERS = get_args(Numbers)
_MOST_SCOPES = 62
"""Scopes are bits of a 64-bit number with a sign."""


@dataclass(frozen=True)
class Job:
    """A plan and the events it is for."""

    plan: Plan
    schema: pa.Schema
    """Of the columns that are read: time and type, then the plan's attributes."""
    time: str
    type: str
    numbers: Numbers

    @staticmethod
    def bind(
        query: Query | str | Plan,
        schema: pa.Schema,
        *,
        time: str = "time",
        type: str = "type",  # noqa: A002 - the word that every door uses
        numbers: Numbers = "double",
    ) -> Job:
        """Check a query against the columns of its events, and plan it unless it is a plan already.

        A plan that was made for columns of the same kinds is used as it is; one that was made without a schema is
        completed. Raises ``SchemaError`` for columns that are missing or of a kind that the query cannot use,
        ``DataError`` for those that are there twice or cannot hold times or event types.
        """
        if numbers not in _NUMBERS:
            raise GretaError(f"numbers must be 'double' or 'exact', not {numbers!r}")
        return _bound(query if isinstance(query, str) else Same(query), SchemaKey(schema), time, type, numbers)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the fields; what follows from them is found out again."""
        return self.__class__, (self.plan, self.schema, self.time, self.type, self.numbers)

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns that are read."""
        names: list[str] = self.schema.names
        return names

    @cached_property
    def clock(self) -> Clock:
        """How the time column counts."""
        return Clock.of(self.schema.field(self.time).type, self.time)

    @cached_property
    def idle_conditions(self) -> tuple[GretaWarning, ...]:
        """A warning for each condition that decides nothing."""
        return tuple(idle_conditions(self.plan))

    @cached_property
    def ordered_texts(self) -> tuple[str, ...]:
        """Attributes of text whose order matters."""
        ordered = ordered_attributes(self.plan)
        texts = (name for name in ordered if attribute_type(self.schema.field(name).type) is AttributeType.TEXT)
        return tuple(texts)

    @cached_property
    def scanned_conditions(self) -> tuple[str, ...]:
        """The conditions that no index serves."""
        return tuple(dict.fromkeys(scanned_conditions(self.plan)))

    @cached_property
    def floating(self) -> frozenset[int]:
        """The measures that are made of floating-point values: they stay doubles in exact mode."""
        return frozenset(at for at, measure in enumerate(self.plan.measures) if self._is_floating(measure))

    def _is_floating(self, measure: Measure) -> bool:
        kinds = (attribute_type(self.schema.field(name).type) for name in measure.summed)
        parts_of_seconds = measure.timed and self.clock.kind != "whole seconds"
        return parts_of_seconds or any(kind is not AttributeType.INTEGER for kind in kinds)

    @property
    def adds_times(self) -> bool:
        """Whether lengths of time are added up as doubles."""
        measures = enumerate(self.plan.measures)
        rounded = self.numbers == "double"
        return any(m.timed and m.combine is Combine.ADD and (rounded or at in self.floating) for at, m in measures)

    @cached_property
    def output_schema(self) -> pa.Schema:
        """Names and types of the rows, known before any event is read."""
        bounds = self.clock.bounds_type(self.plan.window)
        fields = [pa.field("window_start", bounds), pa.field("window_end", bounds)]
        fields += [pa.field(name, self.schema.field(name).type) for name in self.plan.returned]
        outputs = {output.name: output for output in self.plan.outputs}
        for name in self.plan.columns:
            fields.append(pa.field(name, self._output_type(outputs[name]) if name in outputs else pa.float64()))
        return pa.schema(fields)

    def _output_type(self, output: Output) -> pa.DataType:
        first = output.measures[0]
        compared = self.plan.measures[first].compared
        if compared is not None:
            return self._extreme_type(compared)
        counted = not output.finish.is_quotient and first not in self.floating
        return pa.string() if self.numbers == "exact" and counted else pa.float64()

    @cached_property
    def partial_schema(self) -> pa.Schema:
        """Names and types of partial rows: a window, GROUP-BY attributes, and per measure its value.

        A value that adds up has two columns: a plain one, and one of digits for what does not fit it.
        """
        fields = [pa.field(WINDOW, pa.int64())]
        fields += [
            pa.field(f"group_{at}", plain_type(self.schema.field(name).type)) for at, name in enumerate(self.plan.group)
        ]
        for at, measure in enumerate(self.plan.measures):
            whole = self.numbers == "exact" and at not in self.floating
            number = pa.int64() if whole else pa.float64()
            if measure.compared is not None:
                fields.append(pa.field(f"measure_{at}", self._extreme_type(measure.compared)))
            else:
                fields.append(pa.field(f"measure_{at}", number))
            if measure.combine is Combine.ADD:
                fields.append(pa.field(f"wide_{at}", pa.string()))
        return pa.schema(fields)

    @cached_property
    def no_partials(self) -> pa.Table:
        """Partial rows of nothing."""
        return self.partial_schema.empty_table()

    def _extreme_type(self, attribute: str) -> pa.DataType:
        """The type in which MIN and MAX return an attribute's values."""
        return extreme_type(self.schema.field(attribute).type)

    def run(self, events: pa.Table | Prepared, cut: Cut | None = None) -> pa.Table:
        """All rows over a table of events, or those of the windows that ``cut`` names."""
        from greta.engine.compute import rows
        from greta.engine.frames import Stream
        from greta.engine.ranges import counted_from_nearby

        return rows(Stream.of(self, *counted_from_nearby(self, events, cut)))

    def partials(self, table: pa.Table, cut: Cut | None = None) -> pa.Table:
        """Partial rows of one table of events: each (group, window) at most once."""
        from greta.engine.frames import Stream
        from greta.engine.partials import partial_rows
        from greta.engine.ranges import counted_from_nearby

        return partial_rows(Stream.of(self, *counted_from_nearby(self, table, cut)))

    def finish(self, parts: pa.Table) -> pa.Table:
        """The rows from partial rows; all parts of a group and window must be there."""
        from greta.engine.partials import finish_partials

        return finish_partials(self, parts)


def _plan(query: Query | str | Plan, schema: pa.Schema) -> Plan:
    """The plan of a query for events of a schema: itself where it is one that was made for such events."""
    if isinstance(query, Plan) and query.schema is not None:
        strange = _strangers(query, dict(query.schema), schema)
        if not strange:
            return query
        # Where the query by itself does not fit the events, planning it says so, and shows the place.
        completed = _analyzed(query.query, schema)
        if not all(pa.types.is_null(schema.field(name).type) for name in strange):
            raise _misfit(query, strange[0], schema)
        return completed
    if isinstance(query, str):
        _require_unicode(query)
        return _analyzed(query, schema)
    return _analyzed(query.query if isinstance(query, Plan) else query, schema)


def _require_unicode(query: str) -> None:
    """Raise QuerySyntaxError for halves of characters, which no text of events can hold."""
    try:
        query.encode()
    except UnicodeEncodeError as error:
        raise QuerySyntaxError(
            "this is no character, but a half of one", span=Span(error.start, error.end), text=query
        ) from error


def _strangers(plan: Plan, kinds: Mapping[str, AttributeType], schema: pa.Schema) -> list[str]:
    """The attributes that are of another kind here than the plan was made for.

    Whole numbers may stand for floating-point ones: a plan for these takes nothing for granted that they lack.
    """
    strange = []
    for name in plan.attributes:
        at = schema.get_field_index(name)
        here = None if at < 0 else attribute_type(schema.field(at).type)
        planned = kinds.get(name)
        if here is not planned and not (here is AttributeType.INTEGER and planned is AttributeType.FLOAT):
            strange.append(name)
    return strange


def _misfit(plan: Plan, name: str, schema: pa.Schema) -> SchemaError:
    planned = dict(plan.schema or ())[name]
    return SchemaError(
        f"the plan was made for events whose {name} is {planned.value}, and here it is {schema.field(name).type}",
        hint="pass the query itself, or plan it again for these events with greta.analyze",
    )


def _analyzed(query: Query | str, schema: pa.Schema) -> Plan:
    try:
        return _remembered(query if isinstance(query, str) else Same(query), tuple(schema_of(schema).items()))
    except SchemaError as error:
        unusable = [f"{field.name} ({field.type})" for field in schema if attribute_type(field.type) is None]
        if unusable:
            error.hint = f"{error.hint}; queries cannot use columns of these types: {', '.join(unusable[:20])}"
        raise


@lru_cache(maxsize=256)
def _bound(query: str | Same[Query | Plan], columns: SchemaKey, time: str, type_: str, numbers: Numbers) -> Job:
    """Jobs are immutable, so calls on a few events each need not bind the same query every time."""
    schema = columns.schema
    require_column(schema, time, "time", "time")
    require_column(schema, type_, "type", "type")
    plan = _plan(query.value if isinstance(query, Same) else query, schema)
    for name in plan.attributes:
        require_column(schema, name, "attribute", "AS")
    if len(plan.partitioning.scopes) > _MOST_SCOPES:
        raise QueryMeaningError(
            f"{len(plan.partitioning.scopes)} attributes are asked to agree for some variables alone, "
            f"and {_MOST_SCOPES} is the most",
            hint="write [a] instead of [A.a] where all events have the attribute",
        )
    names = dict.fromkeys((time, type_, *plan.attributes))
    job = Job(plan, pa.schema([schema.field(name) for name in names]), time, type_, numbers)
    require_event_types(schema, type_)
    _ = job.clock  # a column that cannot hold times is refused here
    return job


@lru_cache(maxsize=256)
def _remembered(query: str | Same[Query], kinds: tuple[tuple[str, AttributeType], ...]) -> Plan:
    """The same for plans: queries over events whose columns are of other types, but of the same kinds, share theirs."""
    return analyze(query.value if isinstance(query, Same) else query, dict(kinds))
