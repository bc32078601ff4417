"""The kernels of streams made ready before someone waits for them, as ``greta.engine.warm`` does for tables."""

from __future__ import annotations

from time import monotonic

from greta.engine.compiling import without_telling
from greta.engine.tables import to_table
from greta.live.stream import open_stream

_QUERY = "RETURN COUNT(*) PATTERN A+ {} WHERE A.x < NEXT(A).x WITHIN 4 seconds SLIDE 1 second"


def warm() -> None:
    """Run streams of a few events through windows that open and close."""
    events = to_table([{"type": "A", "time": float(time), "x": float(time)} for time in range(9)])
    for selection in ("", "SEMANTICS contiguous MAXIMAL"):
        open_stream(_QUERY.format(selection), schema=events.schema).push(events)


def main() -> None:
    """Make streams ready, with a line of progress."""
    began = monotonic()
    with without_telling():
        warm()
    print(f"greta: kernels are ready for streams, {monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
