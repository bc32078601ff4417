"""``greta run``: a query file and event files in, rows out, computed by Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import greta
import greta.spark
from greta.cli.output import examples, print_json
from greta.cli.queries import QueryFile, located, read_query
from greta.cli.settings import setting
from greta.errors import DataError, SetupError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

Result = TypeVar("Result")
_EXAMPLES = examples(
    "greta run query.greta --input stock.parquet",
    "greta run query.greta -i Stock=trades.csv -i News=news.json -o rows --overwrite",
    "greta run query.greta --input stock.parquet --json | jq .count",
    "greta run query.greta --input stock.parquet --plot trends.png",
    "greta run query.greta -i db.trades --master yarn --conf spark.executor.memory=8g",
)
_MOST_PLOTTED = 200_000


class Format(StrEnum):
    """Formats that Spark reads and writes."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    ORC = "orc"
    DELTA = "delta"


class Numbers(StrEnum):
    """How numbers of trends are computed."""

    DOUBLE = "double"
    EXACT = "exact"


class Malformed(StrEnum):
    """What to do with rows of CSV and JSON that cannot be read."""

    FAIL = "fail"
    SKIP = "skip"


@app.command(epilog=_EXAMPLES)
def run(
    file: QueryFile,
    input_: Annotated[
        list[str],
        typer.Option(
            "--input",
            "-i",
            metavar="PATH",
            help="Path or table with events, repeatable; Stock=PATH where it holds events of one type.",
        ),
    ],
    format_: Annotated[
        Format | None, typer.Option("--format", help="Format of the inputs; by default that of their endings.")
    ] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Directory to write the rows into.")] = None,
    output_format: Annotated[Format, typer.Option(help="Format of the output.")] = Format.PARQUET,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an output that is there.")] = False,
    show: Annotated[
        int | None, typer.Option(min=0, help="Print this many rows, in order of time. [default: 20 without --output]")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the aggregates over window time into this PNG or SVG file.")
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            help="Where Spark runs: local[2], spark://host:7077, yarn, sc://host:15002, …",
            show_default="that of spark-submit or spark-defaults, else local[*]",
        ),
    ] = None,
    time: Annotated[str, typer.Option(help="Column with the events' times.")] = "time",
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
    """Run a query on Spark over files or tables of events."""
    text = read_query(file)
    with located(text, file):
        query = greta.parse(text)
    if plot is not None:
        _check_plot(plot)
    greta.spark.require_pyspark()
    from greta.spark.inputs import Source, read_events
    from greta.spark.progress import describe
    from greta.spark.sessions import start

    settings = dict(setting(item) for item in conf or [])
    with _progress(quiet) as step:
        spark = step("starting Spark", lambda: start(master, settings, {}), None)
        if ship:
            step("packing greta", lambda: greta.spark.ship(spark), None)
        describe(spark, f"greta run {file}")
        events = step(
            "looking at the input",
            lambda: read_events(
                spark,
                [Source.parse(item) for item in input_],
                format=None if format_ is None else format_.value,
                type=type_,
                schema=schema,
                malformed=malformed.value,
            ),
            spark,
        )
        with located(text, file):
            rows = greta.spark.aggregate(events.df, query, time=time, type=type_, numbers=numbers.value, cut=_cut(cut))
        wanted = show if show is not None else None if json else 0 if output or plot else 20
        if output is not None:
            _write(rows, output, output_format, overwrite, step, spark)
            rows = spark.read.format(output_format.value).schema(rows.schema).load(output)
        table = _collect(rows, wanted, plot is not None, step, spark)
    if table is not None and json:
        for row in table.slice(0, wanted).to_pylist():
            print_json(row)
    elif table is not None and wanted:
        _print(table, wanted)
    if plot is not None and table is not None:
        from greta.cli.plots import draw

        draw(table.slice(0, _MOST_PLOTTED), query, plot)
    _report(events.skipped, output, plot)


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
        raise SetupError("--plot needs matplotlib\nhint: pip install 'greta-trends[plot]'")


def _write(rows: DataFrame, output: str, format_: Format, overwrite: bool, step: Step, spark: SparkSession) -> None:
    writer = rows.write.mode("overwrite" if overwrite else "error").format(format_.value)
    if format_ is Format.CSV:
        writer = writer.option("header", True)
    try:
        step("aggregating", lambda: writer.save(output), spark)
    except Exception as error:
        from greta.spark.failures import met, no_source
        from greta.spark.inputs import package_hint

        if met(error, "PATH_ALREADY_EXISTS"):
            raise DataError(f"{output}: is there already\nhint: replace it with --overwrite") from error
        if no_source(error):
            raise SetupError(f"Spark cannot write {format_.value}\n{package_hint()}") from error
        raise _told(error) from error


def _collect(rows: DataFrame, wanted: int | None, plotted: bool, step: Step, spark: SparkSession) -> pa.Table | None:
    """The rows to print (all for None) or draw, in order of time; nothing else ever reaches this process."""
    if wanted == 0 and not plotted:
        return None
    from greta.spark.compat import to_arrow

    ordered = rows.orderBy("window_start", *(name for name in rows.columns if name not in _BOUNDS))
    limited = ordered if wanted is None else ordered.limit(max(wanted, _MOST_PLOTTED if plotted else 0))
    try:
        return step("aggregating", lambda: to_arrow(limited), spark)
    except Exception as error:
        raise _told(error) from error


def _told(error: Exception) -> Exception:
    """The same failure in words, where its cause is one that greta knows."""
    from greta.spark.failures import explained

    return explained(error) or error


_BOUNDS = ("window_start", "window_end")


def _print(table: pa.Table, count: int) -> None:
    shown = Table(show_edge=False)
    for name in table.column_names:
        shown.add_column(name)
    for row in table.slice(0, count).to_pylist():
        shown.add_row(*("" if value is None else _word(value) for value in row.values()))
    width = None if sys.stdout.isatty() else 200
    Console(width=width, highlight=False).print(shown)


def _word(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 2**53 else f"{value:.6g}"
    return str(value)


def _report(skipped: int, output: str | None, plot: Path | None) -> None:
    console = Console(stderr=True, highlight=False)
    if skipped:
        console.print(f"{skipped} malformed rows were left out", style="yellow")
    if output is not None:
        console.print(f"rows written to {output}")
    if plot is not None:
        console.print(f"picture written to {plot}")


Step = Callable[[str, Callable[[], Any], "SparkSession | None"], Any]


@contextmanager
def _progress(quiet: bool) -> Iterator[Step]:
    """A way to do one thing after another with a bar on stderr that follows Spark's tasks."""
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=quiet or not sys.stderr.isatty(),
    )

    def step(title: str, work: Callable[[], Result], spark: SparkSession | None) -> Result:
        task = bar.add_task(title, total=None)
        done = Event()
        follower = Thread(target=_follow, args=(bar, task, spark, done), daemon=True)
        if spark is not None and not bar.disable:
            follower.start()
        try:
            return work()
        finally:
            done.set()
            bar.remove_task(task)

    with bar:
        yield step


def _follow(bar: Progress, task: Any, spark: SparkSession, done: Event) -> None:
    from greta.spark.progress import running

    while not done.wait(0.3):
        stages = running(spark)
        if stages is not None and stages.total:
            bar.update(task, completed=stages.done, total=stages.total)
