"""Ways to answer a query, as the benchmark runs them: greta, the paper's graph, the rivals, Spark and Flink."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from time import process_time
from typing import Literal

import pyarrow as pa

from greta.errors import GretaError, did_you_mean
from greta.lang.nodes import Semantics
from greta.plan.nodes import Plan
from greta_research.rivals import Finished, Limits, Outcome, Rival, rivals


class Engine:
    """greta in this process. The plan is given, as to the rivals."""

    def __init__(self, numbers: Literal["double", "exact"]) -> None:
        self.numbers: Literal["double", "exact"] = numbers
        self.name = "greta" if numbers == "double" else "greta-exact"

    def supports(self, plan: Plan) -> str | None:  # noqa: ARG002
        """Everything."""
        return None

    def run(self, events: pa.Table, plan: Plan, limits: Limits) -> Outcome:  # noqa: ARG002
        """Answer; whoever starts the process enforces the limits."""
        from greta.engine.job import Job

        began = process_time()
        rows = Job.bind(plan, events.schema, numbers=self.numbers).run(events)
        seconds = process_time() - began
        return Finished(rows.to_pylist(), seconds, 0)


class Graph:
    """The paper's own algorithm: every edge of the graph is walked."""

    name = "graph"

    def supports(self, plan: Plan) -> str | None:
        """All that the paper defines."""
        return None if plan.semantics in Semantics else "unknown semantics"

    def run(self, events: pa.Table, plan: Plan, limits: Limits) -> Outcome:  # noqa: ARG002
        """Answer; whoever starts the process enforces the limits."""
        from greta.graph import aggregate

        began = process_time()
        rows = aggregate(events, plan)
        seconds = process_time() - began
        return Finished(rows.to_pylist(), seconds, 0)


def _makers() -> dict[str, Callable[[], Rival]]:
    from greta_research.bench.flink import Flink
    from greta_research.bench.spark import Spark

    return {
        "greta": lambda: Engine("double"),
        "greta-exact": lambda: Engine("exact"),
        "graph": Graph,
        "spark-1": lambda: Spark(1),
        "spark-2": lambda: Spark(2),
        "flink": Flink,
    }


def strategy(name: str) -> Rival:
    """A strategy by its name."""
    makers, known = _makers(), rivals()
    if name in makers:
        return makers[name]()
    if name not in known:
        hint = did_you_mean(name, [*makers, *known]) or f"choose from {', '.join([*makers, *known])}"
        raise GretaError(f"there is no strategy {name!r}", hint=f"{hint}")
    return known[name]


def missing(name: str) -> str | None:
    """Why a strategy cannot run here, None where it can."""
    if name.startswith("spark") and importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed (pip install 'greta-trends[spark]')"
    if name == "flink":
        from greta_research.bench.flink import interpreter

        return None if interpreter() else "Apache Flink is not installed (see docs/benchmarks.md)"
    return None
