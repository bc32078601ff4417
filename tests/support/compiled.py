"""Compile what tests need besides the kernels of the set-up, once, before several processes would each do it.

python tests/support/compiled.py double|exact
"""

from __future__ import annotations

import sys
from time import monotonic
from typing import Any

import greta
from greta.engine.compiling import without_telling

EVENTS: list[dict[str, Any]] = [
    {"type": kind, "time": float(time), "x": float(time), "y": float(-time), "g": "g"}
    for time, kind in enumerate(("A", "B", "A", "A", "C", "A"))
]
MANY: list[dict[str, Any]] = [{"type": "A", "time": time, "x": time, "y": -time} for time in range(80)]
"""With trends beyond all integers of 64 bits: exact numbers have more words."""
SLIDING = "WITHIN 4 seconds SLIDE 1 second"
PATTERNS = (
    "A+ WHERE A.x < NEXT(A).x AND A.y > NEXT(A).y",
    "A+ WHERE A.x * NEXT(A).x < 9",
    "SEQ(NOT C, A+, NOT B, A D, NOT C)",
    "A+ OR SEQ(A, B) SEMANTICS skip-till-next-match",
    "A+ AND SEQ(A, B) SEMANTICS skip-till-next-match",
    "A+ SEMANTICS skip-till-next-match MAXIMAL",
    "SEQ(A+, B) SEMANTICS contiguous",
)
OF_MANY = (
    "A+",
    "A+ WHERE A.x < NEXT(A).x AND A.y > NEXT(A).y",
    "(A OR A X)+ SEMANTICS skip-till-next-match",
)
PAIRS = "RETURN SUM(A.x) PATTERN A+ AND SEQ(A, B) SEMANTICS skip-till-next-match"


def main(numbers: Any) -> None:
    """Run small queries of every kind in one number mode, as tables and, in doubles, as a stream."""
    began = monotonic()
    with without_telling():
        for pattern in PATTERNS:
            for windows in ("", SLIDING):
                greta.aggregate(EVENTS, f"RETURN COUNT(*) PATTERN {pattern} {windows}", numbers=numbers)
            if numbers == "double":
                stream = greta.stream(f"RETURN COUNT(*) PATTERN {pattern} {SLIDING}")
                stream.push(EVENTS)
                stream.close()
        if numbers == "double":
            greta.aggregate(EVENTS, PAIRS)
        else:
            for pattern in OF_MANY:
                greta.aggregate(MANY, f"RETURN COUNT(*) PATTERN {pattern}", numbers=numbers)
    print(f"greta: what else the tests need is ready in {numbers} numbers, {monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
