"""What a plan is made of: templates, links, partitions, windows, aggregates (the paper's GRETA configuration).

Plans are frozen data: they compare, pickle and travel to executors as they are. They know no arrays and no
events. Expressions inside them are syntax nodes; in an edge condition ``Attribute.next`` tells the later event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from greta.lang.nodes import (
    Aggregate,
    Arithmetic,
    Attribute,
    Call,
    Comparison,
    ComparisonOperator,
    Expression,
    Name,
    Pattern,
    Query,
    Semantics,
    TrendAggregate,
)
from greta.lang.walk import Node, walk
from greta.plan.measures import Measure


class AttributeType(Enum):
    """The kinds of values an attribute may have; INTEGER and FLOAT are both numbers."""

    INTEGER = "integer"
    FLOAT = "float"
    TEXT = "text"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


class AccessPath(Enum):
    """How the predecessors of a new event are summed along a transition, and at which cost per event."""

    FREE = "free"
    """No condition: a running total per state. O(1)."""
    EQUAL = "equal"
    """Equalities only: a total per key. O(1)."""
    ORDERED = "ordered"
    """One comparison ``f(prev) op g(next)``: a tree that sums ranges. O(log n)."""
    UNEQUAL = "unequal"
    """``f(prev) != g(next)``: two such trees. O(log n)."""
    RANGES = "ranges"
    """Several comparisons: a tree that sums boxes. O(√n)."""
    GENERAL = "general"
    """Anything else: a scan over the candidates that the other conditions leave. O(n)."""


class Place(Enum):
    """Where a NOT stands."""

    LEADING = "leading"
    BETWEEN = "between"
    TRAILING = "trailing"


@dataclass(frozen=True, slots=True)
class Variable:
    """A place for events of one type, e.g. ``S`` in ``Stock S+``."""

    name: str
    event_type: str


@dataclass(frozen=True, slots=True)
class LocalPredicate:
    """Condition on single events that decides which may take the variables, e.g. ``S.price > 5``."""

    variables: frozenset[str]
    condition: Expression


@dataclass(frozen=True, slots=True)
class EdgePredicate:
    """Condition on adjacent events, e.g. ``S.price > NEXT(S).price``."""

    sources: frozenset[str]
    targets: frozenset[str]
    condition: Expression


@dataclass(frozen=True, slots=True)
class Ordered:
    """``previous op next``: ``previous`` speaks of the earlier event only, ``next`` of the later only.

    Operators are ``< <= > >= !=``.
    """

    previous: Expression
    operator: ComparisonOperator
    next: Expression


@dataclass(frozen=True, slots=True)
class Equal:
    """``previous = next``, e.g. ``A.x = NEXT(A).x``."""

    previous: Expression
    next: Expression


@dataclass(frozen=True, slots=True)
class Link:
    """What must hold between two adjacent events; transitions with the same conditions share one link.

    ``equal``, ``ordered`` and ``residual`` together say the same as ``predicates``. ``negations`` are indices
    into the template's ``negatives`` whose place is BETWEEN: none of their matches may lie in the gap. ``lasting``
    are those of them whose matches may have several events; matches of the others are instants, which cut time
    into stretches: the two events must lie in the same one.
    """

    predicates: tuple[EdgePredicate, ...] = ()
    equal: tuple[Equal, ...] = ()
    ordered: tuple[Ordered, ...] = ()
    residual: tuple[Expression, ...] = ()
    negations: tuple[int, ...] = ()
    lasting: tuple[int, ...] = ()
    path: AccessPath = AccessPath.FREE


@dataclass(frozen=True, slots=True)
class State:
    """A state of a template, entered by events that take ``variable``.

    ``clips`` are indices into the template's ``negatives`` whose place is LEADING or TRAILING: their matches
    close or open the window for events in this state. ``seen`` has bit i set when a trend that reaches this
    state has met a variable of the plan's i-th scope. ``length`` is the number of events so far, saturated at
    MIN LENGTH.
    """

    index: int
    variable: str
    event_type: str
    start: bool
    end: bool
    clips: tuple[int, ...] = ()
    seen: int = 0
    length: int = 1


@dataclass(frozen=True, slots=True)
class Transition:
    """``source → target``; ``operator`` is what the pattern says there (``SEQ`` or ``+``), for people."""

    source: int
    target: int
    link: int
    operator: str = "SEQ"


@dataclass(frozen=True, slots=True)
class Template:
    """An automaton over variables in which every trend has exactly one run (paper, §4.1, Algorithm 1)."""

    pattern: Pattern
    states: tuple[State, ...]
    transitions: tuple[Transition, ...]
    links: tuple[Link, ...]
    negatives: tuple[NegativeTemplate, ...] = ()

    @property
    def variables(self) -> frozenset[str]:
        """The variables of this template alone, without those of its negatives."""
        return frozenset(state.variable for state in self.states)


@dataclass(frozen=True, slots=True)
class NegativeTemplate:
    """A negative sub-pattern, split off with its place (paper, §5.1, Algorithm 3)."""

    template: Template
    place: Place


@dataclass(frozen=True, slots=True)
class Scope:
    """``[P.vehicle]``: the events that take one of ``variables`` agree on ``attribute``; others have no say."""

    attribute: str
    variables: frozenset[str]


@dataclass(frozen=True, slots=True)
class Partitioning:
    """What the stream is cut by: ``common`` attributes bind all events, scopes only those of their variables."""

    common: tuple[str, ...] = ()
    scopes: tuple[Scope, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """Windows ``[i·slide, i·slide + within)`` in milliseconds."""

    within: int
    slide: int

    @property
    def per_event(self) -> int:
        """k: the largest number of windows that one event falls into.

        >>> Window(within=600_000, slide=10_000).per_event
        60
        """
        return -(-self.within // self.slide)


class Finish(Enum):
    """How a column of the result is made of measures."""

    COUNT = "count"
    """(measure): as it is."""
    SUM = "sum"
    """(sum, number of summands): NULL where there are none."""
    MEAN = "mean"
    """(sum, number of summands)"""
    DEVIATION = "deviation"
    """(sum of squares, sum, number of summands): the standard deviation of the population."""
    EXTREME = "extreme"
    """(measure): NULL where no value was met."""

    @property
    def is_quotient(self) -> bool:
        """Whether numbers are divided: the result is a double, though they may be exact or beyond its range."""
        return self in (Finish.MEAN, Finish.DEVIATION)


@dataclass(frozen=True, slots=True)
class Output:
    """An aggregate, made of ``measures`` (indices into the plan's). Hidden ones only serve other columns and HAVING."""

    name: str
    finish: Finish
    measures: tuple[int, ...]
    aggregate: Aggregate | TrendAggregate
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Computed:
    """A column computed from others, e.g. ``COUNT(S) / COUNT(*)``: in ``expression`` every aggregate is a ``Name``."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Plan:
    """Exactly how a query will be computed.

    ``templates`` holds one template, or three for an outermost AND: left, right, and the trends of both.
    ``group`` are the GROUP-BY attributes, ``returned`` those of them that RETURN shows. ``columns`` are the names of
    the outputs and computed columns that it shows, in its order. In ``having`` every aggregate is replaced by the
    ``Name`` of an output (hidden ones included). ``attributes`` are all columns that execution reads, except time and
    type. ``maximal``: only trends count whose events are not all in another trend.
    """

    query: Query
    templates: tuple[Template, ...]
    variables: tuple[Variable, ...]
    local_predicates: tuple[LocalPredicate, ...]
    partitioning: Partitioning
    group: tuple[str, ...]
    returned: tuple[str, ...]
    window: Window | None
    semantics: Semantics
    min_length: int
    maximal: bool
    measures: tuple[Measure, ...]
    outputs: tuple[Output, ...]
    computed: tuple[Computed, ...]
    columns: tuple[str, ...]
    having: Expression | None
    attributes: tuple[str, ...]
    schema: tuple[tuple[str, AttributeType], ...] | None = field(default=None)

    @property
    def conjunction(self) -> bool:
        """Whether the pattern is an outermost AND."""
        return len(self.templates) == 3

    @property
    def met_scopes(self) -> frozenset[int]:
        """The sets of scopes, as bits, that a trend can have met where it ends; of other sets there are no trends."""
        return frozenset(state.seen for template in self.templates for state in template.states if state.end)

    @property
    def needs_magnitudes(self) -> bool:
        """Whether numbers beyond the range of doubles matter: a quotient of two of them may well be within it."""
        quotient = any(output.finish.is_quotient for output in self.outputs)
        judged = self.having is not None and any(_weighs_numbers(node) for node, _ in walk(self.having))
        return quotient or bool(self.computed) or judged

    @property
    def may_be_infinite(self) -> frozenset[int]:
        """The measures of which a double tells enough, however large they are: counts, unless their size matters."""
        return frozenset(at for at, measure in enumerate(self.measures) if measure.counts and not self.needs_magnitudes)

    @property
    def event_types(self) -> tuple[str, ...]:
        """Event types that the query speaks of, negative ones included, in the order of the pattern."""
        return tuple(dict.fromkeys(variable.event_type for variable in self.variables))

    def local_conditions(self, variable: str) -> tuple[Expression, ...]:
        """The conditions an event must satisfy to take ``variable``."""
        return tuple(p.condition for p in self.local_predicates if variable in p.variables)


def _weighs_numbers(node: Node) -> bool:
    """Whether a part of HAVING sets results against each other: two that are infinite would be equal."""
    if isinstance(node, Comparison):
        return _has_result(node.left) and _has_result(node.right)
    return isinstance(node, Arithmetic | Call)


def _has_result(expression: Expression) -> bool:
    return any(isinstance(node, Aggregate | TrendAggregate | Name | Attribute) for node, _ in walk(expression))
