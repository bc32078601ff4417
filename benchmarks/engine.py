"""What the engine costs, as ratios measured side by side in one run: ``python benchmarks/engine.py``.

Prints a table, and with ``--output DIR`` writes it there as Markdown and JSON with versions and machine. Times are
processor times of this process, best of a few repeats after a warm-up, because machines are shared and noisy.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import core
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from greta import graph
from greta.engine.aggregate import aggregate

Q1 = "RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price"
PER_COMPANY = "RETURN COUNT(*) PATTERN Stock S+ WHERE [company] AND S.price > NEXT(S).price"
FREE = "RETURN COUNT(*) PATTERN Stock S+ WHERE [company]"


@dataclass(frozen=True)
class Finding:
    """One claim, what was measured for it, and whether it holds."""

    claim: str
    measured: float
    bound: str
    holds: bool
    detail: str


def events(count: int, companies: int = 1, seed: int = 0) -> pa.Table:
    """A random walk of prices on ticks of a cent, one event per second."""
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "type": pa.DictionaryArray.from_arrays(np.zeros(count, np.int8), ["Stock"]),
            "time": np.arange(count),
            "company": random.integers(0, companies, count),
            "price": np.round(100 + np.cumsum(random.normal(0, 0.05, count)), 2),
        }
    )


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Processor seconds, best of a few."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def at_most(claim: str, measured: float, bound: float, detail: str) -> Finding:
    return Finding(claim, measured, f"≤ {bound:g}", measured <= bound, detail)


def at_least(claim: str, measured: float, bound: float, detail: str) -> Finding:
    return Finding(claim, measured, f"≥ {bound:g}", measured >= bound, detail)


def growth() -> Finding:
    small, large = events(100_000), events(200_000)
    a, b = seconds(lambda: aggregate(small, Q1), 5), seconds(lambda: aggregate(large, Q1), 5)
    return at_most(
        "doubling the events of one window (100k → 200k), one ordered predicate", b / a, 2.4, f"{a:.3f} s → {b:.3f} s"
    )


def against_the_graph(count: int) -> Finding:
    table = events(count)
    ours = seconds(lambda: aggregate(table, Q1), 5)
    theirs = seconds(lambda: graph.aggregate(table, Q1), 1)
    return at_least(
        f"faster than the paper's graph at {count:,} events in a window",
        theirs / ours,
        1000,
        f"{theirs:.1f} s against {ours:.4f} s",
    )


def sliding() -> Finding:
    table = events(500_000, 10)
    tumbling = seconds(lambda: aggregate(table, PER_COMPANY + " WITHIN 6000 seconds"))
    many = seconds(lambda: aggregate(table, PER_COMPANY + " WITHIN 6000 seconds SLIDE 100 seconds"))
    detail = f"{tumbling:.3f} s → {many:.3f} s, {500_000 / many / 1e6:.2f}M events/s"
    return at_most("sliding with 60 windows per event against tumbling", many / tumbling, 30, detail)


def free(count: int) -> Finding:
    table = events(count, 1000)
    ours = seconds(lambda: aggregate(table, FREE + " WITHIN 100000 seconds"), 2)
    company, instant = table["company"].to_numpy(), table["time"].to_numpy()
    by_numpy = seconds(lambda: np.lexsort((instant, company)), 2)
    keys = [("company", "ascending"), ("time", "ascending")]
    by_arrow = seconds(lambda: pc.sort_indices(table, sort_keys=keys), 2)
    detail = f"{ours:.2f} s; sorting takes NumPy {by_numpy:.2f} s, pyarrow {by_arrow:.2f} s"
    claim = f"no edge predicate, {count // 1_000_000}M events, 1,000 partitions: whole call against sorting them"
    return at_most(claim, ours / min(by_numpy, by_arrow), 2, detail)


def exact() -> Finding:
    table = events(1_000_000, 50_000)
    query = PER_COMPANY + " WITHIN 1000000 seconds"
    double = seconds(lambda: aggregate(table, query))
    whole = seconds(lambda: aggregate(table, query, numbers="exact"))
    detail = f"{double:.3f} s → {whole:.3f} s"
    return at_most("exact numbers against DOUBLE while counts fit 64 bits", whole / double, 2, detail)


def many_partitions() -> Finding:
    count = 5_000_000
    table = events(count, 1_000_000)
    ours = seconds(lambda: aggregate(table, FREE + " WITHIN 10000000 seconds"), 2)
    return at_least("million events/s over 1M partitions of 5 events", count / ours / 1e6, 1, f"{ours:.2f} s")


_MEMORY = """
import re, sys
from pathlib import Path
sys.path.insert(0, {here!r})
from engine import aggregate, events
def status(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text()).group(1)) * 1024
table = events({count}, {companies})
aggregate(events(1000, 10), {query!r})
Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
aggregate(table, {query!r})
print((status("VmHWM") - before) / {count})
"""


def memory(companies: int, query: str, what: str) -> Finding:
    """Peak memory of a process of its own, beyond what it holds with the events loaded."""
    here = str(Path(__file__).parent)
    script = _MEMORY.format(here=here, count=2_000_000, companies=companies, query=query)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return at_most(f"bytes per event beyond the input, {what}", float(result.stdout), 150, "2M events")


def findings(quick: bool) -> list[Finding]:
    aggregate(events(1000, 10), PER_COMPANY + " WITHIN 100 seconds SLIDE 10 seconds")
    aggregate(events(1000, 10), PER_COMPANY, numbers="exact")
    return [
        growth(),
        against_the_graph(3_000 if quick else 20_000),
        sliding(),
        free(1_000_000 if quick else 10_000_000),
        exact(),
        many_partitions(),
        memory(1000, FREE + " WITHIN 1000 seconds", "free, tumbling"),
        memory(1000, PER_COMPANY + " WITHIN 6000 seconds SLIDE 100 seconds", "ordered, 60 windows per event"),
        memory(1, Q1, "ordered, one window over all"),
        *(
            (at_least if row.at_least else at_most)(row.claim, row.measured, row.bound, row.detail)
            for row in core.all_measured(200_000 if quick else 1_000_000)
        ),
    ]


def markdown(found: list[Finding]) -> str:
    head = ["| claim | measured | bound | holds | detail |", "|---|---|---|---|---|"]
    rows = [
        f"| {f.claim} | {f.measured:,.2f} | {f.bound} | {'yes' if f.holds else '**no**'} | {f.detail} |" for f in found
    ]
    return "\n".join(head + rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, help="directory for the table as Markdown and JSON")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    options = parser.parse_args()
    found = findings(options.quick)
    print(markdown(found))
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        about = {
            "python": platform.python_version(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            **{name: version(name) for name in ("numpy", "numba", "pyarrow")},
        }
        (options.output / "engine.json").write_text(
            json.dumps({"about": about, "findings": [asdict(f) for f in found]}, indent=2, ensure_ascii=False) + "\n"
        )
        text = "\n".join(f"- {name}: {value}" for name, value in about.items())
        (options.output / "engine.md").write_text(f"{markdown(found)}\n\n{text}\n")


if __name__ == "__main__":
    main()
