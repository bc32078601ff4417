"""The root command: finds the sub-command, prints errors for people, picks the exit code.

Each sub-command is a module of this package with a ``typer.Typer`` named ``app``. The table below is all
that ``greta --help`` reads, so a command's module, and what it imports, loads only when the command runs.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

from greta import __version__
from greta.cli.words import in_options, warning_in_options
from greta.errors import GretaError, GretaWarning, on_one_line, visible

if TYPE_CHECKING:
    from typer._click.core import Command, Context

COMMANDS = {
    "explain": "Show how a query will be computed: templates, predicates, windows, cost.",
    "run": "Run a query over files or tables of events, here or on Spark: rows, files, a picture.",
    "generate": "Make event streams: stock trades, traffic or cluster loads, into files or as a live feed.",
    "graph": "Show the graph that the paper's algorithm builds: type, time and count of each vertex.",
    "stream": "Aggregate a stream on Spark: rows as windows close, from files, Kafka, a socket or made up.",
    "watch": "Watch JSON lines or CSV from a pipe or a growing file: rows as windows end, in this process.",
    "pack": "Pack greta and its compiled kernels for Spark executors that lack it.",
    "studio": "Open a local web page: write a query, see its template, its rows and the trends behind them.",
}
"""Sub-commands in the order of ``greta --help``, each with its one-line help."""


class LazyGroup(TyperGroup):
    """A command group that imports a sub-command only to run it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Stand-ins with name and help are enough for listings and "did you mean".
        self.commands.update({name: TyperCommand(name, help=text) for name, text in COMMANDS.items()})

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        """The real sub-command, imported here."""
        name, stand_in, rest = super().resolve_command(ctx, args)
        if name is None or stand_in is None:
            return name, stand_in, rest
        command = typer.main.get_command(import_module(f"greta.cli.{name.replace('-', '_')}").app)
        command.name = name
        return name, command, rest


app = typer.Typer(
    name="greta",
    cls=LazyGroup,
    help="Event trend aggregation: count and sum over all trends of a stream without building one.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"greta {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Event trend aggregation: count and sum over all trends of a stream without building one."""


def _tell(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Greta's own warnings in a line; others as Python shows them."""
    if isinstance(message, GretaWarning):
        print(f"warning: {on_one_line(warning_in_options(message))}", file=sys.stderr, flush=True)
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), file=file or sys.stderr, end="")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process.

    Exit code 0 means done; 1 that a ``GretaError`` was printed on stderr; 2 that the command line itself
    is wrong. Anything else that escapes is a bug in greta and shows its traceback. A ``GretaWarning`` is
    a line on stderr.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", GretaWarning)
            warnings.showwarning = _tell
            app(args=None if arguments is None else list(arguments), prog_name="greta")
    except GretaError as error:
        print(visible(str(in_options(error)), keep="\n"), file=sys.stderr)
        sys.exit(1)
