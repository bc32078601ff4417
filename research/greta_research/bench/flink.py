"""A real Apache Flink on flattened queries: one SQL join per length of trend, in a process of its own.

Flink's Python package needs other versions of shared packages than greta, so it lives in an environment of its
own: the interpreter that ``GRETA_FLINK_PYTHON`` names, or the current one where it has ``pyflink``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

from greta.engine.tables import attribute_type
from greta.errors import GretaError
from greta.lang.nodes import Atom, Attribute, Expression, Plus, Semantics
from greta.plan.conditions import rebuilt
from greta.plan.measures import Trends
from greta.plan.nodes import AttributeType, Plan
from greta_research.rivals import DidNotFinish, Finished, Limits, Outcome
from greta_research.rivals.cells import Cells

JOB = Path(__file__).with_name("flink_job.py")
_SQL_TYPES = {
    AttributeType.INTEGER: "BIGINT",
    AttributeType.FLOAT: "DOUBLE",
    AttributeType.TEXT: "STRING",
    AttributeType.BOOLEAN: "BOOLEAN",
}
_START_SECONDS = 120.0


def interpreter() -> str | None:
    """The Python that has Flink, if any."""
    named = os.environ.get("GRETA_FLINK_PYTHON")
    if named:
        return named if Path(named).exists() else None
    return sys.executable if importlib.util.find_spec("pyflink") else None


class Flink:
    """Fixed-length queries in Flink SQL, for each length up to that of the longest trend."""

    name = "flink"

    def supports(self, plan: Plan) -> str | None:
        """Counts of ``Type V+`` in one window, grouped by what all events agree on."""
        pattern = plan.query.pattern
        if not (isinstance(pattern, Plus) and isinstance(pattern.body, Atom)) or plan.min_length > 1:
            return "only patterns of the form Type V+"
        if plan.semantics is not Semantics.ANY or plan.partitioning.scopes or plan.local_predicates:
            return "only skip-till-any-match, without scopes and local predicates"
        counts = all(isinstance(measure, Trends) for measure in plan.measures) and not plan.computed
        if not counts or plan.having is not None:
            return "only COUNT(*)"
        return None

    def run(self, events: pa.Table, plan: Plan, limits: Limits) -> Outcome:
        """Start Flink, run all lengths, stop Flink; the clock runs for the queries alone."""
        python = interpreter()
        if python is None:
            raise GretaError(
                "Apache Flink is not installed",
                hint="install apache-flink into an environment of its own and "
                "name its interpreter in GRETA_FLINK_PYTHON",
            )
        cells = list(Cells(events, plan))
        if len({cell.window for cell in cells}) > 1:
            raise GretaError(
                "flattened queries are written for one window", hint="take fewer events, or a longer WITHIN"
            )
        job = {"columns": _columns(events, plan), "rows": _rows(events, plan), "queries": _queries(plan, cells)}
        began = perf_counter()
        process = subprocess.Popen(
            (python, str(JOB)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            output, errors = process.communicate(json.dumps(job), timeout=limits.seconds + _START_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return DidNotFinish("time", perf_counter() - began, 0)
        if process.returncode:
            raise GretaError(f"Flink failed: {errors.strip().splitlines()[-1] if errors.strip() else 'no reason'}")
        answer: dict[str, Any] = json.loads(output.splitlines()[-1])
        if answer["seconds"] > limits.seconds:
            return DidNotFinish("time", answer["seconds"], 0)
        name = next(output.name for output in plan.outputs if not output.hidden)
        return Finished([{name: answer["count"]}], answer["seconds"], 0)


def _names(plan: Plan) -> list[str]:
    return list(dict.fromkeys(("time", *plan.attributes)))


def _columns(events: pa.Table, plan: Plan) -> list[tuple[str, str]]:
    """Names and SQL types; a prefix keeps names apart from SQL's own words."""
    kinds = {name: attribute_type(events.schema.field(name).type) for name in _names(plan)}
    return [(f"c_{name}", "BIGINT" if name == "time" else _sql_type(name, kind)) for name, kind in kinds.items()]


def _sql_type(name: str, kind: AttributeType | None) -> str:
    if kind not in _SQL_TYPES:
        raise GretaError(f"attribute {name} has a type that the Flink benchmark does not hand over")
    return _SQL_TYPES[kind]


def _rows(events: pa.Table, plan: Plan) -> list[list[Any]]:
    cells = Cells(events, plan)
    return [
        [event.time, *(event.attributes[name] for name in _names(plan)[1:])]
        for event in cells.events
        if event.variables
    ]


def _queries(plan: Plan, cells: list[Any]) -> list[str]:
    """One COUNT over joins per length: neighbours in order of time, in one partition, edge predicates true."""
    longest = 0
    for cell in cells:
        depth: dict[Any, int] = {}
        for vertex in cell.vertices():
            depth[vertex] = 1 + max((depth[p] for p in vertex.previous), default=0)
        longest = max(longest, *depth.values(), 0)
    return [_flattened(plan, length) for length in range(1, longest + 1)]


def _flattened(plan: Plan, length: int) -> str:
    template = plan.templates[0]
    names = [f"e{at}" for at in range(1, length + 1)]
    conditions = []
    for earlier, later in pairwise(names):
        conditions.append(f"{earlier}.c_time < {later}.c_time")
        conditions += [f"{earlier}.c_{name} = {later}.c_{name}" for name in plan.partitioning.common]

        def place(leaf: Expression, earlier: str = earlier, later: str = later) -> Expression:
            if not isinstance(leaf, Attribute):
                return leaf
            return Attribute(later if leaf.next else earlier, f"c_{leaf.name}")

        conditions += [f"({rebuilt(p.condition, place)})" for link in template.links for p in link.predicates]
    tables = ", ".join(f"events AS {name}" for name in names)
    return f"SELECT COUNT(*) AS n FROM {tables}" + (f" WHERE {' AND '.join(conditions)}" if conditions else "")
