"""Kernels that are being compiled → a line on a terminal, or a warning, so that nobody waits without knowing why.

Numba tells when it compiles, and says nothing when it loads what is on disk: then nothing happens here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from numba.core.event import Event, Listener, register

from greta.errors import GretaWarning, warn

_PATIENCE = 2.0
"""Seconds of compiling that are not worth a word."""
_WHAT = "compiling kernels for this machine, which only the first query of a kind does: up to two minutes"


class _Compilation:
    """What was compiled while someone waited."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.told = False

    def goes_on(self) -> None:
        """A function's compilation begins."""
        if self.began is None:
            self.began = monotonic()
        elif not self.told and monotonic() - self.began > _PATIENCE:
            self.told = True
            if sys.stderr.isatty():
                print(f"greta: {_WHAT} …", file=sys.stderr, flush=True)
            else:
                warn(
                    GretaWarning(
                        _WHAT,
                        hint="python -m greta.engine.warm does it beforehand, for streams python -m greta.live.warm",
                    )
                )

    def ended(self) -> None:
        """Say how long it took, where someone looks."""
        if self.told and self.began is not None and sys.stderr.isatty():
            print(f"greta: compiled and answered after {monotonic() - self.began:.0f} s", file=sys.stderr, flush=True)


_waiting: list[_Compilation] = []
"""Per call that someone waits for, the inner ones last."""


class _Told(Listener):
    """Told by Numba of each function that it compiles, those inside others too."""

    def on_start(self, event: Event) -> None:  # noqa: ARG002 - what Numba calls
        """A function's compilation begins."""
        for compilation in tuple(_waiting):
            compilation.goes_on()

    def on_end(self, event: Event) -> None:
        """A function is compiled; others follow."""


# Once for all: a call that takes a millisecond would pay for being registered.
register("numba:compile", _Told())  # type: ignore[no-untyped-call]

_quiet = False


@contextmanager
def without_telling() -> Iterator[None]:
    """Compile inside without a word: whoever asked for nothing else has their own."""
    global _quiet  # noqa: PLW0603 - what a process compiles for is one thing at a time
    before, _quiet = _quiet, True
    try:
        yield
    finally:
        _quiet = before


@contextmanager
def telling_of_compilation() -> Iterator[None]:
    """Tell of kernels that are compiled inside, where that takes more than a moment."""
    if _quiet:
        yield
        return
    compilation = _Compilation()
    _waiting.append(compilation)
    try:
        yield
    finally:
        _waiting.remove(compilation)
        compilation.ended()
