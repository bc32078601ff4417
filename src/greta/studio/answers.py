"""What the page asks about a query: is it right, what does it mean, how will it be computed, what is worth drawing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from greta.errors import GretaError
from greta.plan.analyze import analyze
from greta.plan.conditions import attributes
from greta.plan.explain import Explanation
from greta.plan.nodes import AttributeType, Plan
from greta.plan.show.report import report
from greta.studio import cheatsheet, samples, sources
from greta.studio.draw import bare
from greta.studio.problems import describe

NUMBERS = (AttributeType.INTEGER, AttributeType.FLOAT)


def offers() -> dict[str, Any]:
    """What the page offers before anything is asked: samples with their questions, and the language on a page."""
    return {"samples": samples.listing(), "cheat_sheet": cheatsheet.listing()}


def check(query: str, source: dict[str, Any] | None = None) -> dict[str, Any]:
    """The plan in words, tables and a picture; or the error, with its place in the text.

    Either way, the attributes and types of the data, which the editor offers while the query is written.
    """
    schema, unknown, types = None, None, []
    if source is not None:
        try:
            schema, types = sources.schema(source), sources.types(source)
        except GretaError as error:
            unknown = describe(error)
    data = {
        "attributes": [{"name": name, "kind": kind.value} for name, kind in sorted((schema or {}).items())],
        "types": types,
        "data_error": unknown,
    }
    try:
        explanation = Explanation(analyze(query, schema))
    except GretaError as error:
        return data | {"error": describe(error, query), "drawn": drawn(None, schema or {})}
    plan = explanation.plan
    return data | {
        "words": explanation.words,
        "picture": bare(explanation.svg()),
        "sections": [asdict(section) for section in report(plan)],
        "cost": explanation.cost,
        "drawn": drawn(plan, schema or {}),
    }


def drawn(plan: Plan | None, schema: Mapping[str, AttributeType]) -> dict[str, Any]:
    """What of the events is drawn over time, and by what: the number that the query compares, per partition.

    Without a plan it is the first number there is, floating-point ones first.
    """
    numbers = [name for name, kind in schema.items() if kind in NUMBERS and name != "time"]
    numbers.sort(key=lambda name: schema[name] is AttributeType.INTEGER)
    if plan is None:
        return {"attribute": next(iter(numbers), None), "by": [], "groups": [], "attributes": numbers}
    edges = [p.condition for template in plan.templates for link in template.links for p in link.predicates]
    compared = [attribute.name for condition in edges for attribute in attributes(condition)]
    wished = [name for name in (*compared, *plan.attributes, *numbers) if name in numbers]
    partition = (*plan.partitioning.common, *(scope.attribute for scope in plan.partitioning.scopes))
    by = [name for name in dict.fromkeys(partition) if name in schema and name not in wished[:1]]
    groups = [name for name in plan.returned if name in by]
    return {"attribute": wished[0] if wished else None, "by": by, "groups": groups, "attributes": numbers}
