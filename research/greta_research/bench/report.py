"""Runs → figures in the paper's form, a table in Markdown, and a page that needs nothing else."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greta.errors import DataError, SetupError
from greta_research.bench import results
from greta_research.bench.claims import Claim, claims, size
from greta_research.bench.experiments import Experiment, experiments
from greta_research.bench.results import Run

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_COLOURS = {
    "greta": "#0b7285",
    "greta-exact": "#66a80f",
    "graph": "#e8590c",
    "sase": "#9c36b5",
    "cet": "#1971c2",
    "flat": "#868e96",
    "aseq": "#f08c00",
    "spark-1": "#74c0fc",
    "spark-2": "#1864ab",
    "flink": "#c2255c",
}
_MARKERS = "osD^vP*<>h"
_METRICS = (
    ("Latency (s)", "seconds"),
    ("Throughput (events/s)", "throughput"),
    ("Peak memory beyond the input (MB)", "memory"),
)


def write_report(directory: Path) -> Path:
    """Write ``report.html``, ``report.md`` and a PNG per experiment beside the results; return the page."""
    runs = results.read(directory)
    if not runs:
        raise DataError(
            f"{directory}: there are no runs", hint=f"python -m greta_research.bench --output {directory} makes some"
        )
    about = _about(directory)
    found = claims(runs)
    shown = [e for e in experiments().values() if any(r.experiment == e.name for r in runs)]
    figures = {e.name: _figure(e, [r for r in runs if r.experiment == e.name], directory) for e in shown}
    (directory / "report.md").write_text(_markdown(shown, runs, found, about), encoding="utf-8")
    page = directory / "report.html"
    page.write_text(_page(shown, runs, found, about, figures), encoding="utf-8")
    return page


def _about(directory: Path) -> dict[str, Any]:
    file = directory / results.WHOLE
    if not file.exists():
        return {}
    about: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["about"]
    return about


def _figure(experiment: Experiment, runs: list[Run], directory: Path) -> Path:
    """Three panels, as in the paper: log axes, a cross at the limit for what did not finish."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise SetupError(
            "figures need matplotlib", hint="pip install 'greta-trends[plot]', then draw the report again"
        ) from error
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    numeric = all(not isinstance(point.x, str) for point in experiment.points)
    for axes, (label, metric) in zip(panels, _METRICS, strict=True):
        for at, strategy in enumerate(experiment.strategies):
            mine = sorted((r for r in runs if r.strategy == strategy), key=lambda run: run.place)
            _line(axes, experiment, mine, metric, numeric, _MARKERS[at % len(_MARKERS)])
        axes.set_title(label, fontsize=10)
        axes.set_xlabel(experiment.x_label)
        axes.set_yscale("log")
        axes.grid(visible=True, which="major", alpha=0.3)
        if numeric and experiment.log_x:
            axes.set_xscale("log")
        if not numeric:
            axes.set_xticks(range(len(experiment.points)), [str(p.x) for p in experiment.points], rotation=30)
    figure.legend(*_legend(panels), loc="outside right upper", fontsize=8)
    figure.suptitle(f"{experiment.title}: × did not finish", fontsize=11)
    file = directory / f"{experiment.name}.png"
    figure.savefig(file, dpi=110)
    plt.close(figure)
    return file


def _legend(panels: Iterable[Axes]) -> tuple[list[Artist], list[str]]:
    """One entry per strategy, from whichever panel shows it."""
    found: dict[str, Artist] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)


def _line(axes: Axes, experiment: Experiment, runs: list[Run], metric: str, numeric: bool, marker: str) -> None:
    points: list[tuple[float, float]] = []
    crosses: list[tuple[float, float]] = []
    for run in runs:
        x = experiment.points[run.place].x
        place = float(x) if numeric else float(run.place)
        value = _value(run, metric)
        if run.status == "finished" and value is not None:
            points.append((place, value))
        elif run.unfinished:
            crosses.append((place, _limit(run, metric, experiment)))
    strategy = runs[0].strategy if runs else ""
    colour = _COLOURS.get(strategy, "black")
    if points:
        axes.plot(*zip(*points, strict=True), marker=marker, markersize=4, color=colour, label=strategy, lw=1.4)
    if crosses:
        axes.plot(*zip(*crosses, strict=True), "x", markersize=8, color=colour, mew=2, label=strategy)
        if points:
            axes.plot(*zip(points[-1], crosses[0], strict=True), ":", color=colour, lw=1)


def _value(run: Run, metric: str) -> float | None:
    value: float | None = getattr(run, metric)
    return value / 2**20 if metric == "memory" and value is not None else value


