"""Plan → warnings about conditions that decide nothing, and what other warnings must know of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from greta.errors import GretaWarning
from greta.lang.nodes import (
    Attribute,
    Comparison,
    ComparisonOperator,
    Equivalence,
    Expression,
    Number,
    Semantics,
    Text,
)
from greta.lang.printer import print_expression
from greta.lang.walk import walk
from greta.plan.conditions import attributes, conjuncts, constant, rebuilt
from greta.plan.nodes import AccessPath, Plan, Template

_WAYS: dict[ComparisonOperator, set[int]] = {
    "<": {-1}, "<=": {-1, 0}, "=": {0}, ">=": {0, 1}, ">": {1}, "!=": {-1, 1},
}  # fmt: skip
"""How the left side may lie to the right one: below, equal, above."""


def idle_conditions(plan: Plan) -> Iterator[GretaWarning]:
    """A warning with its way out for each condition of WHERE that holds for every event, or for none."""
    conditions = [c for item in plan.query.where if not isinstance(item, Equivalence) for c in conjuncts(item)]
    yield from _contradictions([condition for condition in conditions if isinstance(condition, Comparison)])
    for condition in conditions:
        value = constant(condition)
        if isinstance(value, bool):
            yield GretaWarning(
                f"{condition} {_how_often(value)} holds", hint="compare with an attribute, or leave it out"
            )
            continue
        for node, _ in walk(condition):
            if isinstance(node, Comparison) and node.left == node.right and any(attributes(node.left)):
                holds = node.operator in ("=", "<=", ">=")
                yield GretaWarning(f"{node} {_how_often(holds)} holds", hint=_hint(node, plan))


def _contradictions(conditions: Sequence[Comparison]) -> Iterator[GretaWarning]:
    """A warning for the first two comparisons of the same sides, or of one side with numbers, that shut each other out.

    ``S.price > 5 AND S.price < 3`` holds for no price.
    """
    for at, one in enumerate(conditions):
        for other in conditions[at + 1 :]:
            if any(attributes(one.left)) and one.left == other.left and _apart(one, other):
                yield GretaWarning(f"{one} and {other} never hold together", hint="join them by OR, or leave one out")
                return


def _apart(one: Comparison, other: Comparison) -> bool:
    """Whether no value of the left side, which both have, satisfies both."""
    if one.right == other.right:
        return not _WAYS[one.operator] & _WAYS[other.operator]
    match one.right, other.right:
        case Number(value=first), Number(value=second):
            low, high = (one, other) if first < second else (other, one)
            return 1 not in _WAYS[low.operator] and -1 not in _WAYS[high.operator]
        case Text(), Text():
            return one.operator == other.operator == "="
        case _:
            return False


def _how_often(holds: bool) -> str:
    return "always" if holds else "never"


def _hint(comparison: Comparison, plan: Plan) -> str:
    """The comparison with the next event, where one of the same variable can come next."""
    names = {attribute.variable for attribute in attributes(comparison.left)}
    if names & _repeated(plan) and not any(attribute.next for attribute in attributes(comparison.left)):
        return f"did you mean {print_expression(replace(comparison, right=_next(comparison.right)))}?"
    return "both sides are the same; compare with another attribute or a number"


def _next(expression: Expression) -> Expression:
    return rebuilt(expression, lambda leaf: replace(leaf, next=True) if isinstance(leaf, Attribute) else leaf)


def _repeated(plan: Plan) -> set[str]:
    """Names, of variables and of types, whose events may follow one another in a trend."""
    names = set()
    for template in all_templates(plan):
        for transition in template.transitions:
            source, target = template.states[transition.source], template.states[transition.target]
            if source.variable == target.variable:
                names |= {source.variable, source.event_type}
    return names


def scanned_conditions(plan: Plan) -> Iterator[str]:
    """The conditions that no index serves."""
    if plan.semantics is not Semantics.ANY:
        return
    for template in all_templates(plan):
        for link in template.links:
            if link.path is AccessPath.GENERAL and not link.equal:
                yield from map(str, link.residual or (predicate.condition for predicate in link.predicates))


def ordered_attributes(plan: Plan) -> list[str]:
    """Attributes whose order matters: compared by < <= > >=, or by MIN and MAX."""
    names = [measure.compared for measure in plan.measures if measure.compared is not None]
    for item in plan.query.where:
        if isinstance(item, Equivalence):
            continue
        for node, _ in walk(item):
            if isinstance(node, Comparison) and node.operator not in ("=", "!="):
                names += [side.name for side in (node.left, node.right) if isinstance(side, Attribute)]
    return list(dict.fromkeys(names))


def all_templates(plan: Plan) -> Iterator[Template]:
    """The plan's templates, and those of the NOTs in them."""
    waiting = list(plan.templates)
    while waiting:
        template = waiting.pop()
        yield template
        waiting.extend(negative.template for negative in template.negatives)
