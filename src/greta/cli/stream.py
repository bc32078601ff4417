"""``greta stream``: query file and a source of events in, rows out as windows close, figures while it runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import greta.spark
from greta.cli.output import examples, tell_at_close
from greta.cli.queries import located, read_query
from greta.cli.settings import client_settings
from greta.cli.stream_run import run_stream, session_for_streams

if TYPE_CHECKING:
    from greta.spark.reading.times import TimeUnit as Unit

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


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
KafkaSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--kafka", metavar="KEY=VALUE", help="A setting for Kafka, e.g. security.protocol=SASL_SSL, repeatable."
    ),
]
Master = Annotated[
    str | None,
    typer.Option(help="Where Spark runs.", show_default="that of spark-submit or spark-defaults, else local[*]"),
]
Conf = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting for Spark, repeatable.")]
Package = Annotated[
    list[str] | None, typer.Option("--package", help="Package that Spark loads beside those set, by coordinate.")
]
Ship = Annotated[bool, typer.Option("--ship", help="Hand greta to executors that do not have it.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Show no status line, and no note on how windows are computed.")
]
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
    kafka: KafkaSettings = None,
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
        from greta.cli.stream_demo import watch_demo

        watch_demo(seconds or 20.0, master, conf, quiet, None if output in (None, "console") else output)
        return
    for name, value in (("FILE", file), ("--input", input), ("--output", output), ("--checkpoint", checkpoint)):
        if value is None:
            raise typer.BadParameter("is needed, unless --demo is given", param_hint=name)
    assert file is not None
    assert input is not None
    assert output is not None
    assert checkpoint is not None
    client = client_settings(kafka or [])
    if client and not any(place.startswith("kafka:") for place in (input, output)):
        raise typer.BadParameter("is for --input or --output kafka:HOST:PORT/TOPIC", param_hint="--kafka")
    text = read_query(file)
    with located(text, file):
        # Before Spark starts, which takes longer than a look at the query.
        greta.analyze(text)
    from greta.cli.run_spark import told

    with told():
        spark = session_for_streams(master, package, conf)
        if ship:
            greta.spark.ship(spark)
        from greta.spark.reading.paths import local_path
        from greta.spark.stream import aggregate_stream
        from greta.spark.stream.alerts import posting
        from greta.spark.stream.pipeline import why_at_close
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
            client,
        )
        events = source.read(spark)
        unit: Unit | None = None if time_unit is None else time_unit.value
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
                time_unit=unit,
                bad_records=bad_records.value,
                buckets=buckets,
                checkpoint=checkpoint,
            )
        if not quiet:
            tell_at_close(why_at_close(events, text, time=time, type=type, numbers=numbers.value, time_unit=unit))
        if alert is not None:
            rows = posting(rows, alert)
        rows = counted(rows)
        if is_table(output):
            writer = write_table(output, rows, checkpoint)
        else:
            writer = write_to(output, rows, output_format.value, client)
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
    run_stream(writer, directory, quiet, seconds, json, metrics, in_parts=in_parts)
    typer.echo(f"to go on, run the same command again: the checkpoint {checkpoint} knows where it ended", err=True)
