"""Query → ``Plan``, by passes in order (paper, §3: from query to GRETA configuration)."""

from __future__ import annotations

from collections.abc import Mapping

from greta.errors import QueryError, QueryMeaningError
from greta.lang.nodes import Query
from greta.lang.parser import parse
from greta.plan.aggregates import set_having, set_outputs
from greta.plan.automata import build_automata
from greta.plan.columns import collect_attributes
from greta.plan.draft import Draft
from greta.plan.names import resolve_names
from greta.plan.nodes import AttributeType, Plan, Variable
from greta.plan.partitions import set_partitioning
from greta.plan.predicates import classify_predicates
from greta.plan.shape import check_shape
from greta.plan.templates import build_templates
from greta.plan.trend_values import check_trend_values
from greta.plan.types import check_types
from greta.plan.windows import set_window

PASSES = (
    resolve_names,
    check_shape,
    check_trend_values,
    set_window,
    check_types,
    build_automata,
    classify_predicates,
    set_partitioning,
    set_outputs,
    set_having,
    collect_attributes,
    build_templates,
)
"""Each pass reads what earlier ones wrote into the draft, and raises where the query has no meaning."""


def analyze(query: Query | str, schema: Mapping[str, AttributeType | None] | None = None) -> Plan:
    """Say exactly how a query will be computed.

    Raises ``QueryError`` and nothing else: ``QuerySyntaxError`` for text that cannot be read, ``SchemaError``
    for attributes that the schema lacks or has with another type, ``QueryMeaningError`` otherwise. Time and
    size of the plan are bounded, whatever the pattern.

    Args:
        query: The text of a query, or a parsed one.
        schema: The kinds of attributes, by name. None stands for a kind that is not known yet: the plan is then
            checked for names, and is otherwise one without a schema.

    Examples:
        >>> plan = analyze("RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price")
        >>> [state.variable for state in plan.templates[0].states], plan.templates[0].links[0].path.value
        (['S'], 'ordered')
    """
    if isinstance(query, str):
        query = parse(query)
    draft = Draft(query, None if schema is None else dict(schema))
    try:
        for apply in PASSES:
            apply(draft)
    except QueryError as error:
        error.locate(query.text)
        raise
    except RecursionError:
        # The parser bounds nesting; only trees built by hand come this far.
        raise QueryMeaningError(
            "the query is nested too deeply",
            hint="flatten it: SEQ(A, B, C) instead of SEQ(A, SEQ(B, SEQ(C)))",
        ) from None
    kinds = [(name, kind) for name, kind in (schema or {}).items() if kind is not None]
    return Plan(
        query=query,
        templates=draft.templates,
        variables=tuple(Variable(name, event_type) for name, event_type in draft.types.items()),
        local_predicates=draft.local_predicates,
        partitioning=draft.partitioning,
        group=draft.group,
        returned=draft.returned,
        window=draft.window,
        semantics=query.semantics,
        min_length=query.min_length,
        maximal=query.maximal,
        measures=tuple(draft.measures),
        outputs=tuple(draft.outputs),
        computed=tuple(draft.computed),
        columns=tuple(draft.columns),
        having=draft.having,
        attributes=draft.attributes,
        schema=None if schema is None or len(kinds) < len(schema) else tuple(kinds),
    )
