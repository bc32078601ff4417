"""``greta stream``: query file and a source of events in, rows out as windows close, figures while it runs."""

from __future__ import annotations

import signal
import tempfile
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.filesize import decimal

import greta.spark
from greta.cli.backlog import Backlog
from greta.cli.metrics import Metrics
from greta.cli.output import examples, print_json
from greta.cli.queries import located, read_query
from greta.cli.settings import setting

if TYPE_CHECKING:
    from greta.spark.stream.run import Status, Watch

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

_DEMO = """\
RETURN sector, COUNT(*) AS trends, MAX(S.price) AS top
PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 5 seconds SLIDE 1 second
"""


_DEFAULTS = {
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.shuffle.partitions": "4",
}
"""Settings of Spark for a stream, where nobody has set others."""

_TRADES = "type STRING, time TIMESTAMP, company STRING, sector STRING, price DOUBLE"


class Format(StrEnum):
    """Formats of files."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


class OnBadRecord(StrEnum):
    """What to do about a record that cannot be read."""

    STOP = "stop"
    SKIP = "skip"


class TimeUnit(StrEnum):
    """In which unit numbers count the time since 1970."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"


class Emit(StrEnum):
    """Which rows come out."""

    FINAL = "final"
    UPDATE = "update"


class Numbers(StrEnum):
    """How trends are counted."""

    DOUBLE = "double"
    EXACT = "exact"


Input = Annotated[
    str | None,
    typer.Option("--input", "-i", help="DIR, rate[:PER_SECOND], socket:HOST:PORT or kafka:HOST:PORT/TOPIC."),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", help="DIR, console, kafka:HOST:PORT/TOPIC, delta:DIR or iceberg:CATALOG.NAMESPACE.TABLE."
    ),
]
Checkpoint = Annotated[str | None, typer.Option(help="Directory from which the stream goes on after any end.")]
Lateness = Annotated[str, typer.Option(help="How late an event may come, e.g. '30 seconds'.")]
Trigger = Annotated[
    str | None, typer.Option(help="Time between micro-batches, e.g. '5 seconds'; as fast as it goes if not given.")
]
AvailableNow = Annotated[bool, typer.Option("--available-now", help="End when all that is there has been read.")]
InputFormat = Annotated[Format | None, typer.Option("--format", help="Format of the input files.")]
OutputFormat = Annotated[Format, typer.Option("--output-format", help="Format of the output files.")]
Schema = Annotated[
    str | None, typer.Option(help="Columns of the input, e.g. 'type STRING, time TIMESTAMP, price DOUBLE'.")
]
TimeColumn = Annotated[str, typer.Option("--time", help="Column with the time.")]
UnitOfTime = Annotated[
    TimeUnit | None, typer.Option("--time-unit", help="Unit of times that are numbers and count from 1970.")
]
TypeColumn = Annotated[str, typer.Option("--type", help="Column with the event type.")]
Counting = Annotated[Numbers, typer.Option("--numbers", help="Doubles, or exact integers as digits.")]
Emitting = Annotated[Emit, typer.Option("--emit", help="Final rows only, or rows of open windows too.")]
LateEvents = Annotated[str | None, typer.Option(help="Directory for the events that came too late.")]
BadRecords = Annotated[OnBadRecord, typer.Option(help="Stop at a record that cannot be read, or skip and count it.")]
Buckets = Annotated[int, typer.Option(min=1, help="Parts of the state; fixed by the checkpoint.")]
Files = Annotated[int | None, typer.Option("--files-per-trigger", min=1, help="Most files per micro-batch.")]
Records = Annotated[
    int | None, typer.Option("--records-per-trigger", min=1, help="Most records from Kafka per micro-batch.")
]
Master = Annotated[
    str | None,
    typer.Option(help="Where Spark runs.", show_default="that of spark-submit or spark-defaults, else local[*]"),
]
Conf = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting for Spark, repeatable.")]
Package = Annotated[list[str] | None, typer.Option("--package", help="Package that Spark loads, by coordinate.")]
Ship = Annotated[bool, typer.Option("--ship", help="Hand greta to executors that do not have it.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no status line.")]
Demo = Annotated[bool, typer.Option("--demo", help="Watch a made-up stock market live; needs nothing else.")]
Seconds = Annotated[float | None, typer.Option(min=1, help="End after so many seconds.", show_default="20 with --demo")]
Figures = Annotated[bool, typer.Option("--json", help="Print figures of each micro-batch as JSON lines on stdout.")]
MetricsPort = Annotated[
    int | None, typer.Option("--metrics", metavar="PORT", min=0, max=65535, help="Serve figures for Prometheus here.")
]
Alert = Annotated[
    str | None, typer.Option(metavar="URL", help="Post every row as JSON too, e.g. those that HAVING lets through.")
]
File = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="File with the query; - reads stdin.")]