def _limit(run: Run, metric: str, experiment: Experiment) -> float:
    """Where the cross of an unfinished run stands."""
    match metric:
        case "seconds":
            return run.limit
        case "throughput":
            return run.events / run.limit
        case _:
            return (run.memory or experiment.memory) / 2**20


def _cell(run: Run | None) -> str:
    if run is None:
        return ""
    match run.status:
        case "finished":
            assert run.seconds is not None
            memory = "" if run.memory is None else f", {size(run.memory)}"
            return f"{seconds(run.seconds)}{memory}"
        case "did not finish":
            return f"× {run.reason}"
        case "implied":
            return "×"
        case "unsupported" | "skipped":
            return f"– {run.reason}"
        case "failed":
            return f"failed: {run.reason}"


def seconds(value: float) -> str:
    """Time for people.

    >>> seconds(0.00123), seconds(12.345)
    ('1.23 ms', '12.3 s')
    """
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"


def _rows(experiment: Experiment, runs: Sequence[Run]) -> list[list[str]]:
    table = {(run.place, run.strategy): run for run in runs if run.experiment == experiment.name}
    rows = [[experiment.x_label, *experiment.strategies]]
    for place, point in enumerate(experiment.points):
        if any((place, strategy) in table for strategy in experiment.strategies):
            label = f"{point.x:,}" if isinstance(point.x, int) else str(point.x)
            rows.append([label, *(_cell(table.get((place, strategy))) for strategy in experiment.strategies)])
    return rows


_VERDICT = {True: "yes", False: "**no**", None: "not measured"}


def _markdown(shown: list[Experiment], runs: list[Run], found: list[Claim], about: dict[str, Any]) -> str:
    """Claims and tables, to be pasted into documentation."""
    lines = [f"- {name}: {value}" for name, value in _facts(about)]
    lines += ["", "| claim | measured | holds |", "|---|---|---|"]
    lines += [f"| {c.text} | {c.measured} | {_VERDICT[c.holds]} |" for c in found]
    for experiment in shown:
        head, *rows = _rows(experiment, runs)
        lines += [
            "",
            f"### {experiment.title}",
            "",
            experiment.claim,
            "",
            f"![{experiment.title}](images/bench/{experiment.name}.png)",
            "",
        ]
        lines += [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _facts(about: dict[str, Any]) -> list[tuple[str, str]]:
    facts = []
    for name, value in about.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {version}" for key, version in value.items() if version)
        facts.append((name, str(value)))
    return facts


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1180px; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; }
td, th { border: 1px solid #ddd; padding: 3px 8px; text-align: left; vertical-align: top; }
img { max-width: 100%; } .no { color: #c92a2a; font-weight: bold; } .yes { color: #2b8a3e; }
"""


_NOTE = (
    "Times are medians of up to five runs, in processor time, which on an idle machine is that of the clock (Spark "
    "and Flink: the clock). All events are there from the start, so the time until the last result is the peak "
    "latency. Memory is the peak beyond the input. × did not finish within the limits."
)


def _page(
    shown: list[Experiment],
    runs: list[Run],
    found: list[Claim],
    about: dict[str, Any],
    figures: dict[str, Path],
) -> str:
    verdicts = {True: "<td class=yes>yes</td>", False: "<td class=no>no</td>", None: "<td>not measured</td>"}
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>greta benchmarks</title>",
        f"<style>{_STYLE}</style><h1>greta benchmarks</h1><table>",
        *(f"<tr><th>{html.escape(name)}<td>{html.escape(value)}" for name, value in _facts(about)),
        "</table><h2>Claims</h2><table><tr><th>claim<th>measured<th>holds",
        *(f"<tr><td>{html.escape(c.text)}<td>{html.escape(c.measured)}{verdicts[c.holds]}" for c in found),
        f"</table><p>{_NOTE}",
    ]
    for experiment in shown:
        image = base64.b64encode(figures[experiment.name].read_bytes()).decode()
        head, *rows = _rows(experiment, runs)
        parts += [
            f"<h2>{html.escape(experiment.title)}</h2><p>{html.escape(experiment.claim)}</p>",
            f'<img alt="{html.escape(experiment.title)}" src="data:image/png;base64,{image}">',
            "<table><tr>" + "".join(f"<th>{html.escape(cell)}" for cell in head),
            *("<tr>" + "".join(f"<td>{html.escape(cell)}" for cell in row) for row in rows),
            "</table>",
        ]
    return "\n".join(parts) + "\n"
