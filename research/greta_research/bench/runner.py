"""Runs experiments: one process per run, limits enforced from outside, resumed where it was interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from greta_research.bench import results
from greta_research.bench.experiments import Experiment
from greta_research.bench.results import Run
from greta_research.bench.strategies import missing

_PREPARATION_SECONDS = 300.0
"""Generating data, starting Spark and compiling kernels is not measured, but it must end."""
_GRACE_SECONDS = 5.0
_PATIENCE = 10.0
"""How many times its limit a run may take by the clock: on a busy machine it waits for its turn."""
_POLL_SECONDS = 0.05
QUICK_SECONDS = 5.0


def jobs(chosen: Sequence[Experiment], *, quick: bool) -> Iterator[tuple[Experiment, int, str]]:
    """Every (experiment, place, strategy), strategy by strategy."""
    for experiment in chosen:
        places = experiment.quick if quick else range(len(experiment.points))
        for strategy in experiment.strategies:
            for place in places:
                yield experiment, place, strategy


def run_all(chosen: Sequence[Experiment], directory: Path, *, quick: bool, fresh: bool) -> list[Run]:
    """Run what is not there yet, and return all runs. Results are kept one by one."""
    directory.mkdir(parents=True, exist_ok=True)
    if fresh:
        (directory / results.LINES).unlink(missing_ok=True)
    known = {run.id: run for run in results.read(directory)}
    todo = list(jobs(chosen, quick=quick))
    stopped: dict[tuple[str, str], str] = {}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(todo))
        for experiment, place, strategy in todo:
            point = experiment.points[place]
            progress.update(task, description=f"{experiment.name} {point.x} {strategy}")
            run = known.get(f"{experiment.name}/{point.x}/{strategy}")
            if run is None:
                larger = stopped.get((experiment.name, strategy)) if experiment.grows else None
                run = _run(experiment, place, strategy, larger, quick=quick)
                results.append(directory, run)
                known[run.id] = run
            if run.unfinished:
                stopped.setdefault((experiment.name, strategy), run.x)
            progress.advance(task)
    return list(known.values())


def _run(experiment: Experiment, place: int, strategy: str, stopped_at: str | None, *, quick: bool) -> Run:
    point = experiment.points[place]
    limit = min(experiment.seconds, QUICK_SECONDS) if quick else experiment.seconds
    if (reason := missing(strategy)) is not None:
        outcome: dict[str, Any] = {"status": "skipped", "reason": reason}
    elif stopped_at is not None:
        outcome = {"status": "implied", "reason": f"did not finish at {stopped_at}"}
    else:
        job = {"experiment": experiment.name, "place": place, "strategy": strategy, "seconds": limit}
        outcome = run_process(job, limit, experiment.memory)
    outcome["repeats"] = tuple(outcome.get("repeats", ()))
    return Run(experiment.name, place, str(point.x), point.data.events, strategy, limit=limit, quick=quick, **outcome)


def run_process(job: dict[str, Any], seconds: float, memory: float) -> dict[str, Any]:
    """Run one job in a new process and stop it where it does not keep a limit by itself."""
    with tempfile.TemporaryFile("w+") as output, tempfile.NamedTemporaryFile("r+") as errors:
        process = subprocess.Popen(
            (sys.executable, "-m", "greta_research.bench.worker"),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            text=True,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(_places())},
        )
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(job))
            process.stdin.close()
            outcome = _watch(process, Path(errors.name), seconds, memory)
        except BaseException:
            # It leads a session of its own, so Ctrl-C does not reach it.
            _stop(process)
            raise
        if outcome is not None:
            return outcome
        output.seek(0)
        lines = output.read().splitlines()
        if process.returncode or not lines:
            errors.seek(0)
            last = ([""] + [line for line in errors.read().splitlines() if line.strip()])[-1]
            return {"status": "failed", "reason": f"exit code {process.returncode}: {last}"[:300]}
        found: dict[str, Any] = json.loads(lines[-1])
        return found


def _places() -> list[str]:
    """Where the worker finds this package, which is not installed, and what this process was told to look for."""
    return [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]


def _watch(process: subprocess.Popen[str], errors: Path, seconds: float, memory: float) -> dict[str, Any] | None:
    """Wait for the end; None where the process ended by itself.

    Time counts as the strategies count it, in processor time, but a process that only waits is stopped as well.
    """
    began = monotonic()
    while process.poll() is None and "ready" not in errors.read_text(errors="replace"):
        if monotonic() - began > _PREPARATION_SECONDS:
            _stop(process)
            return {"status": "failed", "reason": f"not ready after {_PREPARATION_SECONDS:.0f} s"}
        sleep(_POLL_SECONDS)
    ready, worked, held = monotonic(), _processor_seconds(process.pid), _resident(process.pid)
    while process.poll() is None:
        spent = _processor_seconds(process.pid) - worked
        more = _resident(process.pid) - held
        late = monotonic() - ready > _PATIENCE * max(seconds, _GRACE_SECONDS)
        if more > memory:
            _stop(process)
            return {"status": "did not finish", "reason": "memory", "seconds": spent, "memory": more}
        if spent > seconds + _GRACE_SECONDS or late:
            # A short run may be repeated, and some strategies do not look at the limit themselves.
            _stop(process)
            return {"status": "did not finish", "reason": "time", "seconds": max(spent, seconds), "memory": more}
        sleep(_POLL_SECONDS)
    return None


def _stop(process: subprocess.Popen[str]) -> None:
    """End the process and all that it started (it leads a session of its own)."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _resident(pid: int) -> int:
    """Memory of a process in bytes; 0 where the system does not tell."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _processor_seconds(pid: int) -> float:
    """Processor time of a process so far; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
