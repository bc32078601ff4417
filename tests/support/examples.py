"""How many examples a random suite tries: a number of its own, times GRETA_EXAMPLES.

CI leaves the factor at 1; mutants and plain kernels run with less, nights with more (``make test-soak``). What plain
kernels are too slow for is ``only_compiled``.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

FACTOR = float(os.environ.get("GRETA_EXAMPLES", "1"))
COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"

only_compiled = pytest.mark.skipif(not COMPILED, reason="takes minutes as plain Python")


def examples(count: int) -> settings:
    """Settings for a suite that tries so many examples in CI."""
    return settings(max_examples=max(1, round(count * FACTOR)))
