"""Worker processes as the server sees them: ask, hear of progress, end one by its own id."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from greta.errors import GretaError

Progress = Callable[[str, float | None], None]

_LONGEST_LINE = 1 << 26
_END_SECONDS = 2.0
"""How long a process that closed its output may take to say how it ended."""


class WorkerError(GretaError):
    """What a worker answered instead of an answer; ``described`` goes to the page as it is."""

    def __init__(self, described: dict[str, Any]) -> None:
        super().__init__(described["message"], hint=described.get("hint"))
        self.described = described


class Worker:
    """One process that answers one question at a time; started when first asked, again after its end."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """Of the running process, if there is one."""
        return self._process.pid if self._process is not None else None

    async def ask(
        self, ask: str, *, timeout: float | None = None, progress: Progress | None = None, **arguments: Any
    ) -> dict[str, Any]:
        """The answer, or ``WorkerError``.

        A question that takes longer than ``timeout`` seconds, or whose asker is cancelled, ends the process.
        """
        async with self._turn:
            process = await self._running()
            try:
                async with asyncio.timeout(timeout):
                    return await self._converse(process, {"ask": ask, "arguments": arguments}, progress)
            except TimeoutError:
                await self.stop()
                raise WorkerError(
                    {
                        "message": f"this took longer than {timeout:g} seconds and was stopped",
                        "hint": "make the pattern or the data smaller",
                    }
                ) from None
            except asyncio.CancelledError:
                await self.stop()
                raise

    async def _running(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                # -P: modules in the current directory must not stand in for those of the library.
                *("-P", "-m", "greta.studio.worker"),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                limit=_LONGEST_LINE,
                # Ctrl-C in the terminal is for the server, which then ends its workers.
                start_new_session=True,
            )
        return self._process

    async def _converse(self, process: Process, question: dict[str, Any], progress: Progress | None) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            await process.stdin.drain()
            while line := await process.stdout.readline():
                message = json.loads(line)
                if "answer" in message:
                    found: dict[str, Any] = message["answer"]
                    return found
                if "error" in message:
                    raise WorkerError(message["error"])
                if progress is not None:
                    progress(message["phase"], message["done"])
        except (BrokenPipeError, ConnectionResetError):
            pass
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
        code = process.returncode
        await self.stop()
        raise WorkerError(_ended(code))

    async def stop(self) -> None:
        """End the process, if there is one, and wait until it is gone."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()


def _ended(code: int | None) -> dict[str, Any]:
    """What the end of a process in the middle of a question tells: who ended it, and whether memory may be why."""
    if code is not None and code < 0:
        try:
            how = f"by the signal {signal.Signals(-code).name}"
        except ValueError:
            how = f"by the signal {-code}"
    else:
        how = "unexpectedly" if code is None else f"with exit code {code}"
    memory = "it may have run out of memory: take fewer events, or a longer slide"
    mistake = "this is a mistake in greta or in a library beneath it: please report it with the query"
    return {
        "message": f"the process that computed this ended {how}",
        # Linux ends with SIGKILL whoever takes too much memory.
        "hint": memory if code in (None, -signal.SIGKILL) else mistake,
    }
