"""Plan → warnings about conditions that decide nothing: they can never hold, or always do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from greta.errors import GretaWarning
from greta.lang.nodes import Attribute, Comparison, Equivalence, Expression
from greta.lang.printer import print_expression
from greta.lang.walk import walk
from greta.plan.conditions import attributes, conjuncts, constant, rebuilt
from greta.plan.nodes import Plan, Template


def idle_conditions(plan: Plan) -> Iterator[GretaWarning]:
    """A warning with its way out for each condition of WHERE that holds for every event, or for none."""
    for item in plan.query.where:
        if isinstance(item, Equivalence):
            continue
        for condition in conjuncts(item):
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


def all_templates(plan: Plan) -> Iterator[Template]:
    """The plan's templates, and those of the NOTs in them."""
    waiting = list(plan.templates)
    while waiting:
        template = waiting.pop()
        yield template
        waiting.extend(negative.template for negative in template.negatives)
