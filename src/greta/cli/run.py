"""``greta run``: a query and event files in, rows out, computed in this process or by Spark."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import greta
from greta.cli.engines import Engine, check_files, choose, on_this_machine, spooled
from greta.cli.output import examples
from greta.cli.queries import located, query_text
from greta.cli.rows import OTHER_ENDINGS, check_apart, check_output, is_file, print_rows, write_directory, write_file
from greta.cli.settings import setting
from greta.cli.trends import told, wish
from greta.datasets.inputs import Columns, Input
from greta.errors import SetupError

if TYPE_CHECKING:
    from greta.cli.run_spark import Directory
    from greta.datasets.files import Format as LocalFormat
    from greta.spark.reading.formats import Format as SparkFormat

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

_EXAMPLES = examples(
    "greta run query.greta --input stock.parquet",
    "greta run 'RETURN COUNT(*) PATTERN Stock S+ WITHIN 1 minute' -i trades.csv --time-unit ms -o rows.csv",
    "greta run query.greta -i Stock=trades.csv -i News=news.json -o rows --overwrite",
    "zcat trades.csv.gz | greta run query.greta -i - --json | jq .count",
    "greta run query.greta --input stock.parquet --plot trends.png",
    "greta run query.greta --input trades.csv --trends 3 --pick longest --window 2024-01-02T09:30:00Z",
    "greta run query.greta -i db.trades --master yarn --conf spark.executor.memory=8g",
)
_MOST_PLOTTED = 200_000


class Format(StrEnum):
    """Formats of inputs and outputs; orc and delta need Spark."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    ORC = "orc"
    DELTA = "delta"

    @property
    def on_spark(self) -> SparkFormat:
        """Spark's word for it."""
        return "json" if self is Format.JSONL else self.value  # type: ignore[return-value]

    @property
    def local(self) -> LocalFormat | None:
        """The name of the reader in this process; None where there is none."""
        names: dict[Format, LocalFormat] = {
            Format.PARQUET: "parquet", Format.CSV: "csv", Format.JSON: "jsonl", Format.JSONL: "jsonl"
        }  # fmt: skip
        return names.get(self)


class Numbers(StrEnum):
    """How numbers of trends are computed."""

    DOUBLE = "double"
    EXACT = "exact"


class Malformed(StrEnum):
    """What to do with rows of CSV and JSON that cannot be read."""

    FAIL = "fail"
    SKIP = "skip"


