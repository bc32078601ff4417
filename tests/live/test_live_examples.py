"""The examples of streams run, and give the rows of a batch."""

from __future__ import annotations

import asyncio
import io
import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import greta
from support.live_streams import as_a_bag

EXAMPLES = Path(__file__).parents[2] / "examples"


def names_of(example: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"live_{example}.py"))


def test_the_socket_gives_all_rows_while_it_is_silent() -> None:
    example, rows = names_of("asyncio"), []
    trades = [{"type": "Stock", "time": at / 20, "company": "acme", "price": float(at * 7 % 13)} for at in range(40)]
    batch = greta.aggregate(trades, example["QUERY"]).to_pylist()

    async def feed() -> None:
        reader = asyncio.StreamReader()
        stream = greta.stream(example["QUERY"], lateness="100 ms")
        serving = asyncio.create_task(example["Watcher"](stream, rows.append, 0.05).serve(reader))
        for trade in trades:
            reader.feed_data(json.dumps(trade).encode() + b"\n")
        async with asyncio.timeout(60):
            while len(rows) < len(batch):
                await asyncio.sleep(0.05)
        reader.feed_eof()
        await serving

    asyncio.run(feed())
    assert as_a_bag(rows) == as_a_bag(batch)


def test_both_sides_of_the_socket_run() -> None:
    example, rows = names_of("asyncio"), []
    asyncio.run(example["main"](seconds=1.0, show=rows.append))
    assert {row["company"] for row in rows} == {"acme", "globex"}


def test_the_consumer_of_kafka_loses_nothing_and_counts_nothing_twice() -> None:
    pytest.importorskip("confluent_kafka")
    example, rows = names_of("kafka"), []
    example["try_out"](rows.append)
    trades = [
        {"type": "Stock", "time": at / 4, "company": f"c{at % 2}", "price": float(at * 7919 % 101)} for at in range(240)
    ]
    watermark = trades[-1]["time"] - 2
    batch = greta.aggregate(trades, example["QUERY"]).to_pylist()
    assert as_a_bag(rows) == as_a_bag([row for row in batch if row["window_end"] <= watermark])


def test_the_dashboard_shows_the_rows_of_the_last_windows() -> None:
    example = names_of("dashboard")
    board = example["main"](seconds=6.0, speed=1000.0, console=Console(file=io.StringIO()))
    events = [event for trades in example["market"](6.0) for event in trades]
    batch = greta.aggregate(events, example["QUERY"]).to_pylist()
    shown = [{name: value for name, value in row.items() if name != "final"} for row in board.rows.values()]
    assert len(shown) == example["SHOWN"]
    assert {str(row) for row in shown} <= {str(row) for row in batch}
