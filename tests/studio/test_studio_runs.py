"""A first start that compiles the engine: runs wait, say what they wait for, and the rest is compiled aside."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from greta.studio import runs
from greta.studio.limits import LIMITS
from greta.studio.runs import Run, Runs


class Slow:
    """A worker that compiles until it is told that it is done."""

    asked: list[tuple[str, str | None]]
    compiled: asyncio.Event

    async def ask(self, ask: str, *, part: str | None = None, **_: Any) -> dict[str, Any]:
        self.asked.append((ask, part))
        if ask == "warm":
            await self.compiled.wait()
        return {"rows": 0}

    async def stop(self) -> None:
        self.asked.append(("stop", None))


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> type[Slow]:
    monkeypatch.setattr(runs, "Worker", Slow)
    monkeypatch.setattr(runs, "COMPILING_SECONDS", 0.01)
    monkeypatch.setattr(Slow, "asked", [], raising=False)
    return Slow


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.005)


def started(tmp_path: Path) -> tuple[Runs, Run]:
    kept = Runs(tmp_path, LIMITS)
    kept.warm()
    return kept, kept.start("RETURN COUNT(*) PATTERN A+", {}, "double")


def test_a_run_waits_for_a_compiling_engine_and_says_so(worker: type[Slow], tmp_path: Path) -> None:
    async def story() -> None:
        worker.compiled = asyncio.Event()
        kept, run = started(tmp_path)
        assert run.to_dict()["phase"] == "starting the engine"
        await until(lambda: "compiling the engine for this machine" in run.phase)
        assert worker.asked == [("warm", "usual")]
        worker.compiled.set()
        await until(lambda: run.state == "done")
        await kept.stop()

    asyncio.run(story())


def test_what_is_rarely_needed_is_compiled_aside_and_its_process_ends(worker: type[Slow], tmp_path: Path) -> None:
    async def story() -> None:
        worker.compiled = asyncio.Event()
        kept, run = started(tmp_path)
        await until(lambda: "compiling" in run.phase)
        worker.compiled.set()
        await until(lambda: ("stop", None) in worker.asked)
        assert [part for ask, part in worker.asked if ask == "warm"] == ["usual", "exact", "selection"]
        await kept.stop()

    asyncio.run(story())


def test_the_studio_ends_while_it_compiles(worker: type[Slow], tmp_path: Path) -> None:
    async def story() -> None:
        worker.compiled = asyncio.Event()
        kept, run = started(tmp_path)
        await until(lambda: "compiling" in run.phase)
        await kept.stop()
        assert run.state == "cancelled"

    asyncio.run(story())
