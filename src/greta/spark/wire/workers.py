"""What a worker says in the executor's log: that it compiles kernels, so that a long first task has a reason."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from numba.core import event


class _FirstCompilation(event.Listener):
    """Says once that kernels are being compiled; loading compiled ones from disk is not an event."""

    def __init__(self) -> None:
        self._said = False

    def on_start(self, event: Any) -> None:  # noqa: ARG002 - Numba calls it by name
        if not self._said:
            self._said = True
            print(
                "greta: this worker has no compiled kernels for its processor, and compiles them: minutes, once; "
                "greta.spark.ship(spark) brings compiled ones, python -m greta.engine.warm makes them beforehand",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


@cache
def tell_of_compilation() -> None:
    """Have this process say when it compiles a kernel, once; called by every task before its first kernel."""
    event.register("numba:compile", _FirstCompilation())  # type: ignore[no-untyped-call]
