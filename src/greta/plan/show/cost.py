"""What one event costs, in O-notation: n = events per window and partition, k = windows per event.

The size of the pattern counts as a constant.
"""

from __future__ import annotations

from collections.abc import Iterator

from greta.plan.nodes import AccessPath, Link, Plan, Template
from greta.plan.stretches import by_stretches

ORDERS = ("1", "log n", "√n", "n")
"""From cheapest to dearest."""


def link_order(link: Link) -> str:
    """Order of the work that one event does along one transition, per window.

    >>> link_order(Link())
    '1'
    """
    match link.path:
        case AccessPath.FREE | AccessPath.EQUAL:
            return "1"
        case AccessPath.ORDERED | AccessPath.UNEQUAL:
            return "log n"
        case AccessPath.RANGES:
            return "√n"
        case AccessPath.GENERAL:
            return "n"


def plan_order(plan: Plan) -> str:
    """Order of the dearest transition of the whole plan, negative templates included."""
    return max(
        (link_order(link) for template in plan.templates for link in _links(template)),
        key=ORDERS.index,
        default="1",
    )


def per_event(plan: Plan) -> str:
    """``O(k·log n)``; without overlapping windows, or where they are put together of stretches, there is no k."""
    order = plan_order(plan)
    if plan.window is None or plan.window.per_event == 1 or by_stretches(plan):
        return f"O({order})"
    return "O(k)" if order == "1" else f"O(k·{order})"


def _links(template: Template) -> Iterator[Link]:
    for transition in template.transitions:
        yield template.links[transition.link]
    for negative in template.negatives:
        yield from _links(negative.template)