_EXAMPLES = examples(
    "greta stream --demo",
    "greta stream --demo -o rows/",
    "greta stream query.greta -i incoming/ -o rows/ --checkpoint state/",
    "greta stream query.greta -i incoming/ -o rows/ --checkpoint state/ --json",
    "greta stream query.greta -i rate:5000 -o console --checkpoint state/",
)


@app.command(epilog=_EXAMPLES)
def stream(
    file: File = None,
    input: Input = None,  # noqa: A002 - the option's name
    output: Output = None,
    checkpoint: Checkpoint = None,
    lateness: Lateness = "10 seconds",
    trigger: Trigger = None,
    available_now: AvailableNow = False,
    format: InputFormat = None,  # noqa: A002 - the option's name
    output_format: OutputFormat = Format.PARQUET,
    schema: Schema = None,
    time: TimeColumn = "time",
    time_unit: UnitOfTime = None,
    type: TypeColumn = "type",  # noqa: A002 - the option's name
    numbers: Counting = Numbers.DOUBLE,
    emit: Emitting = Emit.FINAL,
    late_events: LateEvents = None,
    bad_records: BadRecords = OnBadRecord.STOP,
    buckets: Buckets = 8,
    files_per_trigger: Files = None,
    records_per_trigger: Records = None,
    master: Master = None,
    package: Package = None,
    conf: Conf = None,
    ship: Ship = False,
    quiet: Quiet = False,
    demo: Demo = False,
    seconds: Seconds = None,
    json: Figures = False,
    metrics: MetricsPort = None,
    alert: Alert = None,
) -> None:
    """Aggregate a stream: a row per group and window as soon as the window is over.

    Ctrl-C ends after the running micro-batch; the same command goes on where it ended, with nothing lost and nothing
    twice.
    """
    if json and (demo or output == "console"):
        raise typer.BadParameter("is not for --demo or --output console, which print rows", param_hint="--json")
    if demo:
        _demo(seconds or 20.0, master, conf, quiet, None if output in (None, "console") else output)
        return
    for name, value in (("FILE", file), ("--input", input), ("--output", output), ("--checkpoint", checkpoint)):
        if value is None:
            raise typer.BadParameter("is needed, unless --demo is given", param_hint=name)
    assert file is not None
    assert input is not None
    assert output is not None
    assert checkpoint is not None
    text = read_query(file)
    with located(text, file):
        # Before Spark starts, which takes longer than a look at the query.
        greta.analyze(text)
    spark = _session(master, package, conf)
    if ship:
        greta.spark.ship(spark)
    from greta.spark.reading.paths import local_path
    from greta.spark.stream import aggregate_stream
    from greta.spark.stream.alerts import posting
    from greta.spark.stream.run import counted, note_query
    from greta.spark.stream.sources import Source, write_to
    from greta.spark.stream.tables import is_table, write_table

    source = Source(
        input,
        None if format is None else format.value,
        schema,
        time,
        files_per_trigger,
        bad_records.value,
        records_per_trigger,
    )
    events = source.read(spark)
    with located(text, file):
        rows = aggregate_stream(
            events,
            text,
            time=time,
            type=type,
            numbers=numbers.value,
            lateness=lateness,
            emit=emit.value,
            late_events=late_events,
            time_unit=None if time_unit is None else time_unit.value,
            bad_records=bad_records.value,
            buckets=buckets,
            checkpoint=checkpoint,
        )
    if alert is not None:
        rows = posting(rows, alert)
    rows = counted(rows)
    writer = write_table(output, rows, checkpoint) if is_table(output) else write_to(output, rows, output_format.value)
    writer = writer.option("checkpointLocation", checkpoint).queryName(f"greta {file}")
    if available_now:
        writer = writer.trigger(availableNow=True)
    elif trigger is not None:
        writer = writer.trigger(processingTime=trigger)
    elsewhere = output == "console" or output.startswith("kafka:") or is_table(output)
    directory = None if elsewhere else local_path(output)
    if directory is not None:
        note_query(directory, text)
    in_parts = input.startswith("kafka:") and records_per_trigger is not None
    _run(writer, directory, quiet, seconds, json, metrics, in_parts=in_parts)
    typer.echo(f"to go on, run the same command again: the checkpoint {checkpoint} knows where it ended", err=True)


def _session(master: str | None, packages: list[str] | None, conf: list[str] | None) -> Any:
    from greta.spark import require_pyspark
    from greta.spark.sessions.building import start
    from greta.spark.sessions.quiet import quiet_java
    from greta.spark.sessions.settings import given_settings

    require_pyspark()
    from greta.spark.compat import OLDEST_STREAMS, client_version, require

    require(client_version(), OLDEST_STREAMS, "streams")

    settings = dict(setting(item) for item in conf or [])
    if packages:
        settings["spark.jars.packages"] = ",".join(packages)
    # Who chooses what Spark logs wants to read it.
    logs = any(name.startswith("spark.log.") for name in given_settings() | settings)
    with nullcontext() if logs else quiet_java():
        return start(master, settings, _DEFAULTS)


