"""``greta generate``: a data set's name and size in, event files out, at once or as a live feed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from greta import datasets
from greta.cli.output import Json, examples, print_json
from greta.datasets.blocks import START
from greta.datasets.files import format_of
from greta.datasets.stock_market import SECTORS

if TYPE_CHECKING:
    import pyarrow as pa

app = typer.Typer(
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Make event streams: stock trades, traffic or cluster loads, into files or as a live feed.",
    epilog=examples(
        "greta generate stock --events 1000000 --output stock.parquet",
        "greta generate traffic --help",
    ),
)


class Format(StrEnum):
    """Formats that event files can have."""

    PARQUET = "parquet"
    CSV = "csv"
    JSONL = "jsonl"


class Resolution(StrEnum):
    """How fine time stamps are."""

    MICROSECONDS = "us"
    MILLISECONDS = "ms"
    SECONDS = "s"


Events = Annotated[
    int | None,
    typer.Option("--events", "-n", min=0, help="Number of events.", show_default="1000000, or --rate × --seconds"),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="File to write, or directory with --files or --live.")]
Chosen = Annotated[
    Format | None,
    typer.Option("--format", help="Format; by default the one of the output's ending, or parquet."),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same events.")]
Files = Annotated[int, typer.Option(min=1, help="Split the stream into this many files, one after the other.")]
Start = Annotated[
    datetime | None,
    typer.Option(help="Time of the first event, UTC.", show_default="2024-01-02 09:30; now with --live"),
]
Live = Annotated[bool, typer.Option("--live", help="Write a file every so often, as if events happened now.")]
Seconds = Annotated[float | None, typer.Option(help="Stop a live feed after these seconds of stream time.")]
SecondsPerFile = Annotated[float, typer.Option(help="Seconds of stream time per file of a live feed.")]
SpeedUp = Annotated[float, typer.Option(help="Let the time of a live feed pass so many times faster.")]
Disorder = Annotated[float, typer.Option(help="Let events of a live feed come late by up to these seconds.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Ties = Annotated[float, typer.Option(min=0, max=1, help="Share of events that share their time stamp.")]
Fineness = Annotated[Resolution, typer.Option(help="Cut time stamps to whole units.")]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a stream goes, and how; the options that all data sets have."""

    output: Path
    format: Format | None
    files: int
    live: bool
    seconds: float | None
    seconds_per_file: float
    speed_up: float
    disorder: float
    seed: int
    quiet: bool
    json: bool
    events: int | None
    rate: float

    def __post_init__(self) -> None:
        if self.live and self.events is None and self.seconds is None:
            raise typer.BadParameter("a live feed needs an end: give --seconds or --events")
        only_live = (
            self.seconds is not None,
            self.speed_up != 1,
            self.disorder != 0,
            self.seconds_per_file != 1,
        )
        if not self.live and any(only_live):
            raise typer.BadParameter("--seconds, --seconds-per-file, --speed-up and --disorder need --live")
        if self.live and self.files != 1:
            raise typer.BadParameter("--files is not for --live, which writes a file every --seconds-per-file")

    @property
    def number(self) -> int:
        """How many events to make."""
        if self.events is not None:
            return self.events
        # Events come at random times: a few more than the mean, for the feed to run its full time.
        return round(self.rate * (self.seconds or 0) * 1.05) + 1000 if self.live else 1_000_000

    def start(self, given: datetime | None) -> datetime:
        """When the stream begins: as told, else now for a live feed."""
        if given is not None:
            return given.replace(tzinfo=UTC) if given.tzinfo is None else given
        return datetime.now(UTC).replace(microsecond=0) if self.live else START

    def send(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Write the stream and say what was written."""
        began = monotonic()
        name = self.format.value if self.format is not None else None
        if name is None and (self.files > 1 or self.live) and not self.output.suffix:
            name = Format.PARQUET.value
        chosen = format_of(self.output, name)
        total = None if self.live and self.events is None else self.number
        with _progress(self.quiet, total) as told:
            if self.live:
                fed = datasets.feed(
                    batches,
                    self.output,
                    seconds_per_file=self.seconds_per_file,
                    seconds=self.seconds,
                    speedup=self.speed_up,
                    disorder=self.disorder,
                    format=chosen,
                    seed=self.seed,
                    progress=told,
                )
                events, files = fed.events, fed.files
            else:
                files = len(
                    datasets.write(
                        batches,
                        self.output,
                        format=chosen,
                        files=self.files,
                        events=self.number,
                        progress=told,
                    )
                )
                events = self.number
        took = max(monotonic() - began, 1e-9)
        if self.json:
            print_json({"events": events, "files": files, "output": str(self.output), "seconds": round(took, 3)})
        elif not self.quiet:
            noun = "file" if files == 1 else "files"
            typer.echo(
                f"{events:,} events in {files} {noun} at {self.output}, {events / took:,.0f} events/s",
                err=True,
            )


@contextmanager
def _progress(quiet: bool, total: int | None) -> Iterator[Callable[[int], None] | None]:
    """A bar on stderr where someone looks at it; nothing where it would only fill a log."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("events"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("events", total=total)
        yield lambda done: bar.update(task, completed=done)


_EXAMPLES = examples(
    "greta generate {name} --events 1000000 --output {name}.parquet",
    "greta generate {name} -n 100000 -o {name}.csv --seed 7 --json",
    "greta generate {name} -n 5000000 -o {name}/ --files 8",
    "greta generate {name} --live --seconds 60 --disorder 5 -o incoming/",
)


@app.command(epilog=_EXAMPLES.format(name="stock"))
def stock(
    output: Output,
    events: Events = None,
    companies: Annotated[int, typer.Option(min=1, help="Number of companies.")] = 10,
    sectors: Annotated[int | None, typer.Option(min=1, help="Number of sectors.", show_default="4, named")] = None,
    rate: Annotated[float, typer.Option(help="Events per second.")] = 10.0,
    volatility: Annotated[float, typer.Option(help="Spread of price changes, in ticks of 0.01.")] = 2.0,
    drift: Annotated[float, typer.Option(help="Mean price change, in ticks of 0.01.")] = 0.0,
    trend: Annotated[float, typer.Option(help="Mean length of up- and down-trends, in trades.")] = 200.0,
    falling: Annotated[bool, typer.Option("--falling", help="Let all prices fall: the worst case.")] = False,
    ties: Ties = 0.0,
    resolution: Fineness = Resolution.MICROSECONDS,
    format: Chosen = None,  # noqa: A002 - the option's name
    files: Files = 1,
    seed: Seed = 0,
    start: Start = None,
    live: Live = False,
    seconds: Seconds = None,
    seconds_per_file: SecondsPerFile = 1.0,
    speed_up: SpeedUp = 1.0,
    disorder: Disorder = 0.0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Stock trades: company, sector, price, volume, side, transaction."""
    target = Target(
        output, format, files, live, seconds, seconds_per_file, speed_up, disorder, seed, quiet, json, events, rate
    )
    target.send(
        datasets.stock_batches(
            target.number,
            companies=companies,
            sectors=SECTORS if sectors is None else sectors,
            rate=rate,
            start=target.start(start),
            seed=seed,
            volatility=volatility,
            drift=drift,
            trend=trend,
            ties=ties,
            resolution=resolution.value,
            falling=falling,
        )
    )


@app.command(epilog=_EXAMPLES.format(name="traffic"))
def traffic(
    output: Output,
    events: Events = None,
    expressways: Annotated[int, typer.Option(min=1, help="Number of expressways.")] = 3,
    rate: Annotated[float, typer.Option(help="Events per second at the peak.")] = 4000.0,
    initial_rate: Annotated[
        float | None,
        typer.Option(help="Events per second at first.", show_default="100; with --live the peak"),
    ] = None,
    ramp: Annotated[float, typer.Option(min=0, help="Seconds until the peak.")] = 10_800.0,
    accidents: Annotated[float, typer.Option(min=0, help="Accidents per hour and expressway.")] = 6.0,
    format: Chosen = None,  # noqa: A002 - the option's name
    files: Files = 1,
    seed: Seed = 0,
    start: Start = None,
    live: Live = False,
    seconds: Seconds = None,
    seconds_per_file: SecondsPerFile = 1.0,
    speed_up: SpeedUp = 1.0,
    disorder: Disorder = 0.0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Traffic in Linear Road's form: position reports every 30 seconds, and accidents."""
    target = Target(
        output, format, files, live, seconds, seconds_per_file, speed_up, disorder, seed, quiet, json, events, rate
    )
    target.send(
        datasets.traffic_batches(
            target.number,
            expressways=expressways,
            peak_rate=rate,
            initial_rate=initial_rate or (rate if live else min(100.0, rate)),
            ramp=ramp,
            accidents=accidents,
            start=target.start(start),
            seed=seed,
        )
    )


@app.command(epilog=_EXAMPLES.format(name="cluster"))
def cluster(
    output: Output,
    events: Events = None,
    mappers: Annotated[int, typer.Option(min=1, help="Number of mappers.")] = 11,
    jobs: Annotated[int, typer.Option(min=1, help="Number of jobs.")] = 11,
    rate: Annotated[float, typer.Option(help="Events per second.")] = 3000.0,
    measurements: Annotated[int, typer.Option(min=1, help="Mean number between Start and End.")] = 50,
    ties: Ties = 0.0,
    resolution: Fineness = Resolution.MICROSECONDS,
    format: Chosen = None,  # noqa: A002 - the option's name
    files: Files = 1,
    seed: Seed = 0,
    start: Start = None,
    live: Live = False,
    seconds: Seconds = None,
    seconds_per_file: SecondsPerFile = 1.0,
    speed_up: SpeedUp = 1.0,
    disorder: Disorder = 0.0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Cluster loads as in the paper's table: Start, measurements and End per job and mapper."""
    target = Target(
        output, format, files, live, seconds, seconds_per_file, speed_up, disorder, seed, quiet, json, events, rate
    )
    target.send(
        datasets.cluster_batches(
            target.number,
            mappers=mappers,
            jobs=jobs,
            rate=rate,
            measurements=measurements,
            start=target.start(start),
            seed=seed,
            ties=ties,
            resolution=resolution.value,
        )
    )
