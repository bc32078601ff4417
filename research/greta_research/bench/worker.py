"""One run in a process of its own: a job as JSON on standard input, a measurement as JSON on standard output.

Data are generated, the query is planned and the strategy warmed up on a few events before the clock starts; so
kernels are compiled and Spark is running by then.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from typing import Any

from greta.engine.tables import schema_of
from greta.plan.analyze import analyze
from greta.plan.nodes import Plan
from greta_research.bench.experiments import experiments
from greta_research.bench.flink import Flink
from greta_research.bench.memory import Peak, small_pages
from greta_research.bench.strategies import strategy
from greta_research.rivals import DidNotFinish, Finished, Limits

_WARM_UP_EVENTS = 8
"""Few for all: a larger warm-up would leave memory behind for the run to hide in."""
_WARM_UP_SECONDS = 60.0
_ELSEWHERE = {"spark-1", "spark-2", "flink"}
"""Strategies whose memory is that of other processes, and is not measured."""
_REPEATS = 25
_REPEAT_SECONDS = 1.0
"""Runs shorter than this in all are repeated; the median counts."""


def measure(experiment: str, place: int, name: str, seconds: float) -> dict[str, Any]:
    """Run one strategy at one point of an experiment."""
    what = experiments()[experiment]
    point = what.points[place]
    events = point.data.make()
    plan = analyze(point.query, schema_of(events.schema))
    way = strategy(name)
    reason = way.supports(plan)
    if reason is not None:
        return {"status": "unsupported", "reason": reason}
    if not isinstance(way, Flink):
        # Flink starts anew for every run, and warms up by itself.
        way.run(events.slice(0, _WARM_UP_EVENTS), plan, Limits(seconds=_WARM_UP_SECONDS))
    limits = Limits(seconds, what.memory)
    print("ready", file=sys.stderr, flush=True)
    peak = Peak()
    outcome = way.run(events, plan, limits)
    memory = peak.rise()
    if isinstance(outcome, Finished) and outcome.seconds > seconds:
        outcome = DidNotFinish("time", outcome.seconds, outcome.stored)
    if isinstance(outcome, DidNotFinish):
        return {
            "status": "did not finish",
            "reason": outcome.reason,
            "seconds": outcome.seconds,
            "memory": memory,
            "stored": outcome.stored,
        }
    times = [outcome.seconds]
    while len(times) < _REPEATS and sum(times) < _REPEAT_SECONDS:
        again = way.run(events, plan, limits)
        assert isinstance(again, Finished)
        times.append(again.seconds)
    return {
        "status": "finished",
        "seconds": statistics.median(times),
        "repeats": times,
        "memory": memory if way.name not in _ELSEWHERE else None,
        "stored": outcome.stored,
        "rows": len(outcome.rows),
        "check": _check(plan, outcome),
    }


def _check(plan: Plan, outcome: Finished) -> str:
    """The sum of the first aggregate over all rows, rounded: equal for all strategies that are right."""
    name = next(output.name for output in plan.outputs if not output.hidden)
    total = math.fsum(_number(row[name]) for row in outcome.rows)
    return f"{total:.9g}"


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf


def main() -> None:
    """Answer one job."""
    # Counts may have thousands of digits, and so may what exact numbers print.
    sys.set_int_max_str_digits(0)
    small_pages()
    job = json.load(sys.stdin)
    result = measure(job["experiment"], job["place"], job["strategy"], job["seconds"])
    sys.stdout.write("\n" + json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
