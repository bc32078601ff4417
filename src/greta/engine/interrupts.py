"""Ctrl-C during a computation: kernels run in a thread of their own, and are told to stop.

A compiled kernel hears no signal. So a computation that the main thread asks for runs in a second thread while the
main thread waits, where Python can deliver the signal; it then raises the flag that every kernel looks at once per
event (``greta.kernels.layout.Events.stop``), and the second thread ends at its next look.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Result = TypeVar("Result")
Flag = NDArray[np.uint8]

_POLL_SECONDS = 0.2
"""How often the main thread wakes; on some systems a signal is only delivered then."""
_PATIENCE_SECONDS = 1.0
"""How long an interrupted computation may take to end before it is left behind."""


_FLAG: ContextVar[Flag | None] = ContextVar("_FLAG", default=None)


class Interrupted(BaseException):
    """Ends a computation that nobody waits for any more; never leaves its thread."""


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
    """The result of ``work()``, or a KeyboardInterrupt within about a second of Ctrl-C.

    Only the main thread hears of Ctrl-C: in any other, and inside another call of this, ``work`` is simply called.
    """
    if threading.current_thread() is not threading.main_thread() or _FLAG.get() is not None:
        return work()
    flag = np.zeros(1, dtype=np.uint8)
    results: list[Result] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def compute() -> None:
        _FLAG.set(flag)
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            errors.append(error)
        finally:
            done.set()

    thread = _thread(compute)
    try:
        thread.start()
        while not done.wait(_POLL_SECONDS):
            pass
    except BaseException:
        flag[0] = 1
        done.wait(_PATIENCE_SECONDS)
        raise
    if errors:
        raise errors[0]
    return results[0]


def _thread(work: Callable[[], None]) -> threading.Thread:
    """A thread that does not keep the process alive, in a copy of this context."""
    context = copy_context()
    return threading.Thread(target=lambda: context.run(work), name="greta", daemon=True)
