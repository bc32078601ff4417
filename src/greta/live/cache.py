"""Online graphs in files: a process goes on where another one, on the same machine, has stopped.

A file is a cache of what can be made again from stored events. It has a header, the heap of one graph, and what is
around the heap (``greta.live.frozen``); the heap is mapped, so that only what a step touches is read or written.

    header | heap, room for the most | rest
    name of the query, token of the step, sizes, checksums

Nothing of it is trusted: a graph is taken up only where the file says that it is of the same query and of the very
step that is gone on from, and where its checksums hold. While a graph is brought forward the header is empty, so that
a process that dies leaves nothing that could be taken for whole. One process at a time holds a file.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import shutil
import struct
import zlib
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from time import time

import numpy as np
from numpy.typing import NDArray

Heap = NDArray[np.float64]

_MAGIC = b"greta live 2"
_HEADER = struct.Struct(f"<{len(_MAGIC)}s32s16sQQQII")
_CHECKED = struct.Struct("<I")
_PAGE = 4096
"""Bytes of the header, and words that are added up at a time for the checksum of a heap."""

_MAPS: OrderedDict[tuple[int, int, int], Heap] = OrderedDict()
"""Heaps that this process has mapped, the latest used: finding the pages of a map costs more than reading them."""
_MOST_MAPS = 64

ABANDONED = 3600.0
"""Seconds after which the files of a stream that nobody has touched are removed by another stream."""


@dataclass(frozen=True, slots=True)
class Cache:
    """A directory of files, each with the graph of one bucket and room for ``most_bytes`` of indexes."""

    directory: Path
    most_bytes: int
    least_steps: int = 16
    """Graphs serve streams that take at least so many steps per WITHIN: where there are fewer, each brings so many
    events that computing windows from all of theirs costs less (measured: as much at about 14 steps)."""

    def pays(self, within: int, since_last: int, there: bool) -> bool:
        """Whether a graph pays for a step so long after the last one; one that is ``there`` is not soon given up."""
        return within >= since_last * (self.least_steps // 4 if there else self.least_steps)

    def open(self, owner: str) -> Slot | None:
        """The file of a bucket, ``stream/bucket``; None where it cannot be written, or another process holds it."""
        path = self.directory / owner
        try:
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                remove_abandoned(self.directory)
            os.utime(path.parent)
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return None
        return Slot(file, max(self.most_bytes // 8, 1024))


def remove_abandoned(directory: Path) -> None:
    """Remove the files of streams that have not gone on for long: they ended where nobody could tidy up."""
    for place in directory.iterdir():
        try:
            if place.is_dir() and time() - place.stat().st_mtime > ABANDONED:
                shutil.rmtree(place, ignore_errors=True)
        except FileNotFoundError:
            # Another process has removed it.
            continue


class Slot:
    """The file of one bucket during a step; ``close`` it."""

    def __init__(self, file: int, words: int) -> None:
        self._file = file
        self._words = words

    def load(self, name: bytes, token: bytes) -> tuple[Heap, bytes] | None:
        """The heap and the rest of a graph, where this very one is here and whole; from then on the file is not."""
        try:
            head = os.pread(self._file, _HEADER.size + _CHECKED.size, 0)
            if len(head) < _HEADER.size + _CHECKED.size:
                return None
            (checked,) = _CHECKED.unpack_from(head, _HEADER.size)
            magic, whose, step, words, top, size, heap_sum, rest_sum = _HEADER.unpack_from(head)
            if (magic, whose, step, words) != (_MAGIC, name, token, self._words):
                return None
            if checked != zlib.crc32(head[: _HEADER.size]) or top > words:
                return None
            if os.fstat(self._file).st_size != self._rest_at + size:
                return None
            rest = os.pread(self._file, size, self._rest_at)
            if len(rest) != size or zlib.crc32(rest) != rest_sum:
                return None
            heap = self._map()
            if _checksum(heap[:top]) != heap_sum:
                return None
            self._forget()
        except OSError:
            return None
        return heap[: self._usable(top)], rest

    def fresh(self) -> Heap:
        """Room for a new heap; raises OSError where there is none."""
        os.ftruncate(self._file, 0)
        os.ftruncate(self._file, self._rest_at)
        return self._map()[: self._usable(0)]

    def save(self, name: bytes, token: bytes, heap: Heap, rest: bytes) -> bool:
        """Make the file whole again: ``heap`` is the part in use of what this slot gave. False: there is no room."""
        try:
            self._forget()
            os.ftruncate(self._file, self._rest_at + len(rest))
            at = 0
            while at < len(rest):
                at += os.pwrite(self._file, memoryview(rest)[at:], self._rest_at + at)
            head = _HEADER.pack(
                _MAGIC, name, token, self._words, len(heap), len(rest), _checksum(heap), zlib.crc32(rest)
            )
            os.pwrite(self._file, head + _CHECKED.pack(zlib.crc32(head)), 0)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Let others have the file; a map would hold on to it."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        os.close(self._file)

    @property
    def _rest_at(self) -> int:
        return _PAGE + 8 * self._words

    def _forget(self) -> None:
        os.pwrite(self._file, bytes(_HEADER.size), 0)

    def _map(self) -> Heap:
        """The heap as an array; a process that has mapped the file before does not do so again."""
        about = os.fstat(self._file)
        place = (about.st_dev, about.st_ino, self._words)
        heap = _MAPS.pop(place, None)
        if heap is None:
            mapped = mmap.mmap(self._file, self._rest_at)
            heap = np.frombuffer(mapped, dtype=np.float64, offset=_PAGE, count=self._words)
        _MAPS[place] = heap
        while len(_MAPS) > _MOST_MAPS:
            _MAPS.popitem(last=False)
        return heap

    def _usable(self, top: int) -> int:
        """How many words may be used: a disk that is full when a page is written to kills the process."""
        about = os.fstatvfs(self._file)
        return min(self._words, max(1024, top) + about.f_bavail * about.f_frsize // 16)


def _checksum(heap: Heap) -> int:
    """A number that tells a heap from what has become of it; about as fast as memory is read.

    Words are added up by blocks, and the sums must come in the same order.
    """
    words = heap.view(np.uint64)
    whole = len(words) // _PAGE * _PAGE
    sums = [words[:whole].reshape(-1, _PAGE).sum(axis=1), words[whole:].sum(keepdims=True)]
    return zlib.crc32(np.concatenate(sums).tobytes())
