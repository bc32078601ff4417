"""``greta watch``: a query and lines of events as they come in, rows out as windows end; in this process."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greta.cli.output import examples, tell_at_close
from greta.cli.queries import located, query_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from greta.cli.line_rows import LineRows
    from greta.datasets.lines import EventLines, Wanted
    from greta.live.stream import Stream
    from greta.plan.nodes import Plan

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

_EXAMPLES = examples(
    "greta watch 'RETURN COUNT(*) PATTERN Stock S+ WITHIN 1 minute' < trades.jsonl",
    "greta watch query.greta --follow trades.csv --lateness '5 seconds' --time-unit ms",
    "tail -f trades.jsonl | greta watch query.greta",
    "kcat -C -t trades -u | greta watch query.greta --json | jq .count",
)


class Format(StrEnum):
    """Formats of lines."""

    JSONL = "jsonl"
    CSV = "csv"


class Numbers(StrEnum):
    """How numbers of trends are computed."""

    DOUBLE = "double"
    EXACT = "exact"


class Emit(StrEnum):
    """Which rows come out."""

    FINAL = "final"
    UPDATE = "update"


class OnBadRecord(StrEnum):
    """What to do about a line that cannot be read."""

    STOP = "stop"
    SKIP = "skip"


class TimeUnit(StrEnum):
    """In which unit numbers count the time since 1970."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"


@app.command(epilog=_EXAMPLES)
def watch(
    query: Annotated[str, typer.Argument(help="File with the query, or the query itself.")],
    follow: Annotated[
        Path | None, typer.Option("--follow", "-f", help="Follow a file as it grows instead of standard input.")
    ] = None,
    format_: Annotated[
        Format | None, typer.Option("--format", help="What the lines are.", show_default="by the first line")
    ] = None,
    time: Annotated[str, typer.Option(help="Column with the events' times.")] = "time",
    time_unit: Annotated[
        TimeUnit | None, typer.Option(help="Unit of times that are numbers and count from 1970.")
    ] = None,
    type_: Annotated[str, typer.Option("--type", help="Column with the events' types.")] = "type",
    lateness: Annotated[
        str | None, typer.Option(help="How late an event may come, e.g. '10 seconds'.", show_default="0 seconds")
    ] = None,
    numbers: Annotated[Numbers, typer.Option(help="double, or exact for integers of any size.")] = Numbers.DOUBLE,
    emit: Annotated[Emit, typer.Option(help="Final rows only, or changes of open windows too.")] = Emit.FINAL,
    schema: Annotated[str | None, typer.Option(help="Types of columns, e.g. 'price DOUBLE, account BIGINT'.")] = None,
    bad_records: Annotated[
        OnBadRecord, typer.Option(help="Stop at a line that cannot be read, or skip and count it.")
    ] = OnBadRecord.STOP,
    json: Annotated[bool, typer.Option("--json", help="Print rows as JSON lines.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing about how it goes.")] = False,
) -> None:
    """Watch a stream of JSON lines or CSV: rows as soon as their window is over, until the pipe ends or Ctrl-C."""
    if query == "-" and follow is None:
        raise typer.BadParameter("events come from standard input; name a file, or pass the query itself")
    if follow is not None and not follow.exists():
        raise typer.BadParameter(f"there is no file {follow}", param_hint="--follow")
    text, name = query_text(query)
    with located(text, name):
        # From here on, modules load that take a moment.
        import greta
        from greta.cli.line_rows import LineRows
        from greta.cli.pipes import following, from_pipe
        from greta.datasets.lines import EventLines

        plan = greta.analyze(text)
        stream = greta.stream(text, time=time, type=type_, numbers=numbers.value, lateness=lateness, emit=emit.value)
        wanted = _wanted(plan, time, type_, numbers, schema, time_unit)
        lines = EventLines(
            wanted,
            None if format_ is None else format_.value,
            skip=bad_records is OnBadRecord.SKIP,
            name="stdin" if follow is None else str(follow),
        )
        blocks = from_pipe(sys.stdin.fileno()) if follow is None else following(follow)
        try:
            _run(stream, lines, blocks, LineRows(json), quiet)
        except KeyboardInterrupt:
            pass
        except BrokenPipeError:
            # Whoever read the rows has gone: nothing is left to say, and nowhere to say it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
    if not quiet:
        _report(stream, lines)


def _run(stream: Stream, lines: EventLines, blocks: Iterator[bytes], rows: LineRows, quiet: bool) -> None:
    """Push block after block, print what ends; then what is open."""
    for block in blocks:
        table = lines.read(block)
        if table is not None:
            begun = stream.schema is not None
            ended = stream.push(table)
            if not begun and not quiet:
                # The types of columns decide it, and the first events tell these.
                tell_at_close(stream.at_close)
            rows.show(ended)
    rows.show(stream.close())


def _wanted(
    plan: Plan, time: str, type_: str, numbers: Numbers, schema: str | None, time_unit: TimeUnit | None
) -> Wanted:
    from greta.cli.column_types import read_types
    from greta.datasets.lines import Wanted

    keys = frozenset(plan.partitioning.common) | frozenset(scope.attribute for scope in plan.partitioning.scopes)
    counted = {name for measure in plan.measures for name in measure.attributes} | _compared(plan)
    attributes = tuple(name for name in plan.attributes if name not in (time, type_))
    whole = attributes if numbers is Numbers.EXACT else keys - counted
    return Wanted(
        time,
        type_,
        attributes,
        frozenset(whole),
        keys - counted,
        read_types(schema),
        None if time_unit is None else time_unit.value,
    )


def _compared(plan: Plan) -> set[str]:
    """Attributes that conditions speak of."""
    from greta.lang.nodes import Attribute, Equivalence
    from greta.lang.walk import walk

    conditions = [item for item in plan.query.where if not isinstance(item, Equivalence)]
    return {node.name for item in conditions for node, _ in walk(item) if isinstance(node, Attribute)}


def _report(stream: Stream, lines: EventLines) -> None:
    """A line about what is in no row."""
    figures = stream.figures
    missing = {
        "late events": figures.late_events,
        "lines that cannot be read": lines.skipped,
        "windows that were open": figures.open_windows,
    }
    told = [f"{count:,} {what}" for what, count in missing.items() if count]
    if told:
        typer.echo(f"left out: {', '.join(told)}", err=True)
