"""The one place that owns the compiler's options.

Kernels are compiled at first use and kept on disk, so that a second process starts without compiling. Where
no cache directory can be written (a read-only home on an executor), they are compiled in memory instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "boundscheck": False,
    "error_model": "numpy",
    # Reordering additions would make DOUBLE results depend on the machine.
    "fastmath": False,
}


INNER_OPTIONS: dict[str, Any] = {**OPTIONS, "_nrt": False}
SMALL_OPTIONS: dict[str, Any] = {**INNER_OPTIONS, "forceinline": True}


def kernel(function: Function) -> Function:
    """Compile ``function`` for speed; with ``NUMBA_DISABLE_JIT=1`` it stays plain Python."""
    return _compile(function, OPTIONS)


def inner(function: Function) -> Function:
    """Like ``kernel``, for functions that allocate nothing: arrays pass through them uncounted.

    Inner loops hand tuples of arrays down several calls; counting references to each array there costs more than
    the work itself.
    """
    return _compile(function, INNER_OPTIONS)


def small(function: Function) -> Function:
    """Like ``inner``, for functions that inner loops call: they become part of their callers.

    Handing a tuple of arrays to a function costs a hundred instructions, more than most of them have themselves.
    """
    return _compile(function, SMALL_OPTIONS)


def _compile(function: Function, options: dict[str, Any]) -> Function:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        # Machine numbers wrap and saturate on purpose; as Python, NumPy would warn of each.
        return np.errstate(all="ignore")(function)
    try:
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:
        return numba.njit(**options)(function)  # type: ignore[no-any-return]
