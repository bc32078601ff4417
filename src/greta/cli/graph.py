"""``greta graph``: a query and events in, the paper's graph out, as a table of vertices and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from greta import graph as graphs
from greta.cli.output import Json, examples, print_json
from greta.cli.queries import located, query_text
from greta.datasets import load
from greta.errors import DataError
from greta.lang.parser import parse

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

_EXAMPLES = examples(
    "greta graph query.greta events.csv",
    "greta graph 'RETURN COUNT(*) PATTERN SEQ(A+, B)+' events.csv -o graph.svg",
    "greta graph query.greta events.parquet --window 2024-01-02T09:30:00Z",
    "greta graph query.greta events.jsonl --json",
)


@app.command(epilog=_EXAMPLES)
def graph(
    query: Annotated[str, typer.Argument(help="File with the query, - for stdin, or the query itself.")],
    events: Annotated[Path, typer.Argument(help="Events in a CSV, JSON lines or Parquet file.")],
    window: Annotated[
        str | None,
        typer.Option(help="Start of the window to look at, as in window_start.", show_default="all windows"),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Draw it into this SVG file.")] = None,
    time: Annotated[str, typer.Option(help="Column with the time.")] = "time",
    type_: Annotated[str, typer.Option("--type", help="Column with the event type.")] = "type",
    json: Json = False,
) -> None:
    """Show the graph that the paper's algorithm builds: type, time and count of each vertex."""
    text, name = query_text(query)
    with located(text, name):
        parsed = parse(text)
        found = graphs.build(load(events, time=time, type_column=type_), parsed, window=_start(window))
    if output is not None:
        try:
            output.write_text(found.svg(), encoding="utf-8")
        except OSError as error:
            raise DataError(f"{output}: cannot be written: {error.strerror}") from error
    if json:
        print_json(_described(found))
    else:
        typer.echo(str(found))


def _described(graph: graphs.Graph) -> dict[str, Any]:
    return {
        "pattern": graph.pattern,
        "partitions": [
            {"values": partition.values, "graphs": [_part(top) for top in partition.graphs]}
            for partition in graph.partitions
        ],
    }


def _part(graph: graphs.SubGraph) -> dict[str, Any]:
    """One graph; ``vertices`` are named by their place in the list, as ``edges`` name them."""
    return {
        "pattern": graph.pattern,
        "place": graph.place,
        "counts": _counts(graph.counts),
        "vertices": [
            {name: getattr(vertex, name) for name in _FIELDS} | {"counts": _counts(vertex.counts)}
            for vertex in graph.vertices
        ],
        "edges": graph.edges,
        "negatives": [_part(negative) for negative in graph.negatives],
    }


_FIELDS = ("row", "label", "event_type", "time", "variable", "start", "end", "invalid", "pruned")


def _counts(counts: dict[Any, int]) -> list[dict[str, Any]]:
    return [{"window_start": start, "count": count} for start, count in counts.items()]


def _start(window: str | None) -> str | float | None:
    """A number of seconds where it is one, else a time stamp."""
    if window is None:
        return None
    try:
        return float(window)
    except ValueError:
        return window
