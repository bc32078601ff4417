"""Every trend built one by one, straight from the definitions: the judge of all other code.

Events and a query in, rows (``aggregate``) or the trends themselves (``trends``) out. Time grows with the
number of trends, which grows as 2ⁿ: for a dozen events, not for more. Imports nothing of plans, kernels or
engines. The words, where the language leaves room:

- A *name* stands for the variable of this name, or, where there is none, for all variables of the type of
  this name: in ``E x+ OR SEQ(E, D)``, E is the second place alone.
- A *partition* holds the events that agree on the common attributes (unscoped equivalence and GROUP-BY); an
  event that is NULL in one of them is in no partition. Each scope ``[E.b]`` cuts it further: a trend's value
  there is the b of its E events, or none where it has no E event. A GROUP-BY attribute that only scopes name
  groups by that value (NULL for none) and does not cut the other events; ``GROUP-BY E.b`` is such a scope.
- A match of NOT's sub-pattern lives in the window and partition of the trend; where the trend has no value in
  a scope, the match must have none either. A scope that names only variables inside the NOT binds each of its
  matches by itself, and no trend.
- ``contiguous`` is blocked by every event of the partition, whatever its type and whatever local predicates
  say. An event whose type has only variables of a scope, and another value there than the trend, is of
  another partition and blocks nothing.
- A trend is *maximal* if no other trend of its window and partition has all its events and more.
- The pairs of an outermost AND are trends of one partition: equal values in all scopes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from greta.errors import GretaError, QueryMeaningError
from greta.lang.nodes import (
    Aggregate,
    Attribute,
    Conjunction,
    Name,
    Query,
    ReturnAttribute,
    ReturnValue,
    TrendAggregate,
)
from greta.lang.parser import parse
from greta_research.brute_force import search
from greta_research.brute_force.expressions import Leaf, evaluate, fold
from greta_research.brute_force.rules import Rules, Scope
from greta_research.brute_force.search import NO_VALUE, Space, value_of
from greta_research.brute_force.times import Event, Window, read_events, windows_of
from greta_research.brute_force.values import over_trends

Trend = tuple[tuple[int, str], ...]
"""(index of the event in the input, variable) from first to last."""


@dataclass(frozen=True, slots=True)
class PartitionTrends:
    """The trends of one partition in one window; for ``P AND Q`` those of both sides.

    ``partition`` maps common attributes to their values, and scopes (``"P.vehicle"``) to theirs or None.
    """

    window_start: object
    window_end: object
    partition: Mapping[str, object]
    trends: tuple[Trend, ...]


def aggregate(
    events: Sequence[Mapping[str, object]],
    query: Query | str,
    *,
    time: str = "time",
    type: str = "type",  # noqa: A002
) -> list[dict[str, object]]:
    """The rows of a query by definition: one per window and group that has a trend (AND: a pair).

    A key that an event lacks is NULL, and so is NaN. COUNT and the SUM of integers are exact ``int``; AVG and
    the SUM of floats are rounded once. Without WITHIN, ``window_start`` and ``window_end`` are None. Rows
    come by window, then in the order in which their groups appear.
    """
    judge = _Judge(parse(query) if isinstance(query, str) else query)
    found: dict[tuple[Window, tuple[object, ...]], list[tuple[search.Trend, ...]]] = {}
    for partition in judge.partitions(read_events(events, time, type)):
        if counted := partition.counted():
            found.setdefault((partition.window, partition.group), []).extend(counted)
    rows = (judge.row(window, group, counted) for (window, group), counted in found.items())
    return [row for row in rows if row is not None]


def trends(
    events: Sequence[Mapping[str, object]],
    query: Query | str,
    *,
    time: str = "time",
    type: str = "type",  # noqa: A002
    limit: int | None = None,
) -> list[PartitionTrends]:
    """All trends by window and partition, before HAVING; partitions without a trend are left out.

    Raises ``GretaError`` as soon as there are more than ``limit`` trends.
    """
    judge = _Judge(parse(query) if isinstance(query, str) else query, limit)
    found = []
    for partition in judge.partitions(read_events(events, time, type)):
        both = dict.fromkeys(trend for side in partition.sides for trend in side)
        indices = tuple(tuple((event.index, variable) for event, variable in trend) for trend in both)
        found.append(PartitionTrends(*partition.window, partition.values, indices))
    return found


@dataclass(frozen=True, slots=True)
class _Partition:
    """``sides`` are the trends of the pattern, or those of P and those of Q for ``P AND Q``."""

    window: Window
    values: dict[str, object]
    group: tuple[object, ...]
    sides: tuple[list[search.Trend], ...]

    def counted(self) -> list[tuple[search.Trend, ...]]:
        """What COUNT(*) counts: single trends, or pairs of different ones; {p, q} is the same as {q, p}."""
        if len(self.sides) == 1:
            return [(trend,) for trend in self.sides[0]]
        left, right = self.sides
        return [tuple(pair) for pair in {frozenset((p, q)) for p in left for q in right if p != q}]


class _Judge:
    """A query and the trends it has."""

    def __init__(self, query: Query, limit: int | None = None) -> None:
        self.query = query
        self.rules = Rules(query)
        self.limit = limit
        self.count = 0

    def partitions(self, events: list[Event]) -> Iterator[_Partition]:
        """Every partition of every window that has a trend, each window judged by itself."""
        for window, inside in windows_of(self.query.window, events):
            common: dict[tuple[object, ...], list[Event]] = {}
            for event in inside:
                common.setdefault(tuple(event.get(name) for name in self.rules.common), []).append(event)
            for values, here in common.items():
                if None not in values:
                    yield from self._scoped(window, dict(zip(self.rules.common, values, strict=True)), here)

    def _scoped(self, window: Window, common: dict[str, object], events: list[Event]) -> Iterator[_Partition]:
        """The partitions by scope within one by common attributes."""
        pattern = self.query.pattern
        patterns = (pattern.left, pattern.right) if isinstance(pattern, Conjunction) else (pattern,)
        found: dict[tuple[object, ...], tuple[list[search.Trend], ...]] = {}
        for side, alone in enumerate(patterns):
            for trend in self._kept(Space(self.rules, alone, events, {})):
                if len(trend) >= self.query.min_length:
                    self._count()
                    values = tuple(value_of(scope, trend) for scope in self.rules.scopes)
                    found.setdefault(values, tuple([] for _ in patterns))[side].append(trend)
        for values, sides in found.items():
            scoped = {
                scope: None if value is NO_VALUE else value
                for scope, value in zip(self.rules.scopes, values, strict=True)
            }
            named = common | {scope.name: value for scope, value in scoped.items()}
            yield _Partition(window, named, self._group(common, scoped), sides)

    def _kept(self, space: Space) -> Iterable[search.Trend]:
        """All trends, or, under MAXIMAL, those that no other trend contains."""
        trends = space.trends(self.query.semantics)
        if not self.query.maximal:
            return trends
        by_events = [(trend, frozenset(event.index for event, _ in trend)) for trend in trends]
        return [trend for trend, events in by_events if not any(events < others for _, others in by_events)]

    def _group(self, common: Mapping[str, object], scoped: Mapping[Scope, object]) -> tuple[object, ...]:
        """Where several scopes name a grouped attribute, the first that has a value speaks for it."""

        def value(name: str) -> object:
            if name in common:
                return common[name]
            given = [value for scope, value in scoped.items() if scope.attribute == name and value is not None]
            return given[0] if given else None

        return tuple(value(part.name) for part in self.query.group_by)

    def _count(self) -> None:
        self.count += 1
        if self.limit is not None and self.count > self.limit:
            raise GretaError(
                f"there are more than {self.limit} trends",
                hint="take fewer events, or a higher limit; aggregate() counts trends without building them",
            )

    def row(
        self, window: Window, group: tuple[object, ...], counted: list[tuple[search.Trend, ...]]
    ) -> dict[str, object] | None:
        """The row of one window and group, None where HAVING is not true."""
        grouped = {part.name: value for part, value in zip(self.query.group_by, group, strict=True)}
        row: dict[str, object] = {"window_start": window.start, "window_end": window.stop}

        def lookup(leaf: Leaf) -> object:
            match leaf:
                case Aggregate():
                    return self._aggregate(leaf, counted)
                case TrendAggregate():
                    return self._over_trends(leaf, counted)
                case Name(name=name):
                    return row[name] if name in row else _known_name(leaf, grouped)
                case Attribute():
                    raise QueryMeaningError(
                        "HAVING speaks of groups, not of events",
                        span=leaf.span,
                        hint="use an aggregate of it",
                    )

        for part in self.query.returns:
            match part:
                case ReturnValue(expression=expression, name=name):
                    row[name] = evaluate(expression, lookup)
                case ReturnAttribute(name=name):
                    row[name] = _known_name(part, grouped)
        having = self.query.having
        return row if having is None or evaluate(having, lookup) is True else None

    def _over_trends(self, aggregate: TrendAggregate, counted: list[tuple[search.Trend, ...]]) -> object:
        if isinstance(self.query.pattern, Conjunction):
            raise QueryMeaningError(
                "a pair of trends has no value of a trend", span=aggregate.span, hint="ask for each side by itself"
            )
        return over_trends(aggregate, (trend for (trend,) in counted), self.rules.resolve)

    def _aggregate(self, aggregate: Aggregate, counted: list[tuple[search.Trend, ...]]) -> object:
        if aggregate.variable is None:
            return len(counted)
        variables = self.rules.resolve(aggregate.variable)
        events = [event for item in counted for trend in item for event, variable in trend if variable in variables]
        if aggregate.attribute is None:
            return len(events)
        return fold(aggregate.function, (event.get(aggregate.attribute) for event in events))


def _known_name(leaf: Name | ReturnAttribute, grouped: Mapping[str, object]) -> object:
    if leaf.name not in grouped:
        raise QueryMeaningError(
            f"{leaf.name} is not grouped by", span=leaf.span, hint=f"add GROUP-BY {leaf.name}, or take it out"
        )
    return grouped[leaf.name]
