"""What goes wrong in a worker is told as what it is."""

import asyncio
import sys
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from greta.studio import worker
from greta.studio.workers import Worker, WorkerError


def test_an_error_that_nobody_foresaw_is_named_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[dict[str, Any]] = []
    monkeypatch.setattr(worker, "answer", lambda *_: {}[0])
    worker._reply({"ask": "x", "arguments": {}}, said.append)
    assert "KeyError: 0" in said[0]["error"]["message"]
    assert "please report it" in said[0]["error"]["hint"]
    monkeypatch.undo()
    worker._reply({"ask": "check", "arguments": {"surprise": 1}}, said.append)
    assert "TypeError" in said[1]["error"]["message"]
    assert "greta/studio/worker.py, line" in said[1]["error"]["message"]
    assert "memory" not in str(said)


def test_every_question_has_somebody_who_answers_it() -> None:
    for module, function in worker.ANSWERS.values():
        assert callable(getattr(import_module(module), function))


def test_a_worker_answers_on_after_an_error_that_nobody_foresaw() -> None:
    async def ask() -> None:
        process = Worker()
        await process.ask("samples")
        before = process.pid
        with pytest.raises(WorkerError, match="TypeError"):
            await process.ask("check", nonsense=1)
        assert "words" in await process.ask("check", query="RETURN COUNT(*) PATTERN A+")
        assert process.pid == before
        await process.stop()

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("code", "said", "hint"),
    [
        ("import os; os._exit(3)", "exit code 3", "report it"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV", "report it"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL", "out of memory"),
    ],
)
def test_a_process_that_ends_says_how_and_blames_memory_only_where_memory_may_be_why(
    code: str, said: str, hint: str
) -> None:
    async def ask() -> WorkerError:
        process = Worker()
        process._process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", f"input(); {code}", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        with pytest.raises(WorkerError) as raised:
            await process.ask("samples")
        return raised.value

    error = asyncio.run(ask())
    assert said in error.described["message"]
    assert hint in error.described["hint"]


def test_a_run_inside_a_kernel_ends_within_two_seconds_of_its_cancellation(tmp_path: Path) -> None:
    count = 400_000
    numbers = pa.array(range(count))
    one = pa.table({"type": ["A"]}).take(pa.array([0] * count))
    pq.write_table(one.append_column("time", numbers).append_column("x", numbers), tmp_path / "events.parquet")
    query = "RETURN COUNT(*) PATTERN A+ WHERE A.x * NEXT(A).x % 7 != NEXT(A).x + A.x"

    async def cancel() -> float:
        worker, computing = Worker(), asyncio.Event()
        task = asyncio.create_task(
            worker.ask(
                "run",
                progress=lambda phase, _: computing.set() if phase == "computing" else None,
                query=query,
                source={"path": str(tmp_path / "events.parquet")},
                numbers="double",
                result=str(tmp_path / "rows.arrow"),
            )
        )
        await asyncio.wait_for(computing.wait(), 300)
        await asyncio.sleep(3)
        assert not task.done()
        began = monotonic()
        task.cancel()
        await asyncio.wait([task])
        assert worker.pid is None
        return monotonic() - began

    assert asyncio.run(cancel()) < 2.0
