"""What a session's Java and its workers write on standard error → what greta says there, and nothing else.

A command says itself how it goes and why it ended. Beside that, Java announces its modules,
workers announce their functions, and a micro-batch that is left undone when its stream ends prints stacks.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from threading import Thread
from typing import TYPE_CHECKING

from greta.spark.sessions.building import session
from greta.spark.sessions.settings import given_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KEPT = 100
"""Last lines that are shown where a session does not start."""
_OWN = "greta: "
_WARNING = "GretaWarning: "


def start_quietly(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    """``session``, for a command: what Java and Spark log is not shown, unless a setting chooses what they log."""
    logs = any(name.startswith("spark.log.") for name in given_settings() | dict(conf))
    with nullcontext() if logs else quiet_java():
        return session(master, **conf)


@contextmanager
def quiet_java() -> Iterator[None]:
    """Start a session inside: Java inherits a pipe as its standard error, and only greta's own lines leave it.

    Where the session does not start, all that Java said is shown.
    """
    try:
        kept = os.dup(2)
    except OSError:  # nobody hears anything
        yield
        return
    sys.stderr.flush()
    read, write = os.pipe()
    os.dup2(write, 2)
    os.close(write)
    heard: deque[str] = deque(maxlen=_KEPT)
    reader = Thread(target=_pass_on, args=(read, kept, heard), daemon=True)
    reader.start()
    try:
        yield
    except BaseException:
        os.dup2(kept, 2)
        reader.join(timeout=1)
        os.write(kept, "".join(heard).encode())
        raise
    finally:
        os.dup2(kept, 2)


def _pass_on(read: int, to: int, heard: deque[str]) -> None:
    """Read all lines until whoever writes has ended; write what is greta's."""
    with open(read, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            heard.append(line)
            own = own_words(line)
            if own is not None:
                os.write(to, own.encode())


def own_words(line: str) -> str | None:
    """What greta says in a line of somebody's log, if it says anything.

    >>> own_words("26/11/17 06:11:40 ERROR FileFormatWriter: Aborting job 3e430ceb")
    >>> own_words("lib/contextlib.py:137: GretaWarning: compiling kernels")
    'warning: compiling kernels'
    """
    if line.startswith(_OWN):
        return line
    _, found, said = line.partition(_WARNING)
    return f"warning: {said}" if found else None
