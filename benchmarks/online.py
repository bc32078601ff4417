"""What a stream in this process costs: ``python benchmarks/online.py``.

Q1 over trades in pushes of a second, for some rates, numbers of companies, kinds of prices and windows. Windows are
filled first; then pushes that end a window are compared with the others, an event with an event of a batch over the
same events, and the bytes kept with the events of open windows. ``greta watch`` reads a million lines from a pipe.
Times are processor times of one run, since machines are shared. Writes ``benchmarks/results/online.json`` and the part
*What it costs* of ``docs/staying-online.md``; ``--quick`` takes shorter windows, to try it out, and writes nothing.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from time import monotonic, process_time

import numpy as np
import pyarrow as pa
from pages import ROOT, write_part

import greta

QUERY = """
RETURN sector, COUNT(*)
PATTERN Stock S+
SEMANTICS {semantics}
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN {within} seconds SLIDE {slide} seconds
"""
SECTORS = 10
LINES = 1_000_000


@dataclass(frozen=True)
class Setting:
    """A stream to measure."""

    rate: int
    companies: int
    cents: bool
    within: int = 600
    slide: int = 10
    measured: int = 60
    """Pushes of a second that are measured once the first window is full."""
    semantics: str = "skip-till-any-match"


@dataclass(frozen=True)
class Finding:
    """What was measured; times in processor seconds."""

    setting: Setting
    online: bool
    fill_per_event: float
    per_event: float
    """In the steady state, all pushes together."""
    batch_per_event: float
    closing_push: float
    """Mean over the pushes that end a window."""
    other_push: float
    slowest_push: float
    """Of all."""
    slowest_closing_push: float
    """The 99th percentile, that is the slowest of fewer than a hundred."""
    bytes_per_open_event: float
    rows: int

    @property
    def closing_ratio(self) -> float:
        """How many times a push that ends a window costs what another one does."""
        return self.closing_push / self.other_push

    @property
    def batch_ratio(self) -> float:
        """How many times an event costs what it does in a batch."""
        return self.per_event / self.batch_per_event


def seconds_of(setting: Setting) -> Iterator[pa.Table]:
    """The stream, a table per second: prices of companies on random walks, times all different."""
    random = np.random.default_rng(7)
    names = pa.array([f"company {number}" for number in range(setting.companies)])
    sectors = pa.array([f"sector {number % SECTORS}" for number in range(setting.companies)])
    types = pa.DictionaryArray.from_arrays(np.zeros(setting.rate, np.int8), ["Stock"]).cast(pa.string())
    last = 100 + random.normal(0, 5, setting.companies)
    step = 1_000_000 // setting.rate
    for second in range(setting.within + setting.slide + setting.measured):
        company = random.integers(0, setting.companies, setting.rate)
        price = np.empty(setting.rate)
        moves = random.normal(0, 0.02, setting.rate)
        order = np.argsort(company, kind="stable")
        starts = np.flatnonzero(np.diff(company[order], prepend=-1))
        walked = np.cumsum(moves[order])
        before = np.repeat(walked[starts] - moves[order][starts], np.diff([*starts, setting.rate]))
        price[order] = last[company[order]] + walked - before
        ends = np.append(starts[1:], setting.rate) - 1
        last[company[order][ends]] = price[order][ends]
        yield pa.table(
            {
                "type": types,
                "time": pa.array(second * 1_000_000 + np.arange(setting.rate) * step).cast(pa.timestamp("us")),
                "company": names.take(pa.array(company)),
                "sector": sectors.take(pa.array(company)),
                "price": np.round(price, 2) if setting.cents else price,
            }
        )


def measure(setting: Setting) -> Finding:
    """Fill the first window, measure, and run the same events as a batch."""
    query = QUERY.format(within=setting.within, slide=setting.slide, semantics=setting.semantics)
    stream = greta.stream(query)
    seen, closing, others = [], [], []
    fill, rows = 0.0, 0
    for second, table in enumerate(seconds_of(setting)):
        seen.append(table)
        began = process_time()
        answer = stream.push(table)
        took = process_time() - began
        if second < setting.within + setting.slide:
            fill += took
            continue
        rows += answer.num_rows
        # The watermark of second s is just before s + 1, so a window that ends at s ends with this push.
        (closing if second % setting.slide == 0 else others).append(took)
    figures = stream.figures
    del stream
    gc.collect()
    everything = pa.concat_tables(seen)
    began = process_time()
    greta.aggregate(everything, query)
    batch = process_time() - began
    measured = setting.measured * setting.rate
    return Finding(
        setting,
        figures.online,
        fill / (setting.rate * (setting.within + setting.slide)),
        (sum(closing) + sum(others)) / measured,
        batch / everything.num_rows,
        float(np.mean(closing)),
        float(np.mean(others)),
        max(*closing, *others),
        float(np.quantile(closing, 0.99, method="higher")),
        figures.bytes / (setting.rate * setting.within),
        rows,
    )


def watch_rate(lines: int) -> dict[str, float]:
    """Events per second of ``greta watch`` on a pipe of JSON lines, by the clock and by processor time."""
    random = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "events.jsonl"
        prices = np.round(random.uniform(10, 100, lines), 2).tolist()
        with path.open("w") as file:
            for at, price in enumerate(prices):
                company = at % 20
                file.write(
                    f'{{"type":"Stock","time":{at / 10_000:.4f},"company":"company {company}",'
                    f'"sector":"sector {company % SECTORS}","price":{price}}}\n'
                )
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), monotonic()
        query = QUERY.format(within=1, slide=1, semantics="skip-till-any-match")
        with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE) as cat:
            command = [sys.executable, "-m", "greta.cli", "watch", query, "--json"]
            subprocess.run(command, stdin=cat.stdout, stdout=subprocess.DEVNULL, check=True)
        after, clock = resource.getrusage(resource.RUSAGE_CHILDREN), monotonic() - began
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"lines": lines, "per_second": lines / clock, "per_processor_second": lines / processor}


def settings(quick: bool) -> list[Setting]:
    """What is measured."""
    if quick:
        return [Setting(rate, 20, cents, 60, 5, 20) for rate in (1_000, 10_000) for cents in (True, False)]
    usual = [
        Setting(rate, companies, cents)
        for rate in (1_000, 10_000)
        for companies in (20, 200, 2_000)
        for cents in (True, False)
    ]
    hours = [Setting(1_000, 20, cents, within=3_600) for cents in (True, False)]
    others = [Setting(10_000, 200, False, semantics=one) for one in ("skip-till-next-match", "contiguous")]
    return [*usual, *hours, *others]


HEADINGS = ("events/s", "companies", "prices", "WITHIN", "selection", "closing ÷ other (2)", "closing, p99 (20 ms)")
HEADINGS += ("slowest", "µs per event", "in a batch", "ratio (2)", "bytes per open event (600)")


def cells(finding: Finding) -> list[str]:
    """A line of the table."""
    setting = finding.setting
    return [
        f"{setting.rate:,}",
        f"{setting.companies:,}",
        "cents" if setting.cents else "continuous",
        f"{setting.within // 60} min" if setting.within >= 60 else f"{setting.within} s",
        setting.semantics.removeprefix("skip-till-").removesuffix("-match")
        + ("" if finding.online else ", at the close"),
        f"{finding.closing_ratio:.1f}",
        f"{finding.slowest_closing_push * 1e3:.1f} ms",
        f"{finding.slowest_push * 1e3:.1f} ms",
        f"{finding.per_event * 1e6:.2f}",
        f"{finding.batch_per_event * 1e6:.2f}",
        f"{finding.batch_ratio:.1f}",
        f"{finding.bytes_per_open_event:.0f}",
    ]


def line(words: Iterable[str]) -> str:
    """Of a table in Markdown."""
    return f"| {' | '.join(words)} |"


PAGE = """
`python benchmarks/online.py`: Q1 with SLIDE 10 seconds in pushes of a second, processor time of one run, load
{load:.1f} before; in brackets what is wanted at most. 60 pushes are measured once the first window is full, six of
them close one; beside them a batch over the same events.