class TimeUnit(StrEnum):
    """In which unit numbers count the time since 1970."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"


@app.command(epilog=_EXAMPLES)
def run(
    query: Annotated[str, typer.Argument(help="File with the query, - for stdin, or the query itself.")],
    input_: Annotated[
        list[str],
        typer.Option(
            "--input",
            "-i",
            metavar="PATH",
            help="Path or table with events, repeatable, - for stdin; Stock=PATH where it holds events of one type.",
        ),
    ],
    format_: Annotated[
        Format | None, typer.Option("--format", help="Format of the inputs; by default that of their endings.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="File for the rows (.csv, .parquet, .json), or directory."),
    ] = None,
    output_format: Annotated[
        Format | None, typer.Option(help="Format of an output that is a directory.", show_default="parquet")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an output that is there.")] = False,
    show: Annotated[
        int | None, typer.Option(min=0, help="Print this many rows, in order of time. [default: 20 without --output]")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the aggregates over window time into this PNG or SVG file.")
    ] = None,
    trends: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Show N trends of a row, event by event, instead of the rows."),
    ] = None,
    pick: Annotated[
        str | None,
        typer.Option(
            help="Which trends: sample, first, longest, an extreme value such as 'MAX(DURATION(*))', or the name that "
            "RETURN gives it.",
            show_default="sample",
        ),
    ] = None,
    window: Annotated[
        str | None, typer.Option(help="Trends of the row with this window_start.", show_default="the first row")
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Trends of the row of this group, repeatable."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of a sample of trends.", show_default="0")] = None,
    engine: Annotated[
        Engine,
        typer.Option(help="In this process (local) or on Spark; auto takes up to 1 GB of local files here."),
    ] = Engine.AUTO,
    master: Annotated[
        str | None,
        typer.Option(
            help="Where Spark runs: local[2], spark://host:7077, yarn, sc://host:15002, …",
            show_default="that of spark-submit or spark-defaults, else local[*]",
        ),
    ] = None,
    time: Annotated[str, typer.Option(help="Column with the events' times.")] = "time",
    time_unit: Annotated[
        TimeUnit | None, typer.Option(help="Unit of times that are numbers and count from 1970.")
    ] = None,
    type_: Annotated[str, typer.Option("--type", help="Column with the events' types.")] = "type",
    numbers: Annotated[Numbers, typer.Option(help="double, or exact for integers of any size.")] = Numbers.DOUBLE,
    schema: Annotated[
        str | None, typer.Option(help="Columns of CSV or JSON inputs, e.g. 'time TIMESTAMP, price DOUBLE'.")
    ] = None,
    malformed: Annotated[
        Malformed, typer.Option(help="Rows of CSV and JSON that cannot be read: fail, or skip and count them.")
    ] = Malformed.FAIL,
    cut: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH",
            help="Length of the time ranges that run in parallel, in multiples of WITHIN; 0 for no cut, or measure "
            "to count the events first and cut as they need.",
        ),
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting for Spark, repeatable.")
    ] = None,
    ship: Annotated[bool, typer.Option("--ship", help="Hand greta to executors that do not have it.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print rows as JSON lines on stdout: all, or as many as --show says.")
    ] = False,
) -> None:
    """Run a query over files or tables of events, in this process or on Spark."""
    inputs = [Input.parse(item) for item in input_]
    if query == "-" and any(each.path == "-" for each in inputs):
        raise typer.BadParameter("the query comes from standard input, and so do the events", param_hint="--input")
    text, name = query_text(query)
    settings = dict(setting(item) for item in conf or [])
    length = _cut(cut)
    wished = wish(trends, pick, window, group, seed)
    only_spark = {
        "--master": master is not None,
        "--conf": bool(settings),
        "--ship": ship,
        "--cut": cut is not None,
        "--schema": schema is not None,
        "--malformed skip": malformed is Malformed.SKIP,
        "--format": format_ is not None and format_.local is None,
        "--output-format": output_format is not None and output_format.local is None,
        "--output": output is not None and "://" in output,
    }
    given = [option for option, present in only_spark.items() if present]
    local_format = None if format_ is None else format_.local
    here = (engine is not Engine.SPARK and not given) or on_this_machine(master, settings)
    if here:
        check_files(inputs)
    choice = choose(engine, inputs, local_format, given)
    if plot is not None:
        _check_plot(plot)
    if output is not None:
        _check_output(output, output_format, overwrite)
        check_apart(output, inputs)
    if wished is not None:
        _check_trends(output, plot, show)
    # From here on, modules load that take a moment.
    from greta.cli.columns import check_columns, columns_at_hand

    with located(text, name):
        parsed = greta.parse(text)
        columns = Columns(time, type_, greta.analyze(parsed).attributes, None if time_unit is None else time_unit.value)
    wanted = show if show is not None else None if json or (wished and not output) else 0 if output or plot else 20
    with spooled(inputs, local_format) as files, located(text, name):
        if (
            here
            and not any(only_spark[each] for each in ("--schema", "--malformed skip", "--format"))
            and (not choice.on_spark or columns_at_hand(files, local_format))
        ):
            check_columns(parsed, files, local_format, columns)
        if not quiet:
            typer.echo(str(choice), err=True)
        if choice.on_spark:
            from greta.cli import run_spark

            answered = run_spark.answer(
                parsed,
                run_spark.Cluster(master, settings, ship, f"greta run {name}"),
                run_spark.Reading(
                    files, columns, None if format_ is None else format_.on_spark, schema, malformed.value
                ),
                numbers.value,
                length,
                directory=_directory(output, output_format, overwrite),
                most=_most(wanted, output, plot),
                quiet=quiet,
                wish=wished,
            )
            rows, skipped = answered.rows, answered.skipped
        else:
            from greta.cli import run_local

            rows, skipped = run_local.answer(parsed, files, local_format, columns, numbers.value, wished), 0
    if wished is not None and rows is not None and not quiet:
        typer.echo(told(rows, wished), err=True)
    if output is not None and rows is not None:
        if is_file(output):
            write_file(rows, output)
        elif not choice.on_spark:
            write_directory(rows, output, "parquet" if output_format is None else output_format.local or "parquet")
    if rows is not None and wanted != 0:
        print_rows(rows.slice(0, wanted), json, in_full=wished is not None)
    if plot is not None and rows is not None:
        from greta.cli.plots import draw

        draw(rows.slice(0, _MOST_PLOTTED), parsed, plot)
    _report(skipped, output, plot, "rows" if wished is None else "trends")


def _most(wanted: int | None, output: str | None, plot: Path | None) -> int | None:
    """How many rows Spark hands over: those to print and to draw, or all of them for a file."""
    if wanted is None or (output is not None and is_file(output)):
        return None
    return max(wanted, _MOST_PLOTTED if plot is not None else 0)


def _directory(output: str | None, format_: Format | None, overwrite: bool) -> Directory | None:
    """Where Spark writes the rows by itself; a single file is written here."""
    if output is None or is_file(output):
        return None
    from greta.cli.run_spark import Directory

    return Directory(output, (format_ or Format.PARQUET).on_spark, overwrite)


def _check_output(output: str, format_: Format | None, overwrite: bool) -> None:
    if output.startswith(("delta:", "iceberg:", "kafka:")):
        raise typer.BadParameter(
            f"{output} is an output of greta stream; rows of a batch go into a file or a directory, with "
            "--output-format delta where Spark has Delta's package",
            param_hint="--output",
        )
    if is_file(output) and format_ is not None:
        raise typer.BadParameter(
            f"{output} has its format by its ending; name a directory for others", param_hint="--output-format"
        )
    if format_ is None and "://" not in output and Path(output).suffix.lower() in OTHER_ENDINGS:
        raise typer.BadParameter(
            f"{output}: rows are written into a file that ends in .csv, .parquet or .json, or into a directory",
            param_hint="--output",
        )
    check_output(output, overwrite)


def _check_trends(output: str | None, plot: Path | None, show: int | None) -> None:
    """Refuse what goes with rows and not with trends."""
    if plot is not None or show is not None:
        raise typer.BadParameter(f"{'--plot' if plot else '--show'} is for rows, not for trends", param_hint="--trends")
    if output is not None and not is_file(output):
        raise typer.BadParameter("trends go into one file: -o trends.csv, .parquet or .json", param_hint="--output")


def _cut(text: str | None) -> float | Literal["measure"] | None:
    if text is None:
        return None
    if text == "measure":
        return "measure"
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor 'measure'", param_hint="--cut") from None


def _check_plot(file: Path) -> None:
    if file.suffix.lower() not in (".png", ".svg"):
        raise typer.BadParameter(f"{file} ends neither in .png nor in .svg", param_hint="--plot")
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise SetupError("--plot needs matplotlib", hint="pip install 'greta-trends[plot]'")


def _report(skipped: int, output: str | None, plot: Path | None, what: str) -> None:
    if skipped:
        typer.secho(f"{skipped} malformed rows were left out", err=True, fg="yellow")
    if output is not None:
        typer.echo(f"{what} written to {output}", err=True)
    if plot is not None:
        typer.echo(f"picture written to {plot}", err=True)
