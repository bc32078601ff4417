"""The columns that execution will read."""

from __future__ import annotations

from greta.plan.conditions import attributes
from greta.plan.draft import Draft


def collect_attributes(draft: Draft) -> None:
    """All attributes of predicates, partitions, groups and aggregates, in this order, each once."""
    conditions = [
        *(predicate.condition for predicate in draft.local_predicates),
        *(predicate.condition for predicate in draft.edge_predicates),
    ]
    found = [attribute.name for condition in conditions for attribute in attributes(condition)]
    found += draft.partitioning.common
    found += [scope.attribute for scope in draft.partitioning.scopes]
    found += draft.group
    found += [name for measure in draft.measures for name in measure.attributes]
    draft.attributes = tuple(dict.fromkeys(found))
