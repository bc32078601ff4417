"""A pipe, or a file that grows → blocks of whole lines, as soon as they are there."""

from __future__ import annotations

import contextlib
import os
import select
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from greta.errors import DataError

BLOCK = 1 << 20
"""Bytes that are taken at once where they are there: enough that a block costs little beside its lines."""
_LONGEST = 1 << 26
"""Bytes of the longest line; without an end, a pipe that is no text would fill the memory."""
_PATIENCE = 0.05
"""Seconds between two looks at a file that does not grow."""
_SET_PIPE_SIZE = 1031


def from_pipe(descriptor: int, name: str = "stdin") -> Iterator[bytes]:
    """Whole lines, as many as are there, without waiting for more; ends with the pipe."""
    if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        _widen(descriptor)
    yield from _whole_lines(lambda: _at_hand(descriptor), name)


def following(path: Path) -> Iterator[bytes]:
    """Whole lines of a file from its beginning on, and those that are appended; never ends.

    A file that was replaced under its name or cut off is read anew, as ``tail -F`` does.
    """
    while True:
        yield from _whole_lines(_growing(path), str(path), at_the_end=False)


def _widen(descriptor: int) -> None:
    """Let the pipe hold a block, where the system can: a fast writer then need not wait for each 64 kB."""
    import fcntl

    with contextlib.suppress(OSError):
        fcntl.fcntl(descriptor, getattr(fcntl, "F_SETPIPE_SZ", _SET_PIPE_SIZE), BLOCK)


def _at_hand(descriptor: int) -> bytes:
    """What is there, after waiting for the first byte; nothing at the end."""
    parts = [os.read(descriptor, BLOCK)]
    size = len(parts[0])
    while parts[-1] and size < BLOCK and select.select([descriptor], [], [], 0)[0]:
        parts.append(os.read(descriptor, BLOCK - size))
        size += len(parts[-1])
    return b"".join(parts)


def _growing(path: Path) -> Callable[[], bytes]:
    """What reads on in a file; nothing once another one has its name, or it was cut off."""
    try:
        file = path.open("rb", buffering=0)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}", hint="check the path") from error

    def read() -> bytes:
        while not (data := os.read(file.fileno(), BLOCK)):
            if _is_another(path, file.fileno()):
                file.close()
                return b""
            time.sleep(_PATIENCE)
        return data

    return read


def _is_another(path: Path, descriptor: int) -> bool:
    try:
        there, here = path.stat(), os.fstat(descriptor)
    except FileNotFoundError:
        return False
    return there.st_ino != here.st_ino or there.st_size < os.lseek(descriptor, 0, os.SEEK_CUR)


def _whole_lines(read: Callable[[], bytes], name: str, *, at_the_end: bool = True) -> Iterator[bytes]:
    """Cut what is read behind its last line; a last line without an end counts where nothing can follow."""
    rest = b""
    while data := read():
        cut = data.rfind(b"\n") + 1
        if cut:
            yield rest + data[:cut]
            rest = data[cut:]
        else:
            rest += data
        if len(rest) > _LONGEST:
            raise DataError(f"{name}: a line is longer than 64 MB", hint="is it JSON lines, or CSV?")
    if rest.strip() and at_the_end:
        yield rest
