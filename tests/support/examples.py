"""How many examples a random suite tries: a number of its own, times GRETA_EXAMPLES.

CI leaves the factor at 1; mutants and plain kernels run with less, nights with more (``make test-soak``).
"""

from __future__ import annotations

import os

from hypothesis import settings

FACTOR = float(os.environ.get("GRETA_EXAMPLES", "1"))


def examples(count: int) -> settings:
    """Settings for a suite that tries so many examples in CI."""
    return settings(max_examples=max(1, round(count * FACTOR)))
