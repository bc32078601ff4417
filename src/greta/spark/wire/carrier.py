"""Functions as Spark loads them: code without greta in it, which opens greta's own where tasks run.

Not everywhere that Spark loads a function are the files that were shipped in reach: over Spark Connect the search path
of a task ends one directory above the session's files, and executors may have no greta at all. So cloudpickle carries
what is below by value, code and all, and its load is opened by the first call, which says what to do where there is no
greta: nothing here may name anything of it at run time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Iterable["pa.RecordBatch"]


def opened(load: bytes) -> Any:
    """What a load holds; greta is looked for among the files that were shipped for other sessions' directories."""
    import importlib
    import pickle
    import sys
    from pathlib import Path

    try:
        return pickle.loads(load)
    except ModuleNotFoundError as error:
        if error.name != "greta":
            raise
    from pyspark import SparkFiles

    homes = [str(home.parent.parent) for home in Path(SparkFiles.getRootDirectory()).glob("*/greta/__init__.py")]
    if not homes:
        raise ModuleNotFoundError(
            f"No module named 'greta' in {sys.executable}, which runs this task. Hand it over with "
            "greta.spark.ship(spark) before the query, or with greta run --ship; or install it there.",
            name="greta",
        )
    sys.path[1:1] = homes
    importlib.invalidate_caches()
    return pickle.loads(load)


class CarriedMap:
    """A function over Arrow batches for ``mapInArrow``."""

    def __init__(self, load: bytes) -> None:
        self.load = load

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Open the function and call it."""
        yield from opened(self.load)(batches)


def carry_map(function: Callable[[Batches], Iterator[pa.RecordBatch]]) -> CarriedMap:
    """A function over Arrow batches, in a form that any Python with PySpark can load."""
    return CarriedMap(load_of(function))


def load_of(value: object) -> bytes:
    """A value as bytes for ``opened``; from then on this module goes by value, too."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    load: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return load
