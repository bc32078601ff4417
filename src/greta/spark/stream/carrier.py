"""A stream's operator as Spark loads it: code without greta in it, which opens greta's own where tasks run.

The Python beside the driver that is asked, before the start, which state the operator keeps has no shipped files in
reach. So this module is carried by value, as ``greta.spark.wire.carrier`` is: nothing here may name anything else of
greta at run time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

from greta.spark.compat import StatefulProcessor
from greta.spark.wire.carrier import load_of, opened

if TYPE_CHECKING:
    from pyspark.sql import Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

    from greta.spark.stream.state import OpenWindows


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


def carry_state(windows: OpenWindows) -> CarriedState:
    """The stateful operator, in a form that any Python with PySpark can load."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    return CarriedState(load_of(windows))
