"""``greta explain``: query file in, its plan out, as text, JSON, SVG or HTML."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import greta
from greta.cli.output import Json, examples
from greta.cli.queries import QueryFile, located, read_query
from greta.errors import DataError

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

_EXAMPLES = examples(
    "greta explain query.greta",
    "greta explain query.greta --svg template.svg --html plan.html",
    "greta explain query.greta --json | jq .cost",
    "echo 'RETURN COUNT(*) PATTERN A+' | greta explain -",
)


@app.command(epilog=_EXAMPLES)
def explain(
    file: QueryFile,
    svg: Annotated[Path | None, typer.Option(help="Draw the templates into this SVG file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the plan as a page into this HTML file.")] = None,
    json: Json = False,
) -> None:
    """Show how a query will be computed: templates, predicates, windows, cost."""
    text = read_query(file)
    with located(text, file):
        explanation = greta.explain(greta.parse(text))
    if svg is not None:
        _write(svg, explanation.svg())
    if html is not None:
        _write(html, explanation.html())
    if json:
        typer.echo(explanation.to_json())
    elif svg is None and html is None:
        typer.echo(str(explanation))


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{file}: cannot be written: {error.strerror}") from error
