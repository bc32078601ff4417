"""What greta is measured against, behind one interface: a query and events in, rows or "did not finish" out.

The rivals are those of the paper's evaluation and related work (§10, §11): SASE, CET and flattened sequence
queries build every trend and aggregate them afterwards; A-Seq counts without building, but fixed lengths only.
All are plain Python over the plan's templates, cell by cell: a cell is one partition in one window.
"""

from __future__ import annotations

import gc
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from time import process_time
from typing import Literal, Protocol

import pyarrow as pa

from greta.lang.nodes import Semantics
from greta.plan.nodes import Plan
from greta_research.rivals.cells import Cell, Cells, given
from greta_research.rivals.totals import Totals, rows_of

VERTEX_BYTES = 200
"""What an event in a stack or graph costs, about: the object and its list of pointers."""
POINTER_BYTES = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take: processor time, and memory for what it stores, by its own accounts."""

    seconds: float = math.inf
    memory: float = math.inf


@dataclass(frozen=True, slots=True)
class Finished:
    """All rows; ``stored`` is the peak memory for vertices, pointers and trends, by the rival's own accounts."""

    rows: list[dict[str, object]]
    seconds: float
    stored: int


@dataclass(frozen=True, slots=True)
class DidNotFinish:
    """A limit was reached after ``seconds``; there are no rows, not even some."""

    reason: Literal["time", "memory"]
    seconds: float
    stored: int


Outcome = Finished | DidNotFinish


class Rival(Protocol):
    """Another way to the rows of a query."""

    @property
    def name(self) -> str:
        """A short name for tables and command lines."""

    def supports(self, plan: Plan) -> str | None:
        """None where the rival can answer the query, else the reason why not."""

    def run(self, events: pa.Table, plan: Plan, limits: Limits) -> Outcome:
        """Answer the query, or stop soon after a limit is reached."""


class LimitReachedError(Exception):
    """Unwinds a rival's loops; never leaves ``run``."""

    def __init__(self, reason: Literal["time", "memory"]) -> None:
        super().__init__(reason)
        self.reason: Literal["time", "memory"] = reason


class Meter:
    """Watches the limits of one run; loops tell it what they store and how far they are."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.began = process_time()
        self.stored = 0
        self.peak = 0

    @property
    def seconds(self) -> float:
        """Processor time since the run began: what other processes do to the machine does not count."""
        return process_time() - self.began

    def check(self) -> None:
        """Raise where time is up; to be called every few thousand steps."""
        if self.seconds > self.limits.seconds:
            raise LimitReachedError("time")

    def store(self, size: int) -> None:
        """Account for ``size`` more bytes (fewer, where negative) and check both limits."""
        self.stored += size
        if self.stored > self.peak:
            self.peak = self.stored
            if self.stored > self.limits.memory:
                raise LimitReachedError("memory")
        self.check()


class CellByCell(ABC):
    """A rival that answers each cell by itself and adds the answers up."""

    name: str

    def supports(self, plan: Plan) -> str | None:
        """Any-match patterns without AND, aggregates of events; scopes must name all positive variables, as in Q3."""
        if plan.conjunction:
            return "no outermost AND"
        if plan.semantics is not Semantics.ANY:
            return f"no {plan.semantics.value}"
        if len(given(plan.measures)) < len(plan.measures):
            return "no values of trends"
        positive = plan.templates[0].variables
        if any(not positive <= scope.variables for scope in plan.partitioning.scopes):
            return "no equivalence that binds only some of the pattern's variables"
        return None

    def run(self, events: pa.Table, plan: Plan, limits: Limits) -> Outcome:
        """Answer cell by cell; columns ``time`` and ``type`` are what their names say."""
        collecting = gc.isenabled()
        # Millions of small tuples make the collector of cycles the main cost, and rivals make no cycles.
        gc.disable()
        try:
            return self._run(events, plan, Meter(limits))
        finally:
            if collecting:
                gc.enable()

    def _run(self, events: pa.Table, plan: Plan, meter: Meter) -> Outcome:
        found: dict[tuple[int, tuple[object, ...]], Totals] = {}
        try:
            cells = Cells(events, plan)
            for cell in cells:
                totals = found.get((cell.window, cell.group)) or Totals(plan.measures)
                self.answer(cell, totals, meter)
                if totals.trends:
                    found[cell.window, cell.group] = totals
                meter.store(-meter.stored)
        except LimitReachedError as limit:
            return DidNotFinish(limit.reason, meter.seconds, meter.peak)
        except MemoryError:
            return DidNotFinish("memory", meter.seconds, meter.peak)
        return Finished(rows_of(plan, cells.clock, found), meter.seconds, meter.peak)

    @abstractmethod
    def answer(self, cell: Cell, totals: Totals, meter: Meter) -> None:
        """Add the cell's trends to the totals of its window and group."""


def rivals() -> Mapping[str, Rival]:
    """All rivals by name, slowest idea first."""
    from greta_research.rivals.aseq import ASeq
    from greta_research.rivals.cet import Cet
    from greta_research.rivals.flat import Flat
    from greta_research.rivals.sase import Sase

    found: tuple[Rival, ...] = (Flat(), Sase(), Cet(), ASeq())
    return {rival.name: rival for rival in found}
