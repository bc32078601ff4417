"""The kernels made ready before someone waits for them: compiled once per machine, then loaded from disk.

Compiling takes a minute or two and happens at the first query ever; ``python -m greta.engine.warm`` does it
beforehand, and says what it is at.
"""

from __future__ import annotations

from time import monotonic
from typing import Literal

from greta.engine.aggregate import aggregate

Part = Literal["usual", "exact", "selection"]
PARTS: dict[Part, str] = {
    "usual": "counting in doubles",
    "exact": "exact counts",
    "selection": "event selection",
}
"""What there is to compile, in the order in which people need it."""

_EVENTS = [{"type": "A", "time": time, "x": float(time), "g": "g"} for time in (1, 2)]
_SLIDING = "WITHIN 4 seconds SLIDE 1 second"


def warm(part: Part) -> None:
    """Run queries over two events each, so that the kernels of one part are compiled or loaded."""
    semantics = "SEMANTICS skip-till-next-match" if part == "selection" else ""
    for where in ("[g]", "[g] AND A.x < NEXT(A).x"):
        aggregate(
            _EVENTS,
            f"RETURN g, COUNT(*) PATTERN A+ {semantics} WHERE {where} GROUP-BY g {_SLIDING}",
            numbers="exact" if part == "exact" else "double",
        )


def main() -> None:
    """Make all parts ready, with a line of progress for each."""
    for number, (part, name) in enumerate(PARTS.items(), start=1):
        print(f"greta: compiling kernels {number}/{len(PARTS)}: {name}", end="", flush=True)
        began = monotonic()
        warm(part)
        print(f", {monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
