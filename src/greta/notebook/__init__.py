"""``%load_ext greta`` in a notebook → ``%%greta NAME``: a query over the events of a variable, rows as table and chart.

Knows IPython only by the shell that it is handed; ``import greta`` needs none.
"""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, NoReturn

import pyarrow as pa

from greta.errors import GretaError, did_you_mean
from greta.notebook.answer import Answer

__all__ = ["Answer", "load"]

_USAGE = (
    "%%greta NAME [--into VARIABLE] [--exact] [--time COLUMN] [--type COLUMN] "
    "[--trends N [--pick HOW] [--window START] [--group NAME=VALUE]]"
)


def load(shell: Any) -> None:
    """Give a notebook's shell the magic ``%%greta``."""

    def greta(line: str, cell: str) -> Answer:
        """Run the query of this cell over the events of a variable: %%greta NAME, or %%greta --help."""
        from IPython.core.error import UsageError

        try:
            return answer(line, cell, shell.user_ns)
        except GretaError as error:
            # Shown as it is, without the frames of a traceback above it.
            raise UsageError(f"\n{error}") from None

    shell.register_magic_function(greta, "cell", "greta")


def answer(line: str, cell: str, variables: dict[str, Any]) -> Answer:
    """The answer to a cell: its query over the events that the line names, also put where ``--into`` says."""
    parser = _parser()
    asked = parser.parse_args(shlex.split(line))
    for option in ("pick", "window", "group"):
        if asked.trends is None and getattr(asked, option) is not None:
            parser.error(f"--{option} says which trends to show, and --trends N is missing")
    events = _events(asked.name, variables)
    columns = {"time": asked.time, "type": asked.type}
    on_spark = type(events).__module__.startswith("pyspark.")
    if asked.trends is not None:
        row = {"window": asked.window, "group": dict(asked.group or ()) or None}
        table = _trends(events, cell, on_spark, n=asked.trends, pick=asked.pick or "sample", **row, **columns)
        found = Answer(table, None)
    else:
        numbers = "exact" if asked.exact else "double"
        found = Answer.of(cell, _aggregated(events, cell, on_spark, numbers=numbers, **columns))
    if asked.into:
        variables[asked.into] = found.table
    return found


def _aggregated(events: Any, query: str, on_spark: bool, **options: Any) -> pa.Table:
    if on_spark:
        import greta.spark

        return greta.spark.aggregate(events, query, **options).toArrow()
    import greta

    return greta.aggregate(events, query, **options)


def _trends(events: Any, query: str, on_spark: bool, **options: Any) -> pa.Table:
    if on_spark:
        import greta.spark

        return greta.spark.trends(events, query, **options)
    import greta

    return greta.trends(events, query, **options)


def _events(name: str, variables: Mapping[str, Any]) -> Any:
    """The events of a variable: a table, a frame or a list."""
    if name not in variables:
        there = [each for each in variables if not each.startswith("_")]
        hint = did_you_mean(name, there) or "name a variable with events: a table, a frame or a list of dicts"
        raise GretaError(f"there is no variable {name!r}", hint=hint)
    return variables[name]


class _Parser(ArgumentParser):
    """Says what is wrong as greta does; the process goes on."""

    def error(self, message: str) -> NoReturn:
        """A mistake in the line of the magic."""
        raise GretaError(f"{message}", hint=_USAGE)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:  # noqa: ARG002 - what argparse calls
        """After ``--help``."""
        raise GretaError("the query stands in the cell, the events in a variable", hint=_USAGE)


def _parser() -> ArgumentParser:
    parser = _Parser(prog="%%greta", usage=_USAGE.replace("%", "%%"), description="Run a query over events.")
    parser.add_argument("name", help="variable with events: a table, a frame, a list of dicts, a Spark DataFrame")
    parser.add_argument("--into", metavar="VARIABLE", help="put the rows into this variable, as an Arrow table")
    parser.add_argument("--exact", action="store_true", help="numbers of any size, as digits")
    parser.add_argument("--time", default="time", metavar="COLUMN", help="column with the events' times")
    parser.add_argument("--type", default="type", metavar="COLUMN", help="column with the events' types")
    parser.add_argument("--trends", type=int, metavar="N", help="show N trends of the first row instead of rows")
    parser.add_argument("--pick", metavar="HOW", help="sample, first, longest or an extreme value")
    parser.add_argument("--window", metavar="START", help="trends of the row with this window_start")
    parser.add_argument(
        "--group", action="append", type=_pair, metavar="NAME=VALUE", help="trends of the row of this group, repeatable"
    )
    return parser


def _pair(text: str) -> tuple[str, str]:
    """``sector=energy`` → its name and its value."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ValueError(text)
    return name, value


_pair.__name__ = "NAME=VALUE"
