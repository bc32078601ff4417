"""Spark's worker daemon with the kernels already loaded: every worker forked from it starts at full speed.

Set ``spark.python.daemon.module`` to this module's name (``greta.spark.session`` does). Without it everything
works as well, and the first task of each worker loads the kernels by itself, in about a second.
"""

from __future__ import annotations

import gc

from pyspark import daemon


def load_kernels() -> None:
    """Load the usual kernels."""
    from greta.engine.warm import warm

    warm("usual")
    warm("exact")


if __name__ == "__main__":
    load_kernels()
    # Workers collect garbage after every task. What is loaded here is none, and walking it took 0.1 s each time.
    gc.collect()
    gc.freeze()
    daemon.manager()