{table}

Pushes that end no window do the work of several, so the slowest are slower than those that end one. At a thousand
events a second, a good part is what pushes cost whatever they hold. With continuous prices an event reads and writes
ten kilobytes of sums for its 60 windows, which lie in no cache; a batch has the sums of one company
there. All windows of an hour of continuous prices need more memory than indexes are given, so bands of them take turns.

`greta watch` on a pipe of {lines:,.0f} lines of JSON: {per_second:,.0f} events per second by the clock,
{per_processor_second:,.0f} per processor second.

`benchmarks/spark_steps.py` measures a step of Spark's operator: [its
figures](benchmarks-spark.md#steps-of-a-stream).
"""


def page(findings: list[Finding], watch: dict[str, float], load: float) -> str:
    """The part of the documentation."""
    left = ("prices", "selection")
    lines = [HEADINGS, ["---" if heading in left else "--:" for heading in HEADINGS], *map(cells, findings)]
    return PAGE.format(load=load, table="\n".join(map(line, lines)), **watch)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    # Kernels are compiled or loaded before anything is measured.
    measure(Setting(100, 20, True, 10, 2, 6))
    findings = []
    print(line(HEADINGS))
    for setting in settings(options.quick):
        finding = measure(setting)
        findings.append(finding)
        print(line(cells(finding)), flush=True)
    watch = watch_rate(LINES // 10 if options.quick else LINES)
    print(
        f"greta watch: {watch['per_second']:,.0f} events/s by the clock, "
        f"{watch['per_processor_second']:,.0f} per processor second"
    )
    if not options.quick:
        about = {
            "python": platform.python_version(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            **{name: version(name) for name in ("numpy", "numba", "pyarrow")},
            "load": load,
        }
        written = [
            asdict(finding) | {"closing_ratio": finding.closing_ratio, "batch_ratio": finding.batch_ratio}
            for finding in findings
        ]
        text = json.dumps({"about": about, "findings": written, "watch": watch}, indent=2)
        (ROOT / "benchmarks" / "results" / "online.json").write_text(text + "\n")
        write_part("What it costs", page(findings, watch, load), ROOT / "docs" / "staying-online.md")


if __name__ == "__main__":
    main()
