"""Which graph the events of a query are linked in, and why none may be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from greta.engine.job import Job
from greta.lang.nodes import Semantics
from greta.live.graphs import Graph
from greta.live.growing import LiveGraph
from greta.live.listed import why_no_lists
from greta.live.orders import why_no_indexes, why_no_passing
from greta.live.passing import PassingGraph
from greta.live.program import Program


def why_not(job: Job) -> str | None:
    """Why a query's windows are computed when they close; None where they can be brought forward by each event."""
    return why_no_indexes(job) or why_no_lists(job) if job.plan.semantics is Semantics.ANY else why_no_passing(job)


def new_graph(program: Program, most_bytes: int, memory: NDArray[np.float64] | None = None) -> Graph:
    """A graph without events, of at most so many bytes; ``memory``: where its indexes are to lie, if it has any."""
    if program.job.plan.semantics is not Semantics.ANY:
        return PassingGraph(program, most_bytes)
    return LiveGraph(program, most_bytes, np.empty(0) if memory is None else memory)
