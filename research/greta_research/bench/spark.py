"""greta on Spark as a strategy: a local session with a fixed number of cores."""

from __future__ import annotations

from time import perf_counter

import pyarrow as pa

from greta.plan.nodes import Plan
from greta_research.rivals import Finished, Limits, Outcome


class Spark:
    """``greta.spark.aggregate`` on ``local[cores]``; the session starts before the measurement."""

    def __init__(self, cores: int) -> None:
        self.cores = cores
        self.name = f"spark-{cores}"

    def supports(self, plan: Plan) -> str | None:  # noqa: ARG002
        """Everything."""
        return None

    def run(self, events: pa.Table, plan: Plan, limits: Limits) -> Outcome:  # noqa: ARG002
        """Answer; from a DataFrame of events to rows in this process."""
        import greta.spark

        session = greta.spark.session(f"local[{self.cores}]", spark_driver_memory="4g")
        frame = session.createDataFrame(events)
        began = perf_counter()
        rows = greta.spark.aggregate(frame, plan.query).toArrow()
        seconds = perf_counter() - began
        return Finished(rows.to_pylist(), seconds, 0)
