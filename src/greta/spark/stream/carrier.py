"""A stream's Python as Spark loads it: code without greta in it, which opens greta's own where tasks run.

Two of the places in which Spark loads a stream's functions do not have the files that were shipped in reach: the
Python beside the driver that is asked, before the start, which state the operator keeps; and over Spark Connect every
task, whose search path ends one directory above the session's files. So cloudpickle carries what is below by value,
code and all, and its load is opened by the first call: nothing here may name anything of greta at run time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

from greta.spark.compat import StatefulProcessor

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

    from greta.spark.stream.state import OpenWindows

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

    homes = Path(SparkFiles.getRootDirectory()).glob("*/greta/__init__.py")
    sys.path[1:1] = [str(home.parent.parent) for home in homes]
    importlib.invalidate_caches()
    return pickle.loads(load)


class CarriedMap:
    """A function over Arrow batches for ``mapInArrow``."""

    def __init__(self, load: bytes) -> None:
        self.load = load

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Open the function and call it."""
        yield from opened(self.load)(batches)


class CarriedState(StatefulProcessor):
    """Names the state, and hands every call to the operator that it carries."""

    def __init__(self, load: bytes) -> None:
        self.load = load

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self.handle = handle
        self.index = handle.getValueState("index", "value BINARY")
        self.chunks = handle.getMapState("chunks", "key STRING", "value BINARY")
        self.windows: OpenWindows | None = None

    def open(self) -> OpenWindows:
        """The operator, on this state."""
        if self.windows is None:
            windows: OpenWindows = opened(self.load)
            windows.attach(self.handle, self.index, self.chunks)
            self.windows = windows
        return self.windows

    def handleInputRows(self, key: Any, rows: Iterable[Any], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """A bucket of a micro-batch with data."""
        yield from self.open().take_rows(key, rows, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """A bucket of a micro-batch without data: the watermark alone has moved."""
        yield from self.open().take_timer(key, timerValues, expiredTimerInfo)

    def close(self) -> None:
        """Nothing to close: the store is Spark's."""


def carry_map(function: Callable[[Batches], Iterator[pa.RecordBatch]]) -> CarriedMap:
    """A function over Arrow batches, in a form that any Python with PySpark can load."""
    return CarriedMap(_loaded(function))


def carry_state(windows: OpenWindows) -> CarriedState:
    """The stateful operator, in a form that any Python with PySpark can load."""
    return CarriedState(_loaded(windows))


def _loaded(value: object) -> bytes:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    load: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return load
