"""A stream's session, and its run: started, shown while it goes on, ended by Ctrl-C or when its time is up."""

from __future__ import annotations

import signal
import threading
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.filesize import decimal

from greta.cli.backlog import Backlog
from greta.cli.metrics import Metrics
from greta.cli.output import print_json
from greta.cli.settings import setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from greta.spark.stream.run import Status, Watch

_PACKAGES = "spark.jars.packages"


def session_for_streams(master: str | None, packages: list[str] | None, conf: list[str] | None) -> SparkSession:
    """A session on Spark that is new enough."""
    from greta.spark import require_pyspark

    require_pyspark()
    from greta.spark.compat import OLDEST_STREAMS, client_version, require
    from greta.spark.sessions.quiet import start_quietly
    from greta.spark.sessions.settings import given_settings

    require(client_version(), OLDEST_STREAMS, "streams")

    settings = dict(setting(item) for item in conf or [])
    if packages:
        # Those that --conf or spark-defaults.conf names are needed as well.
        others = (given_settings() | settings).get(_PACKAGES, "")
        settings[_PACKAGES] = ",".join(dict.fromkeys(filter(None, [*others.split(","), *packages])))
    return start_quietly(master, settings)


def run_stream(
    writer: DataStreamWriter,
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
    if metrics is not None:
        typer.echo(f"figures are at {metrics.address}", err=True)
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
