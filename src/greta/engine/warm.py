"""The kernels made ready before someone waits for them: compiled once per machine, then loaded from disk.

Compiling takes a minute or two and happens at the first query ever; ``python -m greta.engine.warm`` does it
beforehand, all parts or those that it is told, and says what it has done.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Literal

from greta.engine.aggregate import aggregate
from greta.engine.compiling import without_telling
from greta.engine.frames import Cut
from greta.engine.job import Job, Numbers
from greta.engine.tables import to_table
from greta.engine.trends import trends

Part = Literal["usual", "exact", "selection", "trends"]
PARTS: dict[Part, str] = {
    "usual": "counting in doubles",
    "exact": "exact counts",
    "selection": "event selection",
    "trends": "showing trends",
}
"""What there is to compile, in the order in which people need it."""

_EVENTS: list[dict[str, Any]] = [{"type": "A", "time": time, "x": float(time), "g": "g"} for time in (1, 2)]
_TIMED = [event | {"time": datetime.fromtimestamp(9 - event["time"], UTC)} for event in _EVENTS]
"""The same out of order and in time stamps, which kernels read where Arrow has them."""
_LONG = [{"type": "A", "time": time / 100} for time in range(400)]
"""So many that windows are put together of stretches."""
_FRACTIONS = [{"type": "A", "time": 1, "x": 0.1 * number, "g": number} for number in (1, 2)]
"""Sums of two partitions that depend on the order of addition."""
_SLIDING = "WITHIN 4 seconds SLIDE 1 second"


def warm(part: Part) -> None:
    """Run queries over two events each, so that the kernels of one part are compiled or loaded."""
    if part == "trends":
        _warm_trends()
        return
    semantics = "SEMANTICS skip-till-next-match" if part == "selection" else ""
    for where, windows in (("[g]", _SLIDING), ("[g] AND A.x < NEXT(A).x", _SLIDING), ("[g]", "")):
        query = f"RETURN g, COUNT(*) PATTERN A+ {semantics} WHERE {where} GROUP-BY g {windows}"
        numbers: Numbers = "exact" if part == "exact" else "double"
        for events in (_EVENTS, _TIMED):
            aggregate(events, query, numbers=numbers)
        if not windows:
            continue
        table = to_table([event | {"range": number} for number, event in enumerate(_TIMED)])
        Job.bind(query, table.schema, numbers=numbers).partials(table, Cut(column="range", windows=4))
    if part == "usual":
        aggregate(_EVENTS, [f"RETURN COUNT(*) PATTERN {pattern}" for pattern in ("A", "A+")])
        aggregate(_LONG, f"RETURN COUNT(*) PATTERN A+ {_SLIDING}")
        aggregate(_FRACTIONS, "RETURN SUM(A.x) PATTERN A WHERE [g]")


def _warm_trends() -> None:
    """Show trends in the ways that the studio offers, which would not wait for a compiler."""
    value = "MIN(LAST(A.x) - FIRST(A.x)) AS steepest"
    for windows in (_SLIDING, ""):
        query = f"RETURN g, COUNT(*), {value} PATTERN A+ WHERE [g] AND A.x > NEXT(A).x GROUP-BY g {windows}"
        for pick in ("sample", "longest", "steepest"):
            trends(_TIMED, query, n=2, pick=pick)
    runs = f"RETURN COUNT(*), {value} PATTERN A+ SEMANTICS contiguous MAXIMAL WHERE A.x > NEXT(A).x"
    for pick in ("sample", "steepest"):
        trends(_TIMED, runs, n=2, pick=pick)


def main(parts: Sequence[str] = ()) -> None:
    """Make some parts ready, or all, with a line of progress for each; raises SystemExit for one that is not there."""
    strange = [part for part in parts if part not in PARTS]
    if strange:
        sys.exit(f"there is no part {strange[0]!r}\nhint: the parts are {', '.join(PARTS)}")
    for part, name in PARTS.items():
        if parts and part not in parts:
            continue
        began = monotonic()
        with without_telling():
            warm(part)
        print(f"greta: kernels are ready for {name}, {monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    gc.disable()  # the process ends with its work; looking for garbage would take a twentieth of it
    main(sys.argv[1:])
