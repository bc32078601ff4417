"""Ctrl-C during a computation: a second thread hears of it at once, and tells the kernels to stop.

Python acts on a signal between two of its own instructions, and a compiled kernel is one instruction. But it writes the
signal's number into a file of our choice at once (``signal.set_wakeup_fd``). A thread reads it there and raises the
flag that every kernel looks at once per event (``greta.kernels.layout.Events.stop``); the kernel returns, and Python
raises KeyboardInterrupt as always.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Result = TypeVar("Result")
Flag = NDArray[np.uint8]

_FLAG: ContextVar[Flag | None] = ContextVar("_FLAG", default=None)


class Interrupted(BaseException):
    """Ends a computation whose kernels were told to stop; never leaves ``interruptible``."""


def stop_flag() -> Flag:
    """What the kernels of the computation at hand look at: not 0 where they are to stop."""
    flag = _FLAG.get()
    return np.zeros(1, dtype=np.uint8) if flag is None else flag


def heed() -> None:
    """End the computation if it was interrupted; called after kernels, which then have stopped half-way."""
    flag = _FLAG.get()
    if flag is not None and flag[0]:
        raise Interrupted


def interruptible(work: Callable[[], Result]) -> Result:
    """The result of ``work()``, or a KeyboardInterrupt as soon as its kernels have heard of Ctrl-C.

    Only the main thread is interrupted: in any other, and inside another call of this, ``work`` is simply called. Where
    the program's own way to deal with Ctrl-C raises nothing, the work that was stopped is done again.
    """
    if threading.current_thread() is not threading.main_thread() or _FLAG.get() is not None:
        return work()
    listener = _Listener.at_hand()
    while True:
        token = _FLAG.set(np.zeros(1, dtype=np.uint8))
        before = listener.listen(stop_flag())
        try:
            return work()
        except Interrupted:
            continue
        finally:
            listener.rest(before)
            _FLAG.reset(token)


class _Listener:
    """A thread that waits for signals of this process while something is computed."""

    _own: _Listener | None = None

    def __init__(self) -> None:
        self._process = os.getpid()
        self._flag: Flag | None = None
        self._other = -1
        self._ear, self._mouth = socket.socketpair()
        self._mouth.setblocking(False)
        threading.Thread(target=self._wait, name="greta", daemon=True).start()

    @classmethod
    def at_hand(cls) -> _Listener:
        """The one of this process; a child that was forked has none yet."""
        if cls._own is None or cls._own._process != os.getpid():
            cls._own = cls()
        return cls._own

    def listen(self, flag: Flag) -> int:
        """Raise ``flag`` at Ctrl-C from now on; who listened before, for ``rest``."""
        self._flag = flag
        self._other = signal.set_wakeup_fd(self._mouth.fileno(), warn_on_full_buffer=False)
        return self._other

    def rest(self, other: int) -> None:
        """Let those listen again who did before."""
        signal.set_wakeup_fd(other)
        self._flag = None

    def _wait(self) -> None:
        while signals := self._ear.recv(64):
            flag = self._flag
            if flag is not None and signal.SIGINT in signals:
                flag[0] = 1
            if self._other >= 0:
                # An event loop wants to hear of it too.
                with suppress(OSError):
                    os.write(self._other, signals)