def _run(
    writer: Any,
    directory: Path | None,
    quiet: bool,
    seconds: float | None,
    json: bool = False,
    port: int | None = None,
    *,
    in_parts: bool = False,
    once_events_come: bool = False,
) -> None:
    """Start, watch, and end on Ctrl-C or when time is up; it may count from the first events on.

    ``in_parts``: the input is a topic of which a micro-batch takes a part, which can make events late.
    """
    from greta.spark.stream.run import PROGRESS, Watch, explained

    console = Console(stderr=True)
    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    timer = threading.Timer(seconds, stop.set) if seconds is not None else None
    metrics = Metrics(port) if port is not None else None
    try:
        try:
            query = writer.start()
        except Exception as error:
            raise explained(error) from error
        log = None if directory is None else directory / PROGRESS
        watch = Watch(query, log)
        backlog = Backlog(lambda text: typer.echo(f"warning: {text}", err=True), watch.late) if in_parts else None
        if timer is not None:
            timer.daemon = True
            if not once_events_come:
                timer.start()
        shown = nullcontext() if quiet else console.status("waiting for the first micro-batch")
        with shown as line:

            def show(status: Status) -> None:
                if timer is not None and once_events_come and status.events and timer.ident is None:
                    timer.start()
                if line is not None:
                    line.update(_line(status))
                if metrics is not None:
                    metrics.take(status)
                if backlog is not None:
                    backlog.take(status)
                if json:
                    print_json(asdict(status))

            watch.show = show
            watch.until(stop.is_set)
        _summary(console, watch)
    finally:
        signal.signal(signal.SIGINT, before)
        if timer is not None:
            timer.cancel()
        if metrics is not None:
            metrics.close()


def _line(status: Status) -> str:
    lag = "" if status.lag_seconds is None else f" · lag {_span(status.lag_seconds)}"
    bad = f" · bad {status.bad_records:,}" if status.bad_records else ""
    return (
        f"batch {status.batch} · {status.events_per_second:,.0f} events/s · {status.batch_seconds:.2f} s{lag} · "
        f"{status.open_windows:,} open windows · state {decimal(status.state_bytes)} · late {status.late_events:,}{bad}"
    )


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"


def _summary(console: Console, watch: Watch) -> None:
    console.print(f"{watch.events:,} events read; late and dropped: {watch.late:,}; bad records skipped: {watch.bad:,}")


def _demo(seconds: float, master: str | None, conf: list[str] | None, quiet: bool, output: str | None) -> None:
    """The stock feed, live, for a bounded time; nothing is left behind but the rows in ``output``, if one is named."""
    from greta import datasets
    from greta.cli.rows import check_output

    if output is not None:
        # Spark's file sink takes a second run into the same directory for a repetition of the first.
        check_output(output, overwrite=False)
    spark = _session(master, None, conf)
    from greta.spark.reading.paths import local_path
    from greta.spark.stream import aggregate_stream
    from greta.spark.stream.run import counted, note_query
    from greta.spark.stream.sources import Source, write_to

    with tempfile.TemporaryDirectory(prefix="greta-demo-") as place:
        incoming = Path(place) / "events"
        incoming.mkdir()
        ended = threading.Event()
        trades = datasets.stock_batches(10**9, companies=100, rate=2000, start=datetime.now(UTC), chunk=500)
        feeder = threading.Thread(
            target=datasets.feed,
            args=(iter(lambda: None if ended.is_set() else next(trades), None), incoming),
            kwargs={"disorder": 1.0},
            daemon=True,
        )
        events = Source(str(incoming), "parquet", _TRADES).read(spark)
        rows = aggregate_stream(events, _DEMO, lateness="1 second", buckets=4)
        typer.echo(_DEMO)
        directory = None if output is None else local_path(output)
        if output is None:
            writer = rows.writeStream.foreachBatch(_printer(Console()))
        else:
            writer = write_to(output, counted(rows), Format.PARQUET.value)
        if directory is not None:
            note_query(directory, _DEMO)
            typer.echo(f"rows go to {output}: watch them with greta studio --follow {output}", err=True)
        writer = writer.option("checkpointLocation", f"{place}/checkpoint").trigger(processingTime="1 second")
        feeder.start()
        try:
            _run(writer, directory, quiet, seconds, once_events_come=True)
        finally:
            ended.set()
            feeder.join()


def _printer(console: Console) -> Callable[[Any, int], None]:
    def show(rows: Any, _: int) -> None:
        # Sorted here: sorting in Spark would compute the micro-batch a second time, to take samples.
        for row in sorted(rows.collect(), key=lambda row: (row.window_end, row.sector)):
            window = f"{row.window_start:%H:%M:%S}-{row.window_end:%H:%M:%S}"
            console.print(f"{window}  {row.sector:<24} {row.trends:>14,.0f} falling trends, top {row.top:,.2f}")

    return show
