"""``greta stream --demo``: a stock market, made up as it goes, and a query over it."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from greta.cli.stream_run import run_stream, session_for_streams

_DEMO = """\
RETURN sector, COUNT(*) AS trends, MAX(S.price) AS top
PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 5 seconds SLIDE 1 second
"""
_TRADES = "type STRING, time TIMESTAMP, company STRING, sector STRING, price DOUBLE"


def watch_demo(seconds: float, master: str | None, conf: list[str] | None, quiet: bool, output: str | None) -> None:
    """The stock feed, live, for a bounded time; nothing is left behind but the rows in ``output``, if one is named."""
    from greta import datasets
    from greta.cli.rows import check_output

    if output is not None:
        # Spark's file sink takes a second run into the same directory for a repetition of the first.
        check_output(output, overwrite=False)
    spark = session_for_streams(master, None, conf)
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
            writer = write_to(output, counted(rows), "parquet")
        if directory is not None:
            note_query(directory, _DEMO)
            typer.echo(f"rows go to {output}: watch them with greta studio --follow {output}", err=True)
        writer = writer.option("checkpointLocation", f"{place}/checkpoint").trigger(processingTime="1 second")
        feeder.start()
        try:
            run_stream(writer, directory, quiet, seconds, once_events_come=True)
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
