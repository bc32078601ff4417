"""The demo: a generated stock stream, the paper's first query, and Spark counting its trends."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic

import greta
from greta import datasets
from greta.cli import main

HERE = Path(__file__).parent
OUT = Path("demo-output")
EVENTS = 200_000


def say(text: str = "") -> None:
    """Print at once, in step with what other processes print."""
    print(text, flush=True)


def demo() -> None:
    """Explain, generate, run, draw."""
    started = monotonic()
    query = HERE / "q1-down-trends.greta"
    if query.is_relative_to(Path.cwd()):
        query = query.relative_to(Path.cwd())
    text = query.read_text()
    say("Event trends: all the ways in which prices of a company fall within ten minutes, event after event,")
    say("with any number of events skipped in between. n falling prices hold 2^n - 1 of them. The query:\n")
    say("    " + text.strip().replace("\n", "\n    "))
    say(f"\nIn words: {greta.explain(text).words}")

    stock = OUT / "stock.parquet"
    OUT.mkdir(exist_ok=True)
    say(f"\n1. {EVENTS:,} trades of 20 companies, about three hours, into {stock}")
    datasets.write(datasets.stock_batches(EVENTS, companies=20, rate=20.0), stock)

    say("2. Spark, on this machine, counts the trends per sector in windows of 10 minutes, a new one every 10 seconds")
    say(f"   $ greta run {query} -i {stock} --engine spark --show 12 --plot …\n")
    try:
        main(["run", str(query), "--input", str(stock), "--engine", "spark", "--show", "12", "--plot", f"{OUT}/q1.png"])
    except SystemExit as left:
        if left.code:
            sys.exit(left.code)
    say(f"\nDone in {monotonic() - started:.0f} seconds. No trend was ever built: events flow through running sums.")
    say(f"The picture is {OUT}/q1.png; more to try is in examples/README.md.")


if __name__ == "__main__":
    demo()
