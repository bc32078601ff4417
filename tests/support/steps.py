"""Steps of a stream for tests: a store in memory, and a directory for graphs that is there until the process ends."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from greta.engine.stream_jobs import StreamJob
from greta.live import steps
from greta.live.cache import Cache
from greta.live.steps import Step

_DIRECTORY = Path(tempfile.mkdtemp(prefix="greta-graphs-"))
atexit.register(shutil.rmtree, _DIRECTORY, ignore_errors=True)

GRAPHS = Cache(_DIRECTORY, 1 << 24, least_steps=0)
"""Shared by all that ask for it: a graph of another stream is stale, and must be taken for that."""


@dataclass
class MemoryStore:
    """A bucket's state in a dictionary that counts its traffic."""

    index: bytes | None = None
    chunks: dict[str, bytes] = field(default_factory=dict)
    written: int = 0
    read: int = 0

    def read_index(self) -> bytes | None:
        return self.index

    def write_index(self, value: bytes) -> None:
        self.index = value

    def read_chunk(self, key: str) -> bytes:
        self.read += 1
        return self.chunks[key]

    def write_chunk(self, key: str, value: bytes) -> None:
        assert key not in self.chunks
        self.written += 1
        self.chunks[key] = value

    def remove_chunk(self, key: str) -> None:
        del self.chunks[key]

    def clear(self) -> None:
        self.index = None
        assert not self.chunks


def step(job: StreamJob, *arguments: Any, **options: Any) -> Step:
    """A step of a bucket that one query has for itself."""
    (found,) = steps.step((job,), *arguments, **options)
    return found
