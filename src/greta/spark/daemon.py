"""Spark's worker daemon with the kernels already loaded: every worker forked from it starts at full speed.

Set ``spark.python.daemon.module`` to this module's name (``greta.spark.session`` does). Without it everything
works as well, and the first task of each worker loads the kernels by itself, in about a second.
"""

from __future__ import annotations

from pyspark import daemon


def load_kernels() -> None:
    """Run queries over two events each, so that the usual kernels are loaded."""
    from greta.engine import aggregate

    events = [{"type": "A", "time": time, "x": float(time), "g": "g"} for time in (1, 2)]
    for where in ("[g]", "[g] AND A.x < NEXT(A).x"):
        for numbers in ("double", "exact"):
            aggregate(
                events,
                f"RETURN g, COUNT(*) PATTERN A+ WHERE {where} GROUP-BY g WITHIN 4 seconds SLIDE 1 second",
                numbers=numbers,
            )


if __name__ == "__main__":
    load_kernels()
    daemon.manager()
