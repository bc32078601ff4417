"""Plan → explanation: how a query will be computed, as text, data, picture and web page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from greta.lang.nodes import Query
from greta.lang.printer import print_expression, print_pattern, print_query
from greta.plan.analyze import analyze
from greta.plan.nodes import AttributeType, Plan, Template
from greta.plan.show import cost, words
from greta.plan.show.draw import draw_plan, state_names
from greta.plan.show.render import as_html, as_page, as_text
from greta.plan.show.report import PAIRS_FORMULA, access, conditions, guarded, report


def explain(query: Query | str | Plan, schema: Mapping[str, AttributeType] | None = None) -> Explanation:
    """Say how a query will be computed; plans it first unless it is a plan already.

    Args:
        query: The text of a query, a parsed one or a plan.
        schema: The kinds of attributes, by name, to check the query against; without it, any attribute will do.

    Returns:
        What ``print`` shows as text and a notebook as a page; ``words``, ``cost``, ``svg()``, ``html()`` and
        ``to_json()`` give its parts.

    Examples:
        >>> print(explain("RETURN COUNT(*) PATTERN A+").words)
        Over all events: the number of trends. A trend is one or more A events.
    """
    return Explanation(query if isinstance(query, Plan) else analyze(query, schema))


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan that shows itself: ``print`` it, or leave it as the last line of a Jupyter cell."""

    plan: Plan

    @property
    def words(self) -> str:
        """The query in plain words."""
        return words.sentence(self.plan.query)

    @property
    def cost(self) -> str:
        """Cost per event in O-notation; n = events per window and partition, k = windows per event."""
        return cost.per_event(self.plan)

    def __str__(self) -> str:
        return as_text(self.words, print_query(self.plan.query), report(self.plan))

    def to_dict(self) -> dict[str, Any]:
        """The same facts for programs: only dicts, lists, strings, numbers, booleans and None."""
        plan = self.plan
        window = plan.window
        return {
            "query": print_query(plan.query),
            "words": self.words,
            "semantics": plan.semantics.value,
            "min_length": plan.min_length,
            "templates": [_template(template, plan) for template in plan.templates],
            "pairs": PAIRS_FORMULA if plan.conjunction else None,
            "partitioning": {
                "common": list(plan.partitioning.common),
                "scopes": [
                    {"attribute": scope.attribute, "variables": sorted(scope.variables)}
                    for scope in plan.partitioning.scopes
                ],
            },
            "group": list(plan.group),
            "returned": list(plan.returned),
            "window": window and {"within_ms": window.within, "slide_ms": window.slide, "per_event": window.per_event},
            "measures": [{"combine": measure.combine.value, "meaning": measure.words} for measure in plan.measures],
            "aggregates": [
                {
                    "name": output.name,
                    "aggregate": print_expression(output.aggregate),
                    "measures": list(output.measures),
                    "hidden": output.hidden,
                }
                for output in plan.outputs
            ],
            "computed": [
                {"name": column.name, "expression": print_expression(column.expression)} for column in plan.computed
            ],
            "columns": list(plan.columns),
            "maximal": plan.maximal,
            "having": plan.having and print_expression(plan.having),
            "attributes": list(plan.attributes),
            "cost_per_event": self.cost,
        }

    def to_json(self, indent: int | None = 2) -> str:
        """``to_dict`` as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def svg(self) -> str:
        """The templates as a picture; follows the reader's light or dark setting."""
        return draw_plan(self.plan)

    def html(self) -> str:
        """A web page with the picture and all tables; needs no other file."""
        return as_page(f"Plan of {print_pattern(self.plan.query.pattern)}", self._repr_html_())

    def _repr_html_(self) -> str:
        return as_html(self.words, print_query(self.plan.query), report(self.plan), self.svg())

    def _repr_svg_(self) -> str:
        return self.svg()


def _template(template: Template, plan: Plan) -> dict[str, Any]:
    """A template as JSON has it: states, transitions with their links, and negatives with their places."""
    names = state_names(template)
    return {
        "pattern": print_pattern(template.pattern),
        "states": [
            {
                "name": name,
                "variable": state.variable,
                "type": state.event_type,
                "start": state.start,
                "end": state.end,
                "length": state.length,
                "seen": [s.attribute for i, s in enumerate(plan.partitioning.scopes) if state.seen >> i & 1],
                "clips": list(state.clips),
                "local_predicates": [print_expression(c) for c in plan.local_conditions(state.variable)],
            }
            for state, name in zip(template.states, names, strict=True)
        ],
        "transitions": [
            {
                "source": transition.source,
                "target": transition.target,
                "operator": transition.operator,
                "conditions": list(conditions(template.links[transition.link])),
                "negations": list(template.links[transition.link].negations),
                "path": template.links[transition.link].path.value,
                "access": access(template.links[transition.link]),
                "cost": f"O({cost.link_order(template.links[transition.link])})",
            }
            for transition in template.transitions
        ],
        "negatives": [
            {
                "place": negative.place.value,
                "effect": words.PLACE_MEANING[negative.place],
                "guards": list(guarded(template, i)),
                "template": _template(negative.template, plan),
            }
            for i, negative in enumerate(template.negatives)
        ],
    }
