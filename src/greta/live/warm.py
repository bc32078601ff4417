"""The kernels of streams made ready before someone waits for them, as ``greta.engine.warm`` does for tables."""

from __future__ import annotations

import gc
from time import monotonic

from greta.engine.compiling import without_telling
from greta.engine.tables import to_table
from greta.live.stream import open_stream

_WINDOW = "WITHIN 4 seconds SLIDE 1 second"
_QUERIES = (
    f"RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x {_WINDOW}",
    f"RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous MAXIMAL WHERE A.x < NEXT(A).x {_WINDOW}",
    f"RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [B.x] AND A.x < NEXT(A).x {_WINDOW}",
)


def warm() -> None:
    """Run streams of a few events through windows that open and close."""
    rows = [{"type": "B" if time > 6 else "A", "time": float(time), "x": float(time)} for time in range(9)]
    events = to_table(rows)
    for query in _QUERIES:
        stream = open_stream(query, schema=events.schema)
        # A scope's value that comes in a later push has its part copied.
        for piece in (events.slice(0, 6), events.slice(6)):
            stream.push(piece)


def main() -> None:
    """Make streams ready, with a line of progress."""
    began = monotonic()
    with without_telling():
        warm()
    print(f"greta: kernels are ready for streams, {monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    gc.disable()  # the process ends with its work; looking for garbage would take a twentieth of it
    main()
