"""Plan → whether windows that overlap may be put together of stretches of events, so that k costs nothing.

Without edge predicates events change running totals linearly, and a stretch of events is a matrix over them
(``greta.kernels.stretches``). That pays where totals are few and windows per event are more.
"""

from __future__ import annotations

from greta.lang.nodes import Semantics
from greta.plan.flows import Op
from greta.plan.measures import build_flow
from greta.plan.nodes import AccessPath, Plan

_FEWEST_WINDOWS = 4
_MOST_TOTALS = 16
_LINEAR = frozenset({Op.ADD, Op.COPY, Op.ZERO, Op.RAISE, Op.PUT, Op.JOIN, Op.CLEAR})
"""Steps that are sums of multiples, or maxima of sums; a minimum is neither."""


def by_stretches(plan: Plan) -> bool:
    """Whether windows of doubles are computed so where they hold many events; exact numbers never are."""
    if plan.window is None or plan.window.per_event < _FEWEST_WINDOWS or not is_linear(plan):
        return False
    template = plan.templates[0]
    flow = build_flow(plan.measures, template.variables, frozenset())
    indexes = len({(transition.source, transition.link) for transition in template.transitions})
    totals = indexes * (flow.carried_adds + (1 + flow.carried_maxes if flow.maxes else 0))
    return totals <= _MOST_TOTALS and plan.window.per_event >= totals


def is_linear(plan: Plan) -> bool:
    """Whether events change running totals linearly, the same ones in every window."""
    if plan.semantics is not Semantics.ANY or plan.conjunction:
        return False
    template = plan.templates[0]
    if template.negatives or any(link.path is not AccessPath.FREE for link in template.links):
        return False
    flow = build_flow(plan.measures, template.variables, frozenset())
    return all(
        step.op in _LINEAR for taken in (flow.starting, flow.taking_part) for own in taken.values() for step in own
    )
