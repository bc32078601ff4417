"""Spark's worker daemon with the kernels already loaded: every worker forked from it starts at full speed.

Set ``spark.python.daemon.module`` to this module's name (``greta.spark.session`` does). Without it everything
works as well, and the first task of each worker loads the kernels by itself, in about a second.
"""

from __future__ import annotations

import gc
import importlib
from pathlib import Path
from zipimport import zipimporter

from pyspark import daemon


def load_kernels() -> None:
    """Load the usual kernels."""
    from greta.engine.warm import warm

    warm("usual")
    warm("exact")


def keep_unchanged_archives() -> None:
    """Let ``importlib.invalidate_caches`` read the contents of an archive again only where the file has changed.

    Spark calls it before every task; reading the list of its own archive of sources takes 0.14 s.
    """
    read_again = zipimporter.invalidate_caches
    known: dict[tuple[str, str], tuple[int, int]] = {}

    def read_changed(importer: zipimporter) -> None:
        # Every directory in an archive has an importer, with a list, of its own.
        place = (importer.archive, importer.prefix)
        try:
            found = Path(importer.archive).stat()
        except OSError:
            known.pop(place, None)
            read_again(importer)
            return
        stamp = (found.st_mtime_ns, found.st_size)
        if known.get(place) != stamp:
            read_again(importer)
            known[place] = stamp

    zipimporter.invalidate_caches = read_changed  # type: ignore[assignment, method-assign]
    importlib.invalidate_caches()


if __name__ == "__main__":
    load_kernels()
    keep_unchanged_archives()
    # Workers collect garbage after every task. What is loaded here is none, and walking it took 0.1 s each time.
    gc.collect()
    gc.freeze()
    daemon.manager()
