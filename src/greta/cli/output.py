"""What commands share about their output: JSON for machines, and examples beneath a command's help."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import UTC, date, datetime
from enum import Enum
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines on stdout.")]


def examples(*commands: str) -> str:
    """The epilog of a command: a command line per paragraph, so that none is wrapped into another."""
    return "\n\n".join(["Examples:", *(f"    {command}" for command in commands)])


def tell_at_close(reasons: Iterable[str]) -> None:
    """A line on stderr for each reason why a stream computes windows when they end."""
    for why in reasons:
        typer.echo(
            f"note: {why}, so windows are computed from their events when they end: rows come later, the more events "
            "a window has",
            err=True,
        )


def print_json(value: Any) -> None:
    """One line on stdout, whole: a reader of a pipe gets it at once."""
    typer.echo(json.dumps(plain(value), allow_nan=False))


def plain(value: Any) -> Any:
    """The value in what JSON has: times as ISO 8601 in UTC, numbers beyond doubles as text.

    >>> plain({"window_start": datetime(2024, 1, 2, 9, 30, tzinfo=UTC), "count": math.inf})
    {'window_start': '2024-01-02T09:30:00Z', 'count': 'Infinity'}
    """
    match value:
        case None | bool() | str():
            return value
        case Enum():
            return value.value
        case int():
            return int(value)
        case float() if math.isnan(value):
            return None
        case float():
            return float(value) if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"
        case datetime():
            moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
            return moment.isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return str(value)
