"""What the page asks about a query: is it right, what does it mean, how will it be computed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from greta.errors import GretaError
from greta.plan.analyze import analyze
from greta.plan.explain import Explanation
from greta.plan.show.report import report
from greta.studio import sources
from greta.studio.draw import bare
from greta.studio.problems import describe


def check(query: str, source: dict[str, Any] | None = None) -> dict[str, Any]:
    """The plan in words, tables and a picture; or the error, with its place in the text."""
    schema, unknown = None, None
    if source is not None:
        try:
            schema = sources.schema(source)
        except GretaError as error:
            unknown = describe(error)
    try:
        explanation = Explanation(analyze(query, schema))
    except GretaError as error:
        return {"error": describe(error, query)}
    return {
        "words": explanation.words,
        "picture": bare(explanation.svg()),
        "sections": [asdict(section) for section in report(explanation.plan)],
        "cost": explanation.cost,
        "attributes": sorted(schema or ()),
        "data_error": unknown,
    }
