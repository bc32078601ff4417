"""Runs of queries: each in a worker of its own, with progress that the page asks for, until it is cancelled."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe
from time import monotonic
from typing import Any, Literal

from greta.studio.limits import Limits
from greta.studio.problems import StudioError
from greta.studio.workers import Worker, WorkerError

COMPILING_SECONDS = 8.0
"""Loading the engine from disk takes about two seconds; what takes longer than this is a first start that compiles."""

State = Literal["running", "done", "failed", "cancelled"]


@dataclass(slots=True)
class Run:
    """One run and what is known of it so far."""

    id: str
    query: str
    source: dict[str, Any]
    result: Path
    state: State = "running"
    phase: str = "starting the engine"
    done: float | None = None
    began: float = field(default_factory=monotonic)
    ended: float | None = None
    summary: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    task: asyncio.Task[None] | None = None

    def to_dict(self) -> dict[str, Any]:
        """For the page."""
        return {
            "id": self.id,
            "state": self.state,
            "phase": self.phase,
            "done": self.done,
            "elapsed": round((self.ended or monotonic()) - self.began, 2),
            "summary": self.summary,
            "error": self.error,
        }


class Runs:
    """The runs of one session; workers are kept warm between runs."""

    def __init__(self, directory: Path, limits: Limits) -> None:
        self._directory = directory
        self._limits = limits
        self._kept: dict[str, Run] = {}
        self._idle = [Worker()]
        self._warming: asyncio.Task[None] | None = None
        self._compiling: asyncio.Task[None] | None = None

    def warm(self) -> None:
        """Start the engine before it is needed; runs wait for it, so that only one process compiles."""
        self._warming = asyncio.create_task(self._warm(self._idle[0]))

    async def _warm(self, worker: Worker) -> None:
        began = monotonic()
        with suppress(WorkerError):
            await worker.ask("warm", part="usual")
        if monotonic() - began > COMPILING_SECONDS:
            self._compiling = asyncio.create_task(self._compile_the_rest())

    async def _compile_the_rest(self) -> None:
        """Nobody waits for this, so it has a process of its own, which ends when it is done."""
        worker = Worker()
        try:
            for part in ("exact", "selection"):
                with suppress(WorkerError):
                    await worker.ask("warm", part=part)
        finally:
            await worker.stop()

    def start(self, query: str, source: dict[str, Any], numbers: str) -> Run:
        """Begin a run; ``StudioError`` where too many are under way."""
        if sum(run.state == "running" for run in self._kept.values()) >= self._limits.runs_at_once:
            raise StudioError(
                f"{self._limits.runs_at_once} queries are running already", "wait, or cancel one", status=429
            )
        key = token_urlsafe(9)
        run = self._kept[key] = Run(key, query, source, self._directory / f"{key}.arrow")
        run.task = asyncio.create_task(self._work(run, numbers))
        for old in [k for k, r in self._kept.items() if r.state != "running"][: -self._limits.runs_kept]:
            del self._kept[old]
            # Its rows, and the files that were made of them to be downloaded.
            for file in self._directory.glob(f"{old}.*"):
                file.unlink(missing_ok=True)
        return run

    def get(self, key: str) -> Run:
        """A run by its identifier."""
        if key not in self._kept:
            raise StudioError("this run is not here any more", "run the query again", status=404)
        return self._kept[key]

    def finished(self, key: str) -> Run:
        """A run that has rows."""
        run = self.get(key)
        if run.state != "done":
            raise StudioError(f"this run is {run.state} and has no rows", "run the query again", status=409)
        return run

    async def cancel(self, key: str) -> Run:
        """End a run and its process; nothing happens to one that has ended."""
        run = self.get(key)
        if run.task is not None and not run.task.done():
            run.task.cancel()
            await asyncio.wait([run.task])
        return run

    async def stop(self) -> None:
        """End all runs and all workers."""
        for key in list(self._kept):
            await self.cancel(key)
        for task in (self._warming, self._compiling):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        for worker in self._idle:
            await worker.stop()

    async def _wait_for_engine(self, run: Run) -> None:
        if self._warming is None:
            return
        done, _ = await asyncio.wait([self._warming], timeout=COMPILING_SECONDS)
        if not done:
            run.phase = "compiling the engine for this machine, which only the first start does (a minute or two)"
            await asyncio.wait([self._warming])

    async def _work(self, run: Run, numbers: str) -> None:
        def told(phase: str, done: float | None) -> None:
            run.phase, run.done = phase, done

        worker = None
        try:
            await self._wait_for_engine(run)
            worker = self._idle.pop() if self._idle else Worker()
            run.summary = await worker.ask(
                "run",
                progress=told,
                query=run.query,
                source=run.source,
                numbers=numbers,
                result=str(run.result),
            )
            run.state = "done"
        except WorkerError as error:
            run.state, run.error = "failed", error.described
        except asyncio.CancelledError:
            # The worker is gone; the run stays as a record that it was cancelled.
            run.state = "cancelled"
        finally:
            run.ended = monotonic()
            if run.state != "done":
                run.result.unlink(missing_ok=True)
            if worker is not None:
                self._idle.append(worker)
