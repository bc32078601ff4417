"""Peak memory of this process, beyond what it had before: Linux tells exactly, other systems about."""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")
_PR_SET_THP_DISABLE = 41

FLOOR = 64 * 1024
"""Less than this is noise of the allocator and of the system's page counts: all below count as this much."""


class Peak:
    """Begin, run something, ask how far memory rose.

    What was freed earlier is given back to the system first, so that the run cannot hide in it.
    """

    def __init__(self) -> None:
        gc.collect()
        if sys.platform == "linux":
            # Without this, memory that the allocator holds back would serve the run without being seen.
            trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
            if trim is not None:
                trim(0)
        self.resets = _reset()
        self.before = _resident() if self.resets else _highest()

    def rise(self) -> int:
        """Bytes by which the peak exceeds what there was at the beginning, at least ``FLOOR``."""
        return max(_highest() - self.before, FLOOR)


def small_pages() -> None:
    """Keep the system from handing out 2 MB at a time, which would blur small numbers (Linux; else nothing)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0)


def _reset() -> bool:
    """Let the system forget the process's peak, where it can."""
    try:
        _RESET.write_text("5")
    except OSError:
        return False
    return True


def _resident() -> int:
    return _read("VmRSS:")


def _highest() -> int:
    if _STATUS.exists():
        return _read("VmHWM:")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _read(field: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0
